"""What a server says where an agent is spoken to, and the agent library is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.console.visitors import Visitor
from tests.http.conversing import talking

HINT = "pip install 'stanch[agent]'"


def test_without_the_agent_library_nobody_is_told_that_their_words_were_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.startswith(("pydantic_ai", "stanch.runtime.models", "stanch.runtime.turns", "stanch.runtime.toolset")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with talking(tmp_path, []) as world, Visitor(world) as visitor:
        session = world.session()
        said = world.say(session, "go", status=503)
        assert said["type"] == "urn:problem-type:stanch:not-installed"
        assert HINT in said["detail"]
        assert world.say(session, " ", status=422)["errors"]
        page = visitor.send(f"/console/sessions/{session}/say", 503, in_page=True, text="go on")
        assert "stanch[agent]" in page
        assert "go on</textarea>" in page
        page = visitor.send("/console/sessions", 503, agent="coder", model="", text="begin so")
        assert "stanch[agent]" in page
        assert "begin so</textarea>" in page
        assert world.get(f"/api/sessions/{session}/messages")["total"] == 0
