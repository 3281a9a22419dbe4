"""Going through a directory and what lies below it, by descriptors, for a search or a listing.

Settles what is come to, in which order, how far, and who is asked about each entry. Does not settle what is done with
an entry. No link is followed anywhere.
INVARIANT: an entry is given out only where the reader gave its stamp, and a directory named `secrets` is never opened.
INVARIANT: how much is counted as withheld does not depend on a name that a model guesses; it would be told whether
there is such a name. So all that is on the way is asked about, and directories are gone into by depth alone, also ones
that are withheld themselves: what lies below may be open.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum

from stanch.runtime.builtin.asked import CannotDo
from stanch.runtime.builtin.globbing import Glob, is_git
from stanch.runtime.builtin.page import SECRETS, number, withheld_note
from stanch.runtime.tool import Job
from stanch.values.call import Stamp
from stanch.values.reason import Code

MOST_ENTRIES = 50_000
MOST_SECONDS = 20.0
MOST_DEPTH = 100
# What is below these is made up by the kernel: it has no end, and some of it never ends being read.
_MADE_UP = ("/proc", "/sys", "/dev")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Kind(Enum):
    """What an entry of a directory is, a link for itself; the value is shown behind its name."""

    FILE = ""
    FOLDER = "/"
    LINK = " (link)"
    OTHER = " (special file)"


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that may be shown: its path, what it is, and the stamp to open it by."""

    path: str
    kind: Kind
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a search looks at."""

    entries: int = MOST_ENTRIES
    seconds: float = MOST_SECONDS
    depth: int = MOST_DEPTH


class Walk:
    """One way through a directory, to what a glob means. `kinds` are the entries that are asked about and given out."""

    def __init__(self, job: Job, glob: Glob, kinds: frozenset[Kind], limits: Limits) -> None:
        self._job, self._glob, self._kinds, self._limits = job, glob, kinds, limits
        self._end = time.monotonic() + limits.seconds
        self._seen = self._withheld = self._closed = self._unreadable = self._too_deep = 0
        self._full = self._late = False
        self._root = ""
        self._folder = ("", False)

    def through(self, descriptor: int, path: str) -> Generator[Found]:
        """The entries below the opened directory of this canonical path, by name, each directory before its content.

        The descriptor stays open. Raises `CannotDo` once the job is cancelled.
        """
        for name in (os.path.basename(path), *self._glob.head):
            if name == SECRETS:
                self._closed += 1
                return
        self._root = path
        head = os.path.join(path, *self._glob.head)
        if self._glob.head and not self._given(head):
            return  # WHY asked first: nobody learns whether a directory is there by naming it in a glob
        start = self._head(descriptor)
        if start is not None:
            yield from self._below(start, head, 0)

    @property
    def withheld(self) -> int:
        """How many files were withheld; each directory named `secrets` counts as one."""
        return self._withheld + self._closed

    def notes(self) -> list[str]:
        """What was left out, in numbers."""
        notes = []
        if self._full:
            notes.append(f"Not everything was looked at: there are more than {self._limits.entries:,} entries")
        if self._late:
            notes.append(f"Not everything was looked at: it took more than {self._limits.seconds:g} seconds")
        if self._too_deep:
            notes.append(f"Not entered: {number(self._too_deep, 'directory')} below {self._limits.depth} others")
        if self._unreadable:
            notes.append(f"Could not be read: {number(self._unreadable, 'entry')}")
        return notes + withheld_note(self._withheld, self._closed)

    def may_go_on(self) -> bool:
        """False once the time is over; raises `CannotDo` where nobody waits for the end any more."""
        if self._job.cancelled.is_set():
            raise CannotDo("cancelled: nobody waits for it any more")
        self._late = self._late or time.monotonic() >= self._end
        return not self._late

    def skip_unreadable(self) -> None:
        """Counts an entry that could not be read."""
        self._unreadable += 1

    def _head(self, descriptor: int) -> int | None:
        """A descriptor of the directory that the glob starts from; None where there is none."""
        here = os.dup(descriptor)
        for name in self._glob.head:
            try:
                below = os.open(name, _FOLDER, dir_fd=here)
            except FileNotFoundError:
                return None
            except OSError:
                self._unreadable += 1
                return None
            finally:
                os.close(here)
            here = below
        return here

    def _below(self, descriptor: int, path: str, depth: int) -> Generator[Found]:
        """The entries of one directory and below; closes its descriptor."""
        try:
            for name, kind in self._entries(descriptor):
                if not self.may_go_on():
                    return
                inside = os.path.join(path, name)
                if kind is Kind.FOLDER and name == SECRETS:
                    self._closed += 1
                    continue
                found = self._asked(inside, kind)
                if found is not None:
                    yield found
                if kind is Kind.FOLDER and self._enters(inside, depth):
                    yield from self._inside(descriptor, name, inside, depth + 1)
        finally:
            os.close(descriptor)

    def _enters(self, path: str, depth: int) -> bool:
        if is_git(path) and not self._glob.into_git:
            return False
        return path not in _MADE_UP and (self._glob.depth is None or depth < self._glob.depth)

    def _asked(self, path: str, kind: Kind) -> Found | None:
        if kind not in self._kinds:
            return None
        stamp = self._given(path, link=kind is Kind.LINK)
        return Found(path, kind, stamp) if stamp is not None and self._glob.fits(path) else None

    def _given(self, path: str, *, link: bool = False) -> Stamp | None:
        """The reader's stamp; counts what it does not give, and what is something else by now."""
        stamp = self._job.reader(path)
        if stamp is None or stamp.refusal not in (None, Code.PATH_UNREADABLE):
            self._withheld += 1
        elif stamp.refusal is not None or (stamp.path != path and not link):
            self._unreadable += 1
        elif link and not self._named(os.path.dirname(path)):
            self._withheld += 1
        else:
            return stamp
        return None

    def _named(self, folder: str) -> bool:
        """True where names in that directory may be shown.

        WHY asked for links: the reader judges what a link leads to, which may be open while its own place is not.
        """
        if folder == self._root:
            return True
        if folder != self._folder[0]:
            stamp = self._job.reader(folder)
            self._folder = (folder, stamp is not None and stamp.refusal is None)
        return self._folder[1]

    def _inside(self, above: int, name: str, path: str, depth: int) -> Generator[Found]:
        if depth > self._limits.depth:
            self._too_deep += 1
            return
        try:
            descriptor = os.open(name, _FOLDER, dir_fd=above)
        except OSError:  # no permission, or something else by now: a link, a file, nothing
            self._unreadable += 1
            return
        yield from self._below(descriptor, path, depth)

    def _entries(self, descriptor: int) -> list[tuple[str, Kind]]:
        """The names of one directory, in order; no more of them than may still be looked at."""
        found: list[tuple[str, Kind]] = []
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    if self._seen >= self._limits.entries:
                        self._full = True
                        break
                    self._seen += 1
                    found.append((entry.name, _kind(entry)))
        except OSError:  # a directory may open and still not be listed to its end
            self._unreadable += 1
        return sorted(found, key=lambda entry: entry[0])


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return Kind.LINK
    if entry.is_dir(follow_symlinks=False):
        return Kind.FOLDER
    return Kind.FILE if entry.is_file(follow_symlinks=False) else Kind.OTHER
