"""An approval is for the question that was shown: ways to have it answer for another one, or to lose it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from stanch.app.approving import BypassWish, Edit
from stanch.app.service import Service
from stanch.values.approval import ApprovalRecord, ApprovalState, CallState
from stanch.values.call import Category
from stanch.values.context import RunContext
from stanch.values.fault import BadFields
from stanch.values.identity import Source
from stanch.values.records import Broken
from tests.app.gates import ADA, AGENT, POLICY, Clock, Gates

LAST = '[[groups.rules]]\ntool = "*"\naction = "ask"\n'


@pytest.fixture
def gates(tmp_path: Path) -> Iterator[Gates]:
    made = Gates(tmp_path)
    yield made
    made.close()


@pytest.fixture
def timed(tmp_path: Path) -> Iterator[tuple[Gates, Clock]]:
    clock = Clock()
    made = Gates(tmp_path, clock)
    yield made, clock
    made.close()


def asked(gates: Gates, session: str, tool: str = "write_file", **arguments: Any) -> ApprovalRecord:
    """The request for approval of a new call."""
    approval = gates.ask(session, tool, **arguments).approval
    assert approval is not None
    return approval


def rewrite(root: Path, statement: str) -> None:
    """Changes a row past the store."""
    with closing(sqlite3.connect(root / "stanch.db", isolation_level=None)) as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    "instead", ['tool = "@write"\naction = "ask"\n', 'tool = "*"\naction = "ask"\nmandatory = true\n']
)
def test_another_rule_at_the_same_place_is_another_question(gates: Gates, instead: str) -> None:
    call = gates.approved(gates.session())
    gates.write_policy(POLICY.replace(LAST, f"[[groups.rules]]\n{instead}"))
    assert gates.service.calls.start(call.id, by=AGENT).call.state is CallState.AWAITING_APPROVAL


def test_the_same_rule_at_another_place_is_the_same_question(gates: Gates) -> None:
    call = gates.approved(gates.session())
    gates.write_policy(POLICY.replace(LAST, f'[[groups.rules]]\ntool = "read_file"\naction = "allow"\n\n{LAST}'))
    assert gates.service.calls.start(call.id, by=AGENT).call.state is CallState.RUNNING


def test_a_person_is_shown_where_a_call_works(gates: Gates) -> None:
    for name in ("sub", "own"):
        (gates.workspace / name).mkdir()
    plain, own = gates.session(), gates.session(context=RunContext(working_directory="own"))
    for session, cwd, where in (
        (plain, None, gates.workspace),
        (plain, "sub", gates.workspace / "sub"),
        (plain, "/", Path("/")),
        (own, None, gates.workspace / "own"),
        (own, "..", gates.workspace),
    ):
        made = gates.service.calls.submit(session, "execute_cmd", {"command": "make deploy"}, cwd=cwd, by=AGENT)
        assert made.approval is not None
        assert made.approval.cwd == str(where)
        edit = Edit(arguments={"command": "make all"})
        edited = gates.service.approving.approve(made.approval.request_id, edit=edit, by=ADA)
        assert (edited.approval.cwd, edited.call.cwd) == (str(where), cwd)


def test_a_bypass_that_comes_with_another_tool_is_for_that_tool(gates: Gates) -> None:
    session = gates.session()
    approval = asked(gates, session)
    edit = Edit("execute_cmd", {"command": "make all"})
    done = gates.service.approving.approve(approval.request_id, edit=edit, bypass=BypassWish(900), by=ADA)
    assert done.bypass is not None
    assert (done.bypass.category, done.approval.tool_category) == (Category.SHELL, Category.SHELL)


@pytest.mark.parametrize("table", ["approvals", "clarifications"])
def test_a_request_that_cannot_be_read_and_has_expired_hides_no_other(
    timed: tuple[Gates, Clock], tmp_path: Path, table: str
) -> None:
    gates, clock = timed
    session = gates.session(source=Source.CRON)
    first, second = asked(gates, session), asked(gates, session)
    question = gates.service.inbox.ask(session, "which?", by=AGENT)
    other = gates.service.inbox.ask(session, "and now?", by=AGENT)
    broken = first.request_id if table == "approvals" else question.request_id
    rewrite(tmp_path, f"UPDATE {table} SET agent_id = '' WHERE request_id = '{broken}'")
    clock.move(61)
    waiting = gates.service.inbox.list()
    left = [*waiting.approvals.items, *waiting.clarifications.items]
    assert [one.id for one in left if isinstance(one, Broken)] == [broken]
    assert len(left) == 1
    assert gates.service.inbox.approval(second.request_id).state is ApprovalState.EXPIRED
    assert gates.service.inbox.question(other.request_id).state.value == "expired"


def test_a_clock_that_was_set_back_carries_nothing_over_a_restart(timed: tuple[Gates, Clock]) -> None:
    gates, clock = timed
    session = gates.session()
    running = gates.approved(session)
    first = gates.opened(alone=True)
    assert first.calls.start(running.id, by=AGENT).call.state is CallState.RUNNING
    first.bypasses.give(session, BypassWish(0), category=None, server=None, by=ADA)
    first.node._stopped.set()  # as one that was killed: it says nothing any more
    clock.move(-3600)
    second: Service = gates.opened(alone=True)
    assert second.bypasses.list(session) == ()
    assert second.calls.get(running.id).state is CallState.INTERRUPTED


def test_a_choice_that_nobody_could_see_is_none(gates: Gates) -> None:
    for blank in ("", " ", "\n\t"):
        with pytest.raises(BadFields):
            gates.service.inbox.ask(gates.session(), "which?", choices=["red", blank], by=AGENT)


def opened(folder: Path) -> list[str]:
    """What lies in the folder and is open here. WHY no others: threads of a service open and close what they like."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(path for path in found if Path(path).is_relative_to(folder))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "folder", "content": "x"}),
        ("mcp__git__git_commit", {"repo_path": ".", "message": "x"}),
        ("execute_cmd", {"command": "sh folder"}),
    ],
)
def test_a_directory_in_the_place_of_a_file_is_asked_about_and_leaves_nothing_open(
    gates: Gates, tool: str, arguments: dict[str, Any]
) -> None:
    (gates.workspace / "folder").mkdir()
    session = gates.session()
    asked(gates, session, tool, **arguments)  # opens whatever stays open for good
    before = opened(gates.workspace)
    assert asked(gates, session, tool, **arguments).diff is None
    assert opened(gates.workspace) == before
