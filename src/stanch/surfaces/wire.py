"""The JSON in which every door gives the gate's answer: one shape, so that two doors never differ in it.

Settles keys and their order. Does not settle the answer, nor the wording of a sentence (`explain`).
"""

from __future__ import annotations

import json
from typing import Any

from stanch.explain.written import reason_json, rule_json
from stanch.policy import context_tables, shapes
from stanch.policy.losers import Contest, Loser
from stanch.policy.rule import Rule
from stanch.surfaces.parts import part_numbers
from stanch.values.call import CallEffect
from stanch.values.context import RunContext
from stanch.values.decision import Answer, Decision, Effect, LayerStep
from stanch.values.fault import BadContext
from stanch.values.reason import Code, LayerId, Reason

Json = dict[str, Any]


def decision_json(decision: Decision, *, trace: bool = False) -> Json:
    """The answer to a call: effect, reason, the answer for each effect of the call, and the layers' words if traced."""
    said: Json = {
        "effect": decision.effect.value,
        "reason": reason_json(decision.reason, decision.effect),
        "effects": [
            _effect_json(decision, each.effect, each.answer, part)
            for each, part in zip(decision.effects, part_numbers(decision.call.effects), strict=True)
        ],
    }
    if trace:
        said["trace"] = [_step_json(step) for step in decision.trace]
    return said


def answer_json(decision: Decision, policy: Json) -> Json:
    """The answer with its whole trace, each step with its reason, and which policy spoke: `file` and `workspace`.

    `arguments` are there where a policy or a hook changed them: the answer is about these.
    """
    said = decision_json(decision, trace=True)
    for record, each in zip(said["effects"], decision.effects, strict=True):
        record["argument"] = each.effect.argument
    for record, step in zip(said["trace"], decision.trace, strict=True):
        answer = step.answer
        record["reason"] = None if answer is None else reason_json(step_reason(decision, answer), answer.effect)
    if any(step.rewrote for step in decision.trace):
        # WHY alone then: whoever asked has the arguments, and is to notice that these are others.
        said["arguments"] = dict(decision.call.call.arguments)
    said["policy_version"] = decision.policy_version
    said["policy"] = policy | {"version": decision.policy_version}
    return said


def step_reason(decision: Decision, answer: Answer) -> Reason:
    """The reason of a layer's answer: about the effect for which it stands, else about the call's tool."""
    for each in decision.effects:
        if each.answer is answer:
            return decision.reason_of(answer, each.effect)
    return Reason(answer.code, answer.layer, answer.rule, decision.call.call.tool, answer.detail)


def contest_json(found: Contest) -> Json:
    """For one effect, the rule that fits first and every one that lost."""
    return {
        "first": None if found.first is None else _contested(found.first),
        "behind": [_loser_json(loser) for loser in found.behind],
        "nearly": [_loser_json(loser) for loser in found.nearly],
        "further": found.further,
        "as_command": found.as_command,
    }


def _loser_json(loser: Loser) -> Json:
    return _contested(loser.rule) | {"condition": loser.condition, "why": loser.why}


def _contested(rule: Rule) -> Json:
    ref = rule.answer().rule
    said = {} if ref is None else rule_json(ref)
    return said | {"effect": rule.action.value, "priority": rule.priority, "mandatory": rule.mandatory}


def unreadable(tool: str, why: str) -> Reason:
    """The reason of the answer to a call that cannot be read at all, which is a deny; `why` names fields and types."""
    return Reason(Code.CALL_UNREADABLE, LayerId.INTEGRITY, subject=tool or "a call", detail=why)


def unreadable_json(tool: str, why: str) -> Json:
    """The answer to a call that cannot be read at all: a deny, for what cannot be judged is not allowed."""
    return {"effect": Effect.DENY.value, "reason": reason_json(unreadable(tool, why), Effect.DENY), "effects": []}


def context_of(text: str) -> RunContext | None:
    """The run context of a JSON text; None for `null`. Raises `BadContext`."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise BadContext("the context is not JSON") from None
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BadContext("the context must be a JSON object, or null for none")
    for _, message in shapes.violations(shapes.CONTEXT, value, shapes.ContextShape) or context_tables.grant_problems(
        value
    ):
        raise BadContext(message)
    return context_tables.context_of(value)


def _effect_json(decision: Decision, effect: CallEffect, answer: Answer | None, part: int | None) -> Json:
    """One effect. `part` and `command` say which simple command of a shell call it runs, or was found to belong to."""
    stamp = None if effect.subject else effect.stamp
    return {
        "class": None if effect.cls is None else effect.cls.value,
        "path": None if stamp is None else stamp.path or stamp.requested,
        "requested": None if stamp is None else stamp.requested,
        "command": None if effect.command is None else effect.command.text,
        "part": part,
        "found": None if effect.found is None else effect.found.value,
        "effect": None if answer is None else answer.effect.value,
        "reason": None if answer is None else reason_json(decision.reason_of(answer, effect), answer.effect),
    }


def _step_json(step: LayerStep) -> Json:
    answer = step.answer
    return {
        "layer": step.layer.value,
        "asked": step.asked,
        "effect": None if answer is None else answer.effect.value,
        "code": None if answer is None else answer.code.value,
        "microseconds": round(step.microseconds, 1),
    }
