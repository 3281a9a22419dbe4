"""The judge at work: probes are stamped, foreign layers are asked in threads, and everything has one deadline.

Settles who is waited for, and how long. Does not settle what the answers mean (`judge.judge`), nor what a consumer makes
of a verdict (`judge.notices`).
INVARIANT: nothing is stored, nobody is notified, no hook and no approver is asked, and no grant or bypass counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from stanch.app.engine import Session
from stanch.app.foreign import shown
from stanch.app.workers import Workers
from stanch.judge.judge import TOO_LATE, Heard, Judging, judge
from stanch.judge.question import NO_FACTS, TOOLS, Facts, Probe
from stanch.policy.layers import Layer, LayerAnswer
from stanch.policy.persisted import PersistedRules, ProbedRules
from stanch.policy.walk import THREW
from stanch.values.call import JudgedCall, Manner, Reach, Signal, ToolCall
from stanch.values.fault import BadCall
from stanch.values.reason import Code, LayerId, Reason
from stanch.values.verdict import Cause, Face, State, Verdict

SECONDS = 5.0
"""How long a judgment may take that brings no deadline along."""
WORKERS = Workers(name="stanch-judge")
_LOOK = 0.02
_STRICTEST = {State.NO_OBJECTION: 0, State.UNANSWERABLE: 1, State.ASK: 2, State.MANDATED_ASK: 2, State.DENY: 3}


class Judge:
    """Judges probes for a session and its ancestors: the strictest verdict counts. Safe to use from any thread.

    `sessions` are the engine's, the session's own first. `facts` are read anew for each judgment. `signal` ends with the
    run: then whatever is not answered yet is unanswerable.
    """

    def __init__(
        self,
        sessions: Sequence[Session],
        *,
        facts: Callable[[], Facts] = lambda: NO_FACTS,
        signal: Signal | None = None,
        workers: Workers = WORKERS,
        seconds: float = SECONDS,
    ) -> None:
        self._sessions, self._facts, self._signal = tuple(sessions), facts, signal
        self._workers, self._seconds = workers, seconds
        self._probed: dict[tuple[int, Face], tuple[tuple[Layer, ...], tuple[Layer, ...]]] = {}

    def __call__(
        self, probe: Probe, *, deadline: float | None = None, hear: Callable[[Heard], None] | None = None
    ) -> Verdict:
        """The verdict on one probe. `deadline` is the moment, in epoch seconds, after which nobody is waited for."""
        (verdict,) = self.batch((probe,), deadline=deadline, hear=hear)
        return verdict

    def batch(
        self,
        probes: Iterable[Probe],
        *,
        deadline: float | None = None,
        hear: Callable[[Heard], None] | None = None,
    ) -> list[Verdict]:
        """A verdict for each probe, in order. All of them have one deadline, and are judged at the same time."""
        until = time.time() + self._seconds if deadline is None else deadline
        asking = _Batch(self._workers, until, self._signal)
        kept = [[self._begun(asking, session, probe, hear) for session in self._sessions] for probe in probes]
        asking.settle()
        return [strictest([_UNJUDGED if one.verdict is None else one.verdict for one in line]) for line in kept]

    def _begun(
        self, asking: _Batch, session: Session, probe: Probe, hear: Callable[[Heard], None] | None
    ) -> _Judgment:
        call = self._call(session, probe)
        if isinstance(call, Verdict):
            return _Judgment(None, verdict=call)
        run = judge(call, probe.face, self._layers(session, probe.face), asking.spent, hear)
        return asking.begin(run, call)

    def _call(self, session: Session, probe: Probe) -> JudgedCall | Verdict:
        """The probe, stamped as the gate stamps the built-in tool of its face."""
        _, builtin = TOOLS[probe.face]
        try:
            base = session.base(self._sessions[0].base(probe.cwd))
            stamped = session.engine.stamper.judged(ToolCall(builtin, {"path": probe.file_path}, probe.id), base)
        except BadCall as why:
            reason = Reason(Code.CALL_UNREADABLE, LayerId.INTEGRITY, None, "", str(why))
            return Verdict(State.UNANSWERABLE, LayerId.INTEGRITY, reason, Cause.CALL_UNREADABLE)
        manner = Manner(Reach.NONE, None, _told(self._facts(), base) if probe.face is Face.WRITE else {})
        return stamped._replace(call=probe.call, manner=manner)

    def _layers(self, session: Session, face: Face) -> Sequence[Layer]:
        """The session's layers of now, its rules fitting both names of the probed tool."""
        layers = session.layers_now()
        known = self._probed.get((id(session), face))
        if known is None or known[0] is not layers:
            _, builtin = TOOLS[face]
            probed = tuple(ProbedRules(one, builtin) if type(one) is PersistedRules else one for one in layers)
            known = self._probed[id(session), face] = layers, probed
        return known[1]


