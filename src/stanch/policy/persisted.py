"""Layer 7: the rules that a person wrote, and the memory exception.

Settles what the rules say of each effect of a call, also where a group is missing or broken. Does not settle which rule
comes first (`policy.index`), nor what may relax an ask (`gate.relax`).
"""

from __future__ import annotations

from stanch.policy.commanded import COMMAND_UNREAD, COVERS_TOO_MUCH, CommandAnswers
from stanch.policy.index import Decide, RuleIndex
from stanch.policy.layers import LayerAnswer
from stanch.values.call import Below, CallEffect, EffectClass, JudgedCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId


def _persisted(effect: Effect, code: Code, *, mandated: bool = False, detail: str = "") -> Answer:
    return Answer(effect, code, LayerId.PERSISTED_RULES, mandated=mandated, detail=detail)


MEMORY_EXCEPTION = _persisted(Effect.ALLOW, Code.MEMORY_EXCEPTION)
DENIED = 3


def group_missing(group: str) -> Answer:
    """The answer where a session names a group that is not there."""
    return _persisted(Effect.ASK, Code.GROUP_MISSING, mandated=True, detail=group)


def store_unreadable(what: str, effect: Effect = Effect.ASK) -> Answer:
    """The answer where a group, or the session itself, cannot be read; `what` says which and why."""
    return _persisted(effect, Code.STORE_UNREADABLE, mandated=effect is Effect.ASK, detail=what)


def policy_invalid(place: str) -> Answer:
    """The answer where a rule of one of the session's groups, or the policy itself, has a mistake at this place."""
    return _persisted(Effect.DENY, Code.POLICY_INVALID, detail=place)


_ORDINARY_ASK = 1
_EXECUTE = EffectClass.EXECUTE
_FILE_CLASSES = (EffectClass.READ, EffectClass.WRITE)


class PersistedRules:
    """Layer 7: the rules of the session's group, then those of `default`, and the memory exception.

    `memory` is the canonical path of the workspace's memory directory. `missing` is set where a group that the session
    has is not there or cannot be read: it is the answer for whatever the rules of the index do not deny.
    """

    id = LayerId.PERSISTED_RULES
    immediate = True

    def __init__(
        self,
        index: RuleIndex,
        *,
        agent: str | None,
        source: str | None,
        memory: str,
        missing: Answer | None = None,
    ) -> None:
        self.index, self.memory = index, memory
        self.agent, self.source = agent, source
        self.missing = missing
        self._decide: Decide = index.bind(agent, source)
        self._who = index.who(agent, source)
        self.commands = CommandAnswers(index, agent=agent, source=source, missing=missing)
        self._who_commanded = index.strict_commands.who(agent, source) if index.strict_commands is not None else 0

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """The first matching rule's answer for each effect; for a call without effects, by the tool's name alone."""
        tool, declared, decide, answers = call.call.tool, call.declared, self._decide, self.index.answers
        remembered = call.builtin and self.is_memory(call)
        said: list[Answer | None] = []
        own: Answer | None = None
        for effect in call.effects:
            if effect.command is not None:
                if effect.found is None:
                    own = self.commands.answer(call, effect.command)
                    said.append(own)
                else:
                    said.append(self.commands.found(call, effect, effect.command, own))
                continue
            stamp = effect.stamp
            if stamp is None:
                place = decide(tool, effect.cls, declared, None)
            elif stamp.folded:
                place = self.folded_place(call, effect)
            else:
                place = decide(tool, effect.cls, declared, stamp.key)
            answer = answers[place]
            if effect.below is not None:
                answer = self._reaching(call, effect, effect.below, answer)
            if remembered and place >= self.index.mandatory:
                answer = MEMORY_EXCEPTION
            if answer.strength < DENIED:
                if effect.cls is _EXECUTE and self._commanded(call, effect):
                    answer = COMMAND_UNREAD
                elif self.missing is not None:
                    answer = self.missing
            said.append(answer)
        return said

    def _commanded(self, call: JudgedCall, effect: CallEffect) -> bool:
        """True where a rule about commands denies or asks, and could be about what this effect runs."""
        index = self.index.strict_commands
        if index is None:
            return False
        key = None if effect.stamp is None else effect.stamp.key
        return any(
            True for _ in index.all_matching(call.call.tool, effect.cls, call.declared, key, self._who_commanded)
        )

    def may_refuse(self, tool: str, cls: EffectClass, declared: bool) -> bool:
        """True where it matters what lies below a directory that such an effect reaches down from."""
        return self.index.may_refuse(tool, cls, declared, self._who)

    def _reaching(self, call: JudgedCall, effect: CallEffect, below: Below, answer: Answer) -> Answer:
        """The answer of an effect that reaches down: a question, mandated, where something below is closed to it."""
        if answer.strength > _ORDINARY_ASK:
            return answer
        folded = effect.stamp is not None and effect.stamp.folded
        for key in below.keys:
            if folded:
                place = self._place(call, effect, key, folded=True)
            else:
                place = self._decide(call.call.tool, effect.cls, call.declared, key)
            found = self.index.answers[place]
            if found.strength > _ORDINARY_ASK:
                return Answer(Effect.ASK, Code.COVERS_REFUSED, self.id, found.rule, mandated=True)
        return answer if below.complete else COVERS_TOO_MUCH

    def folded_place(self, call: JudgedCall, effect: CallEffect) -> int:
        """The place of the first rule that fits a path on a file system that ignores letter case."""
        return self._place(call, effect, None if effect.stamp is None else effect.stamp.key, folded=True)

    def _place(self, call: JudgedCall, effect: CallEffect, key: str | None, *, folded: bool) -> int:
        fitting = self.index.all_matching(call.call.tool, effect.cls, call.declared, key, self._who, folded=folded)
        return next(fitting, len(self.index.rules))

    def probed(self, also: str) -> ProbedRules:
        """The same rules for a probe, whose tool is known by another name as well."""
        return ProbedRules(self, also)

    def is_memory(self, call: JudgedCall) -> bool:
        """True for a write tool's call whose every target lies under the workspace's memory."""
        first = call.effects[0].stamp
        if first is None or not first.key.startswith(self.memory) or self.missing is not None:
            return False
        for effect in call.effects:
            stamp = effect.stamp
            if stamp is None or effect.cls not in _FILE_CLASSES or stamp.links > 1:
                return False
            if stamp.key != self.memory and not stamp.key.startswith(self.memory + "/"):
                return False
        return any(effect.cls is EffectClass.WRITE for effect in call.effects)


class ProbedRules(PersistedRules):
    """Layer 7 for a probe: a rule fits that fits its tool under either of two names.

    WHY not the stricter of two answers: a rule about `read_file` is meant for whoever reads a file, and the catch-all
    below it would refuse every probe that such a rule allows.
    """

    def __init__(self, rules: PersistedRules, also: str) -> None:
        """`also` is the other name that the probed tool is known by."""
        super().__init__(
            rules.index, agent=rules.agent, source=rules.source, memory=rules.memory, missing=rules.missing
        )
        self._also = also
        self._decide = rules.index.bind(rules.agent, rules.source, also)

    def _place(self, call: JudgedCall, effect: CallEffect, key: str | None, *, folded: bool) -> int:
        other = call._replace(call=call.call._replace(tool=self._also))
        return min(super()._place(call, effect, key, folded=folded), super()._place(other, effect, key, folded=folded))


class BrokenRules:
    """Layer 7 where the rules that a session depends on cannot be relied on: all is denied."""

    id = LayerId.PERSISTED_RULES
    immediate = True

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """The deny for every effect, which names what is wrong."""
        return [self.answer] * len(call.effects)
