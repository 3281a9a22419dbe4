"""The vault's values as they are held against stored content: as entries, and as a projector with more of them.

Settles that the whole vault is looked for in whatever a model gets, and what items carry besides. Does not settle what
an item carries (`provenance`), nor how a secret is taken out (`secrets.projection`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from stanch.app.projecting import Projecting
from stanch.app.vault import Vault
from stanch.provenance.states import WORKSPACE, Entry, Scope
from stanch.secrets.projection import Projector
from stanch.values.vault import SecretScope


class ContentSecrets:
    """Safe to use from any thread. What it gives is made anew where the vault knows more than before."""

    def __init__(self, vault: Vault, projecting: Projecting) -> None:
        self._vault, self._projecting = vault, projecting
        self._made: tuple[object, tuple[Entry, ...]] | None = None
        self._making = threading.Lock()

    def entries(self) -> tuple[Entry, ...]:
        """Every value that any secret has or had. Raises `BrokenRow` where one of them cannot be opened."""
        revision = self._vault.revision()
        with self._making:
            if self._made is None or self._made[0] != revision:
                found = (
                    Entry(one.name, Scope(one.owner) if one.scope is SecretScope.USER else WORKSPACE, one.value)
                    for one in self._vault.entries()
                )
                self._made = revision, tuple(found)
            return self._made[1]

    def projector(self, further: Sequence[Entry]) -> Projector:
        """One that knows the whole vault, and these entries where they are no part of it any more."""
        projector = self._projecting.projector()
        known = set(self.entries()) if further else set()
        for entry in further:
            if entry not in known:
                projector = projector.adding(entry.name, entry.secret)
        return projector
