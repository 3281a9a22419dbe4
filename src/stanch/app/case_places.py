"""Where a case plays: a temporary root that stands for the file system, with the policy file and the tree of the case.

Settles how absolute paths of a case are mapped into that root, and how its policy is written down. Does not settle what
is asked of the engine there (`app.case_runner`).
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stanch.app.case_files import TABLE_KEYS
from stanch.app.case_records import Case
from stanch.values.fault import BadInput

WORKSPACE = "/repo"
HOME = "/home/dev"
UNMAPPED = ("proc", "dev", "sys")
# A slash that begins an absolute path or pattern, wherever it stands in a text: not one inside a path or an address.
_START = re.compile(
    r"(?:(?<=file://)|(?<=file://localhost)|(?<![\w.~*?/\\-]))"
    rf"/(?!(?:{'|'.join(UNMAPPED)})(?![\w.-]))(?=[^\s/]|$)"
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


TREE = ("files", "dirs", "many", "symlinks", "hardlinks")


class Place:
    """The temporary root of one case. `policy` is the file written for it; relative names start at `workspace`."""

    def __init__(self, root: Path, case: Case) -> None:
        self.root = Path(os.path.realpath(root))
        self.case = case
        given = case.given
        if str(given.get("policy", "")).endswith(".toml"):
            text, self.policy = self._copied(case.file.parent / given["policy"])
        elif "policy" in given:
            text, self.policy = given["policy"], f"{WORKSPACE}/stanch.toml"
        else:
            text, self.policy = _policy_text(given), f"{WORKSPACE}/stanch.toml"
        self.workspace = posixpath.normpath(posixpath.join(posixpath.dirname(self.policy), _workspace(text)))
        for folder in (WORKSPACE, HOME):
            self.real(folder).mkdir(parents=True, exist_ok=True)
        written = self.real(self.policy)
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(self.mapped(text), encoding="utf-8")
        self.change({key: given[key] for key in TREE if key in given})

    def _copied(self, source: Path) -> tuple[str, str]:
        """The text of a policy file, and where it is put so that a workspace above it is `/repo`."""
        try:
            text = source.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise self.wrong(f"the policy {source} cannot be read") from None
        ups = _workspace(text).split("/").count("..")
        below = source.resolve().parent.parts[-ups:] if ups else ()
        return text, "/".join([WORKSPACE, *below, "stanch.toml"])

    def wrong(self, message: str) -> BadInput:
        """What is wrong with the case, with its place."""
        return BadInput(f"{self.case.file}:{self.case.line}: {message}")

    def mapped(self, value: Any) -> Any:
        """The value with every absolute path of the case put below the temporary root, at any depth."""
        if isinstance(value, str):
            return _START.sub(lambda _: f"{self.root}/", value)
        if isinstance(value, Mapping):
            return {self.mapped(key): self.mapped(below) for key, below in value.items()}
        if isinstance(value, list):
            return [self.mapped(below) for below in value]
        return value

    def shown(self, text: str) -> str:
        """The text with the temporary root taken out again."""
        return text.replace(f"{self.root}/", "/").replace(str(self.root), "/")

    def real(self, path: str) -> Path:
        """Where a path of the case lies on the disk, relative ones in the workspace. Refuses all outside the root."""
        absolute = path if path.startswith("/") else f"{self.workspace}/{path}"
        mapped = self.mapped(absolute)
        if not mapped.startswith(f"{self.root}/") or ".." in path.split("/"):
            said = f"'{path}' cannot be made; write a path without '..', and not below /{', /'.join(UNMAPPED)}"
            raise self.wrong(said)
        return Path(mapped)

    def change(self, tree: Mapping[str, Any]) -> None:
        """Makes directories, files, links and hard links, in this order, after taking away what `remove` names."""
        try:
            self._change(tree)
        except (OSError, ValueError) as error:
            why = (os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "no path").lower()
            raise self.wrong(f"what the case wants on the disk cannot be made: {why}") from None

    def write_rules(self, rules: Any) -> None:
        """Puts a policy with these rules in `default` in the place of the one that was written, whole and at once."""
        if "policy" in self.case.given:
            raise self.wrong("rules can be changed where the case gives 'rules', not a whole 'policy'")
        draft = self.real(f"{self.policy}.draft")
        draft.write_text(self.mapped(_policy_text({**self.case.given, "rules": rules})), encoding="utf-8")
        draft.replace(self.real(self.policy))

    def _change(self, tree: Mapping[str, Any]) -> None:
        for path in _texts(tree.get("remove", ())):
            self._remove(self.real(path))
        for path in _texts(tree.get("dirs", ())):
            self.real(path).mkdir(parents=True, exist_ok=True)
        files = tree.get("files", {})
        for path in files:
            self._parent(path).write_text(files[path] if isinstance(files, Mapping) else "", encoding="utf-8")
        for path, count in tree.get("many", {}).items():
            for number in range(count):
                self._parent(f"{path}/{number}").touch()
        for path, target in tree.get("symlinks", {}).items():
            self._parent(path).symlink_to(self.mapped(target))
        for path, existing in tree.get("hardlinks", {}).items():
            self._parent(path).hardlink_to(self.real(existing))

    def _parent(self, path: str) -> Path:
        real = self.real(path)
        real.parent.mkdir(parents=True, exist_ok=True)
        return real

    def _remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def home_of(place: Place) -> Iterator[None]:
    """Makes the place's home directory the home of this process for a while."""
    before = os.environ.get("HOME")
    os.environ["HOME"] = str(place.real(HOME))
    try:
        yield
    finally:
        if before is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = before


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _workspace(text: str) -> str:
    """The workspace that a policy names, as written; the policy's own folder where it names none."""
    try:
        found = tomllib.loads(text).get("workspace")
    except tomllib.TOMLDecodeError:
        return "."
    return found if isinstance(found, str) and found else "."


def _policy_text(given: Mapping[str, Any]) -> str:
    """The policy that a case writes as YAML, as TOML: `rules` are those of `default`."""
    tables = {"version": 1} | {key: given[key] for key in TABLE_KEYS if key in given}
    groups = [{"id": name, "rules": rules} for name, rules in given.get("groups", {}).items()]
    if "rules" in given:
        groups.insert(0, {"id": "default", "rules": given["rules"]})
    lines = [f"{_key(key)} = {_toml(value)}" for key, value in tables.items()]
    for group in groups:
        lines += ["[[groups]]", f"id = {_toml(group['id'])}"]
        for rule in group["rules"]:
            lines.append("[[groups.rules]]")
            lines += [f"{_key(key)} = {_toml(value)}" for key, value in rule.items()]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_toml(below)}" for key, below in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(below) for below in value) + "]"
    if isinstance(value, (str, bool, int, float)):
        return json.dumps(value, ensure_ascii=False)
    raise BadInput(f"a policy cannot hold {'nothing' if value is None else type(value).__name__}")
