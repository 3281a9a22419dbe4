"""What a request for approval and its call say of themselves: reasons and targets, as every door writes them.

Settles keys. Does not settle the wording of a sentence (`explain`).
"""

from __future__ import annotations

from typing import Any

from stanch.explain.written import reason_json
from stanch.values.approval import ApprovalRecord
from stanch.values.decision import Decision, Effect
from stanch.values.reason import Code, LayerId, Reason
from stanch.values.records import Actor

REWRITTEN = "a policy or a hook has changed its arguments since"


def reason_of(decision: Decision) -> dict[str, Any]:
    """The reason of a decision."""
    return reason_json(decision.reason, decision.effect)


def said(code: Code, decision: Decision) -> dict[str, Any]:
    """A reason of the approval itself, about what the decision is about."""
    about = decision.reason
    return reason_json(Reason(code, LayerId.APPROVAL, None, about.subject, "", about.requested), Effect.DENY)


def rewritten(decision: Decision) -> dict[str, Any]:
    """The reason why a person is asked again: the gate's own layers made another call of it than was approved."""
    about = decision.reason
    rule = about.rule if decision.effect is Effect.ASK else None
    reason = Reason(Code.CALL_CHANGED, LayerId.APPROVAL, rule, about.subject, REWRITTEN, about.requested)
    return reason_json(reason, Effect.ASK)


def said_by(code: Code, approval: ApprovalRecord, by: Actor) -> dict[str, Any]:
    """The reason of a person's answer."""
    subject = str(approval.reason.get("subject", "")) or approval.tool_name
    reason = Reason(code, LayerId.APPROVAL, None, subject, by.principal)
    return reason_json(reason, Effect.ALLOW if code is Code.APPROVED else Effect.DENY)


def targets_of(decision: Decision) -> tuple[dict[str, Any], ...]:
    """Each effect of the call as a person is shown it: what it does to what, and what the gate says of it."""
    found = []
    for each in decision.effects:
        effect = each.effect
        found.append(
            {
                "class": None if effect.cls is None else effect.cls.value,
                "argument": effect.argument,
                "requested": "" if effect.stamp is None else effect.stamp.requested,
                "path": "" if effect.stamp is None else effect.stamp.path,
                # WHY the whole command: this is for whoever approves it; a reason names it by its program alone.
                "subject": effect.subject if effect.command is None or effect.found else effect.command.text,
                "found": None if effect.found is None else effect.found.value,
                "effect": None if each.answer is None else each.answer.effect.value,
            }
        )
    return tuple(found)
