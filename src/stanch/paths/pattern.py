"""Path patterns: a small glob over canonical paths.

Settles the grammar, how a pattern is anchored, and whether it covers a path. `*` and `?` stay inside one component,
`**` spans any number of components, none too; nothing else is special. A pattern that matches a directory covers
everything below it. Matching takes time linear in the path whatever the pattern: every step is the leftmost match, held
by an atomic group, and never tried again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

MAX_PATTERN = 4096
_SPAN = "**"
_STARS = re.compile(r"\*+")


class BadPattern(ValueError):
    """A pattern that means nothing; the message says what to write instead."""


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """One component of a pattern: literal text, or a glob where `wild`."""

    text: str
    wild: bool

    @property
    def wildcards(self) -> int:
        """How many it has: each `?`, and each run of stars."""
        return self.text.count("?") + len(_STARS.findall(self.text)) if self.wild else 0


@dataclass(frozen=True, slots=True)
class PathPattern:
    """An anchored pattern: its parts from the root of the file system, and the test made from them.

    A trailing `**` is dropped, since coverage of what lies below is meant anyway.
    """

    parts: tuple[Part, ...]
    covers: Callable[[str], bool] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return "/" + "/".join(p.text for p in self.parts)

    @property
    def literal(self) -> str:
        """The leading components without a glob, as a path: `/srv/data` of `/srv/data/*.csv`; empty for none."""
        return "".join("/" + p.text for p in self.literal_parts)

    @property
    def literal_parts(self) -> tuple[Part, ...]:
        """The leading parts without a glob."""
        for at, part in enumerate(self.parts):
            if part.wild:
                return self.parts[:at]
        return self.parts

    def folded(self) -> PathPattern:
        """The same pattern for a file system that ignores letter case; compare it with a case-folded path."""
        return from_parts(tuple(Part(p.text.casefold(), p.wild) for p in self.parts))

    def rebased(self, path: str) -> PathPattern:
        """The same pattern with its literal head put in another place, for instance behind a link."""
        head = tuple(Part(name, False) for name in path.split("/") if name)
        return from_parts(head + self.parts[len(self.literal_parts) :])


def parse(text: str, root: str, home: str) -> PathPattern:
    """The pattern as written in a rule, anchored: `/x` at the file system's root, `~/x` at home, else at `root`.

    Raises `BadPattern`. `root` and `home` are canonical paths; their own characters are literal.
    """
    if not text:
        raise BadPattern("an empty path; write '**' for everything below the workspace")
    if "\0" in text or len(text) > MAX_PATTERN:
        raise BadPattern("a path with a NUL byte, or longer than 4,096 characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadPattern("a path that is no valid text") from None
    head: list[Part] = []
    if text == "~" or text.startswith("~/"):
        head, text = _literal(home), text[1:]
    elif text.startswith("~"):
        raise BadPattern("'~name' is not expanded; write the absolute path, or './~name' for a file of that name")
    elif not text.startswith("/"):
        head = _literal(root)
    for name in unicodedata.normalize("NFC", text).split("/"):
        if name in ("", "."):
            continue
        if name == "..":
            if head and head[-1].wild:
                raise BadPattern("'..' after a wildcard; write the path without it")
            del head[-1:]
            continue
        head.append(Part(name, "*" in name or "?" in name))
    return from_parts(tuple(head))


def from_parts(parts: tuple[Part, ...]) -> PathPattern:
    """The pattern of these parts, runs of `**` made one and a trailing one dropped."""
    kept: list[Part] = []
    for part in parts:
        if not (is_span(part) and kept and is_span(kept[-1])):
            kept.append(part)
    while kept and is_span(kept[-1]):
        kept.pop()
    return _made(tuple(kept))


@lru_cache(maxsize=1 << 12)
def glob(text: str) -> Callable[[str], bool]:
    """The test of a tool or command glob: only `*` is special and it stands for any characters."""
    return _as_test(re.compile("".join(_pieces(text, ".", question=False)) + r"\Z", re.DOTALL))


@lru_cache(maxsize=1 << 12)
def component(text: str) -> Callable[[str], bool]:
    """The test of one path component against a glob. The root of the file system has no component: nothing fits it."""
    return _as_test(re.compile(r"(?!\Z)" + _component(text) + r"\Z"))


def _literal(path: str) -> list[Part]:
    return [Part(name, False) for name in unicodedata.normalize("NFC", path).split("/") if name]


def is_span(part: Part) -> bool:
    """True for the part `**`."""
    return part.wild and part.text == _SPAN


@lru_cache(maxsize=1 << 15)
def _made(parts: tuple[Part, ...]) -> PathPattern:
    if any(part.wild for part in parts):
        return PathPattern(parts, _LazyTest(parts))
    below = "".join("/" + part.text for part in parts) + "/"
    return PathPattern(parts, lambda path: path.startswith(below) or path + "/" == below or below == "/")


class _LazyTest:
    """Compiles its test on first use: most patterns of a long rule list are settled by the index and never need one."""

    __slots__ = ("_parts", "_test")

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self._parts = parts
        self._test: Callable[[str], bool] | None = None

    def __call__(self, path: str) -> bool:
        if self._test is None:
            self._test = _as_test(re.compile(_regex(self._parts)))
        return self._test("" if path == "/" else path)


def _regex(parts: tuple[Part, ...]) -> str:
    """One block of neighbouring components after another, each at the leftmost place where it fits.

    WHY: leftmost is always best, since nothing must hold at the end of the path; so no step is ever tried again, and an
    atomic group says so.
    """
    out: list[str] = []
    block: list[str] = []
    spanned = False
    for part in [*parts, Part(_SPAN, True)]:
        if not is_span(part):
            block.append("/" + (_component(part.text) if part.wild else re.escape(part.text)) + "(?![^/])")
            continue
        if block:
            body = "".join(block)
            out.append(f"(?>(?:/[^/]*+)*?{body})" if spanned else body)
            block = []
        spanned = True
    return "".join(out)


def _component(text: str) -> str:
    return "".join(_pieces(text, "[^/]", question=True))


def _pieces(text: str, any_one: str, *, question: bool) -> list[str]:
    """The regular expression of a glob: each literal piece after a `*` at its leftmost place, the last at the end."""
    first, *rest = [_escape(piece, any_one, question) for piece in re.split(r"\*+", text)]
    if not rest:
        return [first]
    *middle, last = rest
    return [first, *(f"(?>{any_one}*?{piece})" for piece in middle), f"{any_one}*{last}"]


def _escape(piece: str, any_one: str, question: bool) -> str:
    if not question:
        return re.escape(piece)
    return any_one.join(re.escape(p) for p in piece.split("?"))


def _as_test(compiled: re.Pattern[str]) -> Callable[[str], bool]:
    match = compiled.match
    return lambda text: match(text) is not None
