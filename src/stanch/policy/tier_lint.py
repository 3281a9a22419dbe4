"""Cells of trust tiers that can never decide anything.

Settles which: those that say nothing, and those that another cell of the same tier goes before wherever they match.
INVARIANT: what is said is certain. Where it cannot be proved that a cell never decides, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from stanch.paths.pattern import Part, from_parts, is_span
from stanch.policy import covering
from stanch.policy.document import TierSpec
from stanch.policy.rule import ACTIONS
from stanch.values.decision import Effect

_STRENGTH = {Effect.ALLOW: 0, Effect.ASK: 1, Effect.DENY: 2}
_CLASSES = ("read", "write", "execute")


class Idle(NamedTuple):
    """A cell, by its place, and why it decides nothing; `others` are the places of cells that go before it."""

    place: str
    message: str
    others: tuple[str, ...] = ()


def idle_cells(tiers: Mapping[str, TierSpec]) -> Iterator[Idle]:
    """Every cell of the file's own tiers that never decides, or does not for a class that it speaks to."""
    for tier in tiers.values():
        if tier.shipped:
            continue
        for at, cell in enumerate(tier.cells):
            said = f'cell {at + 1} of the tier "{tier.id}" (on {cell["path"]})'
            classes = [name for name in _CLASSES if name in cell]
            place = tier.places[at + 1]
            if not classes:
                yield Idle(place, f"{said} says nothing; give it read, write or execute, or take it out")
            before = {name: _before(tier, at, name) for name in classes}
            beaten = {name: other for name, other in before.items() if other is not None}
            for other in dict.fromkeys(beaten.values()):
                names = [name for name, one in beaten.items() if one == other]
                much = "anything" if len(names) == len(classes) else f"about {' and '.join(names)}"
                yield Idle(
                    place,
                    f"{said} never decides {much}: cell {other + 1} (on {tier.cells[other]['path']}) goes before it "
                    "wherever it matches",
                    (tier.places[other + 1],),
                )


def _before(tier: TierSpec, at: int, name: str) -> int | None:
    """The number, from 0, of a cell that goes before this one for the class wherever this one matches."""
    for other in range(len(tier.cells)):
        if other != at and name in tier.cells[other] and _beats(tier, other, at, name):
            return other
    return None


def _beats(tier: TierSpec, one: int, other: int, name: str) -> bool:
    forms = tier.patterns[one], tier.patterns[other]
    if not all(forms):
        return False
    # What stands behind a link needs no look: the heads are the same, and so is where they lead.
    wide, narrow = forms[0][0].parts, forms[1][0].parts
    wilder = sum(part.wildcards for part in wide) - sum(part.wildcards for part in narrow)
    if wilder > 0 or not _goes_as_deep(wide, narrow):
        return False
    strengths = [_STRENGTH[ACTIONS[tier.cells[cell][name]]] for cell in (one, other)]
    return wilder < 0 or strengths[0] > strengths[1] or (strengths[0] == strengths[1] and one < other)


def _goes_as_deep(wide: tuple[Part, ...], narrow: tuple[Part, ...]) -> bool:
    """True where the one surely matches at least as deep wherever the other matches, with as many literal parts."""
    return len(wide) == len(narrow) and all(_as_wide(a, b) for a, b in zip(wide, narrow, strict=True))


def _as_wide(one: Part, other: Part) -> bool:
    if is_span(one) or is_span(other) or not (one.wild and other.wild):
        return one == other
    return covering.covers(from_parts((one,)), from_parts((other,)))
