"""The life of a call that may have to wait for a person, as a table of transitions.

Settles which move leads from which state to which, and what makes an approval one for another call. Does not settle who
moves (`app.calls`) nor that two who move at once are told apart (`storage.calls`).
INVARIANT: `running` is reached from `pending` alone, and by one move; what is final never moves again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from stanch.values.approval import ApprovalRecord, ApprovalState, CallState, Fingerprint
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId


class Move(StrEnum):
    """What may happen to a call."""

    ASK = "ask"  # a layer or a rule has a person asked
    APPROVE = "approve"
    REJECT = "reject"  # a person, or a rule that denies by now
    EXPIRE = "expire"
    CANCEL = "cancel"
    START = "start"
    COMPLETE = "complete"
    FAIL = "fail"
    INTERRUPT = "interrupt"  # its process died


_S = CallState
MOVES: Mapping[tuple[CallState, Move], CallState] = MappingProxyType(
    {
        (_S.PENDING, Move.ASK): _S.AWAITING_APPROVAL,
        (_S.PENDING, Move.START): _S.RUNNING,
        (_S.PENDING, Move.REJECT): _S.REJECTED,
        (_S.PENDING, Move.CANCEL): _S.CANCELLED,
        (_S.PENDING, Move.EXPIRE): _S.REJECTED,
        (_S.AWAITING_APPROVAL, Move.ASK): _S.AWAITING_APPROVAL,
        (_S.AWAITING_APPROVAL, Move.APPROVE): _S.PENDING,
        (_S.AWAITING_APPROVAL, Move.REJECT): _S.REJECTED,
        (_S.AWAITING_APPROVAL, Move.EXPIRE): _S.REJECTED,
        (_S.AWAITING_APPROVAL, Move.CANCEL): _S.CANCELLED,
        (_S.RUNNING, Move.COMPLETE): _S.COMPLETED,
        (_S.RUNNING, Move.FAIL): _S.FAILED,
        (_S.RUNNING, Move.CANCEL): _S.CANCELLED,
        (_S.RUNNING, Move.INTERRUPT): _S.INTERRUPTED,
    }
)
FINAL = frozenset(CallState) - {state for state, _ in MOVES}


def moved(state: CallState, move: Move) -> CallState | None:
    """The state that the move leads to; None where it cannot be made from this one."""
    return MOVES.get((state, move))


def holds_until(approval: ApprovalRecord) -> datetime | None:
    """Until when the call of an approved request may be started; None where it may be for ever, or is not approved.

    WHY as long as it could have waited: its source says how long a question of it means anything, answered or not. This
    is counted from the answer, and a policy that was changed since then changes nothing about it.
    """
    answered, asked_until = approval.resolved_at, approval.expires_at
    if approval.state is not ApprovalState.APPROVED or answered is None or asked_until is None:
        return None
    try:
        return answered + (asked_until - approval.created_at)
    except OverflowError:  # further away than there are dates
        return None


def has_lapsed(approval: ApprovalRecord, now: datetime) -> bool:
    """True where the request was approved, and its approval holds no longer."""
    until = holds_until(approval)
    return until is not None and until <= now


def asks_of(answers: Iterable[Answer | None]) -> tuple[str, ...]:
    """Every ask among the answers to a call, as an approval names it: its layer, its code, its rule if one spoke.

    WHY a rule by its words, and by whether it is mandated: its number is its place in its group, where another rule
    may stand by the time that the call is started. A tier has cells for rules, which its detail names, and a policy or
    a hook has its own words: who was shown the ask of one has said nothing of another's.
    """
    found = []
    for answer in answers:
        if answer is not None and answer.effect is Effect.ASK:
            own_words = answer.layer is LayerId.TIER or answer.code is Code.POLICY_SAYS
            rule = answer.detail if own_words else ""
            if answer.rule is not None:
                rule = f"{answer.rule.group}/{answer.rule.words}"
            mandated = "!" if answer.mandated else ""
            found.append(f"{answer.layer.value}:{answer.code.value}{mandated}:{rule}")
    return tuple(dict.fromkeys(found))


def is_mandated(asked: Iterable[str]) -> bool:
    """True where one of these asks is one that only a person may answer, each time."""
    return any(one.split(":", 2)[1].endswith("!") for one in asked if one.count(":") >= 2)


def difference(shown: Fingerprint, now: Fingerprint) -> Code | None:
    """Why an approval is not for this call any more: its targets, or the call or its context, are others."""
    if shown.call != now.call or shown.context != now.context:
        return Code.CALL_CHANGED
    return Code.TARGET_CHANGED if shown.targets != now.targets else None


def covers(shown: Iterable[str], now: Iterable[str]) -> bool:
    """True where whoever approved was shown every ask that stands now."""
    return set(now) <= set(shown)
