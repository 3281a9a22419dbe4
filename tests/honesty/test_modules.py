"""Does every module say what it is for, and is it named after that?"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

# Names that say where code was put, not which question it answers.
BANNED = frozenset({"base", "common", "helper", "helpers", "manager", "managers", "util", "utils"})


def lacks_docstring(source: str) -> bool:
    """True where a module's text has no docstring, or an empty one."""
    return not (ast.get_docstring(ast.parse(source)) or "").strip()


def is_badly_named(path: Path) -> bool:
    """True where the path has a part that is a banned name, or one with an underscore before it (`text_utils`)."""
    parts = [*path.parent.parts, path.stem]
    return any(part.rpartition("_")[2].lower() in BANNED for part in parts)


def test_every_module_has_a_docstring(root: Path, modules: Mapping[str, Path]) -> None:
    assert modules
    silent = [str(path.relative_to(root)) for path in modules.values() if lacks_docstring(path.read_text("utf-8"))]
    assert not silent, f"modules without a docstring: {silent}"


def test_no_module_is_named_after_its_place(root: Path, repository_files: tuple[Path, ...]) -> None:
    scripts = [path.relative_to(root) for path in repository_files if path.suffix == ".py"]
    assert scripts
    banned = [str(path) for path in scripts if is_badly_named(path)]
    assert not banned, f"name these after the question they answer: {banned}"


@pytest.mark.parametrize(
    ("source", "silent"),
    [('"""What this is."""\n', False), ("", True), ("x = 1\n", True), ("# a comment\n", True), ('"""  """\n', True)],
)
def test_a_missing_docstring_is_noticed(source: str, silent: bool) -> None:
    assert lacks_docstring(source) is silent


@pytest.mark.parametrize(
    ("path", "bad"),
    [
        ("src/stanch/paths/utils.py", True),
        ("src/stanch/utils/paths.py", True),
        ("src/stanch/paths/text_helpers.py", True),
        ("src/stanch/gate/_common.py", True),
        ("src/stanch/gate/decide.py", False),
        ("src/stanch/gate/baseline.py", False),
    ],
)
def test_a_banned_name_is_noticed(path: str, bad: bool) -> None:
    assert is_badly_named(Path(path)) is bad
