"""How the words of a command and of a pattern are held against each other: options in any place, other words in order.

Settles how options are told from other words for patterns, and whether one side covers the other. Does not settle the
grammar of a pattern (`policy.shell.matching`), nor what an option does (`policy.shell.operands`).

Where it is not known whether an option takes a value, both readings are tried: a refusing rule fits in either, mixed as
it likes; an allowing rule fits in one that is kept throughout, and no option that it gives a value may stand in the
command with another.
INVARIANT: steps grow no faster than the words of one side times the other's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from stanch.paths.pattern import glob
from stanch.values.command import Command

Words = Sequence[str | None]
Names = frozenset[str]


class _Option(NamedTuple):
    """An option as it stands in a word. `apart`: its value is the next word. `after`: a next word that is not its own.

    A bundle gives one of these for each letter. In a pattern, no value means any or none.
    """

    at: int
    word: str
    name: str
    valued: bool = False
    value: str | None = None
    apart: bool = False
    after: tuple[str | None, ...] = ()

    @property
    def own(self) -> str:
        return self.word.partition("=")[0]


class _Item(NamedTuple):
    """A word that is no option, `--` too. `ended`: it stands behind a `--`. `behind`: the option just before it."""

    at: int
    text: str | None
    ended: bool
    behind: str


class _Slot(NamedTuple):
    """A word to be matched in its place. `skip`: it may be left out. `starred`: a lone `*` may cover it."""

    text: str | None
    skip: bool
    starred: bool


class CommandWords:
    """One command against the words of patterns, with what is known of its options."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.pairs = [{_dashed(one), _dashed(other)} for one, other in command.aliases]
        self.takes: Names = frozenset()
        if command.known:
            self.takes = frozenset(name for one in command.takes for name in self.named(_dashed(one)))
        names = itertools.chain(self.takes, *self.pairs)
        self.whole = command.known and any(len(name) > 2 and name[1] != "-" for name in names)
        self._reads: dict[Names, tuple[list[_Option], list[_Item]]] = {}

    def named(self, name: str) -> set[str]:
        """All names of the option with this name."""
        names = {name}
        while more := {one for pair in self.pairs if not names.isdisjoint(pair) for one in pair} - names:
            names |= more
        return names

    def read(self, words: Words, takes: Names) -> tuple[list[_Option], list[_Item]]:
        """The options and the other words, where the options in `takes` take a value and no others do.

        WHY: a word that begins with a dash is a value only where the table of commands says so: no guess hides one.
        """
        options: list[_Option] = []
        items: list[_Item] = []
        at, ended, behind = 0, False, ""
        while at < len(words):
            here, word, at = at, words[at], at + 1
            if word is None or ended or not is_option(word):
                items.append(_Item(here, word, ended, behind))
                ended, behind = ended or word == "--", ""
                continue
            found = _options_in(here, word, takes, self.whole)
            last, behind = found[-1], ""
            if not last.valued and at < len(words):
                value, behind = words[at], last.name
                if last.name in takes and (self.command.known or not (value or "").startswith("-")):
                    found[-1], behind = last._replace(valued=True, value=value, apart=True), ""
                    at += 1
                elif value is None or not is_option(value):
                    found[-1] = last._replace(after=(value,))
            options += found
        return options, items

    def theirs(self, takes: Names) -> tuple[list[_Option], list[_Item]]:
        """The command's own words, read once for each guess."""
        if takes not in self._reads:
            self._reads[takes] = self.read(self.command.words, takes)
        return self._reads[takes]

    def has(self, words: Sequence[str]) -> bool:
        """True where each option is in the command, and the other words are its first ones in their order."""
        wanted: list[tuple[str, bool]] = []
        at, ended = 0, False
        while at < len(words):
            word, behind, at = words[at], words[at + 1 : at + 2], at + 1
            if ended or not is_option(word):
                wanted += [] if word == "--" and not ended else [(word, False)]
                ended = ended or word == "--"
                continue
            guesses = [self.takes] if self.command.known else _guesses(word)
            taking = [takes for takes in guesses if self.read((word, *behind), takes)[0][-1].apart]
            as_value = any(self._present((word, *behind), takes) for takes in taking)
            surely = self.command.known and bool(taking)
            if not as_value and (surely or not any(self._present((word,), takes) for takes in guesses)):
                return False
            if as_value:
                wanted += [] if surely else [(behind[0], True)]
                at += 1
        items = [item for item in self.theirs(self.takes)[1] if item.ended or item.text != "--"]
        slots = [(item.at, _Slot(item.text, self._may_be_value(item), True)) for item in items]
        fronts = dict.fromkeys((self.command.front, 0))
        return any(any(_walk(wanted, [slot for at, slot in slots if at >= front])) for front in fronts)

    def _present(self, words: Sequence[str], takes: Names) -> bool:
        theirs = self.theirs(takes)[0]
        mine = [(option, self.named(option.name)) for option in self.read(words, takes)[0]]
        return all(any(_fits(want, one, names, loosely=True) for one in theirs) for want, names in mine)

    def _may_be_value(self, item: _Item) -> bool:
        if not self.command.known:
            return item.behind != ""
        return item.behind.startswith("--") and any(name.startswith(item.behind) for name in self.takes)

    def has_only(self, words: Sequence[str]) -> bool:
        """True where, in one reading, every word of the command is covered and no bound option has another value."""
        ties: dict[str, list[str | None]] = {}
        for option in [] if self.command.known else self.read(words, self.takes)[0]:
            for name in {option.name, option.own} if option.after else ():
                ties.setdefault(name, []).append(option.after[0])
        guessed = self.takes.union(ties)
        for one in self.theirs(guessed)[0]:
            if one.valued and one.name in ties and not any(_value_fits(tie, one.value) for tie in ties[one.name]):
                return False
        starts = dict.fromkeys((self.command.front, 0)) if self.command.plain_front else (0,)
        readings = dict.fromkeys((guessed, self.takes))
        return any(self._covered(words, takes, start, bool(ties)) for takes in readings for start in starts)

    def _covered(self, words: Sequence[str], takes: Names, start: int, tied: bool) -> bool:
        """True where the words from `start` on are covered; those of a front that is not plain, by no mere `*`."""
        mine, wanted = self.read(words, takes)
        theirs, items = self.theirs(takes)
        known, fixed = self.command.known, 0 if self.command.plain_front else self.command.front
        wants = [(option, self.named(option.name)) for option in mine]
        bound = {name for option, names in wants if option.valued for name in names}
        if not all(any(_fits(want, one, names) for one in theirs) for want, names in wants):
            return False
        if (bound or tied) and any(item.text is None and not item.ended for item in items):
            return False  # an unknown word may be such an option, with another value
        wide = any(is_lone(item.text) for item in itertools.takewhile(lambda item: item.text != "--", wanted))
        slots = [(item.at, _Slot(item.text, False, item.at >= fixed)) for item in items if item.at >= start]
        for one in theirs:
            by = [want for want, names in wants if _fits(want, one, names) and (known or _bundled(want, one))]
            if any(one.at >= fixed or _is_explicit(want, one) for want in by):
                continue
            twisted = not known and any(len(w.word) > 2 and w.word[:2] == one.word[:2] != "--" for w in mine)
            if twisted or any(one.name == name or _may_mean(one.own, name) for name in bound):
                return False
            if one.at >= start and (one.at < fixed or (known and not wide)):
                return False
            if one.at >= start and not known:
                slots.append((one.at, _Slot(None, False, True)))  # only a `*` that stands no later covers it
        row = _walk([(item.text or "", False) for item in wanted], [slot for _, slot in sorted(slots, key=_place)])
        return row[-1]


