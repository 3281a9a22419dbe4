"""The chain of digests over the audit rows.

Settles what a digest covers, and what is the matter with a chain that does not hold. Does not settle which rows there
are (`audit`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

from sqlalchemy import Connection, RowMapping, select

from stanch.storage.rows import Row
from stanch.storage.schema import AUDIT
from stanch.values.records import ChainBreak, ChainReport

START = "0" * 64
_COVERED = ("seq", "at", "actor", "surface", "action", "subject", "detail")


def digest_of(row: Row, previous: str) -> str:
    """The digest of a row, in hexadecimal, that follows one with the digest `previous`."""
    said = json.dumps([previous, *(row[name] for name in _COVERED)], default=repr, separators=(",", ":"))
    return hashlib.sha256(said.encode()).hexdigest()


def report(
    connection: Connection, last_seq: int, last_digest: str, each: Callable[[Row], None] | None = None
) -> ChainReport:
    """How far the chain holds that ought to end with the row `last_seq` of this digest.

    `each` is shown every row on the way, also those behind the first that does not hold.
    """
    seq, digest = 0, START
    broken: ChainReport | None = None
    wanted = select(AUDIT).order_by(AUDIT.c.seq).execution_options(yield_per=500)
    with connection.execute(wanted) as result:
        for row in result.mappings():
            if each is not None:
                each(row)
            if broken is None:
                expected = digest_of(row, digest)
                broken = _break_at(connection, row, expected, (seq, digest), last_seq)
                seq, digest = (seq, digest) if broken is not None else (row["seq"], expected)
            if broken is not None and each is None:
                return broken
    if broken is not None:
        return broken
    if seq < last_seq:
        return ChainReport(seq, seq + 1, ChainBreak.REMOVED)
    if digest != last_digest:
        return ChainReport(max(seq - 1, 0), seq, ChainBreak.CHANGED)
    return ChainReport(seq)


def _break_at(
    connection: Connection, row: RowMapping, expected: str, before: tuple[int, str], last_seq: int
) -> ChainReport | None:
    """What is the matter with a row behind one of this number and digest; None where it follows."""
    seq, digest = before
    if row["seq"] != seq + 1:
        broken = ChainBreak.REMOVED if row["seq"] > seq + 1 else ChainBreak.ADDED
        return ChainReport(seq, min(row["seq"], seq + 1), broken)
    if row["seq"] > last_seq:
        return ChainReport(seq, row["seq"], ChainBreak.ADDED)
    if row["digest"] != expected or row["previous"] != digest:
        return ChainReport(seq, row["seq"], _what_happened(connection, row, digest, expected))
    return None


def _what_happened(connection: Connection, row: RowMapping, previous: str, expected: str) -> ChainBreak:
    if row["previous"] == previous or row["digest"] == expected:
        return ChainBreak.CHANGED
    # The row says that it follows another one. Is the one that ought to stand here somewhere else?
    elsewhere = connection.execute(select(AUDIT.c.seq).where(AUDIT.c.previous == previous).limit(1)).first()
    return ChainBreak.REMOVED if elsewhere is None else ChainBreak.REORDERED
