"""What the rules say of a shell command: of each simple command in it, and of every effect that it was found to have.

Settles how rules about commands and rules about paths work together. Does not settle what a command does
(`policy.shell`) nor which rule comes first (`policy.index`, `policy.command_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator

from stanch.policy.command_rules import Entry
from stanch.policy.index import RuleIndex
from stanch.policy.rule import BUILTIN_FOR, Rule
from stanch.values.call import Below, CallEffect, EffectClass, JudgedCall
from stanch.values.command import Command, Weight
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId

LAYER = LayerId.PERSISTED_RULES
COVERS_TOO_MUCH = Answer(Effect.ASK, Code.COVERS_TOO_MUCH, LAYER, mandated=True)
COMMAND_UNREAD = Answer(Effect.ASK, Code.COMMAND_UNREAD, LAYER, mandated=True, detail="it runs no shell command")
NOTHING_BY_ITSELF = Answer(Effect.ALLOW, Code.NOTHING_BY_ITSELF, LAYER)
NO_MATCH = Answer(Effect.ASK, Code.NO_MATCH, LAYER)
_DENIED, _ORDINARY_ASK = 3, 1
_EXECUTE, _WRITE, _NETWORK = EffectClass.EXECUTE, EffectClass.WRITE, EffectClass.NETWORK
# The tool as which an effect is judged that a command was found to have. Nothing has the empty name.
AS_TOOL = {cls: BUILTIN_FOR.get(cls, "") for cls in EffectClass}


class CommandAnswers:
    """The rules of one session, asked about commands. `missing` is the answer where a group cannot be relied on."""

    def __init__(self, index: RuleIndex, *, agent: str | None, source: str | None, missing: Answer | None) -> None:
        self._index, self._agent, self._source, self._missing = index, agent, source, missing
        self._who = index.who(agent, source)
        self._decide = index.bind(agent, source)

    def answer(self, call: JudgedCall, command: Command) -> Answer:
        """The answer for running one simple command."""
        index = self._index
        place = self._decide(call.call.tool, _EXECUTE, call.declared, None)
        own = index.command_rules.first(
            command, call.call.tool, _EXECUTE, declared=call.declared, agent=self._agent, source=self._source,
            named=command.inert and self.has_others(call),
        ) if index.command_rules.entries else None  # fmt: skip
        entry = own if own is not None and own.rank < index.ranks[place] else None
        answer = index.answers[place] if entry is None else entry.answer
        if command.inert and self.has_others(call):
            answer = NOTHING_BY_ITSELF if own is None or own.answer.effect is Effect.ALLOW else own.answer
        if answer.strength == _DENIED:
            return answer
        return self._unread(command, entry) or self._missing or answer

    def has_others(self, call: JudgedCall) -> bool:
        """True where another command of the call does something by itself, and so answers for the call."""
        return any(e.command is not None and e.found is None and not e.command.inert for e in call.effects)

    @staticmethod
    def _unread(command: Command, entry: Entry | None) -> Answer | None:
        """The ask of a command of which something cannot be known, or that is not the one its words say."""
        why = command.unread
        if not why and command.needs:
            named: set[str] = set()
            if entry is not None and entry.rule.action is Effect.ALLOW:
                named = {name for name, _ in entry.pattern.assignments}
            left = sorted(command.needs - named)
            why = f"{left[0]}, which changes what runs" if left else ""
        if not why:
            return None
        return Answer(Effect.ASK, Code.COMMAND_UNREAD, LAYER, mandated=True, detail=why)

    # --- effects that a command was found to have ----------------------------------------------------------------

    def found(self, call: JudgedCall, effect: CallEffect, command: Command, own: Answer | None) -> Answer:
        """The answer for an effect that a command was found to have; `own` is the command's.

        A write is judged as the built-in tool's would be. A read to which no rule with a path speaks, and reaching out
        to which no rule for the network speaks, are answered as the command is.
        """
        own = own or NO_MATCH
        key = None if effect.stamp is None else effect.stamp.key
        folded = effect.stamp is not None and effect.stamp.folded
        answer = self._about(call, effect, command, key, folded)
        if effect.below is not None and (answer is None or answer.strength <= _ORDINARY_ASK):
            answer = self._below(call, effect, command, effect.below, folded) or answer
        if effect.found is Weight.POSSIBLE:
            return self._possible(effect, answer, own)
        if answer is None:
            answer = NO_MATCH if effect.cls is _WRITE else own
        if self._missing is not None and answer.strength < _DENIED:
            return self._missing
        return answer

    def _possible(self, effect: CallEffect, answer: Answer | None, own: Answer) -> Answer:
        """A possible effect counts only against the command: a closed file is not read, and what may write one asks."""
        closed = answer is not None and answer.strength > _ORDINARY_ASK
        if effect.cls is not _WRITE:
            return answer if answer is not None and closed else own
        if closed and answer is not None:
            return Answer(Effect.ASK, Code.MAY_WRITE_CLOSED, LAYER, answer.rule, mandated=True)
        return own

    def _about(
        self, call: JudgedCall, effect: CallEffect, command: Command, key: str | None, folded: bool
    ) -> Answer | None:
        """What the rules say of the effect itself; None where none of them speaks to it."""
        index, cls = self._index, effect.cls
        best, rank = None, len(index.ranks) + len(index.command_rules.entries)
        for place in self.places(call, effect, key, folded):
            rule = index.rules[place]
            if cls is _WRITE or self.speaks(rule, cls):
                best, rank = index.answers[place], index.ranks[place]
                break
            if rule.action is Effect.ALLOW:
                rank = index.ranks[place]  # what stands behind it does not speak either
                break
        if key is not None and index.command_rules.entries:
            tools = () if cls is None else dict.fromkeys((AS_TOOL[cls], call.call.tool, BUILTIN_FOR[_EXECUTE]))
            for tool in tools:
                foreign = tool == BUILTIN_FOR[_EXECUTE] != call.call.tool
                entry = index.command_rules.first(
                    command, tool, cls, declared=True, agent=self._agent, source=self._source, key=key, refusing=foreign
                )
                if entry is not None and entry.rank < rank:
                    best, rank = entry.answer, entry.rank
        return best

    @staticmethod
    def speaks(rule: Rule, cls: EffectClass | None) -> bool:
        """True where a rule speaks of what a command reads or reaches, and not only of commands.

        One without a path does where it denies all reading, or says something of the network, by that very name.
        """
        if cls is _NETWORK:
            return rule.tool == "@network"
        return rule.path is not None or (
            rule.action is Effect.DENY and rule.tool in ("@read", AS_TOOL[EffectClass.READ])
        )

    def places(self, call: JudgedCall, effect: CallEffect, key: str | None, folded: bool) -> Iterator[int]:
        """The rules that fit, in order: those for the built-in tool, and refusing ones with a path for the tool.

        What refuses Stanch's own command tool at a path refuses every tool's commands there.
        """
        index, cls = self._index, effect.cls
        if cls is None:
            return
        as_builtin = index.all_matching(AS_TOOL[cls], cls, True, key, self._who, folded=folded)
        tools = dict.fromkeys((call.call.tool, BUILTIN_FOR[_EXECUTE])) if index.refuses_paths else ()
        as_itself = (
            place
            for tool in tools
            for place in index.all_matching(tool, cls, call.declared, key, self._who, folded=folded)
            if index.rules[place].path is not None and index.rules[place].action is not Effect.ALLOW
        )
        closing = sorted(set(as_itself))
        yield from as_builtin if not closing else sorted({*as_builtin, *closing})

    def _below(
        self, call: JudgedCall, effect: CallEffect, command: Command, below: Below, folded: bool
    ) -> Answer | None:
        """The ask of an effect that reaches down to something closed, or to more than was looked through."""
        index, cls = self._index, effect.cls
        if cls is not None and (index.last_closing >= 0 or index.command_rules.entries):
            fast = not folded and not index.command_rules.entries
            for key in below.keys:
                tools = (AS_TOOL[cls], call.call.tool, BUILTIN_FOR[_EXECUTE])
                if fast and all(self._decide(tool, cls, True, key) > index.last_closing for tool in tools):
                    continue
                found = self._about(call, effect, command, key, folded)
                if found is not None and found.strength > _ORDINARY_ASK:
                    return Answer(Effect.ASK, Code.COVERS_REFUSED, LAYER, found.rule, mandated=True)
        return None if below.complete else COVERS_TOO_MUCH
