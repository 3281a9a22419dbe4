"""The workspace as a tree on a page: which folders are open, and how each entry reads.

Settles that a folder's entries are looked up once somebody opens it. Does not settle what a tier says of an entry
(`app.tier_tree`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, urlencode

from stanch.app.tier_tree import Counted, Kind, TreeEntry, TreeFolder
from stanch.surfaces.console.guard import Asked
from stanch.values.call import EffectClass
from stanch.values.decision import Effect
from stanch.values.fault import NotFound

CLASSES = (EffectClass.READ.value, EffectClass.WRITE.value, EffectClass.EXECUTE.value)
MOST_OPEN = 40
_WORDS = {Effect.ALLOW: "allowed", Effect.ASK: "asks", Effect.DENY: "denied", None: "out of reach"}
_SIGNS = {Effect.ALLOW: "✓", Effect.ASK: "?", Effect.DENY: "✕", None: "–"}
_TONES = {Effect.ALLOW: "allow", Effect.ASK: "ask", Effect.DENY: "deny", None: "none"}


class Said(NamedTuple):
    """What a tier says, for a page: its tone, its sign and its word."""

    tone: str
    sign: str
    word: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """An entry of a folder. `inside` is there where it is a folder that is open; `address` where it can be opened."""

    entry: TreeEntry
    said: Said
    below: str
    address: str
    path: str
    inside: Branch | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """A folder with its entries. `above` are the folders it lies in, the workspace first.

    `further` has the next part of its entries, `further_page` has it as a page; both are empty where there is none.
    """

    folder: TreeFolder
    said: Said
    leaves: Sequence[Leaf]
    above: Sequence[tuple[str, str]]
    further: str
    further_page: str


def branch_of(asked: Asked, tier: str, path: str, *, start: int, opened: Sequence[str] = ()) -> Branch:
    """The folder, with those of the opened ones that lie in it. Raises `NotFound`, and `Conflict`."""
    cls = EffectClass(asked.get("cls")) if asked.get("cls") in CLASSES else EffectClass.READ
    return _Growing(asked, tier, cls, frozenset(opened[:MOST_OPEN])).branch(path, start)


class _Growing:
    def __init__(self, asked: Asked, tier: str, cls: EffectClass, opened: frozenset[str]) -> None:
        self._tree, self._tier, self._cls, self._opened = asked.service.tier_tree, tier, cls, opened
        self._left = MOST_OPEN

    def branch(self, path: str, start: int) -> Branch:
        found = self._tree.folder(self._tier, self._cls, path, start=start)
        behind = start + len(found.entries)
        more = behind < found.total
        further = {"path": path, "start": str(behind)}
        return Branch(
            found,
            said_of(found.effect),
            [self._leaf(one) for one in found.entries],
            _above(path),
            self._address("/folder", **further) if more else "",
            self._address("", **further) if more else "",
        )

    def _leaf(self, entry: TreeEntry) -> Leaf:
        opens = entry.kind is Kind.FOLDER and entry.effect is not None
        inside: Branch | None = None
        if opens and entry.path in self._opened and self._left > 0:
            self._left -= 1
            try:
                inside = self.branch(entry.path, 0)
            except NotFound:  # it went meanwhile
                inside = None
        address = self._address("/folder", path=entry.path) if opens else ""
        path = self._address("", path=entry.path) if opens else ""
        return Leaf(entry, said_of(entry.effect), _below(entry.below), address, path, inside)

    def _address(self, below: str, **fields: str) -> str:
        query = {"tier": self._tier, "cls": self._cls.value, **fields}
        return f"/console/tiers{below}?{urlencode(query, quote_via=quote)}"


def said_of(effect: Effect | None) -> Said:
    """What a tier says, for a page."""
    return Said(_TONES[effect], _SIGNS[effect], _WORDS[effect])


def _below(counted: Counted | None) -> str:
    """What is said of what lies below a folder and differs from it; empty where nothing is known to."""
    if counted is None:
        return ""
    said = [
        f"{counted.by_effect[effect]:,} {_WORDS[effect]}"
        for effect in (Effect.DENY, Effect.ASK, Effect.ALLOW)
        if counted.by_effect.get(effect)
    ]
    if not said:
        return "" if counted.complete else "too much below to count"
    return f"below: {'' if counted.complete else 'at least '}{', '.join(said)}"


def _above(path: str) -> list[tuple[str, str]]:
    """The folders that a path lies in, from the workspace down to its own, with their paths."""
    names = path.split("/") if path else []
    return [("workspace", ""), *((name, os.path.join("", *names[: at + 1])) for at, name in enumerate(names))]
