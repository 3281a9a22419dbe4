"""What the words of one simple command were found to be.

Settles the record. Does not settle how options are told from operands (`policy.shell.taking`), nor what each operand is
(`policy.shell.operands`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stanch.policy.shell.pieces import Spot, Word
from stanch.policy.shell.verbs import Verb


@dataclass(slots=True)
class Use:
    """What a command's words were found to be.

    `acts` are words with what is done to them. `inner` is the command line that a wrapper runs, `code` shell code that
    it runs. `base` is the directory that its relative operands start from. `unread` says what cannot be known.
    `operands` are what it was given, `arguments` what code that it runs is given. `quiet`: it only talks about itself.
    `above` are the subcommands before the innermost. `printed` are the places below which it prints names, where that
    is more than its operands say.
    """

    verb: Verb
    acts: list[tuple[str, Word]] = field(default_factory=list)
    inner: list[Word] | None = None
    code: list[Word] = field(default_factory=list)
    assigns: list[Word] = field(default_factory=list)
    base: list[Word] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    operands: list[Word] = field(default_factory=list)
    front: int = 0
    plain_front: bool = True
    quiet: bool = False
    unread: str = ""
    rest: list[Word] = field(default_factory=list)
    arguments: list[Word] | None = None
    patterns: list[Word] = field(default_factory=list)
    above: list[Verb] = field(default_factory=list)
    printed: tuple[Spot, ...] = ()

    def say_unread(self, why: str) -> None:
        """Takes down why the command cannot be read; the first reason stands."""
        self.unread = self.unread or why
