"""Which rule speaks first: the bit-vector index over an ordered list of rules.

Settles the first matching rule, and all that match, in time that hardly grows with the number of rules. Does not settle
what follows from it (`policy.layers`).

Every rule is one bit, the first rule the highest. For each tool, each pair of agent and source, and each path there is
a number with the bits of the rules that fit; their conjunction's highest bit is the rule that decides. All
that a directory settles is worked out once per directory. The scheme is that of packet classifiers with bit vectors
(Lakshman and Stiliadis, 1998).

INVARIANT: an index never changes. A changed rule makes a new index; memos live inside and go with it, so that nothing
that is out of date can answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from stanch.paths.pattern import glob
from stanch.policy.command_rules import CommandRules
from stanch.policy.path_bits import NOTHING, PathBits, bits_of
from stanch.policy.reach import reaches
from stanch.policy.rule import BUILTIN_FOR, CLASSES, Rule
from stanch.values.call import EffectClass
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId

NO_MATCH = Answer(Effect.ASK, Code.NO_MATCH, LayerId.PERSISTED_RULES)

_REACHING = {name: cls for cls, name in BUILTIN_FOR.items()}

Decide = Callable[[str, "EffectClass | None", bool, "str | None"], int]


class Answers(dict[int, Answer]):
    """The place of a rule to its answer, made when the rule first decides; the place after the last is no match."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        super().__init__({len(rules): NO_MATCH})
        self._rules = rules

    def __missing__(self, place: int) -> Answer:
        answer = self[place] = self._rules[place].answer()
        return answer


