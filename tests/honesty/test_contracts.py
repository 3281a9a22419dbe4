"""Do the import contracts speak about modules that exist, say why, and leave no way around them?

lint-imports holds the code to the contracts. It cannot see calls of built-ins that reach the outside without an import,
and it accepts a pattern that names nothing: both are checked here.
"""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

REACHES_OUT = frozenset({"__import__", "breakpoint", "eval", "exec", "input", "open", "print"})


def read_contracts(root: Path) -> dict[str, configparser.SectionProxy]:
    """The contracts of .importlinter, by id."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string((root / ".importlinter").read_text("utf-8"))
    return {name.rpartition(":")[2]: parser[name] for name in parser.sections() if name != "importlinter"}


def named_by(expression: str, modules: Iterable[str]) -> set[str]:
    """The modules that an expression of .importlinter names; `*` is one part of a dotted name."""
    pattern = re.compile(r"\.".join(r"[^.]+" if part == "*" else re.escape(part) for part in expression.split(".")))
    return {module for module in modules if pattern.fullmatch(module)}


def pure_expressions(root: Path) -> list[str]:
    """The sources of every contract that forbids I/O."""
    contracts = read_contracts(root).values()
    return [name for one in contracts if one["type"] == "forbidden" for name in one["source_modules"].split()]


def outside_calls(source: str) -> list[str]:
    """The built-ins that a module's text calls and that reach outside of the process or load code."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return sorted(func.id for func in calls if isinstance(func, ast.Name) and func.id in REACHES_OUT)


def test_every_contract_says_why(root: Path) -> None:
    contracts = read_contracts(root)
    assert {"floors", "cycles", "vocabulary", "deciding"} <= set(contracts)
    for name, contract in contracts.items():
        reason = contract["name"].partition(":")[2].split()
        assert len(reason) >= 5, f"the name of contract {name!r} gives no reason after a colon"


def test_every_contract_names_modules_that_exist(root: Path, modules: Mapping[str, Path]) -> None:
    empty = [expression for expression in pure_expressions(root) if not named_by(expression, modules)]
    assert not empty, f".importlinter forbids I/O to modules that do not exist: {empty}"


def test_every_package_has_a_floor(root: Path, modules: Mapping[str, Path]) -> None:
    placed = set(re.findall(r"[a-z_]+", read_contracts(root)["floors"]["layers"]))
    packages = {name.split(".")[1] for name in modules if name.count(".")}
    assert packages
    assert packages <= placed, f"packages without a floor: {sorted(packages - placed)}"


def test_pure_modules_call_nothing_that_reaches_out(root: Path, modules: Mapping[str, Path]) -> None:
    pure = {name for expression in pure_expressions(root) for name in named_by(expression, modules)}
    below = {name for name in modules if any(name == one or name.startswith(f"{one}.") for one in pure)}
    assert below
    found = {name: calls for name in sorted(below) if (calls := outside_calls(modules[name].read_text("utf-8")))}
    assert not found, f"modules without I/O that call a built-in which reaches out: {found}"


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ("stanch.values", {"stanch.values"}),
        ("*.policy", {"stanch.policy"}),
        ("stanch.*.decide", {"stanch.gate.decide"}),
        ("stanch.*.decides", set()),
    ],
)
def test_expressions_name_whole_modules(expression: str, named: set[str]) -> None:
    known = ["stanch.values", "stanch.policy", "stanch.policy.walk", "stanch.gate.decide", "stanch.gate.x.decide"]
    assert named_by(expression, known) == named


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f(p):\n    return open(p).read()\n", ["open"]),
        ("print(eval('1'))\n", ["eval", "print"]),
        ("import re\nre.compile('x')\nthing.open()\n", []),
    ],
)
def test_a_call_that_reaches_out_is_noticed(source: str, found: list[str]) -> None:
    assert outside_calls(source) == found
