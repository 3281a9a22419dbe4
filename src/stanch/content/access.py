"""What an operation on stored content is given to work with.

Settles who asks, whose items they may find, and what is known of what they write. Does not settle what any operation
does, nor who puts this together (`app.content`).
"""

from __future__ import annotations

import posixpath
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from stanch.content.acting import Does, Judged, Performed
from stanch.delivery.admit import Delivery
from stanch.delivery.gates import RegistryGate
from stanch.provenance.seals import Seals
from stanch.provenance.states import Provenance
from stanch.storage.blobs import Blobs
from stanch.storage.content_store import ContentStore
from stanch.values.fault import BadFields
from stanch.values.records import Actor


@dataclass(frozen=True, slots=True)
class Pieces:
    """Bytes that come block by block, since they may be more than fit into the memory."""

    chunks: Iterator[bytes] = field(repr=False)


Knowing = Callable[[Any], Provenance]
"""Says what is known of a value (JSON-like, text, bytes or `Pieces`) that is written."""
LONGEST_PATH = 1_024


class Writing(Protocol):
    """What is known of the values that this caller writes."""

    def over(self, sources: Sequence[Provenance] = ()) -> Knowing:
        """For values that are made of these sources, besides what the caller brings along. Raises nothing later."""


class Acting(Protocol):
    """Judges calls of sessions, and runs tools. Every method blocks."""

    @property
    def node(self) -> str:
        """The id of this process."""

    def session_for(self, access: Access, session_id: str | None) -> str | None:
        """The session that this caller acts in, None for none: a model always in its own.

        Raises `NotFound` for one that it may not act in, and `BadFields` where a model names another one than its own.
        """

    def does(self, tool: str) -> Does:
        """Whether the tool is done here."""

    def check_secrets(self, access: Access, tool: str, names: Sequence[str]) -> None:
        """Raises `BadFields` and `NotFound` where the tool cannot be given the values of these secrets."""

    def submit(self, access: Access, session_id: str, tool: str, arguments: Mapping[str, Any]) -> Judged:
        """A new call of the session, judged and kept. Raises `BadCall` and `Conflict`."""

    def look(self, session_id: str, call_id: str, tool: str, arguments: Mapping[str, Any]) -> Judged:
        """A call that was submitted before. One of another session, tool or arguments is refused."""

    def perform(
        self,
        access: Access,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        session_id: str | None,
        call: Judged | None,
        sources: Sequence[Provenance] = (),
        instead: Callable[[], Performed] | None = None,
        secrets: Sequence[str] = (),
    ) -> Performed | Judged:
        """What came of the tool, once; where its call may not start by now, that call as it stands.

        `sources` are what is known of the arguments. `instead` gives what came of it elsewhere, for a tool
        that nothing here does. `secrets` are names of the vault whose values a command gets as variables of its own.
        Raises what `check_secrets` raises, before anything runs.
        """


class Workbench(Protocol):
    """The workbench of a session, which a call fills. What is put there has passed its gate before."""

    @property
    def session_id(self) -> str:
        """Whose workbench it is."""

    @property
    def gate(self) -> RegistryGate:
        """What stands before it."""

    def check(self, files: Mapping[str, int]) -> None:
        """Raises `Conflict` where a folder stands at one of the paths, `BadInput` where the sizes do not fit in."""

    def put(self, path: str, chunks: Iterable[bytes], size: int) -> None:
        """Puts a file of this size there, whole or not at all. Raises `Conflict` and `StoreUnreadable`."""

    def vouched_for(self, path: str) -> None:
        """Says that it is known what the file carries that was just put there."""


def _unheard(_done: int, _all: int | None) -> None:
    """Nobody follows the progress."""


@dataclass(frozen=True, slots=True)
class Access:
    """One call of one operation, by one caller.

    `person` is the id of whom the caller is or acts for, None for one who is nobody's. `root` is the canonical path of
    the workspace: an item at the path `a/b` lies at `root/a/b` for rules and tiers. `told` is called with how much of a
    long operation is done, and of how much where that is known. `cancelled` is set where nobody waits any more.
    `acting` judges calls and runs tools, None where nothing does. `workbench` is what a model's call fills, None for
    none.
    """

    delivery: Delivery
    stores: ContentStore
    blobs: Blobs
    seals: Seals
    writing: Writing
    by: Actor
    root: str
    person: str | None = None
    session_id: str | None = None
    told: Callable[[int, int | None], None] = _unheard
    cancelled: threading.Event = field(default_factory=threading.Event)
    acting: Acting | None = None
    workbench: Workbench | None = None

    def sees(self, owner: str | None) -> bool:
        """True for an item of the workspace, and for one that belongs to whom the caller is or acts for.

        An item that is not seen is not there: nothing tells it from one that does not exist.
        """
        return owner is None or owner == self.person

    def place(self, path: str) -> str:
        """Where an item with this path lies for rules and tiers."""
        return posixpath.join(self.root, path)


def item_path(written: str) -> str:
    """The path of an item, as it is kept: its parts with `/` between, none in front.

    Raises `BadFields` for one that is empty, too long, or has parts such as `..`.
    """
    parts = [part for part in written.split("/") if part]
    bad = not parts or any(part in (".", "..") for part in parts)
    bad = bad or len(written.encode("utf-8", "surrogatepass")) > LONGEST_PATH
    if bad or any(ord(letter) < 32 or letter in "\\\x7f" or "\ud800" <= letter <= "\udfff" for letter in written):
        raise BadFields(
            ("path", f"'path' must name an item, such as notes/plan.md: up to {LONGEST_PATH:,} bytes, no '..'")
        )
    return "/".join(parts)


def known_of(writing: Writing, value: Any, sources: Iterable[Provenance] = ()) -> Provenance:
    """What is known of one value that is made of these sources."""
    return writing.over(tuple(sources))(value)
