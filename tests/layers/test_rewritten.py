"""A hook that makes another call of one that was approved: ways to have what nobody saw run, or to have nothing run."""

from __future__ import annotations

from pathlib import Path

import pytest

import stanch
from stanch.app.approving import Edit
from stanch.app.embedding import Embedded
from stanch.policies import PolicyRequest, Rewrite
from stanch.values.approval import ApprovalState, CallState
from stanch.values.context import RunContext
from stanch.values.fault import Conflict
from stanch.values.records import Actor
from tests.layers.asked import RULES
from tests.stores.template import new_file

ADA = Actor("ada", "test")
ASK = {"tool": "@write", "action": "ask"}


class Towards:
    """A hook that has every call write to one place, and nothing against a call that does."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, request: PolicyRequest) -> Rewrite | None:
        wanted = {"path": self.path, "content": "x"}
        return None if request.arguments == wanted else Rewrite(wanted)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "stanch.toml").write_text(RULES, "utf-8")
    new_file(tmp_path / "stanch.db")
    return tmp_path


def embedded(place: Path, hook: Towards) -> Embedded:
    return stanch.embed(place / "stanch.toml", store=place / "stanch.db", hooks=[hook])


def test_an_approved_call_that_a_hook_makes_another_is_shown_anew_and_can_then_run(place: Path) -> None:
    hook = Towards("first")
    with embedded(place, hook) as program:
        session = program.session("coder", narrowing=[ASK])
        calls = program.service.calls
        made = calls.submit(session, "write_file", {"path": "src/a", "content": "x"}, by=ADA)
        assert made.approval is not None
        program.approve(made.approval.request_id, by="ada")
        hook.path = "second"
        again = calls.start(made.call.id, by=ADA)
        assert (again.call.state, again.call.reason["code"]) == (CallState.AWAITING_APPROVAL, "call_changed")
        assert "a policy or a hook has changed its arguments since" in again.call.reason["sentence"]
        (request,) = program.waiting(session)
        assert request.arguments == again.call.arguments == {"path": "second", "content": "x"}
        assert request.request_id != made.approval.request_id
        assert calls.get(made.call.id).edited
        # The answer to the first one is spent: it releases nothing that it did not show.
        with pytest.raises(Conflict):
            calls.start(made.call.id, by=ADA)
        with pytest.raises(Conflict):
            program.approve(made.approval.request_id, by="ada")
        program.approve(request.request_id, by="ada")
        started = calls.start(made.call.id, by=ADA)
        assert (started.call.state, started.call.arguments) == (CallState.RUNNING, request.arguments)


def test_a_hook_that_makes_another_call_each_time_never_has_one_run_that_nobody_saw(place: Path) -> None:
    hook = Towards("n0")
    with embedded(place, hook) as program:
        session = program.session("coder", narrowing=[ASK])
        made = program.service.calls.submit(session, "write_file", {"path": "src/a", "content": "x"}, by=ADA)
        for number in range(1, 4):
            (request,) = program.waiting(session)
            program.approve(request.request_id, by="ada")
            hook.path = f"n{number}"
            again = program.service.calls.start(made.call.id, by=ADA)
            assert again.call.state is CallState.AWAITING_APPROVAL
            assert again.call.arguments["path"] == f"n{number}"


def test_a_rewritten_call_in_another_context_is_refused_and_where_it_is_denied_denied(place: Path) -> None:
    hook = Towards("first")
    with embedded(place, hook) as program:
        calls = program.service.calls
        session = program.session("coder", narrowing=[ASK, {"tool": "@write", "path": "shut", "action": "deny"}])
        for target, moved, code in (("shut", False, "rule"), ("second", True, "call_changed")):
            hook.path = "first"
            made = calls.submit(session, "write_file", {"path": "src/a", "content": "x"}, by=ADA)
            assert made.approval is not None
            program.approve(made.approval.request_id, by="ada")
            hook.path = target
            if moved:
                program.service.sessions.set_context(session, RunContext(allow_fs_writes=("logs",)), by=ADA)
            refused = calls.start(made.call.id, by=ADA).call
            assert refused.state is CallState.REJECTED
            assert refused.reason["code"] == code


def test_where_nobody_asked_nobody_is_asked_and_what_nobody_judged_does_not_run(place: Path) -> None:
    hook = Towards("first")
    with embedded(place, hook) as program:
        calls = program.service.calls
        made = calls.submit(program.session("coder"), "write_file", {"path": "a", "content": "x"}, by=ADA)
        assert made.call.state is CallState.PENDING
        hook.path = "second"
        started = calls.start(made.call.id, by=ADA)
        assert (started.call.state, started.call.reason["code"]) == (CallState.REJECTED, "call_changed")


def test_an_edit_that_a_hook_makes_another_is_shown_before_it_runs(place: Path) -> None:
    hook = Towards("first")
    with embedded(place, hook) as program:
        calls, approving = program.service.calls, program.service.approving
        session = program.session("coder", narrowing=[ASK])
        made = calls.submit(session, "write_file", {"path": "src/a", "content": "x"}, by=ADA)
        assert made.approval is not None
        hook.path = "second"
        edit = Edit(arguments={"path": "mine", "content": "x"})
        done = approving.approve(made.approval.request_id, edit=edit, answer="digest", by=ADA)
        assert (done.approval.state, done.call.state) == (ApprovalState.REPLACED, CallState.AWAITING_APPROVAL)
        (request,) = program.waiting(session)
        assert done.instead == request
        assert request.arguments == done.call.arguments == {"path": "second", "content": "x"}
        assert request.reason["code"] == "call_changed"
        with pytest.raises(Conflict):
            calls.start(made.call.id, by=ADA)
        again = approving.approve(made.approval.request_id, edit=edit, answer="digest", by=ADA)
        assert again.instead == request, "the very same answer once more is none to the new request"
        hook.path = "third"
        edit = Edit(arguments={"path": "third", "content": "x"})
        assert approving.approve(request.request_id, edit=edit, by=ADA).instead is None, "it is left as it was written"
        assert calls.start(made.call.id, by=ADA).call.arguments["path"] == "third"
