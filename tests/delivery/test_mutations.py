"""Each guard, taken out, makes the test of its row fail: what a test says is kept in is kept in by that guard.

`admit OPERATION`: whatever the operation puts before the gate passes, and leaves nothing in the registry. `leave`: a
result goes to the model as the operation gave it. `cut`: a text is cut as it is. `send`: messages go to the model's
provider as they are stored. `+`: each of these would do. In CI each guard is taken out of some rows, and of all of them
where STANCH_SOAK is set.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import httpx2
import pytest

from stanch.app.content import Content
from stanch.app.projected_messages import Projected
from stanch.delivery import admit
from stanch.delivery.admit import Delivery, Window
from stanch.delivery.operation import Operation
from stanch.delivery.source import Source
from tests.canary import ANSWER, EXCEPTION, LOG, REQUEST, Canary
from tests.cli.conftest import stanch
from tests.delivery.driving import cells_of, table
from tests.delivery.stage import Stage, staged

__all__ = ["stanch"]
ALL = bool(os.environ.get("STANCH_SOAK"))
USUALLY = 16
"""How many are taken out in CI: each takes the time of its row's test."""
_RUNNING: ContextVar[str] = ContextVar("operation", default="")


@contextmanager
def without(guard: str) -> Iterator[None]:
    """The same program without the guard, or without any of several, for as long as the block lasts."""
    with ExitStack() as stack:
        for one in guard.split(" + "):
            stack.enter_context(_without(one))
        yield


@contextmanager
def _without(guard: str) -> Iterator[None]:
    kind, _, only = guard.partition(" ")
    patch = pytest.MonkeyPatch()
    if kind == "admit":
        call, refusal = Operation.__call__, Delivery._refusal

        def calling(self: Any, access: Any, asked: Any) -> Any:
            token = _RUNNING.set(self.name)
            try:
                return call(self, access, asked)
            finally:
                _RUNNING.reset(token)

        def passing(self: Delivery, source: Source) -> Any:
            return None if only in ("", _RUNNING.get()) else refusal(self, source)

        patch.setattr(Operation, "__call__", calling)
        patch.setattr(Delivery, "_refusal", passing)
    elif kind == "leave":

        def leaving(_: Content, __: Any, result: Any) -> Any:
            return result.model_dump(mode="json") if hasattr(result, "model_dump") else result

        patch.setattr(Content, "leaving", leaving)
    elif kind == "send":
        patch.setattr(Projected, "sent", lambda _, messages, __: messages)
    elif kind == "cut":

        def cutting(_: Delivery, text: str, window: Window) -> str:
            return text[window.start : window.end]

        for name in _users("redact_before_cutting"):
            patch.setattr(name, cutting)
    else:
        raise ValueError(guard)
    try:
        yield
    finally:
        patch.undo()


def _users(name: str) -> list[str]:
    """Where operations know the function by its name."""
    folder = Path(admit.__file__).parent.parent / "content"
    return [
        f"stanch.content.{path.stem}.{name}"
        for path in sorted(folder.glob("*.py"))
        if hasattr(importlib.import_module(f"stanch.content.{path.stem}"), name)
    ]


def guards() -> list[tuple[str, str, str]]:
    """Row and column, the name of the test, and the guard, in an order that brings each kind of guard first."""
    found = [
        (f"{row['row']}: {column}", cells_of(row)[column], guard)
        for row in table()
        for column, guard in row.get("guard", {}).items()
    ]
    by_kind = [list(one) for _, one in itertools.groupby(sorted(found, key=_kind), key=_kind)]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*by_kind))
    return [one for one in turns if one is not None]


def _kind(one: tuple[str, str, str]) -> str:
    return one[2].partition(" ")[0]


def runs_of(test: Any) -> Iterator[Mapping[str, Any]]:
    """The arguments of each run of a test, as its marks give them; the last first, for what is not clean."""
    given: list[dict[str, Any]] = [{}]
    for mark in getattr(test, "pytestmark", ()):
        if mark.name != "parametrize":
            continue
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else list(mark.args[0])
        names = [name.strip() for name in names]
        values = [one if len(names) > 1 else (one,) for one in mark.args[1]]
        given = [{**one, **dict(zip(names, value, strict=True))} for one in given for value in values]
    return iter(given)


def found_test(name: str) -> Any:
    for path in sorted(Path(__file__).parent.glob("test_*_table.py")):
        module = importlib.import_module(f"tests.delivery.{path.stem}")
        if hasattr(module, name):
            return getattr(module, name), module
    raise LookupError(name)


def played(name: str, column: str, root: Path, request: pytest.FixtureRequest) -> None:
    """Runs the test of a row for one state, on stages of its own. Raises whatever it fails with."""
    test, module = found_test(name)
    state = {"U": "unknown", "E": "entries"}[column]
    wanted = [one for one in runs_of(test) if str(one.get("state", state)) == state]
    for place, given in enumerate(wanted):
        with ExitStack() as stack:
            folder = root / str(place)
            folder.mkdir()
            stage = stack.enter_context(staged(folder))
            values: dict[str, Any] = {}
            for wants in inspect.signature(test).parameters:
                values[wants] = given[wants] if wants in given else made(wants, stage, module, request)
            test(**values)


def made(wants: str, stage: Stage, module: Any, request: pytest.FixtureRequest) -> Any:
    """What a test of a table asks for."""
    if wants == "stage":
        return stage
    if wants == "door":
        return module.Rest(stage, None)
    if wants == "table":
        columns = [{"name": "a"}, {"name": "n", "type": "integer"}]
        assert stage.send("POST", "/api/tables", json={"name": "t", "columns": columns}).status_code == 200
        return stage
    return request.getfixturevalue(wants)


GUARDS = guards()
BROKEN = (AssertionError, LookupError, ValueError, TypeError, httpx2.HTTPError)
"""How a test of a row ends that sees something else than it has to."""


@pytest.mark.parametrize(
    ("cell", "test", "guard"), [pytest.param(*one, id=one[0]) for one in (GUARDS if ALL else GUARDS[:USUALLY])]
)
def test_the_row_fails_without_its_guard(
    cell: str, test: str, guard: str, tmp_path: Path, request: pytest.FixtureRequest, canary: Canary
) -> None:
    canary.expect_in(ANSWER, EXCEPTION, LOG, REQUEST)
    with without(guard), pytest.raises(BROKEN):
        played(test, cell.rpartition(" ")[2], tmp_path, request)


def test_a_row_passes_with_its_guards(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Else the others would fail for another reason."""
    _, test, _ = GUARDS[0]
    played(test, GUARDS[0][0].rpartition(" ")[2], tmp_path, request)


def test_every_column_that_keeps_something_in_names_what_keeps_it() -> None:
    missing = [
        f"{row['row']}: {column}"
        for row in table()
        if "guard" in row
        for column in "UE"
        if column not in row["guard"] and row["row"] != "a change of a file's text"
    ]
    assert not missing
    assert {_kind(one) for one in GUARDS} == {"admit", "leave", "cut"}, "by what each begins with"
