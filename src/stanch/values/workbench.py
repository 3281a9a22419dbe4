"""What is kept of a workbench: one record for each session that has one.

Settles the record. Does not settle what its sealed columns hold (`delivery.workbench`), nor who writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class WorkbenchRecord:
    """A workbench as the database has it.

    `history` is the sealed set of the secrets that ever came near it, None for none so far. `memory` is sealed, too:
    where it was filled from, and what in it is tainted. `revision` grows by one with each change.
    """

    session_id: str
    history: str | None = field(repr=False)
    memory: str = field(repr=False)
    revision: int
    changed_at: datetime
