"""A session as a person reads it: who said what, which calls were made and what became of them, what was changed.

Settles the order of these and how each reads. Does not settle what is gathered (`session_records`), nor how a call
reads (`timeline_calls`) or a change (`timeline_changes`). WHY by time: most of it is stored by itself, and its moment
is all that says where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

from stanch.policy.document import Policy
from stanch.surfaces.console.cards import QuestionCard, question_card
from stanch.surfaces.console.cutting import Cut, cut
from stanch.surfaces.console.ledger import scope_words
from stanch.surfaces.console.session_records import Gathered, Standing
from stanch.surfaces.console.timeline_calls import CallEntry, Told, call_entry, others_of
from stanch.surfaces.console.timeline_changes import NoteEntry, changes
from stanch.values.approval import BypassRecord, CallRecord, ClarificationRecord, ClarificationState
from stanch.values.message import Call, Fragment, Message, Part, Reasoning, Result, Role, Text
from stanch.values.turn import MessageRecord, TurnRecord, TurnState

WORD_LINES = 120
THOUGHT_LINES = 40
_ASK = "ask_user"
_TURNS = {
    TurnState.FAILED: ("deny", "The turn failed"),
    TurnState.STOPPED: ("ask", "The turn was stopped"),
    TurnState.INTERRUPTED: ("deny", "The turn was interrupted"),
}


@dataclass(frozen=True, slots=True)
class WordsEntry:
    """What somebody said: a `person`, a `model`, or the `runtime` itself. `whole` is where all of it can be read."""

    id: str
    at: datetime
    by: str
    who: str
    tier: str
    cut: Cut
    whole: str
    others: list[str]
    thought: bool = False
    kind: str = "words"


@dataclass(frozen=True, slots=True)
class QuestionEntry:
    """A question of the agent. `card` is there while it waits for its answer."""

    id: str
    at: datetime
    question: Cut
    choices: tuple[str, ...]
    answer: Cut | None
    outcome: str
    card: QuestionCard | None
    kind: str = "question"


@dataclass(frozen=True, slots=True)
class BelowEntry:
    """The session of a subagent."""

    id: str
    at: datetime
    standing: Standing
    kind: str = "below"


Entry: TypeAlias = WordsEntry | CallEntry | QuestionEntry | NoteEntry | BelowEntry


class _Kept(NamedTuple):
    """What the entries of messages look things up in, and take out of what stands by itself."""

    calls: dict[str, CallRecord]
    questions: list[ClarificationRecord]
    results: dict[str, tuple[Result, str]]
    asked_by: Mapping[str, TurnRecord]


def entries(found: Gathered, policy: Policy, tier_of: Callable[[str], str]) -> list[Entry]:
    """What is shown, oldest first."""
    session_id = found.standing.session.id
    by_id: dict[str, CallRecord] = {one.tool_call_id: one for one in found.calls if one.tool_call_id}
    kept = _Kept(by_id, list(found.questions), _results(session_id, found), {one.id: one for one in found.turns})
    made: list[Entry] = []
    seen: set[str] = set()
    for record in found.messages:
        made += _of_message(session_id, record, kept, found, policy, tier_of, seen)
    since = found.messages[0].created_at if found.messages and found.first > 1 else None
    alone = [one for one in found.calls if one.id not in seen]
    others: list[Entry] = [_of_call(one, found, policy) for one in alone]
    others += [_question(one) for one in kept.questions]
    others += [_bypass(one) for one in found.bypasses]
    others += changes(session_id, found.changes)
    others += [note for turn in found.turns if (note := _turn_end(turn)) is not None]
    others += [BelowEntry(f"below-{one.session.id}", one.session.created_at, one) for one in found.below]
    made += [
        one for one in others if (since is None or one.at >= since) and (found.until is None or one.at <= found.until)
    ]
    return sorted(made, key=lambda one: one.at)


def _results(session_id: str, found: Gathered) -> dict[str, tuple[Result, str]]:
    results = {}
    for record in found.messages:
        for at, part in enumerate(record.message.parts):
            if isinstance(part, Result):
                results[part.call_id] = (part, _whole(session_id, record, at))
    return results


def _whole(session_id: str, record: MessageRecord, at: int) -> str:
    return f"/console/sessions/{quote(session_id, safe='')}/messages/{record.seq}/{at}"


def _of_message(  # noqa: PLR0917 - within this file
    session_id: str,
    record: MessageRecord,
    kept: _Kept,
    found: Gathered,
    policy: Policy,
    tier_of: Callable[[str], str],
    seen: set[str],
) -> Iterator[Entry]:
    message = record.message
    for at, part in enumerate(message.parts):
        entry_id, where = f"e-{record.number}-{at}", _whole(session_id, record, at)
        if isinstance(part, Call):
            call = kept.calls.get(part.id)
            if call is not None:
                seen.add(call.id)
            asked = _asked(part, kept) if part.tool == _ASK else None
            if asked is not None:
                yield _question(asked, at=record.created_at)
                continue
            approval = None if call is None or call.request_id is None else found.approvals.get(call.request_id)
            result, shown_at = kept.results.pop(part.id, (None, ""))
            yield call_entry(Told(part, call, approval, result, shown_at), entry_id, record.created_at, policy)
        elif isinstance(part, Result):
            if part.call_id in kept.results:  # its call is in an earlier part of the session
                told = Told(None, kept.calls.get(part.call_id), None, part, where)
                yield call_entry(told, entry_id, record.created_at, policy)
        elif not isinstance(part, Text | Reasoning) or part.text.strip():
            yield _words(part, message, record, entry_id, where, kept, tier_of)


def _words(  # noqa: PLR0917 - within this file
    part: Part,
    message: Message,
    record: MessageRecord,
    entry_id: str,
    where: str,
    kept: _Kept,
    tier_of: Callable[[str], str],
) -> WordsEntry:
    by, who = _speaker(message, record, kept)
    text, others = "", others_of((part,))
    if isinstance(part, Text | Reasoning | Fragment):
        text = part.text
    thought = isinstance(part, Reasoning)
    shown = cut(text, THOUGHT_LINES if thought else WORD_LINES)
    tier = tier_of(message.model) if message.model is not None else ""
    return WordsEntry(entry_id, record.created_at, by, who, tier, shown, where, others, thought)


def _speaker(message: Message, record: MessageRecord, kept: _Kept) -> tuple[str, str]:
    if message.role is Role.ASSISTANT:
        return "model", message.model or "a model"
    if message.role is Role.USER and message.extra.get("by") != "runtime":
        turn = kept.asked_by.get(record.turn_id or "")
        if turn is None:
            return "person", "somebody"
        return ("agent", "the agent above it") if turn.surface == "agent" else ("person", turn.asked_by)
    return "runtime", "system" if message.role is Role.SYSTEM else "Stanch"


# --- questions -------------------------------------------------------------------------------------------------------


def _asked(part: Call, kept: _Kept) -> ClarificationRecord | None:
    """The question that a call of `ask_user` has put to a person, and no other call before."""
    text = part.arguments.get("question") if isinstance(part.arguments, Mapping) else None
    found = next((one for one in kept.questions if one.question == text), None)
    if found is not None:
        kept.questions.remove(found)
        kept.results.pop(part.id, None)
    return found


def _question(asked: ClarificationRecord, *, at: datetime | None = None) -> QuestionEntry:
    outcome = ""
    if asked.state is not ClarificationState.OPEN:
        by = f" by {asked.resolved_by}" if asked.resolved_by else ""
        outcome = f"{asked.state.value.capitalize()}{by}"
        if asked.state is ClarificationState.EXPIRED:
            outcome = "Nobody answered in time"
    return QuestionEntry(
        id=f"question-{asked.request_id}",
        at=asked.created_at if at is None else at,
        question=cut(asked.question, WORD_LINES),
        choices=asked.choices,
        answer=None if asked.answer is None else cut(asked.answer, WORD_LINES),
        outcome=outcome,
        card=question_card(asked) if asked.state is ClarificationState.OPEN else None,
    )


# --- what stands by itself -------------------------------------------------------------------------------------------


def _of_call(call: CallRecord, found: Gathered, policy: Policy) -> CallEntry:
    """A call of an agent that keeps its conversation elsewhere."""
    approval = None if call.request_id is None else found.approvals.get(call.request_id)
    return call_entry(Told(None, call, approval, None), f"call-{call.id}", call.created_at, policy)


def _bypass(given: BypassRecord) -> NoteEntry:
    until = "until the session ends" if given.until is None else f"until {given.until:%Y-%m-%d %H:%M} UTC"
    also = ", subagents too" if given.include_subagents else ""
    ended = "" if given.ended_at is None else f"Ended {given.ended_at:%Y-%m-%d %H:%M:%S} UTC"
    words = f"{given.created_by} gave a bypass: {scope_words(given)} are not asked about {until}{also}"
    return NoteEntry(f"bypass-{given.id}", given.created_at, "allow", words, ended)


def _turn_end(turn: TurnRecord) -> NoteEntry | None:
    if turn.state not in _TURNS or turn.ended_at is None:
        return None
    tone, words = _TURNS[turn.state]
    detail = "" if turn.problem is None else turn.problem.sentence
    return NoteEntry(f"turn-{turn.id}", turn.ended_at, tone, words, detail)
