"""What a trust tier says of each entry of a folder in the workspace, for a person who looks through it.

Settles how far is looked, and that Stanch's own files are no part of it. Does not settle what a tier says of a path
(`tiers.tier`), nor what further layers say of a call there (`policy.layers`).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from stanch.app.below import look_below
from stanch.app.live import Live
from stanch.app.sight import TierSight
from stanch.paths.canonical import Canonicaliser
from stanch.tiers.tier import Held, Tier
from stanch.values.call import EffectClass, Stamp
from stanch.values.decision import Effect
from stanch.values.fault import Conflict, NotFound
from stanch.values.reason import Code

MOST_SHOWN = 200
MOST_READ = 5_000
MOST_BELOW = 2_000
MOST_BELOW_ALL = 10_000
_OWN, _OTHER = object(), object()


class Kind(StrEnum):
    """What an entry of a folder is."""

    FOLDER = "folder"
    FILE = "file"
    LINK = "link"


class Counted(NamedTuple):
    """How much below a folder the tier says something else of than of the folder itself, by what it says.

    `complete` is false where there was more than was looked through.
    """

    by_effect: Mapping[Effect, int]
    complete: bool


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a folder, by its `path` from the workspace on. `effect` is None where `problem` says why.

    `where` is the cell that says so, `differs` that it is not what the tier says of the folder around it. A link's
    effect is that of what it leads to, which is its `target`: from the workspace on, or absolute where
    it lies elsewhere.
    """

    name: str
    path: str
    kind: Kind
    effect: Effect | None
    where: str = ""
    differs: bool = False
    target: str = ""
    problem: str = ""
    below: Counted | None = None


@dataclass(frozen=True, slots=True)
class TreeFolder:
    """A folder by its `path` from the workspace on, "" for the workspace, and a part of its entries, folders first.

    `start` is the number of the first that is here, out of `total`; `complete` is false where there are more than were
    read. `own`: files of Stanch's own are there, and left out. `problem` says why the entries cannot be listed.
    """

    path: str
    effect: Effect
    where: str
    entries: Sequence[TreeEntry] = ()
    start: int = 0
    total: int = 0
    complete: bool = True
    own: bool = False
    problem: str = ""


class TierTree:
    """The workspace, as the tiers of the policy of the moment speak of it."""

    def __init__(self, live: Live, sight: TierSight) -> None:
        self._live, self._sight = live, sight

    def folder(self, tier: str, cls: EffectClass, path: str = "", *, start: int = 0) -> TreeFolder:
        """A folder of the workspace, and what the tier says of such an effect at it and at its entries.

        For `execute` only folders are entries: it is held against the directory that a command works in. Raises
        `Conflict` where the policy has a mistake in its tiers, and `NotFound` for a tier that is not there and for what
        is no folder in the workspace: a link, a place outside of it, and Stanch's own state.
        """
        tiers = self._sight.tiers()
        if tiers.broken is not None:
            raise Conflict(f"the trust tiers cannot be relied on: the policy has a mistake at {tiers.broken}")
        if tier not in tiers.tiers:
            raise NotFound("trust tier", tier)
        engine = self._live.engine
        root = engine.policy.workspace
        return _Looking(tiers.tiers[tier], cls, engine.canonicaliser, root).folder(path, start)


