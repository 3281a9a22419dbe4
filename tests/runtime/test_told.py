"""Failures that the runtime keeps hold no value of the vault: results of refused calls, and a turn's problem."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from stanch.runtime.builtin import tools
from stanch.runtime.scripted_reply import fail, say, use
from stanch.runtime.tool import Job, Output
from stanch.secrets.text import Secret
from stanch.values.turn import TurnState
from tests.canary import ANSWER, EXCEPTION, REQUEST, Canary
from tests.runtime.world import PERSON, World

VALUE = "marker-of-the-value-4711"
BASE64 = base64.b64encode(VALUE.encode()).decode()
FORMS = pytest.mark.parametrize("form", [VALUE, BASE64])


@FORMS
def test_what_a_refused_call_is_answered_with_is_kept_without_it(tmp_path: Path, canary: Canary, form: str) -> None:
    canary.expect_in(EXCEPTION)
    script = [
        use("read_file", path=f"secrets/{form}"),
        use("read_file", path={form: form}),
        say("ok"),
    ]
    with World(tmp_path, script) as world:
        world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=PERSON)
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        first, second = world.results(session)
        assert "{{STRIPE_KEY}}" in first
        assert form not in first + second


@FORMS
def test_what_breaks_is_told_by_its_kind_alone(
    tmp_path: Path, canary: Canary, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    canary.expect_in(EXCEPTION)

    def breaks(_: Job) -> Output:
        raise RuntimeError(form)

    tool = next(one for one in tools.FILE_TOOLS if one.name == "read_file")
    others = [one for one in tools.FILE_TOOLS if one is not tool]
    monkeypatch.setattr(tools, "FILE_TOOLS", (*others, replace(tool, run=breaks)))
    with World(tmp_path, [use("read_file", path="notes.txt"), say("ok")]) as world:
        world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=PERSON)
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        assert world.results(session) == ["read_file broke: RuntimeError"]


@FORMS
def test_a_turn_that_fails_is_kept_without_it(tmp_path: Path, canary: Canary, form: str) -> None:
    canary.expect_in(EXCEPTION, ANSWER, REQUEST)  # a provider quotes it, and knows its model by it
    with World(tmp_path, [fail(400, form)], more=f"[agents.other]\nmodel = 'fake/{form}'\n") as world:
        world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=PERSON)
        turn = world.ask("go", world.session("other"))
        assert turn.state is TurnState.FAILED
        assert turn.problem is not None
        assert turn.problem.sentence == "fake/{{STRIPE_KEY}} answered with the status 400"
