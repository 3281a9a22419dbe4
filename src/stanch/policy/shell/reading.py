"""What a whole shell command was found to do, and what is asked of the world while it is read.

Settles the records and the limits. Does not settle how the command is gone through (`policy.shell.running`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from stanch.values.call import EffectClass
from stanch.values.command import Command, Weight

MOST_BYTES = 64 * 1024
MOST_PARTS = 400
MOST_FOUND = 1_000
MOST_STEPS = 10_000
MOST_CODES = 60
DEEPEST = 12


class Unparsed(Exception):
    """A command that the parser refused or did not read in time; `cause` is a few words, never the command's text."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class TooMuch(Exception):
    """A command with more in it than is looked through."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class Script(NamedTuple):
    """A file that this session wrote and a command now runs. `text` is None where it cannot be read."""

    text: str | None


class World(Protocol):
    """What has to be asked of the machine while a command is read. Deciding stays with values: this is handed in."""

    home: str

    def parse(self, code: str) -> Mapping[str, Any]:
        """The syntax tree of a piece of shell code. Raises `Unparsed`."""

    def names(self, parts: tuple[tuple[str, bool], ...], base: str, *, wide: bool) -> list[str] | None:
        """The names that a word with wildcards stands for, read against a directory; None where they are too many.

        `parts` are pieces of text with whether wildcards count in them. `wide`: wildcards match more than by default.
        """

    def is_file(self, path: str, base: str) -> bool:
        """True where the path names a file that is there."""

    def is_dir(self, path: str, base: str) -> bool:
        """True where the path names a directory that is there."""

    def real(self, path: str) -> str:
        """Where a directory's path leads in fact."""

    def home_of(self, user: str) -> str | None:
        """The home directory of a user; None where there is no such user."""

    def written(self, path: str, base: str) -> Script | None:
        """The script, where the path names a file that this session wrote; else None."""


class Found(NamedTuple):
    """One effect that a command was found to have, not yet stamped.

    `path` is as written and read against each of `bases`; None where the effect touches no path, and `subject` says
    what it touches. `weight`: see `Weight`. `deep` says whether what lies below is touched too: "whole", all of it with
    the directory itself (`rm -r`); "spread", whatever it likes of it (an archive unpacked); "inside", files of some
    kind (a formatter); "links", the same and what links there lead to; "files", any that is no link; "" for nothing.
    `only` is a glob that a name on the way down must fit. `splits` are characters at which a name found there falls
    into several words; a dash among them stands for a name that begins with one, which is then no name at all.
    """

    cls: EffectClass
    path: str | None
    bases: tuple[str, ...] = ()
    deep: str = ""
    weight: Weight = Weight.SURE
    subject: str = ""
    only: str = ""
    splits: str = ""


class Part(NamedTuple):
    """One simple command with the effects it was found to have. `scripts` are files that it runs.

    `places` are the directories that it may run in, None among them where it may be any other, too. Without one, what
    can be read of it runs where the whole command starts.
    """

    command: Command
    found: tuple[Found, ...] = ()
    scripts: tuple[Found, ...] = ()
    places: tuple[str | None, ...] = ()


def unread_part(text: str, why: str) -> Part:
    """The part that stands for a command of which nothing could be read."""
    return Part(Command(shown(text), unread=why))


def shown(text: str, most: int = 200) -> str:
    """The text as one line, cut short."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most] + "…"