class _Kinds(dict[tuple[str, "EffectClass | None", bool], int]):
    """(tool, effect class, declared) to the bits of the rules whose tool pattern reaches such an effect."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        super().__init__()
        self.exact: dict[str, int] = {}
        self.globs: dict[str, int] = {}
        self.classes: dict[EffectClass, int] = {}
        self.reaching: dict[EffectClass, int] = {}
        self.allows = 0
        self.bare = 0  # allow rules whose tool pattern is nothing but stars: they name no undeclared tool
        for bit, rule in bits_of(rules):
            self._file(rule, bit)

    def _file(self, rule: Rule, bit: int) -> None:
        tool = rule.tool
        if tool in CLASSES:
            self.classes[CLASSES[tool]] = self.classes.get(CLASSES[tool], 0) | bit
        elif "*" in tool:
            self.globs[tool] = self.globs.get(tool, 0) | bit
        else:
            self.exact[tool] = self.exact.get(tool, 0) | bit
        if rule.action is Effect.ALLOW:
            self.allows |= bit
            if not tool.strip("*"):
                self.bare |= bit
        elif tool in _REACHING:
            cls = _REACHING[tool]
            self.reaching[cls] = self.reaching.get(cls, 0) | bit

    def __missing__(self, kind: tuple[str, EffectClass | None, bool]) -> int:
        tool, cls, declared = kind
        named = self.exact.get(tool, 0)
        for text, bits in self.globs.items():
            if glob(text)(tool):
                named |= bits
        classed = 0
        if cls is not None:
            classed = self.classes.get(cls, 0) | self.reaching.get(cls, 0)
        if not declared:
            named &= ~self.bare
            classed &= ~self.allows
        if len(self) >= 1 << 14:
            self.clear()
        bits = self[kind] = named | classed
        return bits


class _Renamed(dict[tuple[str, "EffectClass | None", bool], int]):
    """The same where a tool has another name besides: a rule fits that fits either."""

    def __init__(self, kinds: _Kinds, also: str) -> None:
        super().__init__()
        self._kinds, self._also = kinds, also

    def __missing__(self, kind: tuple[str, EffectClass | None, bool]) -> int:
        _, cls, declared = kind
        bits = self._kinds[kind] | self._kinds[self._also, cls, declared]
        if len(self) < 1 << 10:
            self[kind] = bits
        return bits


class RuleIndex:
    """The index of one ordered list of rules: those of the session's group, then those of `default`.

    Mandatory rules come first, denies before asks, so that the highest bit is always the one that decides. Rules with a
    command condition are kept apart in `commanded`, since no path settles them; `ranks` gives the place in the order of
    all rules for each of the others, so that the two can be held against each other. `strict_commands` has those with a
    command that deny or ask, without the condition.
    """

    def __init__(self, chain: Sequence[Rule]) -> None:
        plain = [rule for rule in chain if rule.command is None]
        must = [r for r in plain if r.mandatory and r.action is Effect.DENY]
        must += [r for r in plain if r.mandatory and r.action is Effect.ASK]
        self.rules: tuple[Rule, ...] = (*must, *(r for r in plain if not r.mandatory))
        self.mandatory = len(must)
        self.commanded = tuple(rule for rule in chain if rule.command is not None)
        self.ranks, self.command_rules = _ranked(self.rules, chain)
        strict = [replace(rule, command=None) for rule in self.commanded if rule.action is not Effect.ALLOW]
        self.strict_commands = RuleIndex(strict) if strict else None
        self.answers = Answers(self.rules)
        self._kinds = _Kinds(self.rules)
        self._strict = sum(bit for bit, rule in bits_of(self.rules) if rule.action is Effect.DENY or rule.mandatory)
        closing = [at for at, r in enumerate(self.rules) if r.path is not None and _closes(r)]
        self.last_closing = closing[-1] if closing else -1
        self.refuses_paths = any(r.path is not None and r.action is not Effect.ALLOW for r in self.rules)
        self._closing_commands = [rule for rule in self.commanded if rule.path is not None and _closes(rule)]
        self._paths = PathBits(self.rules, folded=False)
        self._folded: PathBits | None = None
        self._who: dict[tuple[str | None, str | None], int] = {}

    def bind(self, agent: str | None, source: str | None, also: str = "") -> Decide:
        """A function from (tool, effect class, declared, path) to the place of the first rule that fits.

        The path is a stamp's key, or None for an effect without a path; no rule fits: the number of rules. `also` is
        another name that every tool is known by.
        """
        kinds = _Renamed(self._kinds, also) if also else self._kinds
        who, none = self.who(agent, source), len(self.rules)
        paths, pathless = self._paths, self._paths.pathless
        anywhere = self._paths.anywhere
        names, extensions, tests = anywhere

        def decide(tool: str, cls: EffectClass | None, declared: bool, key: str | None) -> int:
            bits = kinds[tool, cls, declared] & who
            if key is None:
                bits &= pathless
            elif bits:
                cut = key.rfind("/")
                fit, tail, _ = paths[key[:cut]]
                name = key[cut + 1 :]
                if name in names:
                    fit |= names[name]
                if extensions:
                    dot = name.rfind(".")
                    if dot >= 0:
                        fit |= extensions.get(name[dot:], 0)
                for test, more in tests:
                    if test(name):
                        fit |= more
                if tail is not NOTHING:  # the same once more, since a call costs as much as all of it
                    own_names, own_extensions, own_tests = tail
                    if name in own_names:
                        fit |= own_names[name]
                    if own_extensions:
                        dot = name.rfind(".")
                        if dot >= 0:
                            fit |= own_extensions.get(name[dot:], 0)
                    for test, more in own_tests:
                        if test(name):
                            fit |= more
                bits &= fit
            return none - bits.bit_length()

        return decide

    def who(self, agent: str | None, source: str | None) -> int:
        """The bits of the rules for this agent and source."""
        bits = self._who.get((agent, source))
        if bits is None:
            bits = 0
            for bit, rule in bits_of(self.rules):
                if rule.agent in (None, agent) and rule.source in (None, source):
                    bits |= bit
            if len(self._who) >= 1 << 10:
                self._who.clear()
            self._who[agent, source] = bits
        return bits

    def may_refuse(self, tool: str, cls: EffectClass | None, declared: bool, who: int) -> bool:
        """True where some rule with a path denies such an effect, or has a person asked in any case."""
        strict = self._strict & ~self._paths.pathless
        if self._kinds[tool, cls, declared] & who & strict:
            return True
        return any(reaches(rule, tool, cls, declared) for rule in self._closing_commands)

    def all_matching(
        self, tool: str, cls: EffectClass | None, declared: bool, key: str | None, who: int, *, folded: bool = False
    ) -> Iterator[int]:
        """The places of every rule that fits, in order: the one that decides and all those it keeps from speaking."""
        bits = self._kinds[tool, cls, declared] & who
        if key is None:
            bits &= self._paths.pathless
        else:
            bits &= self.folded.match(key.casefold()) if folded else self._paths.match(key)
        while bits:
            highest = bits.bit_length()
            yield len(self.rules) - highest
            bits ^= 1 << (highest - 1)

    @property
    def folded(self) -> PathBits:
        """The path index for file systems that ignore letter case; made when the first such path comes."""
        if self._folded is None:
            self._folded = PathBits(self.rules, folded=True)
        return self._folded


def _closes(rule: Rule) -> bool:
    return rule.action is Effect.DENY or rule.mandatory


def _ranked(plain: Sequence[Rule], chain: Sequence[Rule]) -> tuple[Sequence[int], CommandRules]:
    """The place of each rule without a command in the order of all, and the rules with one."""
    commanded = [rule for rule in chain if rule.command is not None]
    if not commanded:
        return range(len(plain) + 1), CommandRules(())
    must = [rule for rule in chain if rule.mandatory]
    order = [rule for rule in must if rule.action is Effect.DENY] + [r for r in must if r.action is Effect.ASK]
    order += [rule for rule in chain if not rule.mandatory]
    place = {id(rule): rank for rank, rule in enumerate(order)}
    ranks = [place[id(rule)] for rule in plain]
    filed = sorted(((place[id(rule)], rule) for rule in commanded), key=lambda pair: pair[0])
    return [*ranks, len(order)], CommandRules(filed)
