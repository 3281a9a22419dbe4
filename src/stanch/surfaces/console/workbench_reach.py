"""What the pages of one workbench have in common: whose it is, how its entries are named, and how it stands in words.

Settles that no name, address or field holds a secret that ever came near it, and what is said of a taint. Does not
settle what is tainted (`delivery.workbench`), nor what a page shows.
"""

from __future__ import annotations

import os
from typing import NamedTuple
from urllib.parse import quote

from stanch.app.projecting import WITHHELD
from stanch.delivery.workbench import Entries, Memory
from stanch.provenance.registry import Registry
from stanch.secrets.budget import Withheld
from stanch.secrets.projection import Projector
from stanch.surfaces.console.content_badges import Badge
from stanch.surfaces.console.guard import Asked
from stanch.surfaces.console.naming import Naming
from stanch.surfaces.console.session_list import PAGE as SESSIONS
from stanch.values.records import SessionRecord

MOST_BROUGHT = 5
UNKNOWN = Badge("deny", "✕", "cannot be read")


class Standing(NamedTuple):
    """How a workbench stands: a badge, and what that means for whoever works with it."""

    badge: Badge
    says: str


class Bench(Naming):
    """The workbench of the session that the address names. Raises `NotFound`; what it remembers is read by `open`."""

    def __init__(self, asked: Asked) -> None:
        super().__init__(asked)
        self.session: SessionRecord = asked.service.sessions.get(asked.parameters["session_id"])
        self.memory, self.registry = Memory(), Registry()
        self._history: Projector | None = None

    @property
    def id(self) -> str:
        """The session's id."""
        return self.session.id

    def open(self) -> None:
        """Reads what the workbench remembers. Raises `Forgotten` and `StoreUnreadable`."""
        self.memory, self.registry = self.asked.service.workbenches.remembered(self.id)
        made = Projector({})
        for entry in self.registry.entries:
            made = made.adding(entry.name, entry.secret)
        self._history = made if self.registry.entries else None

    def say(self, words: object) -> str:
        """Words without a value of the vault, or of the workbench's history."""
        said = super().say(words)
        try:
            return said if self._history is None else self._history.text(said)
        except Withheld:
            return WITHHELD

    def name(self, path: str) -> str:
        """The path of an entry, as it is shown: bytes that are no text are written out."""
        return self.say(os.fsencode(path).decode("utf-8", "backslashreplace"))

    def address(self, below: str = "", /, **fields: object) -> str:
        """An address below the pages of this workbench."""
        return self.at(f"{SESSIONS}/{quote(self.id, safe='')}/workbench{below}", **fields)

    @property
    def brought(self) -> str:
        """What brought the taint in, in words."""
        return brought_in(self, self.memory)

    def badge(self, path: str) -> Badge:
        """What is known of an entry."""
        why = self.taint(path)
        return Badge("deny", "✕", "tainted", why) if why else Badge("allow", "✓", "known")

    def taint(self, path: str) -> str:
        """Why an entry is tainted, empty for one that is not."""
        if self.memory.running:
            return "a run began while a taint lay here and nobody has seen its end, so that all of it counts as tainted"
        if self.memory.everything:
            return "so much was tainted that all that lies here counts as tainted"
        if path in self.memory.tainted:
            return f"it is a copy of {self.brought}, or was made, changed or renamed while such a copy lay here"
        return ""


def standing(naming: Naming, memory: Memory, registry: Registry, entries: Entries | None = None) -> Standing:
    """How a workbench stands. Without `entries`, all that was tainted counts as still there."""
    is_tainted = memory.everything or memory.running
    is_tainted = is_tainted or (bool(memory.tainted) if entries is None else not memory.tainted.isdisjoint(entries))
    count = len({entry.name for entry in registry.entries})
    if is_tainted:
        says = (
            f"Nobody can vouch for what lies here, since {brought_in(naming, memory)} came in. All that code prints is "
            "withheld from the model and kept for you, until everything tainted is removed."
        )
        return Standing(Badge("deny", "✕", "tainted"), says)
    if count:
        says = "Whatever code prints here is told without these secrets, whether or not their files still lie here."
        return Standing(Badge("ask", "◆", f"remembers {count:,} secret{'' if count == 1 else 's'}"), says)
    return Standing(Badge("allow", "✓", "clean"), "No secret has come near it, and nothing in it is tainted.")


def brought_in(naming: Naming, memory: Memory) -> str:
    """What brought a taint in, in words."""
    names = [naming.say(one) for one in sorted(memory.brought)]
    more = f" and {len(names) - MOST_BROUGHT:,} more" if len(names) > MOST_BROUGHT else ""
    return f"{', '.join(names[:MOST_BROUGHT])}{more}" if names else "something"
