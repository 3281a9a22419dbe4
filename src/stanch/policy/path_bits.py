"""Which rules fit a path: one bit a rule, all that a directory settles worked out once per directory.

Settles the bits of a path. Does not settle the tool's and the session's part, nor which bit decides (`policy.index`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from stanch.paths.pattern import Part, component, fits, is_span
from stanch.policy.rule import Rule

MEMO_BYTES = 16 << 20
Test = Callable[[str], bool]


def bits_of(rules: Sequence[Rule]) -> Iterator[tuple[int, Rule]]:
    """Each rule with its bit: the first has the highest, so that finding the one that decides is one look."""
    last = len(rules) - 1
    return ((1 << (last - place), rule) for place, rule in enumerate(rules))


class Tail(NamedTuple):
    """What the last component of a path settles: by exact name, by extension, and by further tests."""

    names: dict[str, int]
    extensions: dict[str, int]
    tests: list[tuple[Test, int]]

    def add(self, last: Part, bits: int) -> None:
        """Files the bits under the cheapest test of the last component."""
        text = last.text
        if not last.wild:
            self.names[text] = self.names.get(text, 0) | bits
        elif text.startswith("*.") and not set(text[2:]) & set("*?."):
            self.extensions[text[1:]] = self.extensions.get(text[1:], 0) | bits
        else:
            self.tests.append((component(text), bits))

    def match(self, name: str) -> int:
        """The bits that the last component settles."""
        bits = self.names.get(name, 0)
        if self.extensions:
            dot = name.rfind(".")
            if dot >= 0:
                bits |= self.extensions.get(name[dot:], 0)
        for test, more in self.tests:
            if test(name):
                bits |= more
        return bits


def _tail() -> Tail:
    return Tail({}, {}, [])


NOTHING = _tail()


class PathBits(dict[str, tuple[int, Tail]]):
    """Directory to the bits it settles for everything below it, and what is left for the last component to settle."""

    def __init__(self, rules: Sequence[Rule], *, folded: bool) -> None:
        super().__init__()
        self.pathless = 0
        self.everything = 0
        self.heads: dict[str, Tail] = {}
        self.anywhere = _tail()
        self.wild: dict[str, list[tuple[tuple[Part, ...], Part, int]]] = {}
        self.room = max(64, MEMO_BYTES // (200 + len(rules) // 8))
        for bit, rule in bits_of(rules):
            if rule.path is None:
                self.pathless |= bit
            for pattern in rule.patterns:
                self._file((pattern.folded() if folded else pattern).parts, bit)

    def _file(self, parts: tuple[Part, ...], bit: int) -> None:
        if not parts:
            self.everything |= bit
            return
        head, last = parts[:-1], parts[-1]
        if not any(p.wild for p in head):
            self.heads.setdefault("".join("/" + p.text for p in head), _tail()).add(last, bit)
        elif len(head) == 1 and is_span(head[0]):
            self.anywhere.add(last, bit)
        else:
            named = [p.text for p in head if not p.wild]
            self.wild.setdefault(named[-1] if named else "", []).append((head, last, bit))

    def __missing__(self, directory: str) -> tuple[int, Tail]:
        """Works out the directory and, from the top down, those above it that are not known yet."""
        if len(self) >= self.room:
            self.clear()
        unknown = [directory]
        while unknown[-1] and (above := unknown[-1][: unknown[-1].rfind("/")]) not in self:
            unknown.append(above)
        entry = (0, NOTHING)
        for here in reversed(unknown):
            bits = self.match(here) if here else self.pathless | self.everything
            tail = self.heads.get(here)
            if self.wild:
                tail = self._with_wild(here, tail)
            entry = self[here] = (bits, tail or NOTHING)
        return entry

    def _with_wild(self, directory: str, tail: Tail | None) -> Tail | None:
        names = directory.split("/")[1:]
        own = tail is None
        for key in {"", *names}:
            for head, last, bit in self.wild.get(key, ()):
                if fits(head, names):
                    if tail is None:
                        tail = _tail()
                    elif not own:
                        tail, own = Tail(dict(tail.names), dict(tail.extensions), list(tail.tests)), True
                    tail.add(last, bit)
        return tail

    def match(self, key: str) -> int:
        """The bits of the rules that fit a path, those without a path condition among them."""
        cut = key.rfind("/")
        bits, tail = self[key[:cut]]
        name = key[cut + 1 :]
        bits |= self.anywhere.match(name)
        return bits if tail is NOTHING else bits | tail.match(name)
