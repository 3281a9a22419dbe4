"""Which rules fit a path: one bit a rule, all that a directory settles worked out once per directory.

Settles the bits of a path. Does not settle the tool's and the session's part, nor which bit decides (`policy.index`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from stanch.paths.pattern import Part, component, is_span
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


class WildHead(NamedTuple):
    """A pattern's parts but the last, with wildcards among them; where they fit, the last is filed with the bit."""

    parts: tuple[Part, ...]
    last: Part
    bit: int

    def begin(self) -> int:
        """The places in the parts, as bits, that a walk down from the root starts at."""
        return self._past_spans(1)

    def step(self, places: int, name: str) -> int:
        """The places reached by one component more; none left is 0."""
        reached = 0
        at = 0
        while places >> at:
            if places >> at & 1 and at < len(self.parts):
                part = self.parts[at]
                if is_span(part):
                    reached |= 1 << at
                elif component(part.text)(name) if part.wild else part.text == name:
                    reached |= 2 << at
            at += 1
        return self._past_spans(reached)

    def _past_spans(self, places: int) -> int:
        for at, part in enumerate(self.parts):
            if places >> at & 1 and is_span(part):
                places |= 2 << at
        return places

    def fits(self, places: int) -> bool:
        """True where the whole of the parts is used up by the components so far."""
        return bool(places >> len(self.parts) & 1)


class Known(NamedTuple):
    """What is known of a directory: the bits it settles for all below it, and what is left for the last component.

    `heads` says how far each wild head that can still fit has come.
    """

    bits: int
    tail: Tail
    heads: tuple[tuple[int, int], ...] = ()


class PathBits(dict[str, Known]):
    """Directory to what is known of it. Each is worked out from the one above it, one component at a time."""

    def __init__(self, rules: Sequence[Rule], *, folded: bool) -> None:
        super().__init__()
        self.pathless = 0
        self.everything = 0
        self.heads: dict[str, Tail] = {}
        self.anywhere = _tail()
        self.wild: list[WildHead] = []
        self._cost = 200 + len(rules) // 8
        self._bytes = 0
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
            self.wild.append(WildHead(head, last, bit))

    def __missing__(self, directory: str) -> Known:
        """Works out the directory and, from the top down, those above it that are not known yet."""
        if self._bytes > MEMO_BYTES:
            self.clear()
            self._bytes = 0
        unknown = [directory]
        while unknown[-1] and (above := unknown[-1][: unknown[-1].rfind("/")]) not in self:
            unknown.append(above)
        known = Known(0, NOTHING)
        for here in reversed(unknown):
            known = self[here] = self._below(here)
            self._bytes += self._cost + len(here)
        return known

    def _below(self, here: str) -> Known:
        if not here:
            reached = [(number, head.begin()) for number, head in enumerate(self.wild)]
            bits = self.pathless | self.everything
        else:
            above = self[here[: here.rfind("/")]]
            name = here[here.rfind("/") + 1 :]
            steps = ((number, self.wild[number].step(places, name)) for number, places in above.heads)
            reached = [(number, places) for number, places in steps if places]
            bits = self.match(here)
        tail = self.heads.get(here, NOTHING)
        fitting = [self.wild[number] for number, places in reached if self.wild[number].fits(places)]
        if fitting:
            tail = Tail(dict(tail.names), dict(tail.extensions), list(tail.tests))
            for head in fitting:
                tail.add(head.last, head.bit)
        return Known(bits, tail, tuple(reached))

    def match(self, key: str) -> int:
        """The bits of the rules that fit a path, those without a path condition among them."""
        cut = key.rfind("/")
        bits, tail, _ = self[key[:cut]]
        name = key[cut + 1 :]
        bits |= self.anywhere.match(name)
        return bits if tail is NOTHING else bits | tail.match(name)
