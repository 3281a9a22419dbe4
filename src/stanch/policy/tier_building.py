"""From `[tiers]` and `[models]` to trust tiers with anchored patterns, and what is wrong with the assignments.

Settles what the two tables mean, the shipped tiers among them. Does not settle their keys and types
(`policy.shapes`), nor what a tier says of a path (`tiers.tier`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from stanch.paths.pattern import PathPattern
from stanch.policy.document import TierSpec
from stanch.policy.model_names import ties, why_never
from stanch.policy.rule import ACTIONS
from stanch.policy.shapes import Location
from stanch.policy.shipped_tiers import PLACE, TIERS

Patterns = Callable[[str, Location], tuple[PathPattern, ...]]
"""The anchored patterns of a path written at a place; none, and a problem told, where it is no pattern."""


def tiers_of(
    written: Mapping[str, Any], bad: Collection[Location], patterns: Patterns, place: Callable[[Location], str]
) -> dict[str, TierSpec]:
    """The tiers of the file, each whole, and the shipped ones that it does not replace, by their ids.

    One that is among the `bad` places is left out, and the shipped one does not take its place.
    """
    found = {}
    for name, row in {**TIERS, **written}.items():
        if ("tiers", name) in bad:
            continue
        shipped = name not in written
        wheres: list[Location] = [("tiers", name, "cells", at) for at in range(len(row.get("cells", ())))]
        found[name] = TierSpec(
            name,
            row["label"],
            MappingProxyType({key: ACTIONS[word] for key, word in row["otherwise"].items()}),
            tuple(row.get("cells", ())),
            tuple(patterns(cell["path"], where) for cell, where in zip(row.get("cells", ()), wheres, strict=True)),
            tuple(PLACE if shipped else place(where) for where in (("tiers", name), *wheres)),
            shipped,
            row.get("quotes", True),
        )
    return found


def assignment_problems(
    models: Mapping[str, Any], tiers: Mapping[str, Any], line: Callable[[Location], int]
) -> Iterator[tuple[Location, str, bool]]:
    """Each tier that is named and not there, each two patterns that tie, and each pattern that fits no model.

    With the place of the problem, and whether it is but a warning.
    """
    known = list(dict.fromkeys([*tiers, *TIERS]))
    assignments: Mapping[str, str] = models.get("assignments", {})
    named: list[tuple[Location, str]] = [
        (("models", "assignments", model), tier) for model, tier in assignments.items()
    ]
    if "default_tier" in models:
        named.append((("models", "default_tier"), models["default_tier"]))
    for where, tier in named:
        if tier not in known:
            yield where, f"there is no tier '{tier}' (known: {', '.join(known)})", False
    for pattern in assignments:
        if (why := why_never(pattern)) is not None:
            yield ("models", "assignments", pattern), f"'{pattern}' can fit no model: {why}", True
    for earlier, later in ties(assignments):
        at = line(("models", "assignments", earlier))
        yield (
            ("models", "assignments", later),
            f"'{later}' and '{earlier}' (line {at}) fit the same models, go equally far before their first '*', and "
            "are in different tiers; make one of them longer, or name the models",
            False,
        )