class _Looking:
    """One look at one folder. `_left` is how many entries below may still be counted."""

    def __init__(self, tier: Tier, cls: EffectClass, finder: Canonicaliser, root: str) -> None:
        self._tier, self._cls, self._finder = tier, cls, finder
        self._root = root
        self._left = MOST_BELOW_ALL

    def folder(self, path: str, start: int) -> TreeFolder:
        here = self._stamp(path)
        is_own = here.refusal is Code.PATH_PROTECTED
        if is_own or not self._is_plain(path, here) or not os.path.isdir(here.path):
            raise NotFound("folder", path)
        held = self._says(here)
        own = TreeFolder(path, held.effect, self._tier.where(self._cls, held))
        found: list[TreeEntry] = []
        left_out, read = False, 0
        try:
            with os.scandir(here.path) as entries:
                for entry in entries:
                    read += 1
                    if read > MOST_READ:
                        break
                    one = self._entry(entry, path, held.effect)
                    if isinstance(one, TreeEntry):
                        found.append(one)
                    left_out = left_out or one is _OWN
        except OSError as why:
            return replace(own, problem=f"it cannot be listed: {(why.strerror or 'unknown').lower()}")
        found.sort(key=lambda one: (one.kind is not Kind.FOLDER, one.name.casefold(), one.name))
        shown = [self._counted(one) for one in found[start : start + MOST_SHOWN]]
        return replace(
            own, entries=tuple(shown), start=start, total=len(found), complete=read <= MOST_READ, own=left_out
        )

    def _stamp(self, path: str) -> Stamp:
        """WHY as if to write: only then is everything looked for that is Stanch's own."""
        return self._finder.stamp(path, self._root, write=True)

    def _is_plain(self, path: str, stamp: Stamp) -> bool:
        """True for a path that is written as it is: below the workspace, and led there by no link."""
        return stamp.path == (f"{self._root.rstrip('/')}/{path}" if path else self._root)

    def _says(self, stamp: Stamp) -> Held:
        return self._tier.says(self._cls, stamp.key, folded=stamp.folded)

    def _entry(self, entry: os.DirEntry[str], folder: str, around: Effect) -> TreeEntry | object:
        """The entry; `_OWN` for what is Stanch's own, `_OTHER` for what the class of effects does not speak of."""
        path = f"{folder}/{entry.name}" if folder else entry.name
        is_link = entry.is_symlink()
        is_folder = _is_folder(entry)
        if self._cls is EffectClass.EXECUTE and not is_folder:
            return _OTHER
        kind = Kind.LINK if is_link else Kind.FOLDER if is_folder else Kind.FILE
        stamp = self._stamp(path)
        if stamp.refusal is Code.PATH_PROTECTED:
            if not is_link:
                return _OWN
            return TreeEntry(entry.name, path, kind, None, problem="leads to files of Stanch's own")
        if not stamp.path:
            return TreeEntry(entry.name, path, kind, None, problem=f"nobody can reach it: {stamp.detail}")
        held = self._says(stamp)
        return TreeEntry(
            entry.name,
            path,
            kind,
            held.effect,
            self._tier.where(self._cls, held),
            held.effect is not around,
            self._target(stamp) if is_link else "",
        )

    def _target(self, stamp: Stamp) -> str:
        inside = self._root.rstrip("/") + "/"
        if stamp.path == self._root:
            return "."
        return stamp.path[len(inside) :] if stamp.path.startswith(inside) else stamp.path

    def _counted(self, entry: TreeEntry) -> TreeEntry:
        """The entry, with what differs below it where that is cheap to say."""
        cells = self._tier.columns[self._cls].entries
        if entry.kind is not Kind.FOLDER or entry.effect is None or not cells or self._left <= 0:
            return entry
        if self._cls is EffectClass.EXECUTE:
            return entry
        stamp = self._stamp(entry.path)
        below = look_below(stamp.path, folders=True, most=min(MOST_BELOW, self._left))
        if below is None:
            return entry
        self._left -= len(below.keys)
        found: Counter[Effect] = Counter()
        for key in below.keys:
            if self._finder.protected.refusal(key, write=True) is not Code.PATH_PROTECTED:
                found[self._tier.says(self._cls, key, folded=stamp.folded).effect] += 1
        found.pop(entry.effect, None)
        return replace(entry, below=Counted(dict(found), below.complete))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """True for a folder, and for a link to one."""
    try:
        return entry.is_dir()
    except OSError:  # a loop of links, or a place that may not be searched
        return False
