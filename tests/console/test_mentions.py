"""Files that a person mentions in the console: ways to have one go along that may not, or to lose what was typed."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest

from stanch.runtime.scripted_reply import say
from tests.console.visitors import Visitor
from tests.http.conversing import Talk, talking
from tests.http.served import until

PAGE = "/console/sessions"


def texts(world: Talk, session: str) -> list[str]:
    """The texts of what was said first, once its turn has ended."""
    until(lambda: world.get(f"/api/sessions/{session}/turns?state=completed")["total"] == 1, "an answer")
    parts: list[dict[str, Any]] = world.messages(session)[0]["parts"]
    return [one["text"] for one in parts]


def nothing_said(world: Talk, session: str) -> bool:
    return world.messages(session) == [] and world.get(f"/api/sessions/{session}/turns")["total"] == 0


def test_a_mentioned_file_goes_along_where_the_box_is_ticked(tmp_path: Path) -> None:
    with talking(tmp_path, [say("one"), say("two")]) as world, Visitor(world) as visitor:
        (world.workspace / "plan.txt").write_text("marker of the plan", "utf-8")
        ticked, plain = world.session(), world.session()
        assert 'name="mentions" value="yes" checked' in visitor.get(f"{PAGE}/{ticked}")
        said = visitor.send(f"{PAGE}/{ticked}/say", in_page=True, text="see @plan.txt", mentions="yes")
        assert 'name="mentions" value="yes" checked' in said
        found = texts(world, ticked)
        assert found[0] == "see @plan.txt"
        assert "marker of the plan" in found[1]
        said = visitor.send(f"{PAGE}/{plain}/say", in_page=True, text="see @plan.txt")
        assert 'name="mentions" value="yes">' in said
        assert texts(world, plain) == ["see @plan.txt"]


@pytest.mark.parametrize("in_page", [True, False])
def test_a_refused_file_is_named_with_why_and_what_was_typed_stays(tmp_path: Path, in_page: bool) -> None:
    with talking(tmp_path, [say("one")]) as world, Visitor(world) as visitor:
        (world.workspace / "bin").write_bytes(b"\0\1\2marker")
        session, path = world.session(), f"{PAGE}/{world.session()}/say"
        path = f"{PAGE}/{session}/say"
        text = html.unescape(visitor.send(path, 422, in_page=in_page, text="see @bin & go", mentions="yes"))
        assert "Nothing was said: @bin: it is a binary file" in text.replace("nothing was said", "Nothing was said")
        assert "see @bin & go</textarea>" in text
        assert 'name="mentions" value="yes" checked' in text
        assert "marker" not in text
        assert nothing_said(world, session)
        visitor.send(path, 200 if in_page else 303, in_page=in_page, text="see @bin & go")
        assert texts(world, session) == ["see @bin & go"]


def test_what_the_rules_deny_does_not_go_along_and_says_by_which_rule(tmp_path: Path) -> None:
    with talking(tmp_path, [say("one")]) as world, Visitor(world) as visitor:
        (world.workspace / "secret.key").write_text("marker", "utf-8")
        world.group("closed", {"tool_pattern": "@read", "path_pattern": "secret.key", "action": "deny"})
        session = world.session(run_context={"security_group": "closed"})
        said = visitor.send(f"{PAGE}/{session}/say", 422, in_page=True, text="see @secret.key", mentions="yes")
        assert "Denied by rule" in said
        assert "marker" not in said
        assert nothing_said(world, session)


def test_the_first_words_of_a_session_mention_files_too(tmp_path: Path) -> None:
    with talking(tmp_path, [say("one")]) as world, Visitor(world) as visitor:
        (world.workspace / "plan.txt").write_text("marker of the plan", "utf-8")
        (world.workspace / "bin").write_bytes(b"\0")
        fields = {"key": visitor.key, "agent": "coder", "model": "", "mentions": "yes"}
        reply = visitor.client.post(PAGE, data={**fields, "text": "see @bin"})
        assert reply.status_code == 422
        assert "it is a binary file" in reply.text
        assert "see @bin</textarea>" in reply.text
        reply = visitor.client.post(PAGE, data={**fields, "text": "see @plan.txt"})
        session = reply.headers["location"].rpartition("/")[2]
        assert "marker of the plan" in texts(world, session)[1]
