"""The part of the content store that keeps files."""

from __future__ import annotations

from stanch.storage.transactions import Transactions


class FilesRows(Transactions):
    """What is kept of files."""
