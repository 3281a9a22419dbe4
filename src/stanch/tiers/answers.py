"""What a person has answered where a tier asks, within one session.

Settles how far one answer reaches. Does not settle where answers are kept, nor who may give them.
An answer is about one tier, one class of effects, and one directory: it holds for the directory and for what lies
directly in it. It never reaches a path that a cell of the tier speaks of more closely than of that directory; for such
a path a person answers by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from stanch.tiers.tier import Tier
from stanch.values.call import CallEffect, EffectClass
from stanch.values.decision import Effect

_PATHLESS = ""


class Given(NamedTuple):
    """One answer. `path` is the canonical path of a directory or of one file; for the network, a host; "" for none.

    `send` is a yes. `below`: it holds for all that lies below the directory.
    """

    tier: str
    cls: EffectClass
    path: str
    send: bool
    below: bool = False


class Answers:
    """The answers of one session. It never changes; `adding` gives another one."""

    __slots__ = ("_said", "given")

    def __init__(self, given: Iterable[Given] = ()) -> None:
        self.given = frozenset(given)
        self._said: dict[tuple[str, EffectClass, str, bool], bool] = {}
        for one in self.given:
            key = (one.tier, one.cls, one.path, one.below)
            self._said[key] = one.send and self._said.get(key, True)  # WHY: a no that is there stands

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answers) and self.given == other.given

    def __hash__(self) -> int:
        return hash(self.given)

    def adding(self, given: Iterable[Given]) -> Answers:
        """These answers and further ones; of two about the very same thing, the new one."""
        new = {(one.tier, one.cls, one.path): one for one in given}
        kept = (one for one in self.given if (one.tier, one.cls, one.path) not in new)
        return Answers([*kept, *new.values()])

    def said(self, tier: str, cls: EffectClass, path: str | None, depth: int = 0) -> bool | None:
        """What was answered for such an effect at a path: True for a yes, None where nobody answered.

        `depth` is how deep into the path the cell that asks has matched. The answer nearest to the path counts.
        """
        if not self._said:
            return None
        for directory, near in _upwards(path or _PATHLESS):
            known = None
            for below in (False, True) if near else (True,):
                one = self._said.get((tier, cls, directory, below))
                known = one if known is None else known and one is not False
            if known is None:
                continue
            if not known or directory == path or _depth(directory) >= depth:
                return known
        return None


NO_ANSWERS = Answers()


def from_approval(
    tier: Tier, effects: Sequence[CallEffect], *, is_folder: Callable[[str], bool], send: bool = True
) -> tuple[Given, ...]:
    """The answers that a person's word about a call with these effects amounts to, for whatever the tier asks of it.

    For a file that is its directory, unless the tier has a cell that speaks of the file more closely. `is_folder` says
    of a canonical path whether it is a directory. An execution whose directory is not known leaves no answer.
    """
    found: dict[Given, None] = {}
    for effect in effects:
        if effect.cls is None:
            continue
        for key, folded in targets_of(effect):
            held = tier.says(effect.cls, key, folded=folded)
            if held.effect is not Effect.ASK or key == UNKNOWN:
                continue
            path = host_of(effect) if effect.cls is EffectClass.NETWORK else key or _PATHLESS
            below = effect.below is not None
            if key and effect.cls in (EffectClass.READ, EffectClass.WRITE) and not below and not is_folder(key):
                folder = key.rpartition("/")[0] or "/"
                path = folder if _depth(folder) >= held.depth else key
            found[Given(tier.id, effect.cls, path, send, below)] = None
    return tuple(found)


UNKNOWN = "?"
"""Stands for a working directory that nobody knows: no canonical path is written like it."""


def targets_of(effect: CallEffect) -> Iterator[tuple[str | None, bool]]:
    """What a tier is asked about an effect: each path's comparison key, and whether letter case is ignored there.

    None for what has no path, `?` for a working directory that is not known.
    """
    if effect.cls is EffectClass.EXECUTE:
        for place in effect.places:
            yield (place.key or UNKNOWN), place.folded
        if not effect.places:
            yield UNKNOWN, False
    elif effect.cls is EffectClass.NETWORK or effect.stamp is None:
        yield None, False
    else:
        yield (effect.stamp.key or None), effect.stamp.folded


def host_of(effect: CallEffect) -> str:
    """The host that an effect reaches, as an answer names it; "" where it is not known."""
    return _PATHLESS if effect.stamp is not None else effect.subject


def _upwards(path: str) -> Iterator[tuple[str, bool]]:
    """The path and each directory above it, with whether an answer for that one alone reaches the path."""
    yield path, True
    near = True
    while path.startswith("/") and path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path, near
        near = False


def _depth(path: str) -> int:
    return 0 if path == "/" else path.count("/")
