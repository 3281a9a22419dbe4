"""What the parts of one going-through ask of it, and what a simple command hands to whoever reads its words.

Settles the contract between the run and its parts, so that they need not know each other. Does not settle any of what
they do (`policy.shell.running`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from stanch.policy.shell.outcome import Assigns, Draft, Opened, Result
from stanch.policy.shell.pieces import Value, Word
from stanch.policy.shell.reading import Part, World
from stanch.policy.shell.state import Node, State
from stanch.policy.shell.use import Use
from stanch.policy.shell.verbs import Slot, Verb, Verbs

QUIET = Verb((), (Slot("text", "*"),), inert=True)
"""A built-in that touches nothing."""


LISTING = Verb((), (Slot("text", "*"),))
"""A built-in that prints what variables hold."""


class Disk:
    """What the command has made so far: what the files that it wrote may hold, by path, and links with their targets.

    `copies` are places with what was moved or copied to them, links and all; `folders` are directories that it made,
    `below` those in which it may have made anything. `ran` are the scripts that it ran: with which state and input, and
    what of their text has been gone through.
    """

    def __init__(self) -> None:
        self.written: dict[str, list[str | None]] = {}
        self.links: dict[str, str | None] = {}
        self.copies: dict[str, str] = {}
        self.folders: set[str] = set()
        self.below: set[str] = set()
        self.ran: dict[str, tuple[State, Value | None, set[str | None]]] = {}

    @property
    def size(self) -> int:
        """How much has been made."""
        return sum(map(len, self.written.values())) + len(self.links) + len(self.below)


class Walk(Protocol):
    """One going-through: what was found so far, and the ways back into it."""

    verbs: Verbs
    parts: list[Part]
    notes: list[str]
    disk: Disk
    seen: tuple[str, ...]
    traps: list[str]
    kept: State | None
    meanwhile: dict[str, tuple[Value, ...]] | None

    @property
    def world(self) -> World:
        """The machine that is asked."""

    @property
    def home(self) -> str:
        """The home directory that `~` stands for."""

    def home_of(self, user: str) -> str | None:
        """The home directory of a user."""

    def note(self, why: str) -> None:
        """Takes down that something about the command now being read cannot be known."""

    def set_meanwhile(self, name: str, values: tuple[Value, ...]) -> None:
        """Takes down that a word sets a variable while it is read."""

    def output(self, node: Node, state: State) -> Value:
        """Runs a substitution in a shell of its own and says what it prints."""

    def script(self, text: str, state: State, stdin: Value | None) -> Result:
        """Reads a piece of shell code and goes through it."""

    def statements(self, nodes: Sequence[Node], state: State | None, stdin: Value | None) -> Result:
        """Goes through a list of statements, one after the other."""

    def statement(self, node: Node, state: State, stdin: Value | None) -> Result:
        """Goes through one statement with its redirections."""

    def simple(self, words: Sequence[Word], assigns: Assigns, state: State, opened: Opened) -> Result:
        """Goes through one command of which every word is in place."""

    def function(
        self, name: str, bodies: Sequence[Node | None], state: State, stdin: Value | None, *, quietly: bool = False
    ) -> Result:
        """Goes through a function that is called or, `quietly`, only made."""


class Call(NamedTuple):
    """One simple command, as it is handed to whoever knows its program. `use` is what its row in the table says."""

    run: Walk
    program: str
    words: list[Word]
    state: State
    opened: Opened
    draft: Draft
    use: Use
