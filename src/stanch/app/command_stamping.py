"""From a shell command to effects: it is read, and every path that it was found to touch is stamped.

Settles which stamps a command's effects get. Does not settle what the command does (`policy.shell`), nor what the rules
say of it (`policy.commanded`).
"""

from __future__ import annotations

import os
import posixpath
import unicodedata
from collections.abc import Callable, Iterator

from stanch.app.below import look_below
from stanch.app.shell_world import ShellWorld, Wrote, verbs
from stanch.paths.canonical import Canonicaliser, expand_home
from stanch.paths.pattern import component
from stanch.policy.forms import RawTarget
from stanch.policy.rule import BUILTIN_FOR
from stanch.policy.shell.reading import MOST_FOUND, Found, Part, unread_part
from stanch.policy.shell.running import read
from stanch.values.call import Below, CallEffect, EffectClass, Stamp
from stanch.values.command import Weight
from stanch.values.reason import Code

Matters = Callable[[str, EffectClass], bool]
_EXECUTE, _READ, _WRITE = EffectClass.EXECUTE, EffectClass.READ, EffectClass.WRITE


class CommandStamper:
    """Reads commands and stamps what they touch."""

    def __init__(self, canonicaliser: Canonicaliser) -> None:
        self._canonicaliser = canonicaliser

    def effects(
        self, target: RawTarget, base: str, matters: Matters, wrote: Wrote | None = None
    ) -> Iterator[CallEffect]:
        """One effect for each simple command of the code, each followed by those that it was found to have."""
        one = _Stamping(self._canonicaliser, target.argument, matters)
        count = 0
        for part in self._parts(target, base, wrote):
            yield one.executed(target, part)
            made: set[CallEffect] = set()
            for found in part.found if count <= MOST_FOUND else ():
                for effect in one.stamped(found, part):
                    count += 1
                    if count <= MOST_FOUND and effect not in made:
                        made.add(effect)
                        yield effect
        if count > MOST_FOUND:
            yield one.executed(target, unread_part("", f"it touches more than {MOST_FOUND:,} places"))

    def _parts(self, target: RawTarget, base: str, wrote: Wrote | None) -> list[Part]:
        code = target.code or ""
        if target.opaque:
            return [unread_part("", target.opaque)]  # WHY no text: it may be what is typed into a program
        if target.start:
            start = self._canonicaliser.directory(target.start, base)
            if start.detail:
                return [unread_part(code, "the directory that it starts in cannot be read")]
            base = start.path
        parts = read(code, base, ShellWorld(expand_home("~"), wrote), verbs())
        return [
            part if part.places else part._replace(places=(base,) + (None,) * bool(part.command.unread))
            for part in parts
        ]


