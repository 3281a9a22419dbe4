"""A plan in the inbox: ways to have a yes count for what the page did not show, or to have a no lost."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from tests.console.visitors import BOB, Visitor
from tests.http.served import KEY, World

FORM = re.compile(r'<form class="card plan" id="plan-([\w-]+)".*?</form>', re.DOTALL)
CALLS = re.compile(r'name="call" value="([^"]+)" checked')
PAGE = "/console/inbox"


def submitted(world: World, *commands: str, session: str | None = None) -> tuple[str, list[str]]:
    """A plan of commands, and the ids of its calls."""
    calls = [{"tool": "execute_cmd", "arguments": {"command": one}} for one in commands]
    about = session or world.session()
    said = world.post("/api/judge/plan", {"session_id": about, "calls": calls, "submit": True})
    assert [one["outcome"] for one in said] == ["asks"] * len(commands)
    return said[0]["plan_id"], [one["call_id"] for one in said]


def ticked(text: str) -> list[str]:
    """What the form of the one plan on the page would send."""
    (form,) = FORM.finditer(text)
    return CALLS.findall(form[0])


def answer(visitor: Visitor, plan_id: str, calls: list[str], action: str = "approve", status: int = 200) -> str:
    path = f"{PAGE}/plans/{plan_id}"
    return html.unescape(visitor.send(path, status, in_page=True, action=action, call=calls))


def states(world: World, calls: list[str]) -> list[str]:
    return [world.store.get_call(one).state.value for one in calls]


def test_the_calls_of_a_plan_stand_together_above_its_answer(world: World, visitor: Visitor) -> None:
    session = world.session()
    plan_id, calls = submitted(world, "make one", "make two", session=session)
    world.post(f"/api/sessions/{session}/calls", {"tool": "execute_cmd", "arguments": {"command": "make lone"}}, 201)
    text = visitor.get(PAGE)
    assert f'id="head-{plan_id}">A plan of which 2 calls wait' in text
    order = [text.index(one) for one in ("A plan of which", "make one", "call 2 of a plan", "make two", "Approve what")]
    assert order == sorted(order)
    assert text.index("Approve what") < text.index("make lone")
    assert len(ticked(text)) == len(calls)
    (form,) = FORM.finditer(text)
    assert re.findall(r'<button[^>]* value="(\w*)"', form[0]) == ["", "approve", "reject"], "a key presses the first"


def test_all_or_some_of_it_is_answered_and_each_is_told(world: World, visitor: Visitor) -> None:
    plan_id, calls = submitted(world, "make one", "make two", "make three")
    found = ticked(visitor.get(PAGE))
    assert "You rejected call 2 of a plan." in answer(visitor, plan_id, found[1:2], "reject")
    again = ticked(visitor.get(PAGE))
    said = answer(visitor, plan_id, again)
    assert "You approved calls 1, 3 of a plan." in said
    assert [f"#card-{one.split()[0]}" in said for one in again] == [True, True]
    assert states(world, calls) == ["pending", "rejected", "pending"]
    assert answer(visitor, plan_id, again) == said, "the very same form once more"


def test_what_came_after_the_page_was_loaded_is_not_answered(world: World, visitor: Visitor) -> None:
    plan_id, calls = submitted(world, "make one", "make two")
    loaded = ticked(visitor.get(PAGE))
    first = loaded[0].split()[0]
    edited = {"action": "approve", "arguments": {"command": "rm -rf build"}}
    world.post(f"/api/inbox/approvals/{first}/resolve", edited)
    world.post(f"/api/calls/{calls[0]}/cancel")
    said = answer(visitor, plan_id, loaded)
    assert "You approved call 2 of a plan." in said
    assert "Your answer came too late for call 1 of a plan, and changed nothing there." in said
    assert states(world, calls) == ["cancelled", "pending"]


def test_what_is_no_longer_as_it_was_shown_is_told_and_stays_on_the_page(world: World, visitor: Visitor) -> None:
    plan_id, calls = submitted(world, "make one", "make two")
    one, two = ticked(visitor.get(PAGE))
    forged = f"{one.split()[0]} {two.split()[1]}"
    said = answer(visitor, plan_id, [forged], status=409)
    assert "it is not what your page showed" in said
    assert f"#card-{one.split()[0]}" not in said
    assert states(world, calls) == ["awaiting_approval"] * 2


def test_a_plan_of_which_one_call_waits_is_answered_by_its_card(world: World, visitor: Visitor) -> None:
    submitted(world, "make one")
    text = visitor.get(PAGE)
    assert "A plan of which one call waits" in text
    assert not FORM.search(text)


def test_no_yes_to_a_plan_before_all_of_it_is_shown(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_id, _ = submitted(world, *(f"make {at}" for at in range(6)))
    monkeypatch.setattr("stanch.surfaces.console.inbox.MOST_CARDS", 2)
    text = visitor.get(PAGE)
    assert len(ticked(text)) == text.count('class="card request"') == 6, "what is behind the page is drawn in"
    monkeypatch.setattr("stanch.surfaces.console.inbox.MOST_TEXT", 10)
    text = visitor.get(PAGE)
    assert "1 are shown; all can be answered as one once all are shown" in text
    assert not FORM.search(text)
    monkeypatch.setattr("stanch.surfaces.console.inbox.MOST_TEXT", 1_000_000)
    monkeypatch.setattr("stanch.surfaces.console.plan_cards.MOST_TOGETHER", 5)
    text = visitor.get(PAGE)
    assert not FORM.search(text)
    assert f"head-{plan_id}" in text


def test_a_form_of_another_state_has_another_name(world: World, visitor: Visitor) -> None:
    submitted(world, "make one", "make two", "make three")
    text = visitor.get(PAGE)
    (before,) = FORM.finditer(text)
    visitor.send(f"{PAGE}/approvals/{ticked(text)[0].split()[0]}", in_page=True, action="reject")
    (after,) = FORM.finditer(visitor.get(PAGE))
    assert before[1] != after[1]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"action": "approve"}, 422),
        ({"action": "yes", "call": "r f"}, 400),
        ({"action": "", "call": "r f"}, 400),
        ({"call": "r f"}, 400),
        ({"action": "approve", "call": "r"}, 400),
        ({"action": "approve", "call": " f"}, 400),
        ({"action": "approve", "call": "r f"}, 422),
        ({"action": "approve", "call": "r f", "note": "x" * 10_001}, 422),
    ],
)
def test_what_is_no_answer_releases_nothing(
    world: World, visitor: Visitor, fields: dict[str, Any], status: int
) -> None:
    plan_id, calls = submitted(world, "make one", "make two")
    visitor.send(f"{PAGE}/plans/{plan_id}", status, in_page=True, **fields)
    answer(visitor, "plan_none", ["r f"], status=404)
    assert states(world, calls) == ["awaiting_approval"] * 2


def test_another_person_is_told_who_was_first_and_a_reader_answers_nothing(world: World, visitor: Visitor) -> None:
    plan_id, calls = submitted(world, "make one", "make two")
    found = ticked(visitor.get(PAGE))
    with Visitor(world, BOB) as bob:
        wrong = bob.client.post(
            f"{PAGE}/plans/{plan_id}", data={"key": visitor.key, "action": "approve", "call": found}
        )
        assert wrong.status_code == 403
        answer(bob, plan_id, found, "reject")
    said = answer(visitor, plan_id, found, status=409)
    assert "rejected by bob" in said
    assert states(world, calls) == ["rejected"] * 2
    with Visitor(world, KEY) as key:
        assert "came too late" in answer(key, plan_id, found, status=409)


def test_a_mandated_ask_is_shown_as_such(world: World, visitor: Visitor) -> None:
    world.group(
        "asking",
        {"tool_pattern": "make_it", "action": "ask", "mandatory": True},
        {"tool_pattern": "*", "action": "ask"},
    )
    session = world.session(run_context={"security_group": "asking"})
    calls: list[dict[str, Any]] = [{"tool": name, "arguments": {}} for name in ("make_it", "do_it")]
    world.post("/api/judge/plan", {"session_id": session, "calls": calls, "submit": True})
    text = visitor.get(PAGE)
    assert text.count("only a person may answer") == 2, "on its card, and in the plan's form"
