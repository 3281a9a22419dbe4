"""A plan looked through before any of it is done: what the gate would answer to each call that an agent means to make.

Settles what comes of each call, and which of them may come out otherwise once an earlier one has been done. Does not
settle what a layer says (`judge.judge`), nor what may answer an ask (`gate.relax`).
INVARIANT: as with a probe, nothing is stored, nobody is notified, and no hook and no approver is asked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from stanch.app.asking import Kin, where
from stanch.app.judging import WORKERS
from stanch.app.judgments import Judgments
from stanch.app.session import Session
from stanch.app.workers import Workers
from stanch.gate.decide import decide
from stanch.gate.relax import relax
from stanch.judge.judge import Heard, Panel
from stanch.policy.layers import Integrity
from stanch.policy.walk import Standing, combine
from stanch.values.call import EffectClass, JudgedCall, Manner, Reach, Signal, ToolCall
from stanch.values.decision import Answer, Decision, Effect
from stanch.values.fault import BadCall
from stanch.values.reason import Code, LayerId, Reason
from stanch.values.verdict import Cause, Face, State

_INTEGRITY = Integrity()
_UNREAD = frozenset({Code.COMMAND_UNREAD, Code.COVERS_TOO_MUCH})
_MANNER = Manner(Reach.NONE)


class Outcome(StrEnum):
    """What would come of a call that is made now."""

    REFUSED = "refused"
    ASKS = "asks"
    UNKNOWN = "unknown"
    PASSES = "passes"


_STRICTEST = {Outcome.PASSES: 0, Outcome.UNKNOWN: 1, Outcome.ASKS: 2, Outcome.REFUSED: 3}


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that an agent means to make. `cwd` is where its relative paths start, as in a call that is made."""

    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    cwd: str | None = None


class Planned(NamedTuple):
    """What would come of a planned call.

    `reason` says why, as the gate would; `cause` says what is not known where the outcome is `unknown`: such as
    `command_unread`, or why a layer gave no answer. `after` are the places in the plan, from 0, of earlier calls that
    write what this one touches: once they are done, it may come out otherwise. `unasked` are the layers that are there
    and were not asked, such as hooks: they have their say when the call is made.
    """

    call: PlannedCall
    outcome: Outcome
    reason: Reason
    cause: str | None = None
    after: tuple[int, ...] = ()
    unasked: tuple[LayerId, ...] = ()


class _Sitting(NamedTuple):
    """One call judged for one session: its place among the judgments; `refused` where it is refused without one."""

    session: Session
    kin: Kin
    call: JudgedCall
    place: int
    heard: list[Heard]
    refused: Decision | None = None


def planned(
    lineage: Sequence[Kin],
    calls: Sequence[PlannedCall],
    *,
    deadline_at: float | None = None,
    signal: Signal | None = None,
    workers: Workers = WORKERS,
) -> list[Planned]:
    """What would come of each call for a session and its ancestors, the session's own first; of several, the strictest.

    All calls are judged as things are now, at the same time, and have one deadline, in milliseconds of the epoch;
    without one, as long as the policy has any layer waited for.
    """
    lineage = [Kin(kin.session_id, one, kin.bypasses) for kin in lineage for one in kin.session.line]
    left = lineage[0].session.patience if deadline_at is None else deadline_at / 1000 - time.time()
    wrote: set[str] = set()
    begun: list[list[_Sitting] | str] = []
    for kin in lineage:
        kin.session.layers_now()
    with Judgments(workers, left, signal) as judgments:
        for call in calls:
            try:
                line = [_begun(kin, lineage[0].session, call, judgments, wrote) for kin in lineage]
            except BadCall as why:
                begun.append(str(why))
                continue
            except RecursionError:
                begun.append("the arguments are nested too deeply")
                continue
            wrote.update(path for path, writes in _touched(line[0].call) if writes)
            begun.append(line)
        judgments.settle()
        found = [
            _unreadable(call, line) if isinstance(line, str) else _come_of(call, line, judgments)
            for call, line in zip(calls, begun, strict=True)
        ]
    touched = [() if isinstance(line, str) else _touched(line[0].call) for line in begun]
    return [one._replace(after=_after(place, touched)) for place, one in enumerate(found)]


