"""Rules alone: how long one decision takes at 10 to 10,000 rules, beside the engines that one would pick instead.

Whole calls are never memoised. The targets are for the `random` mix, where nearly every call is new.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from bench.contest import FLOOR, FULL, LIST, OURS, QUICK, Figures, compete
from bench.pool import progress
from bench.rivals import RIVALS
from bench.rows import Row, Target, duration, markdown, save, short
from bench.workload import MIXES

SIZES = (10, 100, 1_000, 10_000)
FASTER = {
    "cedarpy": (30, 50, 250, 2_500),
    "agt": (12, 45, 4_000),
    "pycasbin": (75, 175, 800, 5_000),
    "regorus": (15, 50, 400, 3_000),
    "vakt": (4, 18, 130, 1_100),
}
FLOOR_LIMIT = {10: 5.0, 100: 5.0, 1_000: 5.0, 10_000: 8.0}
STEADY = ("random", "session")


def _median_row(
    what: str, rival: str, sizes: str, ratios: list[float], unit: str, target: Target | None, note: str
) -> Row:
    middle = statistics.median(ratios)
    return Row(what, rival, sizes, middle, unit, target, note, min(ratios), max(ratios))


def _both(figures: Figures, engine: str, size: int, mix: str) -> str:
    return " against ".join(duration(figures.time(name, size, mix)) for name in (OURS, engine))


def against_rivals(figures: Figures) -> Iterable[Row]:
    for engine, bounds in FASTER.items():
        for size, bound in zip(SIZES, bounds, strict=False):
            ratios = figures.ratios[engine, size, "random"]
            note, target, label = (
                _both(figures, engine, size, "random"),
                Target("at least", bound),
                figures.labels[engine],
            )
            yield _median_row("rules alone, random calls", label, f"{size:,}", ratios, "times as fast", target, note)


def against_list(figures: Figures) -> Iterable[Row]:
    for size in SIZES:
        medians = {mix: statistics.median(figures.ratios[LIST, size, mix]) for mix in MIXES}
        worst = min(medians, key=lambda mix: medians[mix])
        note = f"{worst}: {_both(figures, LIST, size, worst)}"
        ratios, target = figures.ratios[LIST, size, worst], Target("at least", 1.0)
        what = "rules alone, the mix that suits the rival best"
        yield _median_row(what, "list of precompiled patterns", f"{size:,}", ratios, "times as fast", target, note)


def against_floor(figures: Figures) -> Iterable[Row]:
    for mix in STEADY:
        for size in SIZES:
            ratios = [1 / ratio for ratio in figures.ratios[FLOOR, size, mix]]
            note, target = _both(figures, FLOOR, size, mix), Target("at most", FLOOR_LIMIT[size])
            yield _median_row(
                f"rules alone, {mix} calls", "one dict look-up", f"{size:,}", ratios, "times", target, note
            )


def growth(figures: Figures) -> Iterable[Row]:
    low, high = SIZES[0], SIZES[-1]
    for engine in (OURS, LIST, *RIVALS):
        for mix in STEADY:
            last = high if figures.times[engine, high, mix] else SIZES[-2]
            few, many = figures.times[engine, low, mix], figures.times[engine, last, mix]
            ratios = [after / before for before, after in zip(few, many, strict=True)]
            label = "itself" if engine == OURS else figures.labels[engine]
            target = Target("at most", 1.3) if engine == OURS else None
            note = " to ".join(duration(statistics.median(times)) for times in (few, many))
            yield _median_row(f"growth, {mix} calls", label, f"{low:,} to {last:,}", ratios, "times", target, note)


def tails(figures: Figures) -> Iterable[Row]:
    for mix in STEADY:
        for size in SIZES:
            seen = figures.tails[size, mix]
            ratios = [tail["p99"] / tail["p50"] for tail in seen]
            note = ", ".join(f"{name} {duration(statistics.median(tail[name] for tail in seen))}" for name in seen[0])
            what, target = f"steady tail, {mix} calls", Target("at most", 3.0)
            yield _median_row(what, "p99 to its own p50", f"{size:,}", ratios, "times", target, note)


def loading(figures: Figures) -> Iterable[Row]:
    size = f"{SIZES[-1]:,}"
    others = {
        engine: [statistics.median(part) for part in zip(*seen, strict=True)]
        for engine, seen in figures.loads.items()
        if engine != OURS
    }
    seconds = [load[0] for load in figures.loads[OURS]]
    memory = [load[1] for load in figures.loads[OURS]]
    slow = "; ".join(f"{figures.labels[name]} {duration(load[0] * 1e6)}" for name, load in others.items())
    large = "; ".join(f"{figures.labels[name]} {short(max(load[1], 0))} MB" for name, load in others.items())
    yield _median_row("load and index", "", size, seconds, "s", Target("at most", 0.2), slow)
    yield _median_row("memory of the index", "", size, memory, "MB", Target("at most", 20.0), large)


def _all_medians(figures: Figures) -> str:
    engines = [name for name in (OURS, FLOOR, LIST, *RIVALS) if name in figures.labels]
    lines = [
        [f"{size:,}", mix]
        + [duration(figures.time(name, size, mix)) if figures.times[name, size, mix] else "" for name in engines]
        for size in SIZES
        for mix in MIXES
    ]
    checked = "; ".join(f"{figures.labels[name]} {figures.checked[name]:,}" for name in engines)
    table = markdown(["rules", "mix", *(figures.labels[name] for name in engines)], lines)
    return f"Median time of one decision:\n\n{table}\nCalls held against the reference, none wrong: {checked}.\n"


def run(quick: bool) -> list[Row]:
    plan = QUICK if quick else FULL
    figures = compete(SIZES, plan)
    rows = [
        row for part in (against_rivals, against_list, against_floor, growth, tails, loading) for row in part(figures)
    ]
    details = {
        "labels": figures.labels,
        "checked": dict(figures.checked),
        "microseconds": [
            {"engine": engine, "rules": size, "mix": mix, "rounds": times}
            for (engine, size, mix), times in figures.times.items()
            if times
        ],
    }
    save("rules", rows, quick=quick, details=details, fragment=_all_medians(figures))
    progress("rules: bench/results/rules.json and rules.md are written")
    return rows
