"""What the gate answers to a call that a person writes in a form. Nothing is run, and nothing is stored.

Settles how a form becomes a question, and how the answer and what would change it read. Does not settle the answer
(`app.asking`), nor what would change it (`app.flipping`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stanch.app.approval_words import reason_of, targets_of
from stanch.app.asking import Described
from stanch.app.flipping import Flips
from stanch.policy.changes import RuleChange
from stanch.surfaces.changing import objection_said, others_said, otherwise_said, said
from stanch.surfaces.console.cards import parts_of, rule_of
from stanch.surfaces.console.guard import Asked
from stanch.values.decision import Effect
from stanch.values.fault import BadCall, BadFields
from stanch.values.identity import Source

COMMAND_TOOL = "execute_cmd"
_WORDS = {"allow": "allowed", "ask": "asks a person", "deny": "denied"}


def answer_to(asked: Asked) -> Mapping[str, Any]:
    """The answer to the call that a person wrote. Raises `BadCall`, `BadFields` and `BadContext`."""
    command = asked.get("command").strip()
    tool = COMMAND_TOOL if command else asked.get("tool").strip()
    arguments = {"command": command} if command else _arguments(asked.get("arguments"))
    if not tool:
        raise BadFields(("tool", "write a command, or a tool's name"))
    word = asked.get("source")
    if word and word not in {one.value for one in Source}:
        raise BadFields(("source", "the source is none that there is"))
    described = Described(
        agent=asked.get("agent").strip() or None,
        source=Source(word) if word else None,
        group=asked.get("group") or None,
    )
    try:
        answered = asked.service.check(described, tool, arguments, trace=True)
        session, decision = answered
        flips = asked.service.changes.flips(described, answered, Effect.ALLOW)
    except RecursionError:
        raise BadCall("the arguments are nested too deeply") from None
    reason = asked.service.projecting.records().reason(reason_of(decision))
    is_command = any(effect.command is not None for effect in decision.call.effects)
    return {
        "effect": decision.effect.value,
        "word": _WORDS[decision.effect.value],
        "sentence": reason["sentence"],
        "rule": rule_of(reason["rule"]),
        "layer": reason["layer"].replace("_", " "),
        "code": reason["code"],
        "mandated": decision.mandated,
        "parts": parts_of(list(targets_of(decision)), session.context.effective_working_dir(), is_command=is_command),
        "version": decision.policy_version[:12],
        "change": asked.service.projecting.records().tell(_changes(flips)),
    }


def _changes(flips: Flips) -> Mapping[str, Any]:
    """What would make it allowed, as a person reads it; empty where it is."""
    if flips.now is flips.to:
        return {}
    found = [
        {
            "said": said(one),
            "how": one.patch.how,
            "place": one.patch.place,
            "lines": list(one.patch.lines),
            "group": one.change.group if isinstance(one.change, RuleChange) else "",
            "rule": one.change.before.id if isinstance(one.change, RuleChange) and one.change.before else None,
            "warnings": list(one.warnings),
            "others": others_said(one, flips.looked_at),
            "first": [otherwise_said(other) for other in one.first],
        }
        for one in flips.suggested
    ]
    return {
        "suggested": found,
        "in_the_way": [objection_said(one) for one in flips.objections],
        "cannot": list(flips.cannot),
    }


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except json.JSONDecodeError as why:
        raise BadFields(("arguments", f"the arguments are no JSON: {why.msg}, at line {why.lineno}")) from None
    except (ValueError, RecursionError):
        raise BadFields(("arguments", "the arguments cannot be read")) from None
    if not isinstance(value, dict):
        raise BadFields(("arguments", "the arguments have to be a JSON object: { … }"))
    return value