def strictest(verdicts: Sequence[Verdict]) -> Verdict:
    """The strictest of several verdicts on one probe, the earliest of equals: a deny, a held ask, then no answer."""
    return max(verdicts, key=lambda one: _STRICTEST[one.state])


_UNJUDGED = Verdict(State.UNANSWERABLE, LayerId.INTEGRITY, None, Cause.TIMED_OUT)


def _told(facts: Facts, base: str) -> Mapping[str, Any]:
    return {
        "tool": facts.tool,
        "cwd": base,
        "root": facts.root,
        "writable": facts.writable,
        "exempt": facts.exempt,
    }


@dataclass(slots=True)
class _Judgment:
    """One judgment under way."""

    run: Judging | None
    call: JudgedCall | None = None
    verdict: Verdict | None = None
    work: Callable[[], None] | None = None
    signal: threading.Event = field(default_factory=threading.Event)


class _Batch:
    """Judgments with one deadline: each goes on as far as it can, and the answers of foreign layers come as they come."""

    def __init__(self, workers: Workers, until: float, signal: Signal | None) -> None:
        self._workers, self._until, self._signal = workers, until, signal
        self._came: SimpleQueue[tuple[_Judgment, threading.Event, LayerAnswer]] = SimpleQueue()
        self._open: set[int] = set()
        self._all: list[_Judgment] = []

    def spent(self) -> bool:
        """True once nobody is waited for any more."""
        return time.time() >= self._until or (self._signal is not None and self._signal.is_set())

    def begin(self, run: Judging, call: JudgedCall) -> _Judgment:
        """Starts a judgment, up to its first foreign layer."""
        one = _Judgment(run, call)
        self._go_on(one, None)
        return one

    def settle(self) -> None:
        """Waits until each judgment has its verdict, at most until the deadline."""
        while self._open:
            left = self._until - time.time()
            try:
                one, signal, answer = self._came.get(timeout=max(0.0, min(left, _LOOK) if self._signal else left))
            except Empty:
                if self.spent():
                    break
                continue
            signal.set()
            if one.signal is signal:
                self._go_on(one, answer)
        for one in self._all:
            if one.verdict is None:
                if one.work is not None:
                    self._workers.drop(one.work)
                one.signal.set()
                self._go_on(one, TOO_LATE)

    def _go_on(self, one: _Judgment, answer: LayerAnswer | None) -> None:
        run, call = one.run, one.call
        if run is None or call is None:
            return
        try:
            layer = next(run) if answer is None else run.send(answer)
        except StopIteration as done:
            one.verdict, one.work = done.value, None
            self._open.discard(id(one))
            return
        one.signal = threading.Event()
        one.work = partial(self._ask, one, call, layer, one.signal)
        if id(one) not in self._open:
            self._open.add(id(one))
            self._all.append(one)
        self._workers.give(one.work)

    def _ask(self, one: _Judgment, call: JudgedCall, layer: Layer, signal: threading.Event) -> None:
        if signal.is_set():
            return
        try:
            answer = layer.ask(shown(call._replace(manner=call.manner._replace(signal=signal))))
        except BaseException:  # whatever it raises is no answer, and must not end more than its own question
            answer = THREW
        self._came.put((one, signal, answer))
