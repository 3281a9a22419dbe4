"""What a page of items leaves out, and how it is counted: one count, and for each reason one.

Settles the counting, and the words in which pages are asked for. Does not settle what is withheld (`delivery.admit`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from stanch.delivery.admit import Admission
from stanch.delivery.operation import Given
from stanch.values.reason import Code

Limit = Annotated[int, Field(ge=1, le=500, description="How many items a page holds at most.")]
Cursor = Annotated[str | None, Field(max_length=4096, description="The `next` of the page before.")]


class LeavesOut(Given):
    """What a page leaves out: `withheld` counts it, `reasons` say why, by their codes. `total` counts it too."""

    withheld: int = 0
    reasons: dict[str, int] = Field(default_factory=dict)


class Left:
    """Counts what is left out."""

    def __init__(self) -> None:
        self._codes: Counter[str] = Counter()

    def out(self, code: Code) -> None:
        """Counts one."""
        self._codes[code.value] += 1

    def admitted(self, admissions: Iterable[Admission]) -> list[bool]:
        """True for each that is admitted; the others are counted."""
        found = []
        for one in admissions:
            if one.refusal is not None:
                self.out(one.refusal.code)
            found.append(one.admitted)
        return found

    @property
    def told(self) -> dict[str, Any]:
        """The fields of a `LeavesOut`."""
        return {"withheld": self._codes.total(), "reasons": dict(sorted(self._codes.items()))}