def is_lone(text: str | None) -> bool:
    """True for a word of nothing but `*`."""
    return bool(text) and not (text or "").strip("*")


def is_option(word: str) -> bool:
    """True for a word that begins as an option does."""
    return word.startswith("-") and word not in ("-", "--")


def _dashed(name: str) -> str:
    return name if name.startswith("-") else f"-{name}" if len(name) == 1 else f"--{name}"


def _place(one: tuple[int, _Slot]) -> int:
    return one[0]


def _options_in(at: int, word: str, takes: Names, whole: bool) -> list[_Option]:
    """The options of one word. `whole`: a word with one dash is one option, as with `find`, and no bundle.

    A `=` between a letter and its value is no part of the value.
    """
    own, equals, value = word.partition("=")
    if own.startswith("--") or (len(own) > 2 and (own in takes or (whole and own[:2] not in takes))):
        return [_Option(at, word, own, bool(equals), value if equals else None)]
    found: dict[str, _Option] = {}
    for end, letter in enumerate(word[1:], 2):
        name = f"-{letter}"
        found.pop(name, None)
        if name in takes and end < len(word):
            found[name] = _Option(at, word, name, True, word[end:].removeprefix("="))
            break
        found[name] = _Option(at, word, name)
    return list(found.values())


def _guesses(word: str) -> list[Names]:
    """Which options of a pattern's word might take a value: none, the first letter, the last, the word as one name."""
    own = word.partition("=")[0]
    letters = set() if own.startswith("--") else {word[:2], f"-{word[-1]}"}
    return [frozenset(), *(frozenset({name}) for name in letters | {own})]