class _Stamping:
    """The stamps of one call's effects: each path is looked up once, and so is what lies below it."""

    def __init__(self, canonicaliser: Canonicaliser, argument: str, matters: Matters) -> None:
        self._canonicaliser = canonicaliser
        self._argument = argument
        self._matters = matters
        self._stamped: dict[tuple[str, str, bool], list[Stamp]] = {}
        self._looked: dict[tuple[str, str, bool, bool], Below | None] = {}
        self._places: dict[str | None, Stamp] = {None: Stamp("")}

    def executed(self, target: RawTarget, part: Part) -> CallEffect:
        """The effect of running one simple command, with the stamps of the directories that it may run in."""
        for place in part.places:
            if place is not None and place not in self._places:
                self._places[place] = self._canonicaliser.stamp(place, "/")
        stamps = tuple(self._places[place] for place in part.places)
        return CallEffect(target.cls, target.argument, None, part.command, part.command.name, places=stamps)

    def stamped(self, found: Found, part: Part) -> Iterator[CallEffect]:
        """The effects of what was found, one for each reading of its path."""
        if found.path is None:
            subject = found.subject or "the network"
            yield CallEffect(found.cls, self._argument, None, part.command, subject, None, found.weight)
            return
        runs = found.cls is _READ and any(found.path == one.path for one in part.scripts)
        for base in found.bases:
            possible = found.weight is Weight.POSSIBLE
            key = (found.path, base, found.cls is _WRITE and not possible)
            if key not in self._stamped:
                self._stamped[key] = self._stamps(found.path, base, write=key[2])
            for stamp in self._stamped[key]:
                effect = CallEffect(found.cls, self._argument, stamp, part.command, "", None, found.weight, runs=runs)
                yield self._reaching(found, effect, stamp)

    def _stamps(self, path: str, base: str, *, write: bool) -> list[Stamp]:
        """The stamp of a path and, where `..` may be taken off it as written, of that reading too."""
        readings = [path]
        if ".." in path:
            readings.append(os.path.normpath(posixpath.join(base, path)))
        stamps: dict[str, Stamp] = {}
        for reading in readings:
            stamp = self._canonicaliser.stamp(reading, base, write=write)
            stamps.setdefault(stamp.path + "\0" + stamp.detail, stamp._replace(requested=path))
        return list(stamps.values())

    def _reaching(self, found: Found, effect: CallEffect, stamp: Stamp) -> CallEffect:
        if stamp.refusal is not None:
            # WHY: a possible effect is never more than a question; what cannot be read is not read by it either.
            possible = effect.found is Weight.POSSIBLE and effect.cls is _WRITE
            return effect._replace(stamp=stamp._replace(refusal=None)) if possible and stamp.path else effect
        if effect.found is Weight.POSSIBLE and effect.cls is _WRITE:
            refused = self._canonicaliser.protected.refusal(stamp.path, write=True, folded=False)
            return effect if refused is None else effect._replace(below=Below((), complete=False))
        if not found.deep:
            return effect
        lies_below = self._lies_below(stamp.path, found.only)
        if effect.cls is _WRITE and lies_below and found.deep == "whole":
            return effect._replace(stamp=stamp._replace(refusal=Code.PATH_PROTECTED))
        below: Below | None = None
        if found.splits or self._matters(BUILTIN_FOR[found.cls], found.cls):
            links = found.deep in ("links", "spread")
            below = self._below(stamp, found.only, folders=effect.cls is _WRITE, links=links)
            if below is not None and any(_falls_apart(stamp.key, key, found.splits) for key in below.keys):
                below = below._replace(complete=False)
        if lies_below and ((effect.cls is _WRITE and found.deep in ("spread", "files")) or self._state_below(stamp)):
            below = Below(below.keys if below else (), complete=False)
        return effect._replace(below=below)

    def _below(self, stamp: Stamp, only: str, *, folders: bool, links: bool) -> Below | None:
        """What lies below a directory and, where a reader follows links, what the links there lead to."""
        key = (stamp.path, only, folders, links)
        if key not in self._looked:
            try:
                found = look_below(stamp.path, folders=folders)
                if found is not None and only:
                    found = found._replace(keys=tuple(key for key in found.keys if _fits(stamp.key, key, only)))
                if found is not None and links:
                    found = _with_links(found)
            except OSError:
                found = Below((), complete=False)
            self._looked[key] = found
        return self._looked[key]

    def _lies_below(self, path: str, only: str) -> bool:
        inside = path.rstrip("/") + "/"
        roots = [root for root in self._canonicaliser.protected.roots if root.startswith(inside)]
        return any(not only or _fits(path, root, only) for root in roots)

    def _state_below(self, stamp: Stamp) -> bool:
        inside = stamp.path.rstrip("/") + "/"
        roots = [root for root in self._canonicaliser.protected.state if root.startswith(inside)]
        return any(os.path.lexists(root) for root in roots)


def _with_links(below: Below) -> Below:
    """The names below with those that links among them lead to; a directory behind a link is not looked through."""
    found, complete = list(below.keys), below.complete
    for key in below.keys:
        if os.path.islink(key):
            target = os.path.realpath(key)
            found.append(unicodedata.normalize("NFC", target))
            complete = complete and not os.path.isdir(target)
    return Below(tuple(found), complete)


def _falls_apart(root: str, path: str, splits: str) -> bool:
    """True where a name is several words by the time that it is used, or an option."""
    if not splits or not path.startswith(root.rstrip("/") + "/"):
        return False
    name = path[len(root.rstrip("/")) + 1 :]
    return ("-" in splits and name.startswith("-")) or not set(splits.replace("-", "")).isdisjoint(name)


def _fits(root: str, path: str, only: str) -> bool:
    """True where some name on the way from the root down to the path fits the glob."""
    test = component(unicodedata.normalize("NFC", only))
    return any(test(name) for name in path[len(root) :].split("/") if name)
