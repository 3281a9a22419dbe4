"""A tool call in a session's timeline: what was asked for, what was decided and by whom, and what came back.

Settles how a call that is over reads, from its record, its request and its result. Does not settle how one reads that
waits for an answer (`cards`).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from stanch.policy.declared import Form
from stanch.policy.document import Policy
from stanch.policy.known_tools import tool_named
from stanch.surfaces.console.cards import Card, Rule, card_of, rule_of
from stanch.surfaces.console.cutting import Cut, cut
from stanch.surfaces.console.showing import Line, as_json, diff_lines, has_odd
from stanch.values.approval import ApprovalRecord, ApprovalState, CallRecord, CallState
from stanch.values.message import Call, File, Opaque, Result, Text

RESULT_LINES = 30
ARGUMENT_LINES = 12
_DIFF_LINES = 200
_ONE_LINE = 72
# What a diff shows already.
_IN_DIFF = frozenset({"old", "new", "old_string", "new_string", "oldString", "newString", "content", "file_text"})
_ANSWERED = {
    ApprovalState.APPROVED: ("allow", "approved"),
    ApprovalState.REJECTED: ("deny", "rejected"),
    ApprovalState.EXPIRED: ("deny", "not answered in time"),
    ApprovalState.CANCELLED: ("none", "taken back"),
    ApprovalState.REPLACED: ("ask", "asked anew"),
    ApprovalState.OPEN: ("ask", "waits for an answer"),
}


class Given(NamedTuple):
    """An argument: its name, and its value on one line or, where it is longer, in several."""

    name: str
    value: str
    cut: Cut | None


class Answer(NamedTuple):
    """What a person said to a request: how it reads, and the note."""

    words: str
    note: str


@dataclass(frozen=True, slots=True)
class ResultEntry:
    """What came back. `whole` is where all of it can be read."""

    cut: Cut
    failed: bool
    whole: str
    others: list[str]


@dataclass(frozen=True, slots=True)
class CallEntry:
    """A call in a timeline. `card` is there while it waits: then it is shown as the inbox shows it."""

    id: str
    at: datetime
    tool: str
    tone: str
    word: str
    state: str
    sentence: str
    rule: Rule | None
    layer: str
    answer: Answer | None
    after: str
    edited: bool
    command: Cut | None
    diff: list[Line]
    given: list[Given]
    odd: bool
    result: ResultEntry | None
    card: Card | None
    kind: str = "call"


class Told(NamedTuple):
    """All that is known of one call. Any of it may be missing: a call need not come from a stored conversation."""

    part: Call | None
    record: CallRecord | None
    approval: ApprovalRecord | None
    result: Result | None
    whole: str = ""


def call_entry(told: Told, entry_id: str, at: datetime, policy: Policy) -> CallEntry:
    """The entry of a call. It has a part, a record or a result."""
    record, approval = told.record, told.approval
    tool, arguments = _asked(told)
    tone, word, state = _standing(told)
    why = _why(told)
    command, diff, given = _shown(tool, arguments, approval, policy)
    waits = record is not None and record.state is CallState.AWAITING_APPROVAL and approval is not None
    after = ""
    if record is not None and approval is not None and approval.state is ApprovalState.APPROVED:
        after = str(record.reason.get("sentence", "")) if record.state is CallState.REJECTED else ""
    return CallEntry(
        id=entry_id,
        at=at,
        tool=tool,
        tone=tone,
        word=word,
        state=state,
        sentence=str(why.get("sentence", "")),
        rule=rule_of(why.get("rule")),
        layer=str(why.get("layer", "")).replace("_", " "),
        answer=None if approval is None else _answer(approval),
        after=after,
        edited=record is not None and record.edited,
        command=command,
        diff=diff,
        given=given,
        odd=has_odd(arguments) or has_odd(tool),
        result=_result(told),
        card=card_of(approval, policy) if waits and approval is not None else None,
    )


def _result(told: Told) -> ResultEntry | None:
    """What came back from a call, its beginning. None where nothing did but the reason that is shown anyway."""
    result, record = told.result, told.record
    if result is None or (record is not None and text_of(result) == record.reason.get("sentence")):
        return None
    return ResultEntry(cut(text_of(result), RESULT_LINES), result.failed, told.whole, others_of(result.content))


def text_of(result: Result) -> str:
    """The texts of a result, one after another."""
    return "".join(one.text for one in result.content if isinstance(one, Text))


def others_of(parts: tuple[Any, ...]) -> list[str]:
    """What is said of pieces that are no text."""
    found = []
    for one in parts:
        if isinstance(one, File):
            size = f", {len(one.data) * 3 // 4:,} bytes" if one.data is not None else ""
            found.append(f"{one.name or 'a file'} ({one.media_type}{size})")
        elif isinstance(one, Opaque):
            found.append(f"a piece of the kind {one.kind}, which is not shown")
    return found


def _asked(told: Told) -> tuple[str, Mapping[str, Any]]:
    if told.record is not None:
        return told.record.tool, told.record.arguments
    if told.part is None:
        return (told.result.tool if told.result is not None else ""), {}
    arguments = told.part.arguments
    return told.part.tool, {"arguments": arguments} if isinstance(arguments, str) else arguments


def _standing(told: Told) -> tuple[str, str, str]:
    """The tone and the word of what was decided, and where the call stands."""
    record, approval = told.record, told.approval
    if record is None:
        return ("none", "no call that could be judged" if told.result is not None else "not judged yet", "")
    state = record.state.value.replace("_", " ")
    if approval is not None:
        tone, word = _ANSWERED[approval.state]
        if approval.state is ApprovalState.APPROVED and record.state is CallState.REJECTED:
            return "deny", "approved, and then denied", ""
        return tone, word, state if approval.state is ApprovalState.APPROVED else ""
    if record.state is CallState.REJECTED:
        return "deny", "denied", ""
    return "allow", "allowed", state


def _why(told: Told) -> Mapping[str, Any]:
    """The reason that is shown: why it asked where a person answered, else why it was decided so."""
    if told.approval is not None:
        return told.approval.reason
    return {} if told.record is None else told.record.reason


def _answer(approval: ApprovalRecord) -> Answer | None:
    if approval.state in (ApprovalState.OPEN, ApprovalState.REPLACED) or approval.resolved_at is None:
        return None
    _, word = _ANSWERED[approval.state]
    who = approval.resolved_by
    by = "" if not who or approval.state is ApprovalState.EXPIRED else f" by {who} ({approval.surface})"
    at = f"{approval.resolved_at:%Y-%m-%d %H:%M:%S} UTC"
    return Answer(f"{word[:1].upper()}{word[1:]}{by}, {at}", approval.note or "")


def _shown(
    tool: str, arguments: Mapping[str, Any], approval: ApprovalRecord | None, policy: Policy
) -> tuple[Cut | None, list[Line], list[Given]]:
    """What a call would run, what it would change, and its further arguments."""
    known = tool_named(tool, policy.tools)
    forms: dict[str, Form] = {}
    for effect in () if known is None else known.effects:
        forms |= dict.fromkeys(effect.argument.split("|"), effect.form)
    commands = [name for name in arguments if forms.get(name) in (Form.COMMAND, Form.CODE) and arguments[name]]
    command = cut("\n".join(_words(arguments[name]) for name in commands), ARGUMENT_LINES) if commands else None
    diff = diff_lines(approval.diff)[:_DIFF_LINES] if approval is not None and approval.diff else []
    left_out = {*commands, *(_IN_DIFF if diff else ())}
    return command, diff, [_given(name, value) for name, value in arguments.items() if name not in left_out]


def _words(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        return shlex.join(value)
    return value if isinstance(value, str) else as_json(value)


def _given(name: str, value: Any) -> Given:
    text = value if isinstance(value, str) else as_json(value, indent=None)
    if "\n" not in text and len(text) <= _ONE_LINE:
        return Given(name, text, None)
    return Given(name, "", cut(text if isinstance(value, str) else as_json(value), ARGUMENT_LINES))