def _value_fits(text: str | None, value: str | None) -> bool:
    """True where the value is such a one; one that is not known may be any."""
    return is_lone(text) if value is None or text is None else glob(text)(value)


def _fits(want: _Option, one: _Option, names: set[str], loosely: bool = False) -> bool:
    """True where the command's option is the one that the pattern names; `loosely` by an abbreviation of it too."""
    if "*" in want.name:
        return glob(want.word)(one.word) and (loosely or not one.apart)
    exact = one.name in names
    if not exact and not (loosely and any(_may_mean(one.own, name) for name in names)):
        return False
    if not want.valued:
        return loosely or not one.valued or one.value is not None
    if one.valued:
        return _value_fits(want.value, one.value)
    return not exact and any(_value_fits(want.value, value) for value in one.after)


def _may_mean(written: str, name: str) -> bool:
    """True where some program reads the one as the other: an abbreviation, or a long name behind another dash."""
    short = written.startswith("--") and len(written) > 2 and name.startswith(written)
    return short or (len(written) > 2 < len(name) and written.lstrip("-") == name.lstrip("-"))


def _bundled(want: _Option, one: _Option) -> bool:
    """True where a word of letters is the same bundle in another order, taken apart, or put together of single ones.

    WHY: of a program that is not known, `-depth -ls` would else cover `-delete`, whose letters they all have.
    """
    if len(one.name) > 2 or len(want.word) == 2 or "*" in want.name:
        return True
    if len(one.word) == 2:
        return not (one.after and one.word == want.word[:2])
    return len(one.word) == len(want.word) and sorted(one.word) == sorted(want.word)


def _is_explicit(want: _Option, one: _Option) -> bool:
    return "*" not in want.name and want.valued == one.valued and not (want.valued and is_lone(want.value))


def _walk(wanted: Sequence[tuple[str, bool]], slots: Sequence[_Slot]) -> list[bool]:
    """For each number of slots from the first on, whether all that is wanted can be matched with them, in order.

    What is wanted is a text and whether it may be left out. One step for each pair of a wanted word and a slot.
    """
    row = [True]
    for slot in slots:
        row.append(row[-1] and slot.skip)
    for text, optional in wanted:
        lone, test = is_lone(text), glob(text)
        new = [row[0] and (lone or optional)]
        for at, slot in enumerate(slots):
            fits = row[at] and not lone and slot.text is not None and test(slot.text)
            left = row[at + 1] and (lone or optional)
            new.append(fits or left or (new[at] and (slot.skip or (lone and slot.starred))))
        row = new
    return row