def _begun(kin: Kin, own: Session, call: PlannedCall, judgments: Judgments, wrote: set[str]) -> _Sitting:
    """Begins to judge a call. `wrote` are the files that earlier calls of the plan write. Raises `BadCall`."""
    session = kin.session
    cwd = call.cwd if session is own else where(own, call.cwd)
    stamped = session.stamped(ToolCall(call.tool, call.arguments), cwd, also_wrote=wrote)
    refused = _INTEGRITY.ask(stamped)
    if isinstance(refused, list):
        return _Sitting(session, kin, stamped, -1, [], decide(stamped, refused, session.version))
    heard: list[Heard] = []
    panel = Panel(Face.WRITE, session.layers)
    return _Sitting(
        session, kin, stamped, judgments.begin(stamped._replace(manner=_MANNER), panel, heard.append), heard
    )


def _come_of(call: PlannedCall, line: Sequence[_Sitting], judgments: Judgments) -> Planned:
    found = [_of_one(call, one, judgments) for one in line]
    return max(found, key=lambda one: _STRICTEST[one.outcome])


def _of_one(call: PlannedCall, one: _Sitting, judgments: Judgments) -> Planned:
    """What one session's layers make of the call, its grants and bypasses counted."""
    unasked = tuple(layer.id for layer in one.session.layers if layer.id is LayerId.HOOKS)
    if one.refused is not None:
        return Planned(call, Outcome.REFUSED, one.refused.reason)
    verdict = judgments.verdict(one.place)
    said = [_without_silence(heard.said) for heard in one.heard]
    standing: Standing = ()
    for answers in said:
        standing = tuple(combine(standing, answers)) if standing and answers else standing or tuple(answers)
    silent = next((heard for heard in one.heard if heard.state is State.UNANSWERABLE), None)
    bypasses = (*one.session.bypasses, *one.kin.bypasses)
    relaxed = relax(one.call, standing, one.session.context, bypasses, time.time()) if standing else ()
    decision = decide(one.call, tuple(relaxed) or (None,) * len(one.call.effects), one.session.version)
    if decision.effect is Effect.DENY:
        return Planned(call, Outcome.REFUSED, decision.reason)
    asks = decision.effect is Effect.ASK and any(answer is not None for answer in relaxed)
    if asks and decision.answer.code not in _UNREAD:
        return Planned(call, Outcome.ASKS, decision.reason, None, (), unasked)
    if asks:
        return Planned(call, Outcome.UNKNOWN, decision.reason, decision.answer.code.value, (), unasked)
    if silent is not None and verdict.reason is not None:
        cause = silent.cause or Cause.THREW
        return Planned(call, Outcome.UNKNOWN, verdict.reason._replace(subject=call.tool), cause.value, (), unasked)
    outcome = Outcome.ASKS if decision.effect is Effect.ASK else Outcome.PASSES
    return Planned(call, outcome, decision.reason, None, (), unasked)


def _without_silence(said: Sequence[Answer | None]) -> Sequence[Answer | None]:
    return [None if one is None or one.code is Code.LAYER_FAILED else one for one in said]


def _unreadable(call: PlannedCall, why: str) -> Planned:
    return Planned(call, Outcome.REFUSED, Reason(Code.CALL_UNREADABLE, LayerId.INTEGRITY, None, call.tool, why))


def _touched(call: JudgedCall) -> tuple[tuple[str, bool], ...]:
    """The canonical paths that the call touches, each with whether it writes there."""
    found: dict[str, bool] = {}
    for effect in call.effects:
        if effect.stamp is not None and effect.stamp.path:
            path = effect.stamp.path
            found[path] = found.get(path, False) or effect.cls is EffectClass.WRITE
    return tuple(found.items())


def _after(place: int, touched: Sequence[Sequence[tuple[str, bool]]]) -> tuple[int, ...]:
    """The places of earlier calls that write what this one touches, or something above or below it."""
    own = [path for path, _ in touched[place]]
    return tuple(
        earlier
        for earlier in range(place)
        if any(writes and any(_meet(path, mine) for mine in own) for path, writes in touched[earlier])
    )


def _meet(one: str, other: str) -> bool:
    return one == other or one.startswith(other.rstrip("/") + "/") or other.startswith(one.rstrip("/") + "/")
