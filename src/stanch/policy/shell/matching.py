"""Command patterns: does the pattern of a rule fit one simple command?

Settles the grammar of a pattern, and when it fits a command that a rule would refuse and one that a rule would allow.
Does not settle how options are told from other words (`policy.shell.options`), which patterns are too wide to be
remembered (`policy.shell.width`), how a command line is read into commands, nor what a command does: `needs` and
`unread` are the caller's business.

Only `*` is special, in quotes too, and stands for any characters.
INVARIANT: what `allows` fits, `refuses` fits too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from stanch.paths.pattern import MAX_PATTERN, glob
from stanch.policy.shell.options import CommandWords, is_lone
from stanch.values.command import Command

_MAX_WORDS = 128
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
_NOT_A_LINE = "a pattern is the words of one command, not a command line; put a word with such a character in quotes"


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """The pattern of a rule, taken apart: `program` as written, `words` without quotes, `assignments` before both."""

    text: str
    assignments: tuple[tuple[str, str], ...]
    program: str
    words: tuple[str, ...]

    @property
    def programs(self) -> str | None:
        """The base name of the only program that it can fit; None where a `*` leaves that open."""
        return None if "*" in self._base else self._base

    @property
    def _base(self) -> str:
        return self.program.rpartition("/")[2]

    @property
    def _every(self) -> bool:
        return not self.assignments and all(map(is_lone, (self.program, *self.words)))

    def refuses(self, command: Command) -> bool:
        """True where a deny or ask rule with this pattern fits: what the pattern names is there, whatever else is."""
        if self._every:
            return True
        program = command.program
        if not program or not (glob(self._base)(program) or glob(self.program)(command.place + program)):
            return False
        return set(self.assignments) <= set(command.assignments) and CommandWords(command).has(self.words)

    def allows(self, command: Command) -> bool:
        """True where an allow rule with this pattern fits: every word of the command is covered by the pattern."""
        if self._every:
            return True
        last = dict(command.assignments)
        if not self._allows_program(command) or any(last.get(name) != value for name, value in self.assignments):
            return False
        return CommandWords(command).has_only(self.words or ("*",))

    def _allows_program(self, command: Command) -> bool:
        """A program at a place needs that place in the pattern, and `dir/*` names no program that stands elsewhere."""
        if not command.place:
            sure = "/" not in self.program or "*" not in self._base
            return command.program != "" and sure and glob(self._base)(command.program)
        climbs = "*" in self.program and ".." in command.place.split("/")
        placed = command.program != "" and "/" in self.program and not climbs
        return placed and glob(self.program)(command.place + command.program)


def command_pattern(text: str) -> CommandPattern:
    """The pattern as written in a rule. Raises `ValueError` with a sentence that says what is wrong with it."""
    if len(text) > MAX_PATTERN:
        raise ValueError("a command pattern longer than 4,096 characters")
    if "\n" in text:
        raise ValueError(f"a line break; {_NOT_A_LINE}")
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in text):
        raise ValueError("a control character; words are separated by blanks")
    words = list(_split_up(text))
    assignments: list[tuple[str, str]] = []
    while words and (found := _ASSIGNMENT.fullmatch(words[0])):
        assignments.append((found["name"], found["value"]))
        del words[0]
    if not words and assignments:
        raise ValueError("assignments without a program; write '*' behind them for any program")
    if not words:
        raise ValueError("an empty command pattern; write '*' for every command")
    if len(words) > _MAX_WORDS:
        raise ValueError(f"a command pattern of more than {_MAX_WORDS} words")
    program, *rest = words
    if not program or program.endswith("/") or program.startswith("-"):
        raise ValueError(f"'{program}' is no program; a pattern begins with the program's name")
    return CommandPattern(text, tuple(assignments), program, tuple(rest))


def _split_up(text: str) -> Iterator[str]:
    word: str | None = None
    quote = ""
    for at, char in enumerate(text):
        if quote and char == quote:
            quote = ""
        elif quote != "'" and (char == "`" or text.startswith("$(", at) or (not quote and char in ";|&<>")):
            raise ValueError(f"'{char}' joins, redirects or nests commands; {_NOT_A_LINE}")
        elif not quote and char == "\\":
            raise ValueError("a backslash outside of quotes; put the word in quotes instead")
        elif not quote and char in "'\"":
            word, quote = word or "", char
        elif quote or char != " ":
            word = (word or "") + char
        elif word is not None:
            yield word
            word = None
    if quote:
        raise ValueError(f"a quote {quote} that is opened is never closed")
    if word is not None:
        yield word
