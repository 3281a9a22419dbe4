"""Which files a search may read: each judged by itself, as a call of the same tool for that file alone.

Settles that what the rules or the tier deny is left out, and that what would be asked about is in only where the
person who approved the search saw that very ask. Does not settle which files there are (`runtime.builtin`).
"""

from __future__ import annotations

from collections.abc import Sequence

from stanch.app.asking import Kin
from stanch.gate.approval import asks_of, covers
from stanch.values.call import Stamp
from stanch.values.decision import Effect
from stanch.values.fault import BadCall


class SearchReader:
    """Answers for one running search. `approved` are the asks that the search's approval showed."""

    def __init__(self, tool: str, line: Sequence[Kin], directory: str, approved: tuple[str, ...]) -> None:
        self._tool, self._line, self._directory, self._approved = tool, line, directory, approved

    def __call__(self, path: str, /) -> Stamp | None:
        """The stamp that the file is to be opened by; None where it is withheld."""
        found: Stamp | None = None
        for kin in self._line:
            try:
                decision = kin.session.probe(self._tool, {"path": path}, cwd=self._directory, bypasses=kin.bypasses)
            except BadCall:
                return None
            if decision.effect is Effect.DENY:
                return None
            if decision.effect is Effect.ASK and not covers(self._approved, asks_of(decision.answers)):
                return None
            if found is None:
                found = next((one.stamp for one in decision.call.effects if one.stamp is not None), None)
        return found
