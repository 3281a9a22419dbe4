"""Which routes and tools the tests of this room really drive as a chat's model, noted while they run.

A test that a row of the policy table names has to drive something that the row covers; all tests of a row together have
to drive all of it, which is looked at once all of them have run in this process.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from stanch.app.store_tools import _Running
from stanch.app.workbench_running import RunCode
from stanch.runtime.tool import Job, Output
from stanch.surfaces.http.content_route import ContentRoute

TABLE = Path(__file__).with_name("policy_table.toml")
CELLS = {"U": "unknown", "E": "entries", "C": "clean"}


class Driven:
    """What was driven by the test of the moment, and by each that ran."""

    def __init__(self) -> None:
        self.now: set[str] = set()
        self.by: dict[str, set[str]] = {}
        self.ran: dict[str, int] = {}

    def note(self, reach: str) -> None:
        """Takes note of a route or a tool, as the inventory names it."""
        self.now.add(reach)


DRIVEN = Driven()


@cache
def table() -> tuple[Mapping[str, Any], ...]:
    """The rows of the policy table."""
    return tuple(tomllib.loads(TABLE.read_text("utf-8"))["rows"])


def cells_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The names of the tests of a row by their columns: U, E and C."""
    return {
        column: f"test_{row['tests']}__{row.get('named', {}).get(column, usual)}" for column, usual in CELLS.items()
    }


@cache
def rows_of(test: str) -> tuple[Mapping[str, Any], ...]:
    """The rows that name a test."""
    return tuple(row for row in table() if "open" not in row and test in cells_of(row).values())


@contextmanager
def watched() -> Iterator[None]:
    """Takes note of every request of a model for stored content, and of every call of a tool on it."""
    patch = pytest.MonkeyPatch()
    handle, run = ContentRoute.handle, _Running.__call__

    async def handling(self: ContentRoute, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await handle(self, scope, receive, send)
        finally:
            caller = scope.get("state", {}).get("caller")
            if caller is not None and caller.principal.is_copilot:
                DRIVEN.note(f"{scope['method']} {self.path}")

    def running(self: Any, job: Job) -> Output:
        DRIVEN.note(f"tool {job.tool}")
        return run(self, job)

    code = RunCode.__call__

    def running_code(self: RunCode, job: Job, asked: Any) -> Output:
        DRIVEN.note(f"tool {job.tool}")
        return code(self, job, asked)

    patch.setattr(RunCode, "__call__", running_code)
    patch.setattr(ContentRoute, "handle", handling)
    patch.setattr(_Running, "__call__", running)
    try:
        yield
    finally:
        patch.undo()


def ended(item: pytest.Function) -> None:
    """Looks at what a test has driven that a row of the table names; to be called when it has passed."""
    name = item.originalname
    DRIVEN.by.setdefault(name, set()).update(DRIVEN.now)
    DRIVEN.ran[name] = DRIVEN.ran.get(name, 0) + 1
    for row in rows_of(name):
        assert DRIVEN.now & set(row["covers"]), f"{name} drives nothing of the row {row['row']!r}: {DRIVEN.now}"
        names = set(cells_of(row).values())
        there = sum(isinstance(one, pytest.Function) and one.originalname in names for one in item.session.items)
        if sum(DRIVEN.ran.get(one, 0) for one in names) == there and names <= DRIVEN.ran.keys():
            driven = set[str]().union(*(DRIVEN.by[one] for one in names))
            assert set(row["covers"]) <= driven, f"nothing drives {set(row['covers']) - driven} of {row['row']!r}"
