"""Secrets found in a log, beside other ways to find many texts in one; and what messages, streams and changes take.

The figure is a share: how fast a way is, where 1 is `bytes.find` of one needle that is not there, timed in the same
process and moment. It is found, not replaced. First it is checked that all ways that can find every occurrence cover
the same bytes; those that cannot are named so. Ways that take long are given less of the log.
"""

from __future__ import annotations

import random
import statistics
import string
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.environments import ROOT, rivals_python
from bench.pool import Worker, WorkerError, progress
from bench.rows import Row, Target, save
from bench.secrets_corpus import SIZES, message, prepare, secrets
from bench.secrets_worker import OURS
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret

EXACT = ("ahocorasick_rs, overlapping", "pyahocorasick", "hyperscan")
"""Those that report every occurrence, overlapping ones too."""
WAYS = (
    *EXACT,
    "ahocorasick_rs, leftmost longest",
    "re",
    "google-re2",
    "a replace loop",
    "detect-secrets",
    "Presidio, deny list",
)
UP_TO = {"re": 1_000, "a replace loop": 12_000, "Presidio, deny list": 1_000}
"""Beyond so many patterns a way takes minutes, or cannot be made."""
FOLDER = ROOT / "bench" / ".cache" / "secrets"
TARGETS = {(10, "enc"): 0.7, (1_000, "raw"): 0.8, (1_000, "enc"): 0.45, (10_000, "raw"): 0.28, (10_000, "enc"): 0.17}
LEAST_MB = 50.0
"""What the standard library alone has to do, in megabytes a second."""
KINDS = {"raw": "as they are", "enc": "in every form"}
CHECKED = 2_000_000
SECONDS = 1.5
"""A timing of a slow way is cut down to about so long."""


def run(quick: bool) -> list[Row]:
    megabytes, rounds = (8, 3) if quick else (32, 7)
    progress("secrets: making the log")
    prepare(FOLDER, megabytes)
    rows: list[Row] = []
    for count in SIZES:
        for kind in KINDS:
            rows += _searched(count, kind, megabytes, rounds)
    rows += _small(rounds)
    save("secrets", rows, quick=quick)
    return rows


def _searched(count: int, kind: str, megabytes: int, rounds: int) -> list[Row]:
    """All ways at one size, in turn, round after round."""
    python = rivals_python()
    sizes = f"{count:,} secrets {KINDS[kind]}"
    ways = [*OURS, *(name for name in WAYS if _fits(name, count, kind))]
    workers: dict[str, Worker] = {}
    ready: dict[str, dict[str, Any]] = {}
    try:
        for name in ways:
            progress(f"secrets: {sizes}: {name}")
            arguments = (name, str(FOLDER), str(count), kind, str(megabytes))
            worker = Worker(sys.executable if name in OURS else python, "bench.secrets_worker", *arguments)
            workers[name] = worker
            try:
                ready[name] = worker.answer()
            except WorkerError:
                progress(f"secrets: {name} cannot be made for {sizes}")
                workers.pop(name).close()
        covered = {name: worker.ask({"do": "check", "size": CHECKED})["covered"] for name, worker in workers.items()}
        for name in (*OURS, *EXACT):
            if kind == "raw" and name in covered and covered[name] != covered["stanch"]:
                raise WorkerError(f"{name} covers other bytes than stanch does, {sizes}")
        shares, speeds = _timed(workers, megabytes * 1_000_000, rounds)
    finally:
        for worker in workers.values():
            worker.close()
    rows = []
    for name in workers:
        middle = statistics.median(shares[name])
        speed = statistics.median(speeds[name])
        memory = max(ready[name]["megabytes"], 0)
        made = f"{speed:,.0f} MB/s; ready in {ready[name]['seconds'] * 1e3:,.1f} ms, {memory:.0f} MB"
        target = None
        if name == "stanch" and (count, kind) in TARGETS:
            target = Target("at least", TARGETS[count, kind])
        what = name if name in OURS or name in EXACT else f"{name} (leaves some)"
        rows.append(
            Row(
                what,
                "bytes.find of one",
                sizes,
                middle,
                "of its speed",
                target,
                made,
                min(shares[name]),
                max(shares[name]),
            )
        )
        if name == "stanch, standard library alone":
            rows.append(
                Row(
                    what,
                    "",
                    sizes,
                    speed,
                    "MB/s",
                    Target("at least", LEAST_MB),
                    "",
                    min(speeds[name]),
                    max(speeds[name]),
                )
            )
    return rows


def _fits(name: str, count: int, kind: str) -> bool:
    patterns = count * (12 if kind == "enc" else 1)
    return patterns <= UP_TO.get(name, 1_000_000) and (name != "detect-secrets" or (count, kind) == (10, "raw"))


def _timed(workers: dict[str, Worker], size: int, rounds: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    shares: dict[str, list[float]] = {name: [] for name in workers}
    speeds: dict[str, list[float]] = {name: [] for name in workers}
    given: dict[str, int] = {}
    for name, worker in workers.items():
        first = worker.ask({"do": "time", "size": 20_000})
        given[name] = min(size, max(20_000, int(20_000 * SECONDS / max(first["seconds"], 1e-5))))
    for _ in range(rounds):
        for name, worker in workers.items():
            got = worker.ask({"do": "time", "size": given[name], "repeats": 1 if given[name] > 1_000_000 else 3})
            shares[name].append(got["floor"] / got["seconds"])
            speeds[name].append(got["size"] / got["seconds"] / 1e6)
    return shares, speeds


def _small(rounds: int) -> list[Row]:
    """Messages, pieces of a stream, and one secret more."""
    rows = []
    whole, piece = message(2_048), message(64)
    for count in SIZES:
        progress(f"secrets: small texts, {count:,} secrets")
        known = Projector({name: Secret(value) for name, value in secrets(count).items()})
        text = message(64 * 500)
        pieces = [text[at : at + 64] for at in range(0, len(text), 64)]
        stream = known.stream()
        stream.feed(piece)
        assert known.text(whole) is whole
        sizes = f"{count:,} secrets in every form"
        took = [_cpu(lambda known=known: known.text(whole), 2_000) for _ in range(rounds)]  # type: ignore[misc]
        rows.append(_row("a message of 2 KB, projected", sizes, took, "µs", 6.0))
        took = [_cpu(lambda s=stream, p=pieces: list(map(s.feed, p)), 3) / 500 for _ in range(rounds)]  # type: ignore[misc]
        rows.append(_row("a piece of 64 bytes of a stream", sizes, took, "µs", 40.0))
        took = _added(known, rounds)
        rows.append(_row("one secret more", sizes, [one / 1e3 for one in took], "ms", 1.0))
    return rows


def _added(known: Projector, rounds: int) -> list[float]:
    drawn = random.Random(9)
    took = []
    for _ in range(rounds * 16):
        fresh = Secret("ghp_" + "".join(drawn.choices(string.ascii_letters + string.digits, k=36)))
        started = time.process_time()
        known = known.adding("FRESH", fresh)
        took.append((time.process_time() - started) * 1e6)
    return took


def _row(what: str, sizes: str, took: list[float], unit: str, most: float) -> Row:
    return Row(
        what, "", sizes, statistics.median(took), unit, Target("at most", most), "CPU time", min(took), max(took)
    )


def _cpu(work: Callable[[], object], repeats: int) -> float:
    """How long one call takes, in microseconds of CPU time."""
    started = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - started) / repeats * 1e6
