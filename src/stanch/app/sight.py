"""What a model may see of a stored conversation, by its trust tier.

Settles which tier and which answers of a person hold for a session's next request, and that what was filtered once is
not filtered anew. Does not settle what becomes of a piece that a model may not see (`tiers.history`).
INVARIANT: whatever cannot be told raises; nothing goes out unfiltered.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from stanch.app.live import Live
from stanch.app.projected_messages import Projected
from stanch.app.projecting import Projecting
from stanch.app.receipts import Receipts, Sending
from stanch.app.redacting import look_of
from stanch.policy.document import Policy
from stanch.storage.store import Store
from stanch.tiers.answers import Answers
from stanch.tiers.history import Look
from stanch.tiers.kept import Kept
from stanch.tiers.report import Report
from stanch.tiers.tier import Tiers
from stanch.values.message import Message, Role, Text
from stanch.values.records import Actor

MOST_KEPT = 256
SURFACE = "agent"


class TierSight:
    """The filter that every request of the runtime passes. Safe to use from any thread."""

    def __init__(self, store: Store, live: Live, projecting: Projecting, receipts: Receipts) -> None:
        self._store, self._live, self._projecting, self.receipts = store, live, projecting, receipts
        self._kept: OrderedDict[tuple[str, str], tuple[threading.Lock, Kept, Projected]] = OrderedDict()
        self._reports: OrderedDict[tuple[str, str], Report] = OrderedDict()
        self._tiers: tuple[Policy, Tiers] | None = None
        self._lock = threading.Lock()

    def filtered(self, session_id: str, messages: Sequence[Message], model: str) -> Sequence[Message]:
        """The messages as the model may have them, first by its tier, then without a value of the vault.

        The receipt of the send is kept by then. Raises `TiersBroken`, `StoreUnreadable`, `BrokenRow` and `Withheld`.
        """
        tiers = self.tiers()
        tier = tiers.of(model)
        answers = Answers(self._store.tier_answers(session_id))

        def look() -> Look:
            return look_of(tier, model, answers)

        projector = self._projecting.projector()
        lock, kept, projected = self._kept_for(session_id, model)
        with lock:
            sent = kept.sent(messages, (tiers, tier.id, answers), look)
            outgoing = projected.sent(sent.messages, projector)
        with self._lock:
            self._reports[session_id, model] = sent.report
            while len(self._reports) > MOST_KEPT:
                self._reports.popitem(last=False)
        by = Actor(session_id, SURFACE)
        self.receipts.sent(Sending(session_id, model, tier.id, sent.messages, outgoing, projector, sent.report, by))
        return outgoing

    def passed_on(self, session_id: str, seen: Sequence[Message], words: str, model: str) -> str:
        """Words that a model wrote for another one, without what that one may not see of what was seen before.

        What persons answered in the session holds: what one model of a tier was let read, another one of it may hear.
        Raises what `filtered` raises.
        """
        tier = self.tiers().of(model)
        said = Message(Role.ASSISTANT, (Text(words),))
        look = look_of(tier, model, Answers(self._store.tier_answers(session_id)))
        (part,) = look.at([*seen, said])[-1].parts
        if not isinstance(part, Text):
            raise TypeError("words became something else")
        return part.text

    def report(self, session_id: str, model: str) -> Report | None:
        """What was kept back from the model in the last send of the session; None where this process sent nothing."""
        return self._reports.get((session_id, model))

    def tiers(self) -> Tiers:
        """The tiers of the policy of the moment."""
        policy = self._live.engine.fresh_policy()
        known = self._tiers
        if known is None or known[0] is not policy:
            known = self._tiers = (policy, Tiers(policy))
        return known[1]

    def _kept_for(self, session_id: str, model: str) -> tuple[threading.Lock, Kept, Projected]:
        with self._lock:
            found = self._kept.setdefault((session_id, model), (threading.Lock(), Kept(), Projected()))
            self._kept.move_to_end((session_id, model))
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return found
