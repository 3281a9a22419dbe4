"""What reading a shell command asks of the machine: wildcards, homes, scripts that the session wrote.

Settles what is looked up and how far. Does not settle what follows from it (`policy.shell`).
"""

from __future__ import annotations

import os
import posixpath
import pwd
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from stanch.host.shell_parser import ShellParser
from stanch.policy.shell.reading import Script
from stanch.policy.shell.verbs import Verb, verbs_of
from stanch.policy.shell.wildcards import STAR, expression

MOST_NAMES = 2_000
MOST_SEEN = 50_000
MOST_PATTERN = 2_000
MOST_SCRIPT_BYTES = 256 * 1024
Wrote = Callable[[str], bool]
"""True where the session wrote the file of this canonical path."""


@cache
def verbs() -> Mapping[str, Verb]:
    """The table of commands that comes with Stanch."""
    folder = resources.files("stanch.policy.shell") / "verbs"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return verbs_of(tomllib.loads(file.read_text(encoding="utf-8")) for file in files)


@cache
def parser() -> ShellParser:
    """The parser that all sessions share."""
    return ShellParser()


class ShellWorld:
    """The machine, as far as reading a command needs it."""

    def __init__(self, home: str, wrote: Wrote | None = None, parse: Callable[[str], Mapping[str, Any]] | None = None):
        self.home = home
        self._wrote = wrote
        self._parse = parse
        self._seen = 0

    def parse(self, code: str) -> Mapping[str, Any]:
        """The syntax tree of a piece of shell code. Raises `Unparsed`."""
        return (self._parse or parser().parse)(code)

    def names(self, parts: tuple[tuple[str, bool], ...], base: str, *, wide: bool) -> list[str] | None:
        """The names that a word with wildcards stands for, links followed as bash does; None where too many."""
        if sum(len(text) for text, _ in parts) > MOST_PATTERN:
            return None
        pieces = _components(parts)
        absolute = bool(pieces) and pieces[0] == []
        found = ["/"] if absolute else [""]
        for number, component in enumerate(pieces):
            if component == []:
                continue
            last = number == len(pieces) - 1
            further: list[str] = []
            for place in found:
                if not any(wild and not set("*?[").isdisjoint(text) for text, wild in component):
                    name = place + "".join(text for text, _ in component)
                    if os.path.lexists(posixpath.join(base, name)):
                        further.append(name if last else name + "/")
                    continue
                test, spans = _test(component, wide)
                if self._seen > MOST_SEEN:
                    return None
                for name in _entries(posixpath.join(base, place) or ".", spans=spans):
                    self._seen += 1
                    if self._seen > MOST_SEEN:
                        return None
                    if spans or test(posixpath.basename(name)):
                        further.append(place + name + ("" if last else "/"))
            if spans_all(component):
                further.extend(found)
            found = further
            if len(found) > MOST_NAMES:
                return None
        if pieces[-1] == [] and len(pieces) > 1:  # `*/` stands for directories
            found = [name for name in found if self.is_dir(name, base)]
        return sorted(name for name in found if name)

    def is_file(self, path: str, base: str) -> bool:
        """True where the path names a file that is there."""
        try:
            return os.path.isfile(posixpath.join(base, path))
        except (OSError, ValueError):
            return False

    def is_dir(self, path: str, base: str) -> bool:
        """True where the path names a directory that is there."""
        try:
            return os.path.isdir(posixpath.join(base, path))
        except (OSError, ValueError):
            return False

    def real(self, path: str) -> str:
        """Where a directory's path leads in fact."""
        try:
            return os.path.realpath(path)
        except (OSError, ValueError):
            return path

    def home_of(self, user: str) -> str | None:
        """The home directory of a user."""
        try:
            return pwd.getpwnam(user).pw_dir
        except (KeyError, ValueError):
            return None

    def written(self, path: str, base: str) -> Script | None:
        """The script, where the path names a file that this session wrote."""
        full = self.real(posixpath.join(base, path))
        if self._wrote is None or not self._wrote(full):
            return None
        try:
            with open(full, "rb") as file:
                content = file.read(MOST_SCRIPT_BYTES + 1)
            return Script(content.decode() if len(content) <= MOST_SCRIPT_BYTES else None)
        except (OSError, UnicodeError, ValueError):
            return Script(None)


