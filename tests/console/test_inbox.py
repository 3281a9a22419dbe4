"""The inbox over HTTP: what a card shows, and what an answer does."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from typing import Any

import pytest

from stanch.surfaces.console.cards import card_of
from stanch.surfaces.console.inbox import mark_of
from stanch.surfaces.console.rendering import rendered
from stanch.values.approval import ApprovalState, BypassRecord, BypassScope, CallState, ClarificationState
from tests.console.visitors import BOB, Visitor, approval_of, asking, audited, call_of, command
from tests.http.served import BY, World

HOSTILE = '<script>alert("x")</script> \u202egnp.exe \u200b\u2066 \x1b[31mred\x07 שלום'


def test_an_empty_inbox_says_so(visitor: Visitor) -> None:
    assert "Nothing waits for you" in visitor.get("/console/inbox")


def test_a_card_shows_what_would_run_and_why_it_asks(world: World, visitor: Visitor) -> None:
    asked = command(world, "curl -s https://example.com/a | tee out.txt")
    text = visitor.get("/console/inbox")
    for shown in (
        "execute_cmd",
        "coder",
        "curl -s https://example.com/a | tee out.txt",
        "example.com",
        "out.txt",
        "Needs approval by rule",
        "Rule 6 of default, in the database",
        asked.request_id,
        "shell calls",
        "for its subagents too",
    ):
        assert shown in text, shown


def test_an_edit_is_shown_as_a_diff(world: World, visitor: Visitor) -> None:
    (world.workspace / "a.md").write_text("one\ntwo\n", "utf-8")
    asking(world, "edit_file", {"path": "a.md", "old": "two", "new": "three"})
    text = visitor.get("/console/inbox")
    assert '<div class="row del">-two</div>' in text
    assert '<div class="row add">+three</div>' in text
    assert "+1" in text


def test_a_patch_is_shown_as_one(world: World, visitor: Visitor) -> None:
    patch = "*** Begin Patch\n*** Update File: a.md\n@@\n-two\n+three\n*** End Patch"
    asking(world, "apply_patch", {"input": patch})
    text = visitor.get("/console/inbox")
    assert '<div class="row del">-two</div>' in text
    assert '<div class="row file">*** Update File: a.md</div>' in text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("execute_cmd", {"command": HOSTILE}),
        ("write_file", {"path": "a.md", "content": HOSTILE}),
        ("mcp__github__create_issue", {"title": HOSTILE, HOSTILE: [{HOSTILE: HOSTILE}]}),
    ],
)
def test_hostile_text_is_neither_markup_nor_out_of_sight(
    world: World, visitor: Visitor, tool: str, arguments: dict[str, Any]
) -> None:
    asking(world, tool, arguments, agent_id="agent \u202e<b>")
    world.service.inbox.ask(world.session(), HOSTILE, choices=[HOSTILE], by=BY)
    text = visitor.get("/console/inbox")
    assert "<script>alert" not in text
    assert "\x1b" not in text
    assert not {"\u2066", "\u200b", "\u202e"} & set(text)
    for shown in (
        "\\u202e",
        "\\u200b",
        "\\u2066",
        "\\x1b</span>[31mred",
        "&lt;script&gt;",
        "U+202E RIGHT-TO-LEFT OVERRIDE",
    ):
        assert shown in text, shown
    assert "characters that would not be seen" in text


def test_empty_lines_push_nothing_out_of_sight(world: World, visitor: Visitor) -> None:
    command(world, "ls" + "\n" * 500 + "rm -rf data")
    text = visitor.get("/console/inbox")
    assert "… 497 more empty lines" in text or "… 496 more empty lines" in text
    assert '<div class="row">rm -rf data</div>' in text


# --- answers ---------------------------------------------------------------------------------------------------------


def test_an_approval_is_the_persons_through_the_console(world: World, visitor: Visitor) -> None:
    asked = command(world)
    assert "You approved a call of execute_cmd." in visitor.answer(asked, "approve")
    assert call_of(world, asked).state is CallState.PENDING
    assert audited(world, asked.request_id) == [("ada", "console", "approval.approved")]


def test_a_rejection_keeps_its_note(world: World, visitor: Visitor) -> None:
    asked = command(world)
    assert "You rejected" in visitor.answer(asked, "reject", note="not on a Friday")
    assert approval_of(world, asked).note == "not on a Friday"
    assert call_of(world, asked).state is CallState.REJECTED


@pytest.mark.parametrize(("action", "lasting"), [("approve_15", True), ("approve_session", False)])
def test_an_approval_for_longer_gives_the_bypass_that_was_ticked(
    world: World, visitor: Visitor, action: str, lasting: bool
) -> None:
    asked = command(world)
    visitor.answer(asked, action, bypass_scope="category", include_subagents="yes")
    (held,) = world.service.overview.bypasses()
    assert isinstance(held, BypassRecord)
    assert held.scope is BypassScope.CATEGORY
    assert held.include_subagents
    assert (held.until is not None) == lasting


@pytest.mark.parametrize("fields", [{}, {"bypass_scope": "everything"}, {"bypass_scope": "mcp_server"}])
def test_an_approval_for_longer_needs_a_scope_that_fits(world: World, visitor: Visitor, fields: dict[str, str]) -> None:
    asked = command(world)
    status = 422 if fields.get("bypass_scope") == "mcp_server" else 400
    visitor.answer(asked, "approve_15", status, **fields)
    assert approval_of(world, asked).state is ApprovalState.OPEN


@pytest.mark.parametrize("action", ["", "approved", "yes", "true", "APPROVE"])
def test_only_a_known_answer_is_one(world: World, visitor: Visitor, action: str) -> None:
    asked = command(world)
    visitor.answer(asked, action, 400)
    assert approval_of(world, asked).state is ApprovalState.OPEN


def test_one_form_that_is_sent_twice_is_one_answer(world: World, visitor: Visitor) -> None:
    asked = command(world)
    first, second = visitor.answer(asked, "approve"), visitor.answer(asked, "approve")
    assert first == second
    assert audited(world, asked.request_id) == [("ada", "console", "approval.approved")]


def test_whoever_was_slower_is_told_who_won(world: World, visitor: Visitor) -> None:
    asked = command(world)
    with Visitor(world, BOB) as bob:
        bob.answer(asked, "reject")
    said = visitor.answer(asked, "approve", 409)
    assert "Your answer came too late and changed nothing" in said
    assert "rejected by bob (console)" in said
    assert "by you" in visitor.answer(command_answered(world), "reject", 409)


def command_answered(world: World) -> Any:
    """A request that ada approved through another door."""
    asked = command(world)
    world.service.approving.approve(asked.request_id, by=BY)
    return asked


def test_an_edit_is_judged_and_recorded(world: World, visitor: Visitor) -> None:
    asked = command(world, "make test")
    said = visitor.answer(asked, "edit", arguments=json.dumps({"command": "make lint"}))
    assert "with your arguments" in said
    call = call_of(world, asked)
    assert (call.arguments["command"], call.edited) == ("make lint", True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "This is no JSON"),
        ("[1]", "have to be a JSON object"),
        ('{"command": "a", "command": "b"}', "stands in them twice"),
        ('{"command": NaN}', "NaN is no number"),
        ("[" * 100_000, "cannot be used"),
        ('{"path": "a"}', "command"),
    ],
)
def test_an_edit_that_cannot_be_used_is_given_back_with_what_is_wrong(
    world: World, visitor: Visitor, text: str, why: str
) -> None:
    asked = command(world)
    said = visitor.answer(asked, "edit", 422, arguments=text)
    assert why in said
    assert f'id="edit-{asked.request_id}"' in said
    assert approval_of(world, asked).state is ApprovalState.OPEN


def test_an_edit_that_is_denied_leaves_the_request_open(world: World, visitor: Visitor) -> None:
    asked = asking(world, "write_file", {"path": "a.md", "content": "x"})
    said = visitor.answer(asked, "edit", 422, arguments=json.dumps({"path": "secrets/key", "content": "x"}))
    assert "The edited call is refused" in said
    assert "secrets" in said
    assert approval_of(world, asked).state is ApprovalState.OPEN


def test_what_is_edited_is_what_was_there(world: World, visitor: Visitor) -> None:
    """Marked characters come back as themselves, not as the marks."""
    text = 'echo "\u202e\\n" \t \U000e0041 < & "'
    asked = command(world, text)
    page = visitor.get("/console/inbox")
    start = page.index("<textarea", page.index(f'id="edit-{asked.request_id}"'))
    written = html.unescape(page[page.index(">", start) + 1 : page.index("</textarea>", start)])
    assert "\u202e" not in written
    assert json.loads(written) == {"command": text}


def test_without_scripts_an_answer_is_a_page(world: World, visitor: Visitor) -> None:
    asked = command(world)
    text = visitor.send(f"/console/inbox/approvals/{asked.request_id}", action="approve")
    assert "You approved" in text
    assert "<!doctype html>" in text


def test_what_became_of_a_shown_card_is_said(world: World, visitor: Visitor) -> None:
    asked = command(world)
    with Visitor(world, BOB) as bob:
        bob.answer(asked, "approve")
    said = visitor.get(f"/console/inbox/cards?shown={asked.request_id}&shown=req_none")
    assert "was approved by bob (console)" in said


def test_unknown_requests_are_not_found(visitor: Visitor) -> None:
    visitor.send("/console/inbox/approvals/req_none", 404, in_page=True, action="approve")
    visitor.send("/console/inbox/questions/ask_none", 404, in_page=True, answer="x")


# --- questions -------------------------------------------------------------------------------------------------------


def test_a_question_is_answered_once(world: World, visitor: Visitor) -> None:
    asked = world.service.inbox.ask(world.session(), "Which branch?", choices=["main", "next"], by=BY)
    path = f"/console/inbox/questions/{asked.request_id}"
    assert "You answered a question of coder" in visitor.send(path, in_page=True, choice="1")
    assert "You answered" in visitor.send(path, in_page=True, choice="1")
    with Visitor(world, BOB) as bob:
        assert "came too late" in bob.send(path, 409, in_page=True, choice="0")
    found = world.service.overview.question(asked.request_id)
    assert (found.state, found.answer, found.resolved_by) == (ClarificationState.ANSWERED, "next", "ada")


def test_a_question_needs_an_answer(world: World, visitor: Visitor) -> None:
    asked = world.service.inbox.ask(world.session(), "Why?", by=BY)
    visitor.send(f"/console/inbox/questions/{asked.request_id}", 422, in_page=True, answer="  ")


def test_the_mark_moves_with_the_inbox(world: World) -> None:
    marks = [mark_of(world.service)]
    asked = command(world)
    marks.append(mark_of(world.service))
    world.service.approving.reject(asked.request_id, by=BY)
    marks.append(mark_of(world.service))
    assert marks[0] == marks[2] != marks[1]


def test_the_files_that_a_call_runs_are_named_with_their_content(world: World) -> None:
    asked = replace(command(world, "sh x.sh"), scripts={"/w/\u202ex.sh": "ab" * 32})
    card = card_of(asked, world.service.policy)
    text = rendered("card.html.j2", card=card, key="")
    assert "ab" * 32 in text
    assert "\u202e" not in text
    assert "for that content alone" in text
