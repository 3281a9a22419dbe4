"""A simple command of a shell call, as it would run.

Settles the record that rules are held against. Does not settle how a command line is read (`policy.shell`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Command(NamedTuple):
    """One simple command of a shell call, as it would run: quotes taken away, what is known put in for variables.

    `text` is what a person is shown. `program` is the base name ("" where it is not known) and `place` the directory
    it was written with, "" for a bare name and for the directories of a system. `words` are the further words, None
    for one that is not known; the first `front` of them stand before the subcommand, and `plain_front` is false where
    one of those changes what the subcommand does. `takes` are the options known to take a value, `aliases` pairs of
    names of one option, `known` says whether the program is in the table of commands. `assignments` stand before the
    program; those named in `needs` change what runs. `inert`: a built-in or wrapper that by itself does nothing.
    `unread` says what about it cannot be known, and why; "" where all is. `sub`: the word at `front` is a subcommand.
    """

    text: str
    program: str = ""
    place: str = ""
    words: tuple[str | None, ...] = ()
    front: int = 0
    plain_front: bool = True
    takes: frozenset[str] = frozenset()
    aliases: tuple[tuple[str, str], ...] = ()
    known: bool = False
    assignments: tuple[tuple[str, str | None], ...] = ()
    needs: frozenset[str] = frozenset()
    inert: bool = False
    unread: str = ""
    sub: bool = False

    @property
    def name(self) -> str:
        """What a reason may call it: its program and subcommand, none of its other words, which may hold anything."""
        if not self.program:
            return "a command"
        word = self.words[self.front] if self.sub and self.front < len(self.words) else None
        return f"{self.program} {word}" if word else self.program


class Weight(StrEnum):
    """How much an effect that a command was found to have counts.

    A sure one is judged in full. A possible one counts against the command where a rule closes its target, and never
    for it: nobody knows whether the command touches it.
    """

    SURE = "sure"
    POSSIBLE = "possible"
