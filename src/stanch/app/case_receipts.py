"""Cases about receipts: what leaves with one, what it says of each item, and who is found to have seen what.

Settles when such a row of a case fails. Does not settle which items are admitted (`app.case_admission`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from stanch.app.case_told import Mismatch
from stanch.app.content_leaving import left
from stanch.delivery.admit import ContentRefused, Delivery, Ended
from stanch.delivery.receipts import DELIVERED, of_delivery
from stanch.delivery.who_saw import Asked, Sightings
from stanch.values.reason import Code, LayerId, Reason

GIVEN = "given"
_NOBODY = "with no item"
_AT = "2026-01-01T00:00:00.000000+00:00"


class _Keeping:
    """Keeps receipts for a case, or loses them."""

    def __init__(self, lost: bool) -> None:
        self._lost = lost
        self.kept: list[dict[str, Any]] = []

    def left(self, delivery: Delivery, ended: Ended, replaced: Any, code: str = "", since: int = 0) -> None:
        """Keeps what a receipt says. Raises `ContentRefused` where it is to be lost."""
        if self._lost:
            raise ContentRefused(Reason(Code.RECEIPT_FAILED, LayerId.DELIVERY), saved=delivery.committed)
        self.kept += of_delivery(delivery, model="m", ended=ended, replaced=replaced, code=code, since=since)


def played(table: Mapping[str, Any], delivery: Delivery) -> Iterator[Mismatch]:
    """Everything that came out otherwise than the case says, once its items were put before the gate."""
    if "receipt" in table:
        yield from _differs(table, "receipt", dict(table["receipt"]), _items(delivery))
    for row in table.get("leaving", ()):
        keeping = delivery.receipts = _Keeping(row.get("receipts") == "lost")
        became, told = None, GIVEN
        try:
            became = str(left(delivery, row["text"]))
        except ContentRefused as why:
            told = why.reason.code.value
        yield from _differs(row, "leaving", (row["is"], row.get("becomes")), (told, became))
        for secret, saw in row.get("saw", {}).items():
            yield from _differs(row, f"saw {secret}", dict(saw), _seen(secret, keeping))


def _items(delivery: Delivery) -> dict[str, list[str]]:
    """What a receipt says of each item: the verdict, what is known of it, and which secrets are in it."""
    items = [one for said in of_delivery(delivery, model=None, ended=Ended.GIVEN) for one in said["items"]]
    return {
        one["id"]: [one["verdict"], *([one["state"]] if "state" in one else []), *one.get("secrets", ())]
        for one in items
    }


def _seen(secret: str, keeping: _Keeping) -> dict[str, str]:
    """In what form each item was seen, by what the receipts say."""
    found = Sightings(Asked(secret))
    for detail in keeping.kept:
        found.take(
            {"action": DELIVERED, "subject": "s", "at": _AT, "detail": json.dumps(detail, separators=(",", ":"))}
        )
    return {_NOBODY if one.item is None else one.item.partition(":")[2]: one.form.value for one in found.items}


def _differs(row: Any, what: str, wanted: Any, got: Any) -> Iterator[Mismatch]:
    if wanted != got:
        yield Mismatch(f"{what} (line {getattr(row, 'line', 0)}): {wanted}", str(got))
