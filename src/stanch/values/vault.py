"""What is known of a secret without its value: its name, its scope, its dates.

Settles the records of the vault, and which names a secret may have. Does not settle how values are sealed
(`secrets.sealing`), nor where they are kept (`storage.vault`). ABSENT: a value, and its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

LONGEST_NAME = 128
NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{LONGEST_NAME - 1}}}")


class SecretScope(StrEnum):
    """Whose content a secret may stand in."""

    WORKSPACE = "workspace"
    USER = "user"


@dataclass(frozen=True, slots=True)
class SecretRecord:
    """A secret of the vault. One that was revoked is used no more, and is still taken out of what goes to a model."""

    name: str
    scope: SecretScope
    owner: str | None
    note: str
    created_at: datetime
    changed_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class SealedRecord:
    """One value that a secret has or had, sealed for its place. `ended_at` is when it was replaced or revoked."""

    id: str
    name: str
    sealed: str
    created_at: datetime
    ended_at: datetime | None

    def __repr__(self) -> str:
        return f"SealedRecord({self.id})"
