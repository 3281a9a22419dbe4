"""Hostile path patterns: 32 stars held against a path of 4,096 characters, which must take linear time whatever comes.

The right answers come from a plain walk over sets of positions (`matches`), which cannot blow up. A translation to
regular expressions, the usual way, can: `re` and wcmatch run under a time-out, and what does not come back within it is
shown as that. RE2 is linear by design.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable

from bench.environments import rivals_python
from bench.pool import Worker, WorkerError, progress
from bench.rows import Row, Target, duration, markdown, save

LENGTH = 4096
LIMIT = 200.0  # microseconds
TIME_OUT = 3.0  # seconds
STARS = 32


def _padded(head: str, filler: str, tail: str) -> str:
    """A path of exactly LENGTH characters: a head, a repeated filler, a tail."""
    room = LENGTH - len(head) - len(tail)
    return head + (filler * (room // len(filler) + 1))[:room] + tail


CASES: dict[str, tuple[str, str]] = {
    "in one name, no match": ("/" + "a*" * STARS + "b", _padded("/", "a", "c")),
    "in one name, match": ("/" + "a*" * STARS + "b", _padded("/", "a", "b")),
    "in one name, letters apart": ("/" + "*a" * STARS + "*b", _padded("/", "xa", "y")),
    "one to a name, no match": ("/*a" * STARS + "/b", _padded("", "/a", "a/c")),
    "double stars, no match": ("/**/a" * STARS + "/b", _padded("", "/a", "a/c")),
    "double stars, match": ("/**/a" * STARS + "/b", _padded("", "/a", "aaa/a/b")),
    "both kinds, no match": ("/**/*a" * (STARS // 2) + "/b", _padded("", "/xa", "/c")),
}


def matches(pattern: str, path: str) -> bool:
    """The dialect by its definition: sets of reached positions, component by component."""

    def name_fits(glob: str, name: str) -> bool:
        reached = {0}
        for char in glob:
            if char == "*":
                reached = set(range(min(reached), len(name) + 1)) if reached else reached
            else:
                reached = {at + 1 for at in reached if at < len(name) and char in ("?", name[at])}
        return len(name) in reached

    names = path.removeprefix("/").split("/")
    reached = {0}
    for part in pattern.removeprefix("/").split("/"):
        if part == "**":
            reached = set(range(min(reached), len(names) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(names) and name_fits(part, names[at])}
    return bool(reached)  # a match of the first components is a directory that covers the rest


def _compiler(engine: str) -> Callable[[str], Callable[[str], object]]:
    """Each engine's way from a pattern to a matcher."""
    if engine == "ours":
        from bench.ours import compile_pattern

        return compile_pattern
    from importlib import import_module
    from typing import Any

    from bench.reference import path_expression

    if engine == "wcmatch":
        glob: Any = import_module("wcmatch.glob")

        def compiled(pattern: str) -> Callable[[str], object]:
            found: Callable[[str], object] = glob.compile(
                [pattern, f"{pattern}/**"], flags=glob.GLOBSTAR | glob.DOTGLOB | glob.FORCEUNIX
            ).match
            return found

        return compiled
    module: Any = import_module("re2" if engine == "google-re2" else "re")
    anchor = r"\z" if engine == "google-re2" else r"\Z"
    return lambda pattern: module.compile("(?s)" + path_expression(pattern).replace(r"\Z", anchor)).match


def worker_main(engine: str) -> None:
    """Answer orders on standard input: the case's name in, its answer and the time of each of some calls out."""
    import json
    import time

    compile_pattern = _compiler(engine)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        pattern, path = CASES[order["case"]]
        match = compile_pattern(pattern)
        answer = bool(match(path))
        spent = []
        for _ in range(order["calls"]):
            start = time.perf_counter_ns()
            match(path)
            spent.append((time.perf_counter_ns() - start) / 1000)
        print(json.dumps({"answer": answer, "microseconds": statistics.median(spent) if spent else None}), flush=True)


