"""Receipts in the audit log: no news to anybody, whole or not at all, and none is taken out or put in unseen."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from stanch.delivery.receipts import DELIVERED, SENT
from stanch.delivery.who_saw import Asked, Form, Sightings
from stanch.storage.store import Store
from stanch.values.fault import BadInput
from stanch.values.records import ChainBreak, ChainReport
from tests.stores.opened import OnAStore
from tests.stores.places import BY, SECONDS, Place

MANY, THREADS = 25, 4
LAST = "(SELECT max(seq) FROM audit)"
COLUMNS = "at, actor, surface, action, subject, detail, previous, digest"


def delivered(item: str, *secrets: str, verdict: str = "admitted") -> dict[str, Any]:
    """What a receipt of one item says."""
    one: dict[str, Any] = {"kind": "file", "id": item, "view": "complete", "verdict": verdict, "state": "exact"}
    one |= {"secrets": list(secrets)} if secrets else {}
    return {"operation": "files_read", "model": "m/a", "ended": "given", "items": [one]}


def add(store: Store, *details: Mapping[str, Any], action: str = DELIVERED, subject: str = "s1") -> None:
    store.append_receipts(action=action, subject=subject, details=details, by=BY)


class ReceiptLaws(OnAStore):
    def test_receipts_are_in_the_chain_and_move_nothing_else(self, store: Store) -> None:
        revision, changes, last = store.revision(), store.changes, store.last_event()
        add(store, delivered("a"), delivered("b"))
        add(store, {"model": "m/a", "tier": "t", "messages": 3}, action=SENT)
        assert (store.revision(), store.changes) == (revision, changes)
        assert store.verify_audit() == ChainReport(last + 3)
        store.append_audit(action="a", subject="s", by=BY)
        assert store.revision() == revision + 1
        assert store.verify_audit() == ChainReport(last + 4)

    def test_all_of_several_are_kept_or_none(self, store: Store) -> None:
        last = store.last_event()
        with pytest.raises(BadInput):
            add(store, delivered("a"), {"items": {1, 2}})
        assert store.verify_audit() == ChainReport(last)

    def test_two_nodes_write_at_once(self, store: Store, other: Store) -> None:
        last, faults = store.last_event(), list[BaseException]()

        def write(one: Store, name: str) -> None:
            try:
                for number in range(MANY):
                    add(one, delivered(f"{name}-{number}"), delivered(f"{name}-{number}'"), subject=name)
            except BaseException as why:  # told to the test
                faults.append(why)

        threads = [
            threading.Thread(target=write, args=(one, f"{at}{number}"))
            for number in range(THREADS // 2)
            for at, one in (("a", store), ("b", other))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert not faults
        assert store.verify_audit() == ChainReport(last + 2 * MANY * THREADS)

    @pytest.mark.parametrize(
        ("statements", "back", "broken"),
        [
            ([f"DELETE FROM audit WHERE seq = {LAST}"], 0, ChainBreak.REMOVED),
            ([f"DELETE FROM audit WHERE seq = {LAST} - 1"], 1, ChainBreak.REMOVED),
            ([f"UPDATE audit SET subject = 's2' WHERE seq = {LAST}"], 0, ChainBreak.CHANGED),
            ([f"UPDATE audit SET detail = '{{}}' WHERE seq = {LAST} - 2"], 2, ChainBreak.CHANGED),
            (
                [
                    f"UPDATE audit SET seq = -1 WHERE seq = {LAST}",
                    f"UPDATE audit SET seq = {LAST} + 1 WHERE seq = {LAST}",
                    f"UPDATE audit SET seq = {LAST} - 1 WHERE seq = -1",
                ],
                1,
                ChainBreak.REORDERED,
            ),
            (
                [f"INSERT INTO audit (seq, {COLUMNS}) SELECT {LAST} + 1, {COLUMNS} FROM audit WHERE seq = {LAST}"],
                -1,
                ChainBreak.ADDED,
            ),
        ],
    )
    def test_what_was_done_to_them_is_found_at_the_very_end(
        self, store: Store, place: Place, statements: list[str], back: int, broken: ChainBreak
    ) -> None:
        add(store, delivered("a"), delivered("b"), delivered("c"))
        last = store.last_event()
        for statement in statements:
            place.rows(statement)
        found = Sightings(Asked(item="a"))
        for report in (store.verify_audit(), store.verify_audit(found.take)):
            assert (report.seq, report.broken, report.intact) == (last - back, broken, last - back - 1)

    def test_the_whole_log_is_shown_behind_a_break_too(self, store: Store, place: Place) -> None:
        add(store, delivered("a", "KEY"), delivered("b", "KEY"))
        place.rows("UPDATE audit SET actor = 'eve' WHERE seq = 1")
        found = Sightings(Asked("KEY"))
        assert store.verify_audit(found.take).broken is ChainBreak.CHANGED
        assert {(one.item, one.form) for one in found.items} == {
            ("file:a", Form.REDACTED),
            ("file:b", Form.REDACTED),
        }

    def test_they_are_listed_for_a_session_and_left_out_of_others(self, store: Store) -> None:
        add(store, delivered("a"), delivered("b"))
        add(store, {"model": "m/a", "tier": "t", "messages": 3}, action=SENT)
        add(store, delivered("c"), subject="s2")
        page = store.list_receipts("s1", (DELIVERED, SENT), limit=2)
        assert (page.total, len(page.items)) == (3, 2)
        assert page.next is not None
        rest = store.list_receipts("s1", (DELIVERED, SENT), limit=2, cursor=page.next)
        assert len(rest.items) == 1
        assert store.list_audit(subject="s1", without=(DELIVERED, SENT)).total == 0
