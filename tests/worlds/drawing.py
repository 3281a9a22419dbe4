"""What moves are drawn from: words, guesses, names of things that are there and of some that are not.

A guess is a piece of a secret, or of what is withheld, of either world: whoever knows both candidates must not learn
which one it is. Where the policy says that a place is told whatever the content (`may_differ`), only words are looked
for that stand at the same places in both worlds.
"""

from __future__ import annotations

import random
from typing import Any, TypeVar

from tests.worlds.casts import KEY, OLD, OWN, PEM, Cast
from tests.worlds.furnishing import DOCUMENTS, FILES, PRIVATE, RUNS

WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "alpha bravo", "key", "nothing", "zulu")
T = TypeVar("T")


class Draws:
    """Draws words and names."""

    def __init__(self, seed: int, *, private: bool, windows: bool = True) -> None:
        """`windows`: parts of texts are asked for by the number of their first letter."""
        self._random, self._private, self._windows = random.Random(seed), private, windows
        casts = [Cast(side) for side in "ab"]
        self._values = [cast.values[name] for cast in casts for name in (KEY, PEM, OLD, OWN)]
        withheld = [text for file in (*FILES, *PRIVATE) for _, text in file.versions if "{x" in text or "{X" in text]
        # WHY none with all of a secret: of what a model writes itself, it is told (`may_differ`).
        self._texts = [cast.written(text.replace("{PAY_KEY}", "")) for cast in casts for text in withheld]
        self._paths = [path for file in (*FILES, *PRIVATE) if "{" not in (path := file.path)]

    def _one(self, *given: T) -> T:
        return self._random.choice(given)

    def _word(self) -> str:
        return self._random.choice(WORDS)

    def _guess(self) -> str:
        """A piece of what stands in one of the worlds, never all of a secret."""
        text = self._random.choice(self._values if self._random.random() < 0.6 else self._texts)
        size = self._random.randint(2, max(3, min(14, len(text) - 4)))
        start = self._random.randint(0, max(0, len(text) - size))
        found = text[start : start + size].strip()
        return found or "guess"

    def _said(self) -> str:
        """What a model writes: words, with a guess in it or at its end."""
        guess = self._guess()
        return self._one(f"alpha {guess}", f"{guess} bravo", f"alpha\n{guess}\n", f"echo {self._word()}")

    def _path(self) -> str:
        return self._one(*self._paths, "open/made.txt", "open/missing.txt")

    def _document(self) -> str:
        return "${doc." + self._one(*DOCUMENTS) + "}" if self._random.random() < 0.9 else self._one("nope", "${made}")

    def _run(self) -> str:
        return "${run." + self._one(*RUNS, "x") + "}" if self._random.random() < 0.95 else self._one("nope", "${made}")

    def _table(self) -> str:
        return str(self._one("orders", "orders", "orders", "named", "hidden", "numbers", "numbers", "${table}", "nope"))

    def _column(self) -> str:
        return str(self._one("name", "code", "amount", "more", "column_1", "code {{PAY_KEY}}", "nope"))

    def _bytes(self) -> str:
        """A file whose bytes are asked for. WHY not one of a person's: those are given as they are."""
        return str(self._one(*(path for path in self._paths if not path.startswith("loose")), "open/missing.txt"))

    def _pattern(self) -> str:
        return "".join(f"\\{one}" if not one.isalnum() and one.isascii() else one for one in self._guess())

    def _query(self, table: str) -> dict[str, Any]:
        """Filters, an order and figures. WHY an order by these alone: it is that of the cells, withheld ones too."""
        numbers = table == "numbers"
        filters: list[dict[str, Any]] = [
            {"column": "n", "how": "<", "value": 100} if numbers else {"column": "amount", "how": ">=", "value": 145},
            {"column": "name", "value": self._word()},
            {"column": "name", "how": "contains", "value": self._word()},
            {"column": "code", "how": "contains", "value": self._one(*WORDS, "hand")},
            {"column": self._column(), "how": "is null"},
            {"column": "amount", "how": "<", "value": self._one(100, "x")},
        ]
        wanted = self._random.sample(
            filters[: 1 if numbers else None], self._one(0, 1) if numbers else self._one(0, 0, 1, 2)
        )
        by = "n" if numbers else self._one("amount", "name")
        of = "n" if numbers else self._one("amount", "amount", "code", "name")
        figures = [
            {"figure": self._one("sum", "avg", "min", "max", "count"), "column": of} for _ in range(self._one(0, 1, 2))
        ]
        return {
            "filters": wanted,
            "sort": self._one([], [{"column": by, "descending": self._one(True, False)}]),
            "figures": figures,
        }
