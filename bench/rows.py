"""One measured claim, and how claims are shown: a table in the terminal, Markdown for the README, JSON for tools.

A row is a ratio to a rival of the same run wherever there is one; the absolute figures beside it are an illustration.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

RESULTS = Path(__file__).parent / "results"
COLUMNS = ("what", "rival", "sizes", "measured", "target", "met", "for illustration")


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that a measured figure must keep."""

    bound: Literal["at least", "at most"]
    value: float

    def holds(self, measured: float) -> bool:
        return measured >= self.value if self.bound == "at least" else measured <= self.value


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured against which rival at which sizes; `unit` follows the figure: `times as fast`, `times`,
    `µs`, `MB`.

    `low` and `high` are the least and greatest of the rounds, where the figure is a median of rounds.
    """

    what: str
    rival: str
    sizes: str
    measured: float
    unit: str
    target: Target | None = None
    illustration: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target holds; None where there is no target."""
        return None if self.target is None else self.target.holds(self.measured)

    def cells(self) -> tuple[str, ...]:
        """The row as the cells of a table."""
        target = "" if self.target is None else f"{self.target.bound} {short(self.target.value)} {self.unit}"
        met = {True: "yes", False: "**no**", None: ""}[self.met]
        measured = f"{short(self.measured)} {self.unit}"
        return (self.what, self.rival, self.sizes, measured, target, met, self.illustration)

    def as_json(self) -> dict[str, Any]:
        """The row as plain data."""
        target = None if self.target is None else {"bound": self.target.bound, "value": self.target.value}
        return {
            "what": self.what,
            "rival": self.rival,
            "sizes": self.sizes,
            "measured": self.measured,
            "unit": self.unit,
            "target": target,
            "met": self.met,
            "illustration": self.illustration,
            "low": self.low,
            "high": self.high,
        }


def short(value: float) -> str:
    """A figure with about three digits that mean something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}".removesuffix(".0") if value >= 10 else f"{value:.2g}" if value < 1 else f"{value:.3g}"


def duration(microseconds: float) -> str:
    """A time in the unit that suits it."""
    if microseconds < 1000:
        return f"{short(microseconds)} µs"
    return f"{short(microseconds / 1000)} ms" if microseconds < 1e6 else f"{short(microseconds / 1e6)} s"


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    written = [header, ["---"] * len(header), *lines]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in written)


def markdown_rows(rows: Sequence[Row]) -> str:
    """Rows as a Markdown table."""
    return markdown(COLUMNS, [row.cells() for row in rows])


def machine() -> str:
    """What the figures were measured on, in one line."""
    return (
        f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    )


def mode(quick: bool) -> str:
    """The name of the kind of run."""
    return "quick run" if quick else "full run"


def save(name: str, rows: Sequence[Row], *, quick: bool, details: Any = None, fragment: str = "") -> None:
    """Write `results/<name>.json` and `results/<name>.md`."""
    RESULTS.mkdir(exist_ok=True)
    data = {"machine": machine(), "mode": mode(quick), "rows": [row.as_json() for row in rows], "details": details}
    (RESULTS / f"{name}.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    text = f"{machine()}, {mode(quick)}.\n\n{markdown_rows(rows)}"
    (RESULTS / f"{name}.md").write_text(text + (f"\n{fragment}" if fragment else ""), encoding="utf-8")


def show(title: str, rows: Sequence[Row]) -> None:
    """Show rows as a table to a person at a terminal; the Markdown at the end of a run serves everybody else."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        return
    table = Table(title=title, title_justify="left")
    for column in COLUMNS:
        table.add_column(column, overflow="fold", justify="right" if column in ("sizes", "measured") else "left")
    for row in rows:
        style = "bold red" if row.met is False else "green" if row.met else ""
        table.add_row(*(cell.replace("**", "") for cell in row.cells()), style=style)
    console.print(table)
