"""The judge at work: probes are stamped, foreign layers are asked in threads, and everything has one deadline.

Settles how a probe becomes a judged call, and which of several sessions' verdicts counts. Does not settle what the
answers mean (`judge.judge`), nor who is waited for, and how long (`app.judgments`).
INVARIANT: nothing is stored, nobody is notified, no hook and no approver is asked, and no grant or bypass counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from stanch.app.judgments import Judgments
from stanch.app.session import Session
from stanch.app.workers import Workers
from stanch.judge.judge import Heard, Panel
from stanch.judge.question import NO_FACTS, TOOLS, Facts, Probe
from stanch.policy.layers import Layer
from stanch.values.call import Manner, Reach, Signal
from stanch.values.fault import BadCall
from stanch.values.reason import Code, LayerId, Reason
from stanch.values.verdict import Cause, Face, State, Verdict

WORKERS = Workers(name="stanch-judge")
_STRICTEST = {State.NO_OBJECTION: 0, State.UNANSWERABLE: 1, State.ASK: 2, State.MANDATED_ASK: 2, State.DENY: 3}


class Judge:
    """Judges probes for a session and its ancestors: the strictest verdict counts. Safe to use from any thread.

    `sessions` are the engine's, the session's own first; those that one stands below judge along. `facts` are read anew
    for each judgment. `signal` ends with the run: then whatever is not answered yet is unanswerable. `seconds` is how
    long a judgment may take without a deadline; left out, as long as the policy has any layer waited for.
    """

    def __init__(
        self,
        sessions: Sequence[Session],
        *,
        facts: Callable[[], Facts] | None = None,
        signal: Signal | None = None,
        workers: Workers = WORKERS,
        seconds: float | None = None,
    ) -> None:
        self._facts, self._signal = facts, signal
        self._workers = workers
        self._seconds = sessions[0].patience if seconds is None else seconds
        self._benches = [_Bench(one) for session in sessions for one in session.line]

    def __call__(
        self, probe: Probe, *, deadline_at: float | None = None, hear: Callable[[Heard], None] | None = None
    ) -> Verdict:
        """The verdict on one probe.

        `deadline_at` is the moment, in milliseconds of the epoch, after which nobody is waited for. `hear` is told what
        each layer said, of the session first and then of its ancestors.
        """
        (verdict,) = self._judged((probe,), deadline_at, hear)
        return verdict

    def batch(self, probes: Iterable[Probe], *, deadline_at: float | None = None) -> list[Verdict]:
        """A verdict for each probe, in order. All of them have one deadline, and are judged at the same time."""
        return self._judged(probes, deadline_at, None)

    def _judged(
        self, probes: Iterable[Probe], deadline_at: float | None, hear: Callable[[Heard], None] | None
    ) -> list[Verdict]:
        left = self._seconds if deadline_at is None else deadline_at / 1000 - time.time()
        with Judgments(self._workers, left, self._signal) as judgments:
            sitting = [_Sitting(bench, judgments, hear) for bench in self._benches]
            plain: dict[tuple[Face, str | None], _Where] = {}
            kept = [self._begun(sitting, probe, plain) for probe in probes]
            judgments.settle()
        verdict = judgments.verdict
        return [verdict(line[0]) if len(line) == 1 else strictest([verdict(one) for one in line]) for line in kept]

    def _begun(
        self, sitting: Sequence[_Sitting], probe: Probe, plain: dict[tuple[Face, str | None], _Where]
    ) -> list[int]:
        """Begins the judgments of one probe, one for each session. `plain` is what holds where there are no facts."""
        face, cwd = probe.face, probe.cwd
        where = plain.get((face, cwd))
        if where is None:
            try:
                facts = NO_FACTS if self._facts is None else self._facts()
                where = sitting[0].where(face, facts if cwd is None else replace(facts, cwd=cwd))
            except BadCall as why:
                return [sitting[0].unread(str(why))]
            except Exception:
                return [sitting[0].unread("the facts of the call cannot be had")]
            if self._facts is None:
                plain[face, cwd] = where
        return [one.begin(probe, where) for one in sitting]


def strictest(verdicts: Sequence[Verdict]) -> Verdict:
    """The strictest of several verdicts on one probe, the earliest of equals: a deny, a held ask, then no answer."""
    return max(verdicts, key=lambda one: _STRICTEST[one.state])


class _Where(NamedTuple):
    """Where the paths of a probe start, a canonical path, and how it is judged."""

    base: str
    manner: Manner


class _Bench:
    """One session with its layers as the judge asks them, made anew when the session's layers are others."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._panels: dict[Face, tuple[tuple[Layer, ...], Panel]] = {}

    def panel(self, face: Face, layers: tuple[Layer, ...]) -> Panel:
        """The layers, those made of rules fitting both names of the probed tool."""
        known = self._panels.get(face)
        if known is None or known[0] is not layers:
            _, builtin = TOOLS[face]
            known = self._panels[face] = layers, Panel(face, [_probed(layer, builtin) for layer in layers])
        return known[1]


class _Sitting:
    """One session while a batch is judged: by one snapshot of its layers."""

    def __init__(self, bench: _Bench, judgments: Judgments, hear: Callable[[Heard], None] | None) -> None:
        layers = bench.session.layers_now()
        self._judgments, self._hear = judgments, hear
        self._session, self._stamp = bench.session, bench.session.engine.stamper.probed
        self._panels = {face: bench.panel(face, layers) for face in Face}
        self._bases: dict[str | None, str] = {}

    def where(self, face: Face, facts: Facts) -> _Where:
        """Where the paths of a probe start, and how it is judged. Raises `BadCall`."""
        base = self._bases.get(facts.cwd)
        if base is None:
            base = self._bases[facts.cwd] = self._session.base(facts.cwd)
        told: Mapping[str, Any] = {"tool": facts.tool, "cwd": base}
        if face is Face.WRITE:
            told = {**told, "root": facts.root, "writable": facts.writable, "exempt": facts.exempt}
        return _Where(base, Manner(Reach.NONE, None, told))

    def begin(self, probe: Probe, where: _Where) -> int:
        """Begins to judge a probe; the place of the judgment."""
        face, base, manner = probe.face, *where
        try:
            call = self._stamp(probe.call, TOOLS[face][1], probe.file_path, base, manner)
        except BadCall as why:
            return self.unread(str(why))
        return self._judgments.begin(call, self._panels[face], self._hear)

    def unread(self, why: str) -> int:
        """The place of a judgment that cannot be begun."""
        reason = Reason(Code.CALL_UNREADABLE, LayerId.INTEGRITY, None, "", why)
        verdict = Verdict(State.UNANSWERABLE, LayerId.INTEGRITY, reason, Cause.CALL_UNREADABLE)
        return self._judgments.ended(verdict)


def _probed(layer: Layer, also: str) -> Layer:
    """The layer for a probe whose tool is known by another name as well; itself where no rule makes it."""
    probed = getattr(layer, "probed", None)
    return layer if probed is None else probed(also)
