"""Receipts: what each model was given of stored content, and sent of a conversation, kept before it leaves.

Settles that nothing leaves of which no receipt could be kept, and that of a conversation which goes on only what is new
is looked at and told. Does not settle what a receipt says (`delivery.receipts`), nor how a chain of them is checked
(`storage.chain`).
INVARIANT: a receipt is committed before the first byte goes out. Where the process ends in between, it tells of
something that was not sent; never the other way round.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stanch.app.shown_messages import News, Shown
from stanch.delivery.admit import ContentRefused, Delivery, Ended
from stanch.delivery.receipts import DELIVERED, SENT, Send, of_delivery, of_send
from stanch.secrets.labelled import Labelled
from stanch.secrets.projection import Projector
from stanch.storage.store import Store
from stanch.tiers.report import Report
from stanch.values.message import Message
from stanch.values.reason import Code, LayerId, Reason
from stanch.values.records import Actor

MOST_KEPT = 256


@dataclass(frozen=True, slots=True)
class Sending:
    """A conversation on its way to a model.

    `filtered` are its messages as the tier lets them through, with their source tags, `outgoing` the same without a
    value of the `projector`'s. `beside` is what is sent besides, such as descriptions of tools.
    """

    session_id: str
    model: str
    tier: str
    filtered: Sequence[Message]
    outgoing: Sequence[Message]
    projector: Projector
    report: Report
    by: Actor
    beside: Any = None
    counted: bool = False


class Receipts:
    """Keeps receipts in the audit log of a store. Safe to use from any thread; every method blocks."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shown: OrderedDict[tuple[str, str], tuple[threading.Lock, Shown]] = OrderedDict()
        self._labelled: tuple[Projector, Labelled] | None = None
        self._lock = threading.Lock()

    def of_session(self, session_id: str, model: str | None, by: Actor) -> SessionReceipts:
        """What keeps the receipts of one delivery."""
        return SessionReceipts(self._store, session_id, model, by)

    def sent(self, sending: Sending) -> None:
        """Keeps the receipt of a send that is about to go out. Raises whatever the store raises: then nothing may.

        What is told is what was not told before of this session and model by this process; all of it, where that was
        long ago.
        """
        labelled = self._labels_of(sending.projector)
        lock, shown = self._shown_to(sending.session_id, sending.model)
        with lock:
            news = shown.news(sending.filtered, sending.outgoing, labelled, sending.report, sending.beside)
            details = list(of_send(_send(sending, news)))
            self._store.append_receipts(action=SENT, subject=sending.session_id, details=details, by=sending.by)
            # WHY only now: what could not be kept has to be told the next time.
            shown.told(news)

    def _labels_of(self, projector: Projector) -> Labelled:
        known = self._labelled
        if known is None or known[0] is not projector:
            known = self._labelled = projector, Labelled(projector)
        return known[1]

    def _shown_to(self, session_id: str, model: str) -> tuple[threading.Lock, Shown]:
        with self._lock:
            found = self._shown.setdefault((session_id, model), (threading.Lock(), Shown()))
            self._shown.move_to_end((session_id, model))
            while len(self._shown) > MOST_KEPT:
                self._shown.popitem(last=False)
            return found


class SessionReceipts:
    """Keeps the receipts of what one session's model is given of stored content; see `delivery.admit.Receipts`."""

    def __init__(self, store: Store, session_id: str, model: str | None, by: Actor) -> None:
        self._store, self._session_id, self._model, self._by = store, session_id, model, by

    def left(self, delivery: Delivery, ended: Ended, replaced: Collection[str], code: str = "", since: int = 0) -> None:
        """Keeps what a delivery gave. Raises `ContentRefused` where it cannot be kept."""
        said = of_delivery(delivery, model=self._model, ended=ended, replaced=replaced, code=code, since=since)
        details: list[Mapping[str, Any]] = list(said)
        try:
            self._store.append_receipts(action=DELIVERED, subject=self._session_id, details=details, by=self._by)
        except Exception as why:  # whatever the store fails with, nothing leaves
            reason = Reason(Code.RECEIPT_FAILED, LayerId.DELIVERY, detail=type(why).__name__)
            raise ContentRefused(reason, saved=delivery.committed) from None


def _send(sending: Sending, news: News) -> Send:
    return Send(
        sending.model,
        sending.tier,
        len(sending.outgoing),
        news.came,
        news.labels,
        news.withheld,
        counted=sending.counted,
    )
