"""Every row of the table of commands against its own samples: what must be found in a command, and what must not."""

from __future__ import annotations

import posixpath
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

import pytest

from stanch.app.shell_world import parser, verbs
from stanch.policy.shell.reading import Found, Script
from stanch.policy.shell.running import read
from stanch.policy.shell.verbs import VERSION, BadTable, verbs_of
from stanch.values.call import EffectClass
from stanch.values.command import Weight

CWD = "/w"


class StillWorld:
    """A machine on which nothing is there, and every home is below `/home`."""

    home = "/home/dev"

    def parse(self, code: str) -> Mapping[str, Any]:
        return parser().parse(code)

    def names(self, parts: tuple[tuple[str, bool], ...], base: str, *, wide: bool) -> list[str] | None:
        return []

    def is_file(self, path: str, base: str) -> bool:
        return True

    def is_dir(self, path: str, base: str) -> bool:
        return False

    def real(self, path: str) -> str:
        return path

    def home_of(self, user: str) -> str | None:
        return f"/home/{user}"

    def written(self, path: str, base: str) -> Script | None:
        return None


def effects_of(line: str) -> list[str]:
    """What is found in a command line, in the words of the samples."""
    found = []
    for number, part in enumerate(read(line, CWD, StillWorld(), verbs())):
        command = part.command
        if number or command.program != line.split(maxsplit=1)[0]:
            found.append(f"run {command.text}")
            if command.assignments:
                found.append("run " + command.text.split(" ", len(command.assignments))[-1])
        if command.unread:
            found.append("unread")
        if command.needs:
            found.append("unread")
        found.extend(f"script {one.path}" for one in part.scripts)
        for one in part.found:
            path = one.path
            if path is None:
                found += ["network", f"network {one.subject}".rstrip()]
                continue
            for base in one.bases:
                below = posixpath.relpath(posixpath.join(base, path), CWD)
                found += _on_path(one, path if base == CWD or path.startswith("/") else below)
                found += _on_path(one, below)
    return found


def _on_path(one: Found, path: str) -> list[str]:
    if one.weight is Weight.POSSIBLE:
        return [f"maybe {path}"]
    word = "read" if one.cls is EffectClass.READ else "write"
    found = [f"{word} {path}"]
    if one.deep and (word == "read" or one.deep != "inside"):
        found.append(f"{'below' if word == 'read' else 'wipe'} {path}")
    return found


def rows() -> Iterator[tuple[str, str, list[str], list[str]]]:
    folder = resources.files("stanch.policy.shell") / "verbs"
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".toml"):
            for row in tomllib.loads(file.read_text(encoding="utf-8")).get("verb", ()):
                yield from samples(file.name, row)


def samples(file: str, row: Mapping[str, Any]) -> Iterator[tuple[str, str, list[str], list[str]]]:
    for line in {*row.get("must", {}), *row.get("must_not", {})}:
        yield file, line, row.get("must", {}).get(line, []), row.get("must_not", {}).get(line, [])
    for below in row.get("sub", ()):
        yield from samples(file, below)


@pytest.mark.parametrize("file", sorted({row[0] for row in rows()}))
def test_every_sample_of_the_table(file: str) -> None:
    wrong: list[str] = []
    for _, line, must, must_not in (row for row in rows() if row[0] == file):
        found = effects_of(line)
        wrong += [f"{line}: no '{one}' in {found}" for one in must if one not in found]
        wrong += [f"{line}: '{one}' in {found}" for one in must_not if one in found]
    assert not wrong, "\n".join(wrong)


def test_every_program_has_samples_of_both_kinds() -> None:
    folder = resources.files("stanch.policy.shell") / "verbs"
    lacking = []
    for file in folder.iterdir():
        if file.name.endswith(".toml"):
            for row in tomllib.loads(file.read_text(encoding="utf-8"))["verb"]:
                below = [*samples(file.name, row)]
                plain = not set(row.get("operands", "").replace("*", "").split()) - {"text"}
                if not any(must for _, _, must, _ in below) and not row.get("inert") and not plain:
                    lacking.append(f"{row['names'][0]}: no effect that must be found")
                if not any(must_not for _, _, _, must_not in below):
                    lacking.append(f"{row['names'][0]}: no effect that must not be found")
    assert not lacking, "\n".join(lacking)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"names": ["x"], "operands": "red*"}, "unknown kind red"),
        ({"names": ["x"], "options": {"-a": "touch"}}, "unknown role touch"),
        ({"names": ["x"], "option": {}}, "unknown key option"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(BadTable, match=message):
        verbs_of([{"version": VERSION, "verb": [row]}])


def test_a_program_stands_in_the_table_once_and_its_version_is_named() -> None:
    with pytest.raises(BadTable, match="twice"):
        verbs_of([{"version": VERSION, "verb": [{"names": ["x"]}, {"names": ["x"]}]}])
    with pytest.raises(BadTable, match="version"):
        verbs_of([{"verb": []}])
