"""Which rules lost for a shell command, and for what it was found to touch.

Settles the same as `policy.losers`, in the order in which `policy.commanded` reads the rules. For explanations only;
nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator

from stanch.paths.pattern import glob
from stanch.policy.command_rules import Entry
from stanch.policy.commanded import AS_TOOL, CommandAnswers
from stanch.policy.index import RuleIndex
from stanch.policy.losers import Contest, Loser, Near, near_plain, nearest, others_than, why_behind
from stanch.policy.reach import reaches
from stanch.policy.rule import Rule
from stanch.values.call import CallEffect, EffectClass, JudgedCall
from stanch.values.command import Command
from stanch.values.decision import Effect

_AS_ITS_COMMAND = (EffectClass.READ, EffectClass.NETWORK)


class CommandContests:
    """The contests of one session's rules about commands."""

    def __init__(self, index: RuleIndex, *, agent: str | None, source: str | None) -> None:
        self._index, self._agent, self._source = index, agent, source
        self._answers = CommandAnswers(index, agent=agent, source=source, missing=None)

    def contest(self, call: JudgedCall, effect: CallEffect, command: Command) -> Contest:
        """The rules for running a command, or for one effect that it was found to have."""
        if effect.stamp is not None and effect.stamp.refusal is not None:
            return Contest(None, (), (), 0)
        return self._running(call, effect, command) if effect.found is None else self._touching(call, effect, command)

    def _running(self, call: JudgedCall, effect: CallEffect, command: Command) -> Contest:
        index, tool = self._index, call.call.tool
        who = index.who(self._agent, self._source)
        places = list(index.all_matching(tool, effect.cls, call.declared, None, who))
        fitting = [(index.ranks[place], index.rules[place]) for place in places]
        near = near_plain(
            index, tool, effect, set(places), declared=call.declared, agent=self._agent, source=self._source
        )
        near = [(far, index.ranks[place], loser) for far, place, loser in near]
        quiet = command.inert and self._answers.has_others(call)
        for entry in self._candidates(command):
            rule = entry.rule
            if not reaches(rule, tool, effect.cls, call.declared):
                continue
            failed = [*others_than(rule, self._agent, self._source)]
            if rule.path is not None:
                failed.append(("path", f"speaks of what such a command does to {rule.path}, not of running it"))
            if not entry.fits(command):
                failed.append(("command", why_not(entry, command)))
            if len(failed) == 1:
                near.append((0, entry.rank, Loser(rule, failed[0][1], failed[0][0])))
            elif not failed:
                fitting.append((entry.rank, rule))
        fitting.sort(key=lambda one: one[0])
        rules = [rule for _, rule in fitting]
        if quiet:
            rules = [rule for rule in rules if rule.command is not None and rule.action is not Effect.ALLOW]
            near = [one for one in near if one[2].rule.command is not None]
        return nearest(rules[0] if rules else None, _behind(rules), near)

    def _touching(self, call: JudgedCall, effect: CallEffect, command: Command) -> Contest:
        """The rules are read as for the built-in tool of the same effect, and those with a path of the tool itself."""
        index, cls = self._index, effect.cls
        key = None if effect.stamp is None else effect.stamp.key
        folded = effect.stamp is not None and effect.stamp.folded
        tools = [AS_TOOL[cls], call.call.tool] if cls is not None else []
        speaking: list[tuple[int, Rule]] = []
        silent: list[tuple[int, Rule, str]] = []
        closed = False
        places = list(self._answers.places(call, effect, key, folded))
        for place in places:
            rule, rank = index.rules[place], index.ranks[place]
            if cls is EffectClass.WRITE or self._answers.speaks(rule, cls) or rule.action is Effect.DENY:
                if closed:
                    silent.append((rank, rule, "a rule before it leaves this to the command's own answer"))
                else:
                    speaking.append((rank, rule))
            else:
                silent.append((rank, rule, _silent(cls)))
                closed = closed or (rule.action is Effect.ALLOW and not speaking)
        near = self._near(call, effect, set(places), tools, key)
        for entry in self._candidates(command) if key is not None else ():
            rule = entry.rule
            if rule.path is None or not any(reaches(rule, tool, cls, True) for tool in tools):
                continue
            failed = [*others_than(rule, self._agent, self._source)]
            if not any(pattern.covers(key or "") for pattern in rule.patterns):
                failed.append(("path", f"its path {' or '.join(map(str, rule.patterns))} does not cover {key}"))
            if not entry.fits(command):
                failed.append(("command", why_not(entry, command)))
            if len(failed) == 1:
                near.append((0, entry.rank, Loser(rule, failed[0][1], failed[0][0])))
            elif not failed:
                speaking.append((entry.rank, rule))
        speaking.sort(key=lambda one: one[0])
        rules = [rule for _, rule in speaking]
        behind = [(rank, loser) for (rank, _), loser in zip(speaking[1:], _behind(rules), strict=True)]
        behind += [(rank, Loser(rule, why, "path")) for rank, rule, why in silent]
        behind.sort(key=lambda one: one[0])
        fallback = not rules and cls in _AS_ITS_COMMAND
        return nearest(rules[0] if rules else None, tuple(one for _, one in behind), near, as_command=fallback)

    def _near(self, call: JudgedCall, effect: CallEffect, fitting: set[int], tools: list[str], key: str | None) -> Near:
        found: dict[int, tuple[int, int, Loser]] = {}
        for tool in tools:
            own = tool == call.call.tool
            declared = call.declared or not own
            for far, place, loser in near_plain(
                self._index, tool, effect, fitting, declared=declared, agent=self._agent, source=self._source
            ):
                rule = loser.rule
                if (loser.condition == "path" and key is None) or place in found:
                    continue
                if not own or (rule.path is not None and rule.action is not Effect.ALLOW):
                    found[place] = (far, self._index.ranks[place], loser)
        return list(found.values())

    def _candidates(self, command: Command) -> Iterator[Entry]:
        """The rules whose pattern fits the command's program; each where the program is not known."""
        for entry in self._index.command_rules.entries:
            name = entry.pattern.program.rpartition("/")[2]
            if not command.program or glob(name)(command.program):
                yield entry


