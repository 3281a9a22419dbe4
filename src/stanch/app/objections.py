"""Who stands in the way of another answer to a call, in the order in which the authorities are asked.

Settles which layers object, in what words, and which of them nothing in the policy file changes. Does not settle which
change helps against the others (`app.flipping`), nor what programs and policies say (`app.beside`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from stanch.app.beside import Party, Told
from stanch.app.driving import drive
from stanch.app.given_layers import as_asked
from stanch.explain import sentence
from stanch.gate.relax import relax
from stanch.policy.layers import Integrity, Layer
from stanch.policy.persisted import BrokenRules, PersistedRules
from stanch.tiers.layer import BrokenTiers, TierLayer
from stanch.values.call import EffectClass, JudgedCall
from stanch.values.decision import Answer, Decision, Effect
from stanch.values.reason import Code, LayerId, Reason

_STRENGTH = {Effect.ALLOW: 0, Effect.ASK: 2}
"""The strongest answer that does not stand in the way of each effect."""

_ORDINARY_ASK = 1
FILE_CLASSES = (EffectClass.READ, EffectClass.WRITE)
_OWN = (Integrity, PersistedRules, BrokenRules, TierLayer, BrokenTiers)
"""The layers that are made of what a change could be about, or of nothing that anybody wrote."""

_ELSEWHERE = {
    LayerId.INTEGRITY: "none of them has a say in this",
    LayerId.SKILL_ROWS: "what an active skill forbids holds whatever the rules allow",
    LayerId.NARROWING: "a row that narrows holds whatever the rules allow",
    LayerId.CALLER_POLICY: "it is the application's own policy",
    LayerId.INHERITED_CONSTRAINT: "it is the policy of a session above this one",
    LayerId.ORG_RULES: "the rules of an organization are written elsewhere",
    LayerId.HOOKS: "a hook is a program of its own",
}
_FIRST = {
    Code.GROUP_MISSING: "the group is not there: write it first",
    Code.STORE_UNREADABLE: "nobody knows the rules until it can be read again",
    Code.COMMAND_UNREAD: "no rule answers for what cannot be known",
    Code.COVERS_TOO_MUCH: "no rule answers for what was not looked through",
}


class Objection(NamedTuple):
    """What one layer says against an answer, of one effect at least.

    `since` says why no change of a rule, a grant or a tier helps against it; empty where one could.
    """

    layer: LayerId
    effect: Effect
    said: str
    since: str = ""


def objections(
    parties: Sequence[tuple[Party, JudgedCall]], decision: Decision, to: Effect, beside: Sequence[Sequence[Told]]
) -> list[Objection]:
    """Everything that stands in the way of the answer `to`, each thing once, in the order of the layers.

    `beside` is what `told` found of each party. An ask that a bypass or a grant answers already is in nobody's way.
    """
    found: dict[tuple[str, str], Objection] = {}
    if to is Effect.DENY:
        return []
    for (party, call), others in zip(parties, beside, strict=True):
        for layer in as_asked((*(one for one in party.session.layers if one.immediate), *others)):
            _, said = drive(call, (layer,), party.session.on_failure)
            for at, answer in enumerate(said):
                if answer is None or answer.strength <= _STRENGTH[to] or _is_answered(party, call, answer, at):
                    continue
                one = _objection(layer, answer, decision, call, at)
                found.setdefault((one.layer.value, one.said), one)
    places = list(LayerId)
    return sorted(found.values(), key=lambda one: places.index(one.layer))


def _is_answered(party: Party, call: JudgedCall, answer: Answer, at: int) -> bool:
    """True for an ask that a bypass or a grant of the session answers."""
    alone = [answer if place == at else None for place in range(len(call.effects))]
    held = (*party.session.bypasses, *party.bypasses)
    said = relax(call, alone, party.session.context, held, time.time())[at]
    return said is not None and said.effect is Effect.ALLOW


def _objection(layer: Layer, answer: Answer, decision: Decision, call: JudgedCall, at: int) -> Objection:
    effect = call.effects[at]
    reason = decision.reason_of(answer, effect)
    if isinstance(layer, Told) and layer.alike:
        reason = Reason(answer.code, answer.layer, answer.rule, call.call.tool, answer.detail)
    since = _ELSEWHERE.get(answer.layer, "") or _FIRST.get(answer.code, "")
    if not since and not isinstance(layer, _OWN):
        since = "it is a layer of the application's own"
    if answer.code is Code.POLICY_INVALID:
        since = f"mend {answer.detail} first"
    if answer.strength == _ORDINARY_ASK and call.declared and effect.stamp is not None and effect.cls in FILE_CLASSES:
        since = ""  # a grant would answer it
    return Objection(answer.layer, answer.effect, sentence(reason, answer.effect), since)
