"""The part of the content store that keeps runs."""

from __future__ import annotations

from stanch.storage.transactions import Transactions


class RunsRows(Transactions):
    """What is kept of runs."""
