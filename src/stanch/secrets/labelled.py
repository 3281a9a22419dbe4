"""For which secrets does a label stand in a text, whoever put it there?

Settles how a label is recognised. Does not settle what a label looks like (`secrets.labels`), nor whether the text was
projected. ABSENT: the lone character that stands for a secret where no label may: nobody could tell it from others.
"""

from __future__ import annotations

import re
from typing import Any

from stanch.secrets import structures
from stanch.secrets.labels import OPAQUE, PAIRS
from stanch.secrets.projection import Projector

_ANY = re.compile(
    "|".join(f"{re.escape(one.opening)}([A-Za-z0-9_.-]{{1,200}}){re.escape(one.closing)}" for one in PAIRS)
)
_OPENINGS = tuple(one.opening for one in PAIRS)


class Labelled:
    """Finds the labels of one projector's secrets. Safe to use from any thread."""

    __slots__ = ("_names", "_projector", "_unnamed")

    def __init__(self, projector: Projector) -> None:
        self._projector = projector
        self._names: frozenset[str] | None = None
        self._unnamed: dict[str, frozenset[str]] | None = None

    def in_text(self, text: str) -> frozenset[str]:
        """The names of all secrets for which a label stands in the text.

        Where a label names nobody, they are all those whose label it is.
        """
        # WHY first: next to all texts have none, and this takes hardly longer than to look at their length.
        if not any(opening in text for opening in _OPENINGS):
            return frozenset()
        found: set[str] = set()
        for match in _ANY.finditer(text):
            label = match[0]
            name = next(group for group in match.groups() if group)
            if name in self._all() and self._projector.label(name) == label:
                found.add(name)
            elif name == OPAQUE:
                found |= self._behind(label)
        return frozenset(found)

    def in_value(self, value: Any) -> frozenset[str]:
        """The same for every text in a JSON-like value. Raises `Withheld` for what is none."""
        found: set[str] = set()

        def note(text: str) -> str:
            found.update(self.in_text(text))
            return text

        structures.projected(value, note)
        return frozenset(found)

    def _all(self) -> frozenset[str]:
        if self._names is None:
            self._names = self._projector.names
        return self._names

    def _behind(self, label: str) -> frozenset[str]:
        """Those whose label does not name them. There are next to none: their names hold a secret, or are none."""
        if self._unnamed is None:
            labels: dict[str, set[str]] = {}
            for name in self._all():
                if name not in (said := self._projector.label(name)):
                    labels.setdefault(said, set()).add(name)
            self._unnamed = {said: frozenset(names) for said, names in labels.items()}
        return self._unnamed.get(label, frozenset())
