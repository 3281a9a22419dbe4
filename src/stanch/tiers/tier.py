"""Trust tiers: which tier a model is in, and what a tier says of an effect at a path.

Settles both from a policy as values. Does not settle what a call is answered (`tiers.layer`), nor what becomes of a
conversation (`tiers.history`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from stanch.policy.document import Policy, TierSpec
from stanch.policy.model_names import DEFAULT_TIER, assigned
from stanch.policy.rule import ACTIONS
from stanch.tiers.cells import Column, Entry
from stanch.values.call import EffectClass
from stanch.values.decision import Effect
from stanch.values.fault import Fault

_STRENGTH = {Effect.ALLOW: 0, Effect.ASK: 1, Effect.DENY: 2}


class TiersBroken(Fault):
    """What the policy file says of tiers or models has a mistake: nobody can say what any model may see."""

    def __init__(self, place: str) -> None:
        self.place = place
        super().__init__(f"the trust tiers cannot be relied on: the policy has a mistake at {place}; mend it first")


class Held(NamedTuple):
    """What a tier says of one effect: the cell that says so by its number, 0 for `otherwise`.

    `depth` is the number of components, from the root, of the path that the cell's pattern matched.
    """

    effect: Effect
    cell: int = 0
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Tier:
    """One trust tier. `places` says where it is written, and then each of its cells.

    `quotes`: what a model wrote is searched for runs of what the tier may not read.
    """

    id: str
    label: str
    otherwise: Mapping[EffectClass, Effect]
    columns: Mapping[EffectClass, Column]
    paths: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    quotes: bool = True

    def says(self, cls: EffectClass, key: str | None, *, folded: bool = False) -> Held:
        """What the tier says of such an effect at a canonical path in Unicode normal form C.

        For an execution that is the working directory. None stands for what has no path, and the network has none:
        then only `otherwise` answers. `folded`: the path lies where letter case is ignored.
        """
        column = self.columns.get(cls)
        found = column.best(key, folded=folded) if column is not None and key else None
        if found is None:
            return Held(self.otherwise[cls])
        return Held(found.entry.effect, found.entry.cell, found.depth)

    def objects(self, cls: EffectClass) -> bool:
        """True where the tier asks about or denies such an effect somewhere."""
        return self.strictest(cls).effect is not Effect.ALLOW

    def strictest(self, cls: EffectClass) -> Held:
        """The strictest thing that the tier says of such an effect anywhere."""
        said = [Held(self.otherwise[cls])]
        if cls in self.columns:
            said += [Held(entry.effect, entry.cell) for entry in self.columns[cls].entries]
        return max(said, key=lambda held: (_STRENGTH[held.effect], -held.cell))

    def where(self, cls: EffectClass, held: Held) -> str:
        """Which cell it was, for a reason: `read on /**/.env*, stanch.toml:78`, or `write otherwise`."""
        if not held.cell:
            return f"{cls.value} otherwise"
        place = self.places[held.cell] if held.cell < len(self.places) else ""
        return f"{cls.value} on {self.paths[held.cell - 1]}" + (f", {place}" if place else "")


class Assignment(NamedTuple):
    """The tier of a model. `pattern` is what assigned it, None where nothing did and it is in the default tier."""

    tier: Tier
    pattern: str | None = None


class Tiers:
    """The tiers of one policy, and which of them a model is in. It never changes."""

    def __init__(self, policy: Policy) -> None:
        self.broken = policy.broken_tiers
        self.default = policy.default_tier or DEFAULT_TIER
        self.tiers: Mapping[str, Tier] = MappingProxyType({name: tier_of(spec) for name, spec in policy.tiers.items()})
        self._assignments = policy.assignments

    def assignment(self, model: str) -> Assignment:
        """The tier of a model, by the most specific pattern that fits its name. Raises `TiersBroken`."""
        if self.broken is not None:
            raise TiersBroken(self.broken)
        pattern = assigned(model, self._assignments)
        name = self.default if pattern is None else self._assignments[pattern]
        if name not in self.tiers:
            raise TiersBroken(f"the tier '{name}', which is not there")
        return Assignment(self.tiers[name], pattern)

    def of(self, model: str) -> Tier:
        """The tier of a model. Raises `TiersBroken`."""
        return self.assignment(model).tier


def tier_of(spec: TierSpec) -> Tier:
    """The tier of what the policy says."""
    columns = {}
    for cls in (EffectClass.READ, EffectClass.WRITE, EffectClass.EXECUTE):
        entries = [
            Entry(form, number, ACTIONS[cell[cls.value]])
            for number, (cell, forms) in enumerate(zip(spec.cells, spec.patterns, strict=True), 1)
            if cls.value in cell
            for form in forms
        ]
        columns[cls] = Column(entries)
    return Tier(
        spec.id,
        spec.label,
        MappingProxyType({cls: spec.otherwise[cls.value] for cls in EffectClass}),
        MappingProxyType(columns),
        tuple(cell["path"] for cell in spec.cells),
        spec.places,
        spec.quotes,
    )
