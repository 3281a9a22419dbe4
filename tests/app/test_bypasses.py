"""A person's leave to skip questions answers for what it was given for, and for as long as it was given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.app.approving import BypassWish
from stanch.values.approval import BypassScope
from stanch.values.call import Category
from stanch.values.fault import BadFields
from tests.app.gates import ADA, Clock, Gates


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


def effect(gates: Gates, session: str, tool: str = "write_file", **arguments: Any) -> str:
    """What the gate answers now."""
    given = arguments or {"path": "a.txt", "content": "x"}
    return gates.service.check(session, tool, given).decision.effect.value


def test_a_bypass_of_an_approval_answers_for_its_category_until_it_ends(timed: tuple[Gates, Clock]) -> None:
    gates, clock = timed
    session, other = gates.session(), gates.session()
    made = gates.ask(session)
    assert made.approval is not None
    done = gates.service.approving.approve(made.approval.request_id, bypass=BypassWish(900), by=ADA)
    assert done.bypass is not None
    assert (done.bypass.scope, done.bypass.category) == (BypassScope.CATEGORY, Category.FILESYSTEM)
    assert gates.service.bypasses.list(session) == (done.bypass,)
    clock.move(901)
    assert gates.service.bypasses.list(session) == ()
    assert effect(gates, session) == effect(gates, other) == "ask"


def test_the_scopes_of_a_bypass(gates: Gates) -> None:
    calls: dict[str, dict[str, Any]] = {"write_file": {"path": "a.txt", "content": "x"}, "mcp__mail__send": {}}
    for wish, category, server, wanted in (
        (BypassWish(0, BypassScope.ALL), None, None, ["allow", "allow"]),
        (BypassWish(0), Category.FILESYSTEM, None, ["allow", "ask"]),
        (BypassWish(0), None, "mail", ["ask", "allow"]),
    ):
        session = gates.session()
        held = gates.service.bypasses.give(session, wish, category=category, server=server, by=ADA)
        said = [effect(gates, session, tool, **{"to": "ada", **given}) for tool, given in calls.items()]
        assert said == wanted, wish
        assert effect(gates, session, path="closed/x", content="") == "deny"
        assert effect(gates, session, path="guarded/x", content="") == "ask"
        gates.service.bypasses.end(session, held.id, by=ADA)
        assert effect(gates, session) == "ask"


@pytest.mark.parametrize(
    ("wish", "category", "server"),
    [
        (BypassWish(0, BypassScope.CATEGORY), None, None),
        (BypassWish(0, BypassScope.MCP_SERVER), Category.SHELL, "git"),
        (BypassWish(0, BypassScope.ALL), None, "git"),
        (BypassWish(-1), None, None),
        (BypassWish(10**9), None, None),
    ],
)
def test_a_bypass_that_makes_no_sense_is_refused(gates: Gates, wish: BypassWish, category: Any, server: Any) -> None:
    session = gates.session()
    with pytest.raises(BadFields):
        gates.service.bypasses.give(session, wish, category=category, server=server, by=ADA)
    assert gates.service.bypasses.list(session) == ()


def test_a_bypass_holds_for_subagents_where_a_person_said_so(gates: Gates) -> None:
    for shared in (False, True):
        top = gates.session()
        below = gates.session(parent_id=top)
        lowest = gates.session(parent_id=below)
        wish = BypassWish(0, BypassScope.ALL, include_subagents=shared)
        gates.service.bypasses.give(top, wish, category=None, server=None, by=ADA)
        wanted = "allow" if shared else "ask"
        assert [effect(gates, one) for one in (top, below, lowest)] == ["allow", wanted, wanted]


def test_a_bypass_of_a_subagent_holds_for_it_alone(gates: Gates) -> None:
    top = gates.session()
    below = gates.session(parent_id=top)
    gates.service.bypasses.give(below, BypassWish(0, BypassScope.ALL), category=None, server=None, by=ADA)
    assert [effect(gates, top), effect(gates, below)] == ["ask", "allow"]


def test_bypasses_end_with_their_session_and_with_their_process(gates: Gates) -> None:
    session, other = gates.session(), gates.session()
    for one in (session, other):
        gates.service.bypasses.give(one, BypassWish(0, BypassScope.ALL), category=None, server=None, by=ADA)
    gates.service.sessions.end(other, by=ADA)
    assert gates.service.bypasses.list(other) == ()
    gates.service.close()
    gates.service = gates.opened()
    assert gates.service.bypasses.list(session) == ()
    assert effect(gates, session) == "ask"
