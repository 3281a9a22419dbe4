"""What comes of a statement, what its redirections opened, and the part that is being made of a command.

Settles the records that the parts of a going-through hand to each other. Does not settle how any of them comes about.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from stanch.policy.shell.pieces import Hole, Value
from stanch.policy.shell.reading import Found
from stanch.policy.shell.state import State, either

UNKNOWN_OUTPUT: Value = (Hole("the output of a command"),)
NO_OUTPUT: Value = ()
Assigns = tuple[tuple[str, Value], ...]


class Result(NamedTuple):
    """What comes after a statement: the state where it went well, where it failed (None: it cannot), what it prints."""

    ok: State | None
    fail: State | None
    out: Value = UNKNOWN_OUTPUT

    @property
    def after(self) -> State | None:
        """The state after it, whichever way it went."""
        return either(self.ok, self.fail)


NOWHERE = Result(None, None, NO_OUTPUT)
"""What comes of a statement that is never reached."""


def one_of(one: Result, other: Result) -> Result:
    """What comes of two ways of which nobody knows which is taken."""
    out = one.out if not other.out else (other.out if not one.out else UNKNOWN_OUTPUT)
    return Result(either(one.ok, other.ok), either(one.fail, other.fail), out)


def left_by(function: Result, state: State) -> Result:
    """What a function leaves behind: everything but its arguments; what it declared for itself may be as before."""
    return function._replace(ok=_back(function.ok, state), fail=_back(function.fail, state))


def _back(inside: State | None, state: State) -> State | None:
    if inside is None:
        return None
    both = either(inside, state) or inside
    variables = {**inside.variables, **{name: both.variables[name] for name in inside.own if name in both.variables}}
    return replace(inside, arguments=state.arguments, variables=variables, own=state.own)


class Opened(NamedTuple):
    """What a statement's redirections come to.

    `stdin` is what the command finds on its standard input, None where nothing was put there. `elsewhere`: what it
    prints goes into a file; `silent`: and nothing of it anywhere else. `targets` are the files that are written, each
    with whether it is only added to. `moved`: some descriptor is not what it was, so that any command may fail. `fed`: the input is a text that stands there.
    """

    found: tuple[Found, ...] = ()
    stdin: Value | None = None
    elsewhere: bool = False
    silent: bool = False
    unread: str = ""
    shown: str = ""
    targets: tuple[tuple[Found, bool], ...] = ()
    output: Value = ()
    moved: bool = False
    fed: bool = False

    def for_inner(self, stdin: Value | None) -> Opened:
        """What a command that this one runs has of them: its effects and files are counted once."""
        return Opened(stdin=stdin, elsewhere=self.elsewhere, silent=self.silent, moved=self.moved)


class Draft:
    """The part that is being made of one command."""

    def __init__(self, opened: Opened, assigns: Assigns = ()) -> None:
        self.found: list[Found] = list(opened.found)
        self.scripts: list[Found] = []
        self.unread = opened.unread
        self.assigns = assigns
        self.needs: set[str] = set()

    def say_unread(self, why: str) -> None:
        """Takes down why the command cannot be read; the first reason stands."""
        self.unread = self.unread or why
