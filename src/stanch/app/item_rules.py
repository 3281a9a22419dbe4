"""Whether the rules, and the tier of the model, let a session read an item: each item as a call for it alone.

Settles that a search or a list rooted higher up gives no item that a call for it alone would not give. Does not settle
what the item carries (`delivery.gates`), nor what the gate says (`app.asking`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence

from stanch.app.asking import Kin, strictest_decision
from stanch.gate.approval import asks_of, covers
from stanch.policy.seeds import READING
from stanch.tiers.answers import Answers
from stanch.tiers.history_verdicts import reading
from stanch.tiers.tier import Tier
from stanch.values.decision import Effect
from stanch.values.fault import BadCall
from stanch.values.message import Origin
from stanch.values.reason import Code, LayerId, Reason

_READ, _ON_DISK = "files_read", "read_file"


class ItemRules:
    """Answers for the items of one call, each path asked about once.

    `approved` are the asks that the call's approval showed a person: what they said yes to once is not asked anew for
    each item. Where a person has `attached` the items, an ask that is not mandated is no refusal: the one who would
    answer it is the one asking.
    """

    def __init__(
        self, line: Callable[[], Sequence[Kin]], root: str, tool: str | None, *, attached: bool = False
    ) -> None:
        """`line` gives the session and its ancestors. It is called when the first item with a path comes."""
        self._attached = attached
        own = tool is not None and tool in READING and tool.startswith("files_")
        self._line, self._root, self._tool = line, root, tool if own and tool is not None else _READ
        self._kin: Sequence[Kin] | None = None
        self._said: dict[str, Reason | None] = {}
        self.approved: tuple[str, ...] = ()

    def approve(self, asks: Iterable[str]) -> None:
        """Takes what a person has approved with this call."""
        self.approved = tuple(asks)
        self._said.clear()

    def __call__(self, path: str) -> Reason | None:
        """Why the item at this canonical path is withheld; None where nothing stands against it."""
        if path not in self._said:
            self._said[path] = self._refusal(path)
        return self._said[path]

    def _refusal(self, path: str) -> Reason | None:
        if self._kin is None:
            self._kin = self._line()
        below = posixpath.relpath(path, self._root)
        tool, arguments = self._tool, {"path": "" if below == "." else below}
        if below == ".." or below.startswith("../"):
            # No stored item: what a tool has read there on the disk, and what is known to have come from it.
            tool, arguments = _ON_DISK, {"path": path}
        try:
            decisions = [kin.session.probe(tool, arguments, bypasses=kin.bypasses) for kin in self._kin]
        except BadCall:
            return Reason(Code.CONTENT_ASKS, LayerId.DELIVERY, subject=path)
        decision = strictest_decision(decisions)
        if decision.effect is Effect.ALLOW or (
            self._attached and decision.effect is Effect.ASK and not decision.mandated
        ):
            return None
        asks = [ask for one in decisions for ask in asks_of(one.answers)]
        if decision.effect is Effect.ASK and covers(self.approved, asks):
            return None
        reason = decision.reason
        if reason.layer is LayerId.TIER:
            return Reason(Code.CONTENT_TIER, LayerId.DELIVERY, subject=path, detail=reason.detail)
        return reason if decision.effect is Effect.DENY else Reason(Code.CONTENT_ASKS, LayerId.DELIVERY, subject=path)


class Readable:
    """Why an item may not be read: one with a path by the rules and tiers, any other where a tier is `closed` to it."""

    def __init__(self, items: ItemRules, closed: str | None = None) -> None:
        self.items, self._closed = items, closed

    def __call__(self, path: str | None) -> Reason | None:
        """The reason; None where nothing stands against it."""
        if path is not None:
            return self.items(path)
        if self._closed is None:
            return None
        return Reason(Code.CONTENT_TIER, LayerId.DELIVERY, subject="an item without a path", detail=self._closed)


def closed_without_path(tier: Tier, model: str, answers: Answers) -> str | None:
    """Which tier of which model is closed to items that have no path; None where it is open to them."""
    open_to = reading(tier, answers)("", Origin.ITEM) is Effect.ALLOW
    return None if open_to else f'"{tier.label}" of {model}'
