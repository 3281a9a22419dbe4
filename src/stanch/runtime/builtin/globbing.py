"""Which entries below a directory a glob means, and where below it they can lie.

Settles how a model's glob is read. Does not settle how globs match (`paths.pattern`), nor who may see an entry. Unlike
in a rule, a glob that fits a directory does not fit what lies below it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from stanch.paths.pattern import MAX_PATTERN, Part, from_parts, is_span
from stanch.runtime.builtin.asked import CannotDo

# Stands behind a path and its glob: no name holds it, so that a glob fits whole paths only.
_END = "\0"
_GIT = ".git"


@dataclass(frozen=True, slots=True)
class Glob:
    """A glob below one directory.

    `head` are the directories, one in the other, that all it means lies in. `depth` says how many levels of directories
    below these it reaches into, None for all. `fits` takes a canonical path. `into_git`: it names `.git` itself.
    """

    head: tuple[str, ...]
    depth: int | None
    fits: Callable[[str], bool]
    into_git: bool = False


def everything(depth: int | None) -> Glob:
    """All that lies below, down to that depth."""
    return Glob((), depth, lambda _: True)


def globbed(text: str, root: str, *, anywhere: bool = False) -> Glob:
    """The glob as a model wrote it, read against the canonical directory `root`; raises `CannotDo`.

    `anywhere`: one without a `/` fits names on every level.
    """
    if not text or _END in text or len(text) > MAX_PATTERN:
        raise CannotDo("a pattern is a text of 1 to 4,096 characters, such as **/*.py")
    names = [name for name in unicodedata.normalize("NFC", text).split("/") if name not in ("", ".")]
    above = [name for name in unicodedata.normalize("NFC", root).split("/") if name]
    if text.startswith("/"):
        if names[: len(above)] != above:
            raise CannotDo("the pattern lies outside of path: write it from there on, such as **/*.py")
        names = names[len(above) :]
    if ".." in names or text.startswith("~"):
        raise CannotDo("a pattern has no .. and no ~: name the directory in path instead")
    parts = [Part(name, "*" in name or "?" in name) for name in names]
    if anywhere and "/" not in text:
        parts.insert(0, Part("**", True))
    # WHY plain letters only: a name on the disk may be written otherwise, and is opened by its own bytes.
    head = tuple(part.text for part in takewhile(lambda part: not part.wild and part.text.isascii(), parts[:-1]))
    depth = None if any(is_span(part) for part in parts) else max(0, len(parts) - len(head) - 1)
    covers = from_parts((*(Part(name, False) for name in above), *parts, Part(_END, False))).covers
    return Glob(
        head, depth, lambda path: covers(f"{unicodedata.normalize('NFC', path).rstrip('/')}/{_END}"), _GIT in names
    )


def is_git(path: str) -> bool:
    """True for what a repository keeps for itself."""
    return path.endswith("/" + _GIT)