def _behind(rules: list[Rule]) -> tuple[Loser, ...]:
    return tuple(Loser(rule, why_behind(rule, rules[0])) for rule in rules[1:])


def _silent(cls: EffectClass | None) -> str:
    if cls is EffectClass.NETWORK:
        return "is no rule for @network, and leaves what a command reaches to the command's own answer"
    return "has no path, and leaves what a command reads to the command's own answer"


def why_not(entry: Entry, command: Command) -> str:
    """Why a pattern whose program is the command's does not fit it."""
    pattern, said = entry.pattern, f"its command {entry.rule.command}"
    if not command.program:
        return f"{said} names a program, and which one this runs cannot be known"
    if entry.rule.action is Effect.ALLOW and command.place and "/" not in pattern.program:
        return f"{said} names no place, and this runs the {command.program} of {command.place}"
    set_here = dict(command.assignments)
    for name, value in pattern.assignments:
        if set_here.get(name) != value:
            return f"{said} sets {name}={value}, and this does not"
    if entry.rule.action is Effect.ALLOW:
        return _uncovered(entry, command, said)
    return _missing(entry, command, said)


def _uncovered(entry: Entry, command: Command, said: str) -> str:
    """Which word of the command an allow rule does not cover."""
    if not command.plain_front and entry.fits(command._replace(plain_front=True)):
        return f"{said} does not cover the option before the subcommand, which changes what that does"
    for at, word in enumerate(command.words):
        less = command._replace(words=(*command.words[:at], *command.words[at + 1 :]))
        if entry.fits(less):
            what = "a word that cannot be known" if word is None else f"'{word}'"
            return f"{said} does not cover {what}"
    return _missing(entry, command, said)


def _missing(entry: Entry, command: Command, said: str) -> str:
    """Which word of the pattern the command does not have."""
    for word in entry.pattern.words:
        if word.strip("*") and not any(have is not None and glob(word)(have) for have in command.words):
            return f"{said} has the word '{word}', and this has not"
    return f"{said} has other words, or in another order"
