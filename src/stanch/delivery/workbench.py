"""What a workbench remembers: where it was filled from, and which of its entries nobody can vouch for.

Settles which entries a run taints, what is left of a taint once some of them are gone, whether what a run prints may
go to the chat's model, and when a workbench that nobody uses any more goes. Does not settle which secrets came near it
(`provenance.registry`), where a memory is kept (`storage.workbenches`), nor how entries are looked at
(`content.workbench_disk`).
INVARIANT: whatever a tainted run made or changed is tainted; nothing but its going takes the taint from an entry. Where
it changed or removed what was not, all that is left is tainted: which of many files are as they were says something.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from stanch.delivery.source import Source
from stanch.values.reason import Code, LayerId, Reason

MOST_PLACES = 10_000
MOST_NAMED = 5_000
"""How many tainted entries are remembered by name; where there are more, all that lies in the workbench is tainted."""
_FORM = 1
_SHOWN = 10


class EntryKind(StrEnum):
    """What an entry of a workbench is."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"
    DEEP = "deep"  # a folder that lies so deep that nobody looked into it


@dataclass(frozen=True, slots=True)
class Mark:
    """What tells an entry from another one that stood under its name before.

    `size` is in bytes. `changed` is the kernel's time of its last change, in nanoseconds, which no program can set.
    """

    kind: EntryKind
    device: int
    inode: int
    size: int
    changed: int


Entries = Mapping[str, Mark]
"""What lies in a workbench, by its path there."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known of a workbench besides the secrets that came near it.

    `places` are the canonical paths that it was filled from, `items` the names of items without one. `tainted` are its
    own entries that nobody can vouch for, `brought` the names of the stored items that brought that in. `everything`:
    whatever lies in it is tainted. `running`: a run began while it was tainted, and nobody has seen its end.
    """

    places: frozenset[str] = frozenset()
    items: frozenset[str] = frozenset()
    tainted: frozenset[str] = field(default=frozenset(), repr=False)
    brought: frozenset[str] = frozenset()
    everything: bool = False
    running: bool = False

    @property
    def is_tainted(self) -> bool:
        """True where what a run prints may not go to the model."""
        return bool(self.tainted) or self.everything or self.running

    def filled_from(self, source: Source) -> Memory | None:
        """The memory once this item has come in; None where no more can be remembered."""
        places, items = self.places, self.items
        if source.path is not None:
            places |= {source.path}
        else:
            items |= {name_of(source)}
        return None if len(places) + len(items) > MOST_PLACES else replace(self, places=places, items=items)

    def tainted_by(self, source: Source, entry: str) -> Memory:
        """The memory once a copy of this item, of which nobody knows what it carries, is about to be the entry."""
        return replace(self, tainted=self.tainted | {entry}, brought=self.brought | {name_of(source)})

    def vouched_for(self, entry: str) -> Memory:
        """The memory once a copy that somebody can vouch for stands in the place of whatever was the entry."""
        return replace(self, tainted=self.tainted - {entry})


def name_of(source: Source) -> str:
    """What an item is called where a person or a model is told of it."""
    return f"{source.kind.value}:{source.id}"


def as_found(memory: Memory, entries: Entries) -> Memory:
    """The memory held against what lies in the workbench before anything is done there.

    Of a taint those entries are left that are still there. After a run whose end nobody has seen, all are tainted.
    """
    lost = memory.everything or memory.running
    tainted = frozenset(entries) if lost else memory.tainted & entries.keys()
    return _named(replace(memory, everything=False, running=False), tainted)


def begun(memory: Memory) -> Memory:
    """The memory while a run goes on whose output may not go to the model."""
    return replace(memory, running=True)


def after_run(memory: Memory, before: Entries, after: Entries) -> tuple[Memory, tuple[str, ...]]:
    """The memory after a run that began with `memory`; and the folders that have to be made plain, or else be tainted.

    WHY a folder is not tainted for having changed: taking a tainted copy out of it changes it. What it could still say,
    such as by its times, is taken from it.
    """
    if not memory.is_tainted:
        return memory, ()
    kept = tuple(
        path
        for path, mark in after.items()
        if mark.kind is EntryKind.FOLDER and path not in memory.tainted and _is_folder_of(before.get(path), mark)
    )
    changed = {path for path, mark in after.items() if mark.kind is EntryKind.DEEP or before.get(path) != mark}
    tainted = (changed - set(kept)) | (memory.tainted & after.keys())
    clean = before.keys() - memory.tainted - set(kept)
    if memory.everything or any(before[path] != after.get(path) for path in clean):
        tainted, kept = set(after), ()
    return _named(replace(memory, everything=False, running=False), frozenset(tainted)), kept


def still_tainted(memory: Memory, entries: Iterable[str]) -> Memory:
    """The memory with these entries tainted, too: folders that could not be made plain."""
    return _named(memory, memory.tainted | frozenset(entries)) if not memory.everything else memory


def tainted_reason(memory: Memory) -> Reason:
    """Why a run's output is withheld. It names stored items alone: whatever code has named could say something."""
    names = sorted(memory.brought)
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return Reason(Code.WORKBENCH_TAINTED, LayerId.DELIVERY, subject=", ".join(names[:_SHOWN]) + more or "the workbench")


def goes(ended: timedelta | None, after: timedelta, unread: int) -> bool:
    """True where a workbench is removed without anybody asking for it.

    `ended` is how long ago its session ended, None for one that goes on; `after` how long it then stays. `unread` is
    how many outputs of it wait for a person: while there is one, all of it stays, as what that output came from.
    """
    return ended is not None and ended >= after and not unread


def written(memory: Memory) -> str:
    """The memory as a text, which `read` reads."""
    body = {
        "form": _FORM,
        "places": sorted(memory.places),
        "items": sorted(memory.items),
        "tainted": sorted(memory.tainted),
        "brought": sorted(memory.brought),
        "everything": memory.everything,
        "running": memory.running,
    }
    return json.dumps(body, separators=(",", ":"))


def read(text: str) -> Memory | None:
    """The memory that was written so; None for another text."""
    try:
        body = json.loads(text)
        if body["form"] != _FORM or not all(isinstance(body[key], bool) for key in ("everything", "running")):
            return None
        places, items, tainted, brought = (_texts(body[key]) for key in ("places", "items", "tainted", "brought"))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return Memory(places, items, tainted, brought, body["everything"], body["running"])


def _named(memory: Memory, tainted: frozenset[str]) -> Memory:
    if not tainted:
        return replace(memory, tainted=tainted, brought=frozenset())
    if len(tainted) > MOST_NAMED:
        return replace(memory, tainted=frozenset(), everything=True)
    return replace(memory, tainted=tainted)


def _is_folder_of(before: Mark | None, after: Mark) -> bool:
    """True where the folder was there before, under this very path."""
    same = before is not None and (before.device, before.inode) == (after.device, after.inode)
    return same and before is not None and before.kind is EntryKind.FOLDER


def _texts(value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise TypeError
    return frozenset(value)