def spans_all(component: list[tuple[str, bool]]) -> bool:
    """True for `**`, which may stand for any number of directories."""
    return len(component) == 1 and component[0] == ("**", True)


def _components(parts: tuple[tuple[str, bool], ...]) -> list[list[tuple[str, bool]]]:
    found: list[list[tuple[str, bool]]] = [[]]
    for text, wild in parts:
        for number, piece in enumerate(text.split("/")):
            if number:
                found.append([])
            if piece:
                found[-1].append((piece, wild))
    return found


def _entries(directory: str, *, spans: bool) -> list[str]:
    found: list[str] = []
    todo = [""]
    while todo and len(found) <= MOST_SEEN:
        here = todo.pop()
        try:
            with os.scandir(posixpath.join(directory, here)) as entries:
                for entry in entries:
                    name = posixpath.join(here, entry.name)
                    found.append(name)
                    if spans and entry.is_dir(follow_symlinks=False):
                        todo.append(name)
        except (OSError, ValueError):
            continue
    return found


def _test(component: list[tuple[str, bool]], wide: bool) -> tuple[Callable[[str], bool], bool]:
    """The test for one component's names, and whether it stands for any number of components."""
    if spans_all(component):
        return (lambda _: True), True
    tokens = [one for text, wild in component for one in (_tokens(text) if wild else map(re.escape, text))]
    test = re.compile(expression(tokens, "[^/]"), re.DOTALL | (re.IGNORECASE if wide else 0))
    first = component[0][0][0]
    dotted = wide or first == "." or (first == "[" and component[0][1])
    return (lambda name: (dotted or not name.startswith(".")) and test.fullmatch(name) is not None), False


_CLASSES = {
    "alpha": "a-zA-Z\u0080-\U0010ffff", "digit": "0-9", "alnum": "a-zA-Z0-9\u0080-\U0010ffff",
    "upper": "A-Z\u0080-\U0010ffff",
    "lower": "a-z\u0080-\U0010ffff", "space": r"\s", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9a-fA-F",
}  # fmt: skip


def _tokens(text: str) -> list[str | None]:
    """A piece with wildcards, as expressions for one character each; a class that cannot be followed is any one."""
    out: list[str | None] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "*":
            out.append(STAR)
        elif char == "?":
            out.append("[^/]")
        elif char == "[" and (end := _class_end(text, at)) > 0:
            out.append(_class(text[at + 1 : end]))
            at = end
        else:
            out.append(re.escape(char))
        at += 1
    return out


def _class_end(text: str, at: int) -> int:
    start = at + 1 + (text[at + 1 : at + 2] in ("!", "^"))
    place = start + (text[start : start + 1] == "]")
    while place < len(text):
        if text.startswith("[:", place) and ":]" in text[place:]:
            place = text.index(":]", place) + 2
        elif text[place] == "]":
            return place
        else:
            place += 1
    return -1


def _class(inside: str) -> str:
    negated = inside[:1] in ("!", "^")
    body = inside[1:] if negated else inside
    body = re.sub(r"\[:(\w+):\]", lambda match: "\0" + match[1] + "\0", body)
    pieces = re.split("\0(\\w+)\0", body)
    found = ""
    for number, piece in enumerate(pieces):
        if number % 2:
            if piece not in _CLASSES:
                return "[^/]"
            found += _CLASSES[piece]
        else:
            if "\\" in piece or "[." in piece or "[=" in piece:
                return "[^/]"
            found += _ranges(piece)
    if not found:
        return "[^/]"
    return f"[^/{found}]" if negated else f"[{found}]"


def _ranges(piece: str) -> str:
    out, at = "", 0
    while at < len(piece):
        if piece[at + 1 : at + 2] == "-" and at + 2 < len(piece):
            first, last = piece[at], piece[at + 2]
            if first <= last:
                out += f"{re.escape(first)}-{re.escape(last)}"
                # WHY both cases: what a range of letters holds is the locale's matter
                if first.isalpha() and last.isalpha() and first.islower() == last.islower():
                    out += f"{re.escape(first.swapcase())}-{re.escape(last.swapcase())}"
            at += 3
        else:
            out += re.escape(piece[at])
            at += 1
    return out
