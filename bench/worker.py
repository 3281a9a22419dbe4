"""A long-lived process that holds one engine with one workload: `python -m bench.worker ENGINE FILE`.

It speaks JSON lines on its standard input and output: first how loading went, then one answer to each order (`check`,
`time`, `tails`). Whatever an engine prints goes to standard error.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.reference import Floor, Reference
from bench.rivals import RIVALS
from bench.store import Stored, load
from bench.workload import GROUPS, MIXES, BenchCall

Session = tuple[str, str, str]


class Plain:
    """An engine whose timed call is `decide(call)`."""

    def __init__(self, decide: Callable[[Any], str]) -> None:
        self.decide = decide

    def ready(self, calls: Sequence[BenchCall]) -> list[Any]:
        return list(calls)

    def seconds(self, ready: list[Any]) -> float:
        decide, now = self.decide, time.perf_counter
        start = now()
        for call in ready:
            decide(call)
        return now() - start

    def each(self, ready: list[Any]) -> list[int]:
        decide, now, spent = self.decide, time.perf_counter_ns, []
        for call in ready:
            start = now()
            decide(call)
            spent.append(now() - start)
        return spent


class Bound(Plain):
    """Stanch: sessions are bound once; the timed call looks up its bound session in a dict and asks it."""

    def __init__(self, engine: Any, calls: dict[str, list[BenchCall]]) -> None:
        keys = {call[:3]: call[:3] for mix in calls.values() for call in mix}
        self._keys: dict[Session, Session] = keys
        self._sessions = {key: engine.bind(*key) for key in keys}
        super().__init__(lambda call: self._sessions[call[:3]](call[3], call[4]))

    def ready(self, calls: Sequence[BenchCall]) -> list[Any]:
        return [(self._keys[call[:3]], call[3], call[4]) for call in calls]

    def seconds(self, ready: list[Any]) -> float:
        sessions, now = self._sessions, time.perf_counter
        start = now()
        for key, tool, path in ready:
            sessions[key](tool, path)
        return now() - start

    def each(self, ready: list[Any]) -> list[int]:
        sessions, now, spent = self._sessions, time.perf_counter_ns, []
        for key, tool, path in ready:
            start = now()
            sessions[key](tool, path)
            spent.append(now() - start)
        return spent


def resident_megabytes() -> float:
    """The memory that this process holds at present (its peak where the system does not say)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def build(name: str, stored: Stored) -> tuple[Plain, dict[str, Any]]:
    """Load an engine with the rules. It is loaded once each group has answered a call: an index made late counts."""
    label, maker = name, None
    if name in RIVALS:
        module = import_module(RIVALS[name])
        known_as = getattr(module, "KNOWN_AS", module.DISTRIBUTION)
        label, maker = f"{known_as} {version(module.DISTRIBUTION).partition('.post')[0]}", module.Rival
    elif name == "ours":
        label, maker = "stanch", import_module("bench.ours").Ours
    elif name == "list":
        maker = Reference
    first = [next((call for call in stored.calls["random"] if call.group == group), None) for group in GROUPS]
    gc.collect()
    before, start = resident_megabytes(), time.perf_counter()
    if maker is None:
        engine: Any = Floor(pair for mix in MIXES for pair in zip(stored.calls[mix], stored.answers[mix], strict=True))
    else:
        engine = maker(stored.rules)
    for call in first:
        if call is not None:
            _ = engine.bind(*call[:3])(call[3], call[4]) if name == "ours" else engine.decide(call)
    loading = {"seconds": time.perf_counter() - start, "megabytes": resident_megabytes() - before, "label": label}
    return Bound(engine, stored.calls) if name == "ours" else Plain(engine.decide), loading


def check(engine: Plain, stored: Stored, order: dict[str, Any]) -> dict[str, Any]:
    """Hold answers against the reference: calls spread over the whole mix, until it is done or time is up."""
    calls, answers = stored.calls[order["mix"]], stored.answers[order["mix"]]
    stride = 7919  # a prime, so that the steps visit every call once
    checked, wrong, end = 0, [], time.perf_counter() + order["seconds"]
    for number in range(len(calls)):
        place = number * stride % len(calls)
        got = engine.decide(calls[place])
        checked += 1
        if got != answers[place]:
            wrong.append({"call": calls[place], "right": answers[place], "got": got})
        if checked >= order["least"] and time.perf_counter() > end:
            break
    return {"checked": checked, "wrong": len(wrong), "examples": wrong[:3]}


def measure(engine: Plain, stored: Stored, order: dict[str, Any]) -> dict[str, Any]:
    """Time the calls of a round from its first one on: as many as fit in the time, within the given bounds."""
    calls = stored.calls[order["mix"]]
    start = order["start"] % len(calls)
    segment = (calls[start:] + calls[:start])[: order["most"]]
    few = engine.ready(segment[:5])
    guess = engine.seconds(few) / len(few)
    count = min(len(segment), max(order["least"], int(order["seconds"] / max(guess, 1e-7))))
    ready = engine.ready(segment[:count])
    if order["do"] == "tails":
        spent = sorted(engine.each(ready))
        parts = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
        return {name: spent[min(int(len(spent) * part), len(spent) - 1)] / 1000 for name, part in parts.items()}
    return {"calls": count, "microseconds": engine.seconds(ready) / count * 1e6}


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=out, flush=True)

    logging.disable(logging.CRITICAL)
    stored = load(Path(sys.argv[2]))
    engine, loading = build(sys.argv[1], stored)
    say(loading)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        say(check(engine, stored, order) if order["do"] == "check" else measure(engine, stored, order))


if __name__ == "__main__":
    main()
