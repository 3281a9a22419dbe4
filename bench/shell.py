"""A shell command of six parts, read and judged, against the parser alone in the same run.

What is timed is one call from its arguments to its decision under the development policy: the command parsed by shfmt,
its parts and what each touches found, every path made canonical, the rules asked. The rival is shfmt alone, asked for
the tree of the same text. Both are given another comment each time, so that no tree is remembered; the second row is
the same call where it is, and so without the parser. The answer is checked first.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from bench.benign import repository
from bench.pool import progress
from bench.rows import Row, Target, duration, save
from stanch.app.engine import Session
from stanch.app.loading import open_engine
from stanch.host.shell_parser import ShellParser
from stanch.values.decision import Effect

COMMAND = "cd src && cat app/main.py | grep -n TODO | sort -k2 | uniq -c | head -20 > /tmp/found.txt"
DENIED = "cd src && cat app/../../secrets/key | grep -n TODO | sort -k2 | uniq -c | head -20 > /tmp/found.txt"
PARTS = 6
REPEATED = 20


def run(quick: bool) -> list[Row]:
    """Both rows."""
    progress("shell: a command of six parts")
    with repository() as folder:
        session = open_engine(folder / "stanch.toml").session()
        _check(session)
        spent = _timed(session, 10 if quick else 40)
    rows = _rows(spent)
    save("shell", rows, quick=quick)
    return rows


def _check(session: Session) -> None:
    for command, wanted in ((COMMAND, Effect.ALLOW), (DENIED, Effect.DENY)):
        decision = session.check("Bash", {"command": command})
        if decision.effect is not wanted:
            raise SystemExit(f"shell: {command}: {decision.effect.value}, not {wanted.value}")


def _timed(session: Session, rounds: int) -> dict[str, list[float]]:
    """Microseconds for one command: judged, parsed, and judged where its tree is remembered."""
    parser = ShellParser()
    steps: dict[str, Callable[[str], object]] = {
        "judged": lambda text: session.check("Bash", {"command": text}).reason,
        "parsed": parser.parse,
        "remembered": lambda _: session.check("Bash", {"command": COMMAND}).reason,
    }
    spent: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds):
        for name, step in steps.items():
            texts = [f"{COMMAND} # {number} {at}" for at in range(REPEATED)]
            start = time.perf_counter()
            for text in texts:
                step(text)
            spent[name].append((time.perf_counter() - start) / REPEATED * 1e6)
    return spent


def _rows(spent: dict[str, list[float]]) -> list[Row]:
    judged, parsed, remembered = spent["judged"], spent["parsed"], spent["remembered"]
    ratios = [mine / other for mine, other in zip(judged, parsed, strict=True)]
    shown = f"{duration(statistics.median(judged))} to {duration(statistics.median(parsed))}"
    sizes = f"{PARTS} parts"
    return [
        Row(
            "a shell command, parsed and judged",
            "the parser alone",
            sizes,
            statistics.median(ratios),
            "times its time",
            Target("at most", 1.5),
            shown,
            min(ratios),
            max(ratios),
        ),
        Row(
            "a shell command, its tree remembered",
            "",
            sizes,
            statistics.median(remembered),
            "µs",
            None,
            "",
            min(remembered),
            max(remembered),
        ),
    ]
