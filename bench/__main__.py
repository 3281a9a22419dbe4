"""Run benchmarks: `python -m bench [--quick] [rules] [patterns] ...`; with no names, all of them.

Each suite is a module of this package with `run(quick: bool) -> list[Row]`; to add one, write it and name it in SUITES.
Every suite writes `bench/results/<name>.json` and `.md`; the table of all rows goes to `bench/results/summary.md`.
The exit status is 1 if a target was missed and `--strict` was given, and never depends on times otherwise.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from bench.pool import progress
from bench.rows import RESULTS, Row, machine, markdown_rows, mode, show

SUITES = ("rules", "patterns", "gate", "judge", "shell", "benign", "http", "approval", "history", "proxy", "secrets")


def main() -> int:
    summary, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="python -m bench", description=summary, epilog=more)
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"one of: {', '.join(SUITES)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a few minutes in all")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target was missed")
    chosen = parser.parse_args()
    unknown = set(chosen.suites) - set(SUITES)
    if unknown:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    for name in chosen.suites or SUITES:
        progress(f"suite {name}, {mode(chosen.quick)}")
        found: list[Row] = import_module(f"bench.{name}").run(chosen.quick)
        show(name, found)
        rows += found
    RESULTS.mkdir(exist_ok=True)
    text = f"{machine()}, {mode(chosen.quick)}.\n\n{markdown_rows(rows)}"
    (RESULTS / "summary.md").write_text(text, encoding="utf-8")
    print(f"\n{text}")
    missed = sum(row.met is False for row in rows)
    progress(f"{len(rows)} rows, {missed} targets missed; bench/results/summary.md is written")
    return 1 if missed and chosen.strict else 0


if __name__ == "__main__":
    sys.exit(main())
