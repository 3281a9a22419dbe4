"""Who stands in the way of another answer to a call, in the order in which the authorities are asked.

Settles which layers object, in what words, and which of them nothing in the policy file changes. Does not settle which
change helps against the others (`app.flipping`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stanch.app.driving import drive
from stanch.app.engine import Session
from stanch.explain import sentence
from stanch.gate.relax import Bypass
from stanch.policy.layers import Failed, NoObjection, Rewrite
from stanch.values.call import JudgedCall, Manner, Reach
from stanch.values.decision import Answer, Decision, Effect
from stanch.values.reason import Code, LayerId, Reason

_STRENGTH = {Effect.ALLOW: 0, Effect.ASK: 2}
"""The strongest answer that does not stand in the way of each effect."""

_ELSEWHERE = {
    LayerId.INTEGRITY: "no rule, grant or tier has a say in this",
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


class Party(NamedTuple):
    """A session whose layers judge a call, and the bypasses that hold for it besides the session's own."""

    session: Session
    bypasses: Sequence[Bypass] = ()


def objections(parties: Sequence[tuple[Party, JudgedCall]], decision: Decision, to: Effect) -> list[Objection]:
    """Everything that stands in the way of the answer `to`, each thing once, in the order of the layers.

    Of programs and policies, what they said when `decision` was made counts. Those that were not reached then, since
    somebody before them denied, are asked now, and told that nobody can be asked; hooks are not.
    """
    found: dict[tuple[str, str], Objection] = {}
    if to is Effect.DENY:
        return []
    for party, call in parties:
        for answer, at in _said(party.session, call, decision):
            if answer.strength > _STRENGTH[to]:
                one = _objection(answer, decision, call, at)
                found.setdefault((one.layer.value, one.said), one)
    places = list(LayerId)
    return sorted(found.values(), key=lambda one: places.index(one.layer))


def _said(session: Session, call: JudgedCall, decision: Decision) -> Iterator[tuple[Answer, int]]:
    for layer in session.layers:
        if not layer.immediate:
            continue
        said = layer.ask(call)
        if isinstance(said, Failed):
            yield Answer(Effect.DENY, Code.LAYER_FAILED, layer.id, mandated=False, detail=said.cause), 0
        elif not isinstance(said, (NoObjection, Rewrite)):
            yield from ((answer, at) for at, answer in enumerate(said) if answer is not None)
    foreign = {layer.id for layer in session.layers if not layer.immediate}
    yield from ((one.answer, 0) for one in decision.trace if one.layer in foreign and one.answer is not None)
    heard = {one.layer for one in decision.trace if one.asked} | {LayerId.HOOKS}
    unheard = [layer for layer in session.layers if not layer.immediate and layer.id not in heard]
    if unheard:
        _, standing = drive(call._replace(manner=Manner(Reach.NONE)), unheard, Effect.DENY, seconds=session.patience)
        yield from ((answer, at) for at, answer in enumerate(standing) if answer is not None)


def _objection(answer: Answer, decision: Decision, call: JudgedCall, at: int) -> Objection:
    effect = call.effects[at]
    reason = decision.reason_of(answer, effect)
    if answer.layer in (LayerId.CALLER_POLICY, LayerId.INHERITED_CONSTRAINT, LayerId.HOOKS):
        reason = Reason(answer.code, answer.layer, answer.rule, call.call.tool, answer.detail)
    since = _ELSEWHERE.get(answer.layer, "") or _FIRST.get(answer.code, "")
    if answer.code is Code.POLICY_INVALID:
        since = f"mend {answer.detail} first"
    return Objection(answer.layer, answer.effect, sentence(reason, answer.effect), since)