ENGINES = {
    "ours": "",
    "google-re2": "google-re2, the same pattern translated",
    "wcmatch": "wcmatch",
    "re": "Python's re, the same pattern translated",
}


class _Contender:
    """One engine's process; a case that ran into the time-out ends the process, and that engine's part in the case."""

    def __init__(self, engine: str, python: str) -> None:
        self._engine, self._python = engine, python
        self._worker = self._started()
        self.times: dict[str, list[float]] = {case: [] for case in CASES}
        self.timed_out: set[str] = set()

    def _started(self) -> Worker:
        worker = Worker(self._python, "bench.patterns", self._engine)
        worker.answer()
        return worker

    def ask(self, case: str, calls: int) -> None:
        if case in self.timed_out:
            return
        try:
            if not self.times[case]:  # one call alone first, so that a slow one is known as such
                self._worker.ask({"case": case, "calls": 0}, patience=TIME_OUT)
            got = self._worker.ask({"case": case, "calls": calls}, patience=TIME_OUT * (calls + 1))
        except WorkerError:
            if self._engine == "ours":
                raise
            self.timed_out.add(case)
            self._worker = self._started()
            return
        right = matches(*CASES[case])
        if got["answer"] is not right:
            raise WorkerError(f"{self._engine}, {case}: answered {got['answer']}, right is {right}")
        self.times[case].append(got["microseconds"])

    def close(self) -> None:
        self._worker.close()


def run(quick: bool) -> list[Row]:
    rounds, calls = (5, 20) if quick else (15, 50)
    rivals = rivals_python()
    contenders: dict[str, _Contender] = {}
    try:
        for engine in ENGINES:
            contenders[engine] = _Contender(engine, sys.executable if engine in ("ours", "re") else rivals)
        for number in range(rounds):
            for case in CASES:
                for contender in contenders.values():
                    contender.ask(case, calls)
            progress(f"patterns: round {number + 1} of {rounds} is done")
    finally:
        for contender in contenders.values():
            contender.close()
    rows = _rows(contenders)
    save("patterns", rows, quick=quick, fragment=_all_medians(contenders))
    return rows


def _rows(contenders: dict[str, _Contender]) -> list[Row]:
    """Each engine in the case that is worst for it; a rival against ours in that same case."""
    what, size = "path pattern, the worst case of each engine", f"{STARS} stars, {LENGTH:,} characters"
    own = contenders["ours"].times
    worst = max(CASES, key=lambda case: statistics.median(own[case]))
    target = Target("at most", LIMIT)
    rows = [Row(what, "", size, statistics.median(own[worst]), "µs", target, worst, min(own[worst]), max(own[worst]))]
    for engine, label in list(ENGINES.items())[1:]:
        theirs, lost = contenders[engine].times, contenders[engine].timed_out
        if lost:
            least = min(TIME_OUT * 1e6 / statistics.median(own[case]) for case in lost)
            note = f"no answer in {TIME_OUT:g} s in {len(lost)} of {len(CASES)} cases"
            rows.append(Row(what, label, size, least, "times as fast, or more", None, note))
            continue
        worst = max(CASES, key=lambda case: statistics.median(theirs[case]))
        ratios = [other / ours for other, ours in zip(theirs[worst], own[worst], strict=True)]
        note = (
            f"{worst}: {duration(statistics.median(own[worst]))} against {duration(statistics.median(theirs[worst]))}"
        )
        middle = statistics.median(ratios)
        rows.append(Row(what, label, size, middle, "times as fast", None, note, min(ratios), max(ratios)))
    return rows


def _all_medians(contenders: dict[str, _Contender]) -> str:
    def cell(engine: str, case: str) -> str:
        times = contenders[engine].times[case]
        return duration(statistics.median(times)) if times else f"no answer in {TIME_OUT:g} s"

    lines = [[case, *(cell(engine, case) for engine in ENGINES)] for case in CASES]
    return "Median time of one match:\n\n" + markdown(["case", *ENGINES], lines)


if __name__ == "__main__":
    worker_main(sys.argv[1])
