"""Everything that a chat's model can reach is listed, declared, driven, and judged by what it touches."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stanch.delivery.operation import OPERATIONS, Asked, Undeclared, made_of
from stanch.policy.declared import Form
from stanch.policy.known_tools import known
from stanch.policy.seeds import READING
from stanch.surfaces.http import content_inventory
from stanch.surfaces.http.access import CONTENT
from stanch.surfaces.http.application import ROUTERS
from stanch.surfaces.http.content_route import ContentRoute, Unserved, serves
from stanch.values.call import EffectClass
from tests.delivery.driving import cells_of, table

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "content-inventory.json"
WAITS = {"workbench", "compiler"}


def driven_tests() -> Mapping[str, Callable[..., Any]]:
    """Every test of this room by its name, but for those that are skipped."""
    found: dict[str, Callable[..., Any]] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"tests.delivery.{path.stem}")
        for name, one in inspect.getmembers(module, inspect.isfunction):
            marks = {mark.name for mark in getattr(one, "pytestmark", ())}
            if (
                name.startswith("test_")
                and one.__module__ == module.__name__
                and not marks & {"skip", "xfail", "skipif"}
            ):
                found[name] = one
    return found


def test_the_list_is_the_one_that_is_kept() -> None:
    again = "python -m stanch.surfaces.http.content_inventory > docs/content-inventory.json"
    assert KEPT.read_text("utf-8") == content_inventory.text(), f"make it anew: {again}"


def test_nothing_is_listed_twice_and_all_of_it_is_declared() -> None:
    rows = content_inventory.inventory()
    assert [reach for reach, count in Counter(row["reach"] for row in rows).items() if count > 1] == []
    assert {row["content_delivery"] for row in rows} == {"sourced", "none"}
    assert all(row["operation"] or row["content_delivery"] == "none" or row["reach"] == "tool run_code" for row in rows)
    assert len([row for row in rows if row["content_delivery"] == "sourced"]) > 40


def test_a_route_without_a_declaration_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(access: Any, asked: Asked) -> str:
        """Give something."""
        raise AssertionError

    bare = made_of("bare", Asked, runs)
    object.__setattr__(bare, "tool", "files_read")
    route = ContentRoute("/api/files/bare", serves(bare)(lambda: None), methods=["GET"])

    class Router:
        routes = (route,)

    monkeypatch.setattr(content_inventory, "ROUTERS", (*ROUTERS, Router()))
    with pytest.raises(Undeclared, match="/api/files/bare"):
        content_inventory.inventory()


def test_a_route_that_serves_no_operation_is_none() -> None:
    with pytest.raises(Unserved):
        ContentRoute("/api/files/bare", lambda: None, methods=["GET"])


def test_every_route_of_stored_content_is_one() -> None:
    for router in ROUTERS:
        for route in router.routes:
            if any(getattr(route, "path", "").startswith(place) for place in CONTENT):
                assert isinstance(route, ContentRoute), route


def test_an_argument_that_nobody_is_shown_is_bound_by_its_digest() -> None:
    """A person approves what they see: bytes that are no argument of the call are named by one."""
    for one in OPERATIONS.values():
        fields = one.arguments.model_fields
        if one.tool is not None and any(field.exclude for field in fields.values()):
            assert {"digest", "size"} <= set(fields), one.name
            assert fields["digest"].is_required(), one.name


def test_no_two_operations_are_one_tool_of_a_chat() -> None:
    tools = Counter(one.tool for one in OPERATIONS.values() if one.tool is not None and one.in_chat)
    assert [tool for tool, count in tools.items() if count > 1] == []


def test_the_seeds_allow_what_only_reads_and_nothing_else() -> None:
    tools = {one.tool for one in OPERATIONS.values() if one.tool is not None}
    assert set(READING) <= tools
    for name in tools:
        effects = known()[name].effects
        only_reads = bool(effects) and {effect.cls for effect in effects} == {EffectClass.READ}
        assert (name in READING) is only_reads, name


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_a_tools_declaration_names_arguments_that_the_operation_has(name: str) -> None:
    operation = OPERATIONS[name]
    if operation.tool is None:
        return
    fields = operation.arguments.model_fields
    effects = known()[operation.tool].effects
    named = {effect.argument for effect in effects if effect.argument}
    missing = [effect.argument for effect in effects if effect.argument not in {*fields, ""} and not effect.optional]
    assert not missing or not operation.in_chat, f"{name} has no {missing}, so that no call of it could be read"
    assert all(effect.form is Form.ITEM for effect in effects if effect.argument)
    for field in ("path", "to", "paths", "source", "target"):
        if field in fields:
            assert field in named | known()[operation.tool].others, f"{name}: nobody judges its '{field}'"


# The policy table.


def cells() -> Iterator[tuple[str, str]]:
    for row in table():
        if "open" not in row:
            for column, test in cells_of(row).items():
                yield f"{row['row']}: {column}", test


def test_every_cell_says_what_is_right() -> None:
    for row in table():
        assert all(row[column].strip() for column in "UEC"), row["row"]
        assert row.get("open", "workbench") in WAITS
        assert ("covers" in row) is ("tests" in row) is ("open" not in row), row["row"]
    assert len({row["row"] for row in table()}) == len(table())
    assert len({row["tests"] for row in table() if "tests" in row}) == len([row for row in table() if "tests" in row])


@pytest.mark.parametrize(("cell", "test"), [pytest.param(*one, id=one[0]) for one in cells()])
def test_every_cell_is_a_test(cell: str, test: str) -> None:
    assert test in driven_tests(), f"{cell}: there is no {test} in tests/delivery, or it is skipped"


def test_everything_sourced_is_in_a_row_and_no_row_covers_what_is_not_there() -> None:
    rows = json.loads(KEPT.read_text("utf-8"))
    covered = {reach for row in table() for reach in row.get("covers", ())}
    assert covered <= {row["reach"] for row in rows}, "a row covers what nobody can reach"
    sourced = {row["reach"] for row in rows if row["content_delivery"] == "sourced"}
    assert sorted(sourced - covered) == [], "add it to a row of policy_table.toml, whose tests then have to drive it"


def test_no_store_is_read_around_the_operations() -> None:
    contracts = (ROOT / ".importlinter").read_text("utf-8")
    block = re.search(r"\[importlinter:contract:content\].*?(?=\n\[)", contracts, re.DOTALL)
    assert block is not None
    protected = set(re.findall(r"stanch\.storage\.\w+", block[0].partition("allowed_importers")[0]))
    there = {f"stanch.storage.{path.stem}" for path in (ROOT / "src/stanch/storage").glob("content_*.py")}
    schemas = {name for name in there if name.endswith("_schema")}
    unprotected = {name for name in there - schemas - protected if _reads_content(name)}
    assert not unprotected, "modules that read a store's content, which anybody may import"


def _reads_content(name: str) -> bool:
    """True where a module has a class that stands on transactions."""
    text = (ROOT / "src" / (name.replace(".", "/") + ".py")).read_text("utf-8")
    return re.search(r"class \w+\([^)]*(Transactions|Rows)\b", text) is not None
