"""Who plays the secret in which world: values of the vault, and what stands in items that are withheld.

Both have the same shape where the shape can be seen: a letter is a letter, a digit a digit, and every mark is the same.
"""

from __future__ import annotations

import base64
import html
import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

KEY, PEM, OLD, OWN, PIN, NUMBER = "PAY_KEY", "CERT", "OLD_KEY", "OWN_KEY", "PIN", "ACCOUNT"
_SHAPES = {
    KEY: "aa-AAAAaaaa0000AAAAaaaa+/=",
    PEM: "aaaaaaaaaaaaaaaaaaaa\nAAAAAAAAAAAAAAAAAAAAAAAA",
    OLD: "0000-aaaa-AAAA-0000",
    OWN: 'aaaa"aaaa<AAAA>&0000',
    PIN: "0000",
    NUMBER: "9000000000",
}
# WHY by three or six: what base64 leaves of an end (`may_differ`) is then the same.
_LONGER = {KEY: "aa-AAAAaaaaaaa0000AAAAaaaaAAA+/=", PEM: f"aaa{_SHAPES[PEM]}AAA", OLD: f"00{_SHAPES[OLD]}"}
# WHY without some letters: no word that a model looks for stands in a secret by accident.
_LETTERS = {"a": "bcdfgjkqvwxz", "A": "BCDFGJKQVWXZ", "0": "0123456789", "9": "123456789"}
_FORMS: dict[str, Callable[[str], str]] = {
    "": str,
    "b64": lambda value: base64.b64encode(value.encode()).decode(),
    "hex": lambda value: value.encode().hex(),
    "json": lambda value: json.dumps(value)[1:-1],
    "html": html.escape,
    "url": lambda value: quote(value, safe=""),
}
_PLACE = re.compile(r"\{(\w+)(?::(\w+))?\}")


@dataclass(frozen=True)
class Cast:
    """One side: `a` or `b`. `longer`: its secrets are longer than the other side's."""

    side: str
    seed: int = 0
    longer: bool = False

    @cached_property
    def values(self) -> Mapping[str, str]:
        """The values of the vault by their names."""
        shapes = {**_SHAPES, **(_LONGER if self.longer else {})}
        return {name: self._of(shape, name) for name, shape in shapes.items()}

    def written(self, text: str) -> str:
        """The text of this side: `{NAME}` is a secret, `{NAME:b64}` one of its forms, `{x7}` what is this side's own.

        `x7` has seven letters, another seven wherever it stands; of `X7` both sides have another number of letters.
        """

        def filled(found: re.Match[str]) -> str:
            name, form = found[1], found[2] or ""
            if name in self.values:
                return str(_FORMS[form](self.values[name]))
            size = int(name[1:])
            if name[0] == "X" and self.side == "b":
                size += size // 2 + 1
            return self._of("a" * size, f"{text} {found.start()}")

        return _PLACE.sub(filled, text)

    def _of(self, shape: str, name: str) -> str:
        drawing = random.Random(f"{self.seed} {self.side} {name}")
        return "".join(drawing.choice(_LETTERS[one]) if one in _LETTERS else one for one in shape)
