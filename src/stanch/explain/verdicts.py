"""A verdict as JSON, with its words: one shape for every door.

Settles keys, and how a question that nobody could answer reads. Does not settle the verdict (`judge`).
"""

from __future__ import annotations

from typing import Any

from stanch.explain.sentences import sentence
from stanch.values.decision import Effect
from stanch.values.verdict import State, Verdict

Json = dict[str, Any]
UNANSWERED = "Cannot be answered"


def verdict_json(verdict: Verdict) -> Json:
    """The verdict's record. Keys without a value are left out.

    `verdict`, and of who objects `layer` and `message`; of who gave no answer `layer`, `cause` and `reason`; and
    `judged`, the canonical path that the layers judged, but where nobody could answer.
    """
    said: Json = {"verdict": verdict.state.value}
    if verdict.layer is not None:
        said["layer"] = verdict.layer.value
    if verdict.state is State.UNANSWERABLE:
        said["cause"] = None if verdict.cause is None else verdict.cause.value
        said["reason"] = verdict_words(verdict)
        return said
    if verdict.reason is not None:
        said["message"] = verdict_words(verdict)
    if verdict.judged is not None:
        said["judged"] = verdict.judged
    return said


def verdict_words(verdict: Verdict) -> str:
    """One sentence: who objects and why, or why that cannot be known. It holds names, and nothing that was read."""
    reason, state = verdict.reason, verdict.state
    if reason is None:
        return "Nobody objects" if state is State.NO_OBJECTION else f"{UNANSWERED}: the time was over"
    if state is State.UNANSWERABLE:
        refused = sentence(reason, Effect.DENY)
        return UNANSWERED + refused.removeprefix("Denied") if refused.startswith("Denied") else refused
    return sentence(reason, Effect.DENY if state is State.DENY else Effect.ASK)
