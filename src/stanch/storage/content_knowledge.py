"""The part of the content store that keeps knowledge."""

from __future__ import annotations

from stanch.storage.transactions import Transactions


class KnowledgeRows(Transactions):
    """What is kept of knowledge."""
