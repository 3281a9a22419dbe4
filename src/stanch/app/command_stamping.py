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
from stanch.values.call import Below, CallEffect, EffectClass, Stamp, Weight
from stanch.values.fault import BadCall

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
        parts = self._parts(target, base, wrote)
        seen: dict[tuple[str, str, bool], list[Stamp]] = {}
        count = 0
        for part in parts:
            yield CallEffect(target.cls, target.argument, None, part.command, part.command.text or "a command")
            made: set[CallEffect] = set()
            for found in part.found:
                for effect in self._found(found, part, target.argument, matters, seen):
                    count += 1
                    if count > MOST_FOUND:
                        raise BadCall(f"a command that touches more than {MOST_FOUND:,} places")
                    if effect not in made:
                        made.add(effect)
                        yield effect

    def _parts(self, target: RawTarget, base: str, wrote: Wrote | None) -> list[Part]:
        code = target.code or ""
        if target.opaque:
            return [unread_part(code, target.opaque)]
        if target.start:
            start = self._canonicaliser.directory(target.start, base)
            if start.detail:
                return [unread_part(code, "the directory that it starts in cannot be read")]
            base = start.path
        return read(code, base, ShellWorld(expand_home("~"), wrote), verbs())

    def _found(
        self,
        found: Found,
        part: Part,
        argument: str,
        matters: Matters,
        seen: dict[tuple[str, str, bool], list[Stamp]],
    ) -> Iterator[CallEffect]:
        if found.path is None:
            subject = found.subject or "the network"
            yield CallEffect(found.cls, argument, None, part.command, subject, None, found.weight)
            return
        for base in found.bases:
            possible = found.weight is Weight.POSSIBLE
            key = (found.path, base, found.cls is _WRITE and not possible)
            if key not in seen:
                seen[key] = self._stamps(found.path, base, write=key[2])
            for stamp in seen[key]:
                effect = CallEffect(found.cls, argument, stamp, part.command, "", None, found.weight)
                yield self._reaching(found, effect, stamp, matters)

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

    def _reaching(self, found: Found, effect: CallEffect, stamp: Stamp, matters: Matters) -> CallEffect:
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
            return effect._replace(stamp=self._protected(stamp))
        below: Below | None = None
        if matters(BUILTIN_FOR[found.cls], found.cls):
            below = look_below(stamp.path, folders=effect.cls is _WRITE)
            if below is not None and found.only:
                below = below._replace(keys=tuple(key for key in below.keys if _fits(stamp.key, key, found.only)))
        if lies_below and ((effect.cls is _WRITE and found.deep == "spread") or self._state_below(stamp)):
            below = Below(below.keys if below else (), complete=False)
        return effect._replace(below=below)

    def _lies_below(self, path: str, only: str) -> bool:
        inside = path.rstrip("/") + "/"
        roots = [root for root in self._canonicaliser.protected.roots if root.startswith(inside)]
        return any(not only or _fits(path, root, only) for root in roots)

    def _state_below(self, stamp: Stamp) -> bool:
        roots = self._canonicaliser.protected.state
        return any(root.startswith(stamp.path.rstrip("/") + "/") for root in roots)

    @staticmethod
    def _protected(stamp: Stamp) -> Stamp:
        from stanch.values.reason import Code

        return stamp._replace(refusal=Code.PATH_PROTECTED)


def _fits(root: str, path: str, only: str) -> bool:
    """True where some name on the way from the root down to the path fits the glob."""
    test = component(unicodedata.normalize("NFC", only))
    return any(test(name) for name in path[len(root) :].split("/") if name)
