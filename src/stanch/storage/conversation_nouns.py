"""Messages, turns and runs of jobs: how a row of each is read and written.

Settles which column becomes which field. Does not settle the shape of a message (`tiers.dialects.ours`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from stanch.storage.conversation_schema import JOB_RUNS, MESSAGES, TURNS
from stanch.storage.rows import LARGEST_ID, Fields, Noun, Unread, written_json, written_moment
from stanch.tiers.dialects.ours import read_message, write_message
from stanch.values.fault import BadFields, BadInput
from stanch.values.message import Message, Role
from stanch.values.turn import (
    NO_COUNTS,
    JobRunRecord,
    JobRunState,
    MessageRecord,
    TurnProblem,
    TurnRecord,
    TurnState,
)

LONGEST_CODE, LONGEST_SENTENCE = 64, 500


def _message(row: Fields) -> MessageRecord:
    number, role, body = row.whole("id", 1, LARGEST_ID), row.word("role", Role), row.json("body", checked=False)
    if isinstance(body, dict) and "id" in body:
        raise Unread("body", "has an id of its own")
    try:
        message = read_message({**body, "id": str(number)} if isinstance(body, dict) else body)
    except BadFields as why:
        raise Unread("body", f"is no message: {why}") from None
    if message.role is not role:
        raise Unread("role", "is not the one in 'body'")
    return MessageRecord(
        number=number,
        session_id=row.key("session_id"),
        seq=row.whole("seq", 1),
        turn_id=row.maybe_key("turn_id"),
        created_at=row.moment("created_at"),
        message=message,
    )


def _turn(row: Fields) -> TurnRecord:
    return TurnRecord(
        id=row.key("id"),
        session_id=row.key("session_id"),
        node=row.key("node"),
        state=row.word("state", TurnState),
        model=row.maybe("model"),
        asked_by=row.text("asked_by"),
        surface=row.text("surface"),
        started_at=row.moment("started_at"),
        changed_at=row.moment("changed_at"),
        ended_at=row.maybe_moment("ended_at"),
        problem=_problem(row),
        counts=_counts(row),
    )


def _problem(row: Fields) -> TurnProblem | None:
    if row.maybe("problem") is None:
        return None
    value = row.json("problem")
    if not isinstance(value, dict) or value.keys() != {"code", "sentence"}:
        raise Unread("problem", "must be an object with a code and a sentence")
    code, sentence = value["code"], value["sentence"]
    if not isinstance(code, str) or not 0 < len(code) <= LONGEST_CODE:
        raise Unread("problem", f"must have a code of 1 to {LONGEST_CODE} characters")
    if not isinstance(sentence, str) or not 0 < len(sentence) <= LONGEST_SENTENCE:
        raise Unread("problem", f"must have a sentence of 1 to {LONGEST_SENTENCE} characters")
    return TurnProblem(code, sentence)


def _counts(row: Fields) -> Mapping[str, int]:
    if row.maybe("counts") is None:
        return NO_COUNTS
    value = row.json("counts")
    if not isinstance(value, dict) or not all(type(one) is int and abs(one) <= LARGEST_ID for one in value.values()):
        raise Unread("counts", "must be an object of whole numbers")
    return MappingProxyType(value)


def _job_run(row: Fields) -> JobRunRecord:
    return JobRunRecord(
        id=row.key("id"),
        job_id=row.key("job_id"),
        due_at=row.moment("due_at"),
        node=row.key("node"),
        state=row.word("state", JobRunState),
        session_id=row.maybe_key("session_id"),
        outcome=row.maybe("outcome"),
        claimed_at=row.moment("claimed_at"),
        ended_at=row.maybe_moment("ended_at"),
    )


MESSAGE = Noun("message", MESSAGES, _message)
TURN = Noun("turn", TURNS, _turn)
JOB_RUN = Noun("run of a job", JOB_RUNS, _job_run)


def message_body(message: Message) -> str:
    """A message as the column that keeps it, without its id. Raises `BadInput` for one that JSON cannot say."""
    row = write_message(message)
    row.pop("id", None)
    try:
        # WHY not `written_json`: the keys of a call's arguments stay in the order in which the model wrote them.
        return json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise BadInput("the message cannot be stored: it holds a number that is too long") from None


def problem_column(problem: TurnProblem | None) -> str | None:
    """A turn's problem as JSON."""
    return None if problem is None else written_json(problem._asdict(), "problem")


def counts_column(counts: Mapping[str, int]) -> str | None:
    """A turn's numbers as JSON; None where there are none."""
    return written_json(dict(counts), "counts") if counts else None


def turn_columns(turn: TurnRecord) -> dict[str, Any]:
    """A turn as the columns that keep it."""
    return {
        "id": turn.id,
        "session_id": turn.session_id,
        "node": turn.node,
        "state": turn.state.value,
        "model": turn.model,
        "asked_by": turn.asked_by,
        "surface": turn.surface,
        "started_at": written_moment(turn.started_at),
        "changed_at": written_moment(turn.changed_at),
        "ended_at": None if turn.ended_at is None else written_moment(turn.ended_at),
        "problem": problem_column(turn.problem),
        "counts": counts_column(turn.counts),
    }
