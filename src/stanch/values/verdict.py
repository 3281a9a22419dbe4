"""What the judge says of a call that nobody has made.

Settles the states, the causes and the record. Does not settle who says which (`judge.judge`), nor what a consumer makes
of a question that nobody answers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, NoReturn

from stanch.values.reason import LayerId, Reason


class Face(StrEnum):
    """Which asks are held against the call: the mandated ones, or all of them."""

    READ = "read"
    WRITE = "write"


class State(StrEnum):
    """The states of a verdict. None is a yes: `no_objection` says that everybody was asked and nobody objected."""

    DENY = "deny"
    MANDATED_ASK = "mandated_ask"
    ASK = "ask"
    NO_OBJECTION = "no_objection"
    UNANSWERABLE = "unanswerable"


class Cause(StrEnum):
    """Why a layer gave no answer: the closed list."""

    THREW = "threw"
    TIMED_OUT = "timed_out"
    APPROVAL_SEAT = "approval_seat"
    CALL_UNREADABLE = "call_unreadable"
    ORG_UNAVAILABLE = "org_unavailable"
    REWRITTEN = "rewritten"
    STORE_UNREADABLE = "store_unreadable"


class Verdict(NamedTuple):
    """The judge's answer to one probe.

    `layer` and `reason` are those of the layer that decides, None where nobody objects. `cause` says why that layer
    gave no answer, in an unanswerable verdict alone. `judged` is the canonical path that the layers judged, None in an
    unanswerable one, and where none was found. INVARIANT: no truth value, so that no state passes for a yes.
    """

    state: State
    layer: LayerId | None = None
    reason: Reason | None = None
    cause: Cause | None = None
    judged: str | None = None

    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict has no truth value; compare verdict.state")
