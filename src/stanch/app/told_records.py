"""What of a stored record may be told: its reasons, its problems and its names, without a value of the vault.

Settles which fields are words about a call, a turn or a change, and which are a person's own data: arguments, messages
and diffs stay as they are. Does not settle what is taken out of a text (`app.projecting`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from stanch.values.approval import ApprovalRecord, CallRecord
from stanch.values.records import AuditRecord
from stanch.values.turn import JobRunRecord, TurnProblem, TurnRecord

_CLOSED = ("code", "layer", "effect")
"""Keys of a reason whose values are words of our own, by which programs know it."""


class TellsRecords:
    """Tells of records what may be told of them, as `tell` does of words. Frozen, and safe from any thread."""

    __slots__ = ("tell",)

    def __init__(self, tell: Callable[[Any], Any]) -> None:
        """`tell` makes of a text, or of JSON, what may be told of it, and never raises."""
        self.tell = tell

    def reason(self, reason: Mapping[str, Any]) -> dict[str, Any]:
        """A reason; its code and layer stay what they are."""
        return {key: value if key in _CLOSED else self.tell(value) for key, value in reason.items()}

    def answer(self, value: Any) -> Any:
        """JSON with every reason in it told, at any depth; what is no reason stays."""
        if isinstance(value, list):
            return [self.answer(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {
            key: self.reason(one) if key == "reason" and isinstance(one, Mapping) else self.answer(one)
            for key, one in value.items()
        }

    def call(self, call: CallRecord) -> CallRecord:
        """A call with its reason told. Its arguments stay."""
        return replace(call, reason=self.reason(call.reason))

    def approval(self, approval: ApprovalRecord) -> ApprovalRecord:
        """A request with its reason told. What would run stays, since that is what a person answers for."""
        return replace(approval, reason=self.reason(approval.reason))

    def turn(self, turn: TurnRecord) -> TurnRecord:
        """A turn with its problem told."""
        if turn.problem is None:
            return turn
        return replace(turn, problem=TurnProblem(turn.problem.code, str(self.tell(turn.problem.sentence))))

    def run(self, run: JobRunRecord) -> JobRunRecord:
        """A run of a job with its outcome told."""
        return run if run.outcome is None else replace(run, outcome=str(self.tell(run.outcome)))

    def row(self, row: AuditRecord) -> AuditRecord:
        """An audit row with its subject and its detail told."""
        return replace(row, subject=str(self.tell(row.subject)), detail=MappingProxyType(self.tell(dict(row.detail))))
