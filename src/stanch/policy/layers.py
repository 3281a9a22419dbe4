"""The layers of authority: what each may be asked, and the ones that are built.

Settles the protocol and the layers themselves. Does not settle how their answers combine (`policy.walk`).
A layer is a small object with one method. It answers for each effect of the call: an answer, or None for no objection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from stanch.policy.index import Decide, RuleIndex
from stanch.values.call import Below, CallEffect, EffectClass, JudgedCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId

ORDER = tuple(layer for layer in LayerId if layer is not LayerId.RELAXATION)
# Layers whose every ask is mandated: neither a bypass nor a grant answers for the person.
MANDATING = frozenset(
    {
        LayerId.TIER,
        LayerId.CALLER_POLICY,
        LayerId.INHERITED_CONSTRAINT,
        LayerId.ORG_RULES,
        LayerId.HOOKS,
    }
)


class NoObjection:
    """A layer's word for the whole call: nothing against any of its effects. There is one, and nothing equals it."""


NO_OBJECTION = NoObjection()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A layer's wish to run the call with other arguments: the walk starts anew on them, with new stamps."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer: the layer threw, took too long, could not be asked. `cause` is a few words, never an error's text."""

    cause: str


LayerAnswer = Sequence[Answer | None] | NoObjection | Rewrite | Failed


class Layer(Protocol):
    """One authority."""

    @property
    def id(self) -> LayerId:
        """Which layer this is."""

    @property
    def immediate(self) -> bool:
        """True for a layer that decides on the call's values alone: no I/O, no code of others, nothing to wait for."""

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """One answer for each effect of the call, in order, or `NO_OBJECTION`. To raise is to give no answer."""


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """A layer that somebody configured and that does not exist yet: it fails, and so is never taken for silence."""

    id: LayerId
    immediate: bool = False

    def ask(self, call: JudgedCall) -> LayerAnswer:  # noqa: ARG002 - whatever the call
        """No answer, whatever the call."""
        return Failed("it is configured but not available yet")


_INTEGRITY = {
    code: Answer(Effect.DENY, code, LayerId.INTEGRITY)
    for code in (Code.PATH_UNREADABLE, Code.PATH_PROTECTED, Code.RUNS_CODE)
}


class Integrity:
    """Layer 1: what no rule can allow. Paths that cannot be read, Stanch's own state, places that run code later."""

    id = LayerId.INTEGRITY
    immediate = True

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """A deny for each effect whose stamp was refused."""
        for effect in call.effects:
            stamp = effect.stamp
            if stamp is not None and stamp.refusal is not None:
                return [_refused(effect) for effect in call.effects]
        return NO_OBJECTION


def _refused(effect: CallEffect) -> Answer | None:
    stamp = effect.stamp
    if stamp is None or stamp.refusal is None:
        return None
    if stamp.detail:
        return Answer(Effect.DENY, stamp.refusal, LayerId.INTEGRITY, detail=stamp.detail)
    return _INTEGRITY[stamp.refusal]


def _persisted(effect: Effect, code: Code, *, mandated: bool = False, detail: str = "") -> Answer:
    return Answer(effect, code, LayerId.PERSISTED_RULES, mandated=mandated, detail=detail)


COVERS_TOO_MUCH = _persisted(Effect.ASK, Code.COVERS_TOO_MUCH, mandated=True)
COMMAND_UNREAD = _persisted(Effect.ASK, Code.COMMAND_UNREAD, mandated=True)
MEMORY_EXCEPTION = _persisted(Effect.ALLOW, Code.MEMORY_EXCEPTION)
DENIED = 3
_ORDINARY_ASK = 1
_EXECUTE = EffectClass.EXECUTE
_FILE_CLASSES = (EffectClass.READ, EffectClass.WRITE)


class PersistedRules:
    """Layer 7: the rules of the session's group, then those of `default`, and the memory exception.

    `memory` is the canonical path of the workspace's memory directory. `missing` is set where the session names a group
    that is not there: the index is then that of `default` alone, of which only the denies stand.
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
        missing: str | None = None,
    ) -> None:
        self.index, self.memory = index, memory
        self.agent, self.source = agent, source
        self.missing = (
            None if missing is None else _persisted(Effect.ASK, Code.GROUP_MISSING, mandated=True, detail=missing)
        )
        self._decide: Decide = index.bind(agent, source)
        self._who = index.who(agent, source)
        self._who_commanded = index.strict_commands.who(agent, source) if index.strict_commands is not None else 0

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """The first matching rule's answer for each effect; for a call without effects, by the tool's name alone."""
        tool, declared, decide, answers = call.call.tool, call.declared, self._decide, self.index.answers
        remembered = call.builtin and self.is_memory(call)
        said: list[Answer | None] = []
        for effect in call.effects:
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
                if effect.command or (effect.cls is _EXECUTE and self._commanded(call, effect)):
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


class BrokenRules:
    """Layer 7 where a rule of one of the session's groups, or the policy itself, cannot be read: all is denied."""

    id = LayerId.PERSISTED_RULES
    immediate = True

    def __init__(self, place: str) -> None:
        self.answer = _persisted(Effect.DENY, Code.POLICY_INVALID, detail=place)

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """A deny for every effect, naming the place of the first problem."""
        return [self.answer] * len(call.effects)
