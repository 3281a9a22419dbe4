"""What putting values into words asks of the run that it is part of.

Settles the contract alone. Does not settle what a word comes to (`policy.shell.expanding`).
"""

from __future__ import annotations

from typing import Any, Protocol

from stanch.policy.shell.homes import Homes
from stanch.policy.shell.pieces import Value
from stanch.policy.shell.state import Node, State


class Runs(Homes, Protocol):
    """What expanding needs of the run it is part of."""

    def output(self, node: Node, state: State) -> Value:
        """Runs a substitution in a shell of its own and says what it prints."""

    def note(self, why: str) -> None:
        """Takes down that something about the command now being read cannot be known."""

    def script(self, text: str, state: State, stdin: Value | None) -> Any:
        """Reads a piece of shell code and goes through it."""

    def set_meanwhile(self, name: str, values: tuple[Value, ...], *, surely: bool) -> None:
        """Takes down that a word sets a variable while it is read, or may do so."""
