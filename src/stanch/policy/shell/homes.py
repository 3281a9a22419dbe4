"""What `~` and `$HOME` stand for.

Settles home directories. Does not settle other expansions (`policy.shell.expanding`).
"""

from __future__ import annotations

from typing import Protocol

from stanch.policy.shell.pieces import BARE, QUOTED, Hole, Lit, Value
from stanch.policy.shell.state import State


class Homes(Protocol):
    """Who knows the home directories of the machine."""

    @property
    def home(self) -> str:
        """The home directory that `~` stands for."""

    def home_of(self, user: str) -> str | None:
        """The home directory of a user."""


def with_home(pieces: Value, state: State, run: Homes) -> Value:
    """The pieces of a word with a home directory in the place of a `~` at its beginning."""
    first = pieces[0] if pieces else None
    if not isinstance(first, Lit) or first.kind != BARE or not first.text.startswith("~"):
        return pieces
    user, slash, rest = first.text[1:].partition("/")
    if not slash and len(pieces) > 1:
        return pieces
    if user == "+":
        home: str | None = state.cwds[0] if len(state.cwds) == 1 and not state.lost else None
    elif user == "":
        return (*home_values(state, run)[0], *((Lit("/" + rest, BARE),) if slash else ()), *pieces[1:])
    else:
        home = None if user == "-" or user.isdigit() else run.home_of(user)
        if home is None and user not in ("-",) and not user.isdigit():
            return pieces  # no such user: the word stays as it is
    if home is None:
        return (Hole("a directory that is not known"), *pieces[1:])
    return (Lit(home, QUOTED), *((Lit("/" + rest, BARE),) if slash else ()), *pieces[1:])


def home_values(state: State, run: Homes) -> tuple[Value, ...]:
    """What `$HOME` may hold."""
    held = state.variables.get("HOME")
    if held is None:
        return ((Lit(run.home, QUOTED),),)
    return held if len(held) == 1 else ((Hole("a home directory that may be several"),),)
