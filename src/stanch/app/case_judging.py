"""Cases about files that nobody has asked for: what must come of them on each face.

Settles when such a case fails. Does not settle how one is written (`app.case_probes`), nor through which door it is
asked (`app.case_runner`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stanch.app.case_places import Place
from stanch.app.case_records import Judged, Probed
from stanch.app.case_told import Mismatch, short
from stanch.app.judging import Judge
from stanch.app.session import Session
from stanch.explain.verdicts import verdict_json
from stanch.judge.notices import Consumer, goes_on
from stanch.judge.question import Probe
from stanch.values.fault import Fault
from stanch.values.verdict import Cause, Face, State, Verdict

USUAL = "attachment"
Ask = Callable[[Place, Probed, Face], "dict[str, Any] | str"]
"""A door asked about a probe: the record of its verdict, or the words of the fault that it ends with."""


def played(place: Place, act: Probed, ask: Ask) -> list[Mismatch]:
    """Everything that came of the probe otherwise than the case says, on each face that it speaks of."""
    found: list[Mismatch] = []
    for face, wanted in act.wanted.items():
        got = ask(place, act, face)
        found += [
            Mismatch(f"{face.value} of {short(repr(act.path))}: {one.wanted}", one.got)
            for one in _held(place, wanted, got)
        ]
    if act.goes_on is not None:
        going = {one.value for one in Consumer if _goes_on(one, place, act, ask)}
        if going != act.goes_on:
            wanted_words = ", ".join(sorted(act.goes_on)) or "nobody"
            found.append(Mismatch(f"who goes on: {wanted_words}", ", ".join(sorted(going)) or "nobody"))
    return found


def _goes_on(consumer: Consumer, place: Place, act: Probed, ask: Ask) -> bool:
    """Whether this one goes on, by what it is told when it asks."""
    got = ask(place, replace(act, options={**act.options, "face": consumer.value}), consumer.face)
    if isinstance(got, str):
        return False
    cause = got.get("cause")
    return goes_on(consumer, Verdict(State(got["verdict"]), None, None, None if cause is None else Cause(cause)))


def _held(place: Place, wanted: Judged, got: Mapping[str, Any] | str) -> list[Mismatch]:
    if isinstance(got, str) or wanted.fault is not None:
        said = place.shown(got) if isinstance(got, str) else str(got)
        fits = isinstance(got, str) and wanted.fault is not None and wanted.fault in said
        return [] if fits else [Mismatch(f"fault: {wanted.fault}" if wanted.fault else str(wanted.record), short(said))]
    shown = {key: place.shown(str(value)) for key, value in got.items()}
    told = short(", ".join(f"{key}: {value}" for key, value in shown.items()))
    found = [Mismatch(f"{key}: {value}", told) for key, value in wanted.record.items() if shown.get(key) != value]
    words = f"{shown.get('message', '')}{shown.get('reason', '')}"
    found += [Mismatch(f"words with {text!r}", told) for text in wanted.says if text not in words]
    return found + [Mismatch(f"a verdict without {text!r}", told) for text in wanted.hides if text in str(shown)]


def verdict_of(place: Place, session: Session, act: Probed, face: Face) -> dict[str, Any] | str:
    """What the judge of a session says, asked in this process: once by itself, and as one of a batch of three."""
    options = place.mapped(dict(act.options))
    signal = threading.Event()
    if options.get("ended"):
        signal.set()
    try:
        probe = Probe(
            face, options.get("face", USUAL), place.mapped(act.path),
            *(options.get(key) for key in ("cwd", "offset", "limit")),
        )  # fmt: skip
        judge = Judge([session], signal=signal)
        alone = verdict_json(judge(probe, deadline_at=_until(options)))
        several = [verdict_json(one) for one in judge.batch([probe] * 3, deadline_at=_until(options))]
    except Fault as fault:
        return str(fault)
    return alone if _same(several, alone) else f"a batch says otherwise: {several}"


def _same(several: Sequence[dict[str, Any]], alone: dict[str, Any]) -> bool:
    return all(one == alone for one in several)


def _until(options: Mapping[str, Any]) -> float | None:
    return time.time() * 1000 + options["deadline_ms"] if "deadline_ms" in options else None
