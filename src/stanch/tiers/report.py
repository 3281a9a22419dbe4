"""What was kept back from a model in one send, as counts.

Settles what is told of it, for the console and the audit log: names and numbers, never content. Does not settle what is
kept back (`tiers.history`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

NONE: Mapping[str, int] = MappingProxyType({})


def _none() -> Mapping[str, int]:
    """WHY a function: Python 3.11 takes a mapping that is to be read only for one that may change."""
    return NONE


@dataclass(frozen=True, slots=True)
class Report:
    """What one tier was not shown. `tier` is its label, and the keys are paths or names as the source tags have them.

    `pieces` counts what was replaced in whole or in part because of where it came from, `quotes` the runs of text that
    were replaced because they occur in such a piece, `unsent` the reasoning that was left out. `asks` are those names
    that wait for a person's answer.
    """

    tier: str
    pieces: Mapping[str, int] = field(default_factory=_none)
    quotes: Mapping[str, int] = field(default_factory=_none)
    asks: tuple[str, ...] = ()
    unsent: int = 0

    @property
    def empty(self) -> bool:
        """True where the model was shown everything."""
        return not (self.pieces or self.quotes or self.unsent)

    def as_json(self) -> dict[str, Any]:
        """The report as JSON has it."""
        return {
            "tier": self.tier,
            "pieces": dict(self.pieces),
            "quotes": dict(self.quotes),
            "asks": list(self.asks),
            "unsent": self.unsent,
        }


def read_only(counts: Mapping[str, int]) -> Mapping[str, int]:
    """The counts as they are now, to be read only."""
    return MappingProxyType(dict(counts)) if counts else NONE
