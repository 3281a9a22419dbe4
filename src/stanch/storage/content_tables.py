"""The part of the content store that keeps tables."""

from __future__ import annotations

from stanch.storage.transactions import Transactions


class TablesRows(Transactions):
    """What is kept of tables."""
