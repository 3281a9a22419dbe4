"""Engines side by side: every one loaded at every size, all checked, then timed in turn, round after round.

One process per engine and size lives through the whole run, and only one works at a time. A round visits each size and
mix; there, our engine, the list and the floor are timed in turn three times over, then each rival once, on the same
calls. A ratio is the median of the ratios of single rounds, so that a slow moment of the machine hits both sides.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench import store
from bench.environments import rivals_python
from bench.pool import Worker, WorkerError, progress
from bench.rivals import RIVALS
from bench.workload import MIXES

OURS, LIST, FLOOR = "ours", "list", "floor"
TRIO = (OURS, LIST, FLOOR)
REPEATS = 3
NOT_AT = {("agt", 10_000)}  # a tenth of a second a call


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure: rounds, calls of a mix, calls of one timing, and seconds for a rival's timing and check."""

    rounds: int
    calls: int
    segment: int
    rival_seconds: float
    check_seconds: float
    rival_mixes: tuple[str, ...]
    loads: int

    def least(self, size: int) -> int:
        """The fewest calls that a rival's timing may hold, so that one odd call does not decide it."""
        return 200 if size >= 10_000 else 50


QUICK = Plan(3, 8_000, 3_000, 0.05, 0.8, ("random", "session"), 3)
FULL = Plan(9, 30_000, 6_000, 0.25, 6.0, MIXES, 5)
Key = tuple[str, int, str]


@dataclass(slots=True)
class Figures:
    """What came out. `times` has one figure a round, in microseconds a call; `faster` ratios to ours, one a round."""

    labels: dict[str, str] = field(default_factory=dict)
    checked: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    times: dict[Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    ratios: dict[Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    tails: dict[tuple[int, str], list[dict[str, float]]] = field(default_factory=lambda: defaultdict(list))
    loads: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))

    def time(self, engine: str, size: int, mix: str) -> float:
        """The median time of a call."""
        return statistics.median(self.times[engine, size, mix])


def start(engine: str, size: int, plan: Plan, rivals: str) -> Worker:
    """A process for one engine at one size."""
    python = rivals if engine in RIVALS else sys.executable
    return Worker(python, "bench.worker", engine, str(store.prepare(size, plan.calls)))


def check(workers: dict[tuple[str, int], Worker], plan: Plan, figures: Figures) -> None:
    """Hold every engine against the reference in every mix; one wrong answer ends the run."""
    for (engine, size), worker in workers.items():
        checked = 0
        for mix in MIXES:
            thorough = engine in TRIO
            seconds = 600.0 if thorough else plan.check_seconds / len(MIXES)
            got = worker.ask({"do": "check", "mix": mix, "seconds": seconds, "least": 25}, patience=700)
            if got["wrong"]:
                raise WorkerError(f"{engine} at {size} rules, {mix}: {got['wrong']} wrong answers, {got['examples']}")
            checked += got["checked"]
        figures.checked[engine] += checked
        progress(f"{figures.labels[engine]} at {size:,} rules: {checked:,} calls agree with the reference")


def one_round(
    number: int, sizes: Sequence[int], workers: dict[tuple[str, int], Worker], plan: Plan, figures: Figures
) -> None:
    """Time every engine once (ours, list and floor three times) at each size in each mix."""

    def ask(engine: str, size: int, mix: str, do: str = "time") -> dict[str, float]:
        quick = engine in (OURS, FLOOR)
        order = {
            "do": do,
            "mix": mix,
            "start": number * plan.segment,
            "most": plan.segment,
            "seconds": 60.0 if quick else plan.rival_seconds,
            "least": plan.segment if quick else plan.least(size),
        }
        return workers[engine, size].ask(order)

    for size in sizes:
        for mix in MIXES:
            own = []
            for _ in range(REPEATS):
                trio = {engine: ask(engine, size, mix)["microseconds"] for engine in TRIO}
                own.append(trio[OURS])
                for engine, spent in trio.items():
                    figures.times[engine, size, mix].append(spent)
                    figures.ratios[engine, size, mix].append(spent / trio[OURS])
            figures.tails[size, mix].append(ask(OURS, size, mix, "tails"))
            for engine in RIVALS:
                if (engine, size) in workers and mix in plan.rival_mixes:
                    spent = ask(engine, size, mix)["microseconds"]
                    figures.times[engine, size, mix].append(spent)
                    figures.ratios[engine, size, mix].append(spent / statistics.median(own))


def compete(sizes: Sequence[int], plan: Plan) -> Figures:
    """The whole contest."""
    figures = Figures()
    rivals = rivals_python()
    workers: dict[tuple[str, int], Worker] = {}
    try:
        for size in sizes:
            progress(f"making the rules and calls for {size:,} rules, unless they are there")
            store.prepare(size, plan.calls)
            for engine in (*TRIO, *RIVALS):
                if (engine, size) not in NOT_AT:
                    workers[engine, size] = start(engine, size, plan, rivals)
                    figures.labels[engine] = workers[engine, size].answer()["label"]
        check(workers, plan, figures)
        for number in range(plan.rounds):
            one_round(number, sizes, workers, plan, figures)
            progress(f"round {number + 1} of {plan.rounds} is done")
    finally:
        for worker in workers.values():
            worker.close()
    for number in range(plan.loads):
        for engine in (OURS, LIST, *RIVALS):
            if (engine, sizes[-1]) not in NOT_AT:
                worker = start(engine, sizes[-1], plan, rivals)
                loading = worker.answer()
                worker.close()
                figures.loads[engine].append((loading["seconds"], loading["megabytes"]))
        progress(f"loading, {number + 1} of {plan.loads}, is done")
    return figures
