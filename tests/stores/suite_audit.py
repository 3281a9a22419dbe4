"""The audit log: nobody takes a row out, moves one, or changes one without being found."""

from __future__ import annotations

import pytest

from stanch.storage.store import Store
from stanch.values.records import Actor, AuditRecord, ChainBreak, ChainReport
from tests.stores.opened import OnAStore
from tests.stores.places import BY, Place, all_of

LAST = 10
SWAP = (
    "UPDATE audit SET seq = -1 WHERE seq = 5",
    "UPDATE audit SET seq = 5 WHERE seq = 6",
    "UPDATE audit SET seq = 6 WHERE seq = -1",
)
RENUMBER = (
    "DELETE FROM audit WHERE seq = 5",
    *(f"UPDATE audit SET seq = {n - 1} WHERE seq = {n}" for n in range(6, 11)),
)
COLUMNS = "at, actor, surface, action, subject, detail, previous, digest"
COPY = f"INSERT INTO audit (seq, {COLUMNS}) SELECT 11, {COLUMNS} FROM audit WHERE seq = 4"


class AuditLaws(OnAStore):
    @pytest.fixture
    def logged(self, store: Store) -> Store:
        """A store with ten audit rows."""
        for number in range(LAST - store.list_audit().total):
            store.append_audit(action="tool.call", subject=f"s{number}", detail={"tool": "read_file"}, by=BY)
        assert store.verify_audit() == ChainReport(LAST)
        return store

    @pytest.mark.parametrize(
        ("statements", "seq", "broken"),
        [
            (["DELETE FROM audit WHERE seq = 5"], 5, ChainBreak.REMOVED),
            (["DELETE FROM audit WHERE seq = 1"], 1, ChainBreak.REMOVED),
            (["DELETE FROM audit WHERE seq >= 9"], 9, ChainBreak.REMOVED),
            (["DELETE FROM audit"], 1, ChainBreak.REMOVED),
            (RENUMBER, 5, ChainBreak.REMOVED),
            (SWAP, 5, ChainBreak.REORDERED),
            (["UPDATE audit SET actor = 'eve' WHERE seq = 5"], 5, ChainBreak.CHANGED),
            (["UPDATE audit SET at = '2020-01-01T00:00:00.000000+00:00' WHERE seq = 1"], 1, ChainBreak.CHANGED),
            (["UPDATE audit SET detail = '{}' WHERE seq = 10"], 10, ChainBreak.CHANGED),
            (['UPDATE audit SET detail = \'{"tool": "read_file"}\' WHERE seq = 4'], 4, ChainBreak.CHANGED),
            (["UPDATE audit SET previous = digest WHERE seq = 6"], 6, ChainBreak.CHANGED),
            (["UPDATE audit SET digest = previous WHERE seq = 10"], 10, ChainBreak.CHANGED),
            ([COPY], 11, ChainBreak.ADDED),
            ([COPY, "UPDATE audit SET seq = 0 WHERE seq = 11"], 0, ChainBreak.ADDED),
        ],
    )
    def test_what_was_done_to_the_log_is_found(
        self, logged: Store, place: Place, statements: list[str], seq: int, broken: ChainBreak
    ) -> None:
        for statement in statements:
            place.rows(statement)
        report = logged.verify_audit()
        assert (report.seq, report.broken) == (seq, broken)
        assert report.intact == max(seq - 1, 0)

    def test_a_chain_goes_on_over_stores(self, logged: Store, other: Store) -> None:
        row = other.append_audit(action="a", subject="s", detail={"names": ["x", None, 1, True]}, by=BY)
        before = logged.list_audit(newest_first=True, limit=2).items
        assert before[0] == row
        assert isinstance(before[1], AuditRecord)
        assert row.previous == before[1].digest
        assert logged.verify_audit() == ChainReport(LAST + 1)

    def test_rows_are_found_by_who_where_and_what(self, logged: Store) -> None:
        row = logged.append_audit(action="tier.read", subject="secrets", by=Actor("eve", "mcp"))
        logged.append_audit(action="tier.read", subject="data", by=Actor("eve", "http"))
        assert logged.list_audit(actor="eve", surface="mcp", action="tier.read", subject="secrets").items == (row,)
        assert logged.list_audit(actor="eve").total == 2
        everything = all_of(logged.list_audit)
        assert [one.seq for one in everything] == list(range(1, LAST + 3))
        assert all_of(logged.list_audit, newest_first=True) == everything[::-1]

    def test_a_report_is_not_a_yes(self, logged: Store) -> None:
        with pytest.raises(TypeError, match="truth"):
            bool(logged.verify_audit())
