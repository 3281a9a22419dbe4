"""A reason as JSON, with its sentence: one shape for every door, and for what is stored of a call.

Settles keys and their order. Does not settle the wording of a sentence (`explain.sentences`).
"""

from __future__ import annotations

from typing import Any

from stanch.explain.sentences import sentence
from stanch.values.decision import Effect
from stanch.values.reason import Reason, RuleRef

Json = dict[str, Any]


def reason_json(reason: Reason, effect: Effect) -> Json:
    """Why an answer is what it is."""
    return {
        "code": reason.code.value,
        "layer": reason.layer.value,
        "rule": None if reason.rule is None else rule_json(reason.rule),
        "subject": reason.subject,
        "sentence": sentence(reason, effect),
    }


def rule_json(rule: RuleRef) -> Json:
    """Which rule spoke, and where it is written."""
    return {"id": rule.id, "group": rule.group, "note": rule.note, "place": rule.place, "words": rule.words}
