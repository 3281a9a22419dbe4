"""The vault: named secrets, set, revoked and sealed anew, and never listed with a value.

Settles what is said of a secret, that of all values none is skipped, and that a person alone has one forgotten. Does
not settle what a secret may hold (`app.vault_fields`), how it is sealed (`secrets.sealing`) nor where it is taken out
(`app.projecting`).
INVARIANT: no record, error, audit row or answer holds a value; an `Entry` alone does, as a `Secret`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

from stanch.app.vault_fields import check, check_shown, warnings
from stanch.app.vault_opening import TABLE, Opening, place_of
from stanch.secrets.sealing import KeyRing
from stanch.secrets.text import Secret, opened
from stanch.storage.store import Store
from stanch.values.fault import BadInput, BrokenRow, Conflict, NotFound
from stanch.values.records import Actor, Broken, Page
from stanch.values.vault import SealedRecord, SecretRecord, SecretScope

BATCH = 200
SECRETS = "vault_secrets"


class NoSecret(NotFound):
    """There is no secret of that name. WHY not which: whoever takes a value for a name would read it here."""

    def __init__(self) -> None:
        super().__init__("secret", "")
        self.args = ("there is no secret of that name",)


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of a secret, in use or not any more."""

    name: str
    value: Secret
    scope: SecretScope
    owner: str | None
    current: bool


class Kept(NamedTuple):
    """A secret that was set, and what the person who set it should hear."""

    record: SecretRecord
    warnings: tuple[str, ...]


class Unreadable(NamedTuple):
    """A row of the vault that cannot be read or opened, and why. It says nothing of a value."""

    table: str
    id: str
    problem: str


class Vault:
    """What is done with the vault. Safe to use from any thread; every method blocks."""

    def __init__(self, store: Store, ring: KeyRing | None, reread: Callable[[], KeyRing] | None = None) -> None:
        """`ring` is None where there are no keys: then nothing can be set, and no value be opened.

        `reread` gives the keys as they are now, for a key that was added meanwhile.
        """
        self._store, self._opening = store, Opening(ring, reread)
        self._listeners: list[Callable[[], None]] = []

    @property
    def key(self) -> str | None:
        """The id of the key that seals; None where there is none. It says nothing of the key."""
        return None if self.ring is None else self.ring.current

    @property
    def ring(self) -> KeyRing | None:
        """The keys that seal what is kept beside stored content; None where there are none."""
        return self._opening.ring

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls the listener after each value that was set or forgotten here, before whoever did that goes on."""
        self._listeners.append(listener)

    def set(
        self,
        name: str,
        value: Secret,
        *,
        note: str | None = None,
        owner: str | None = None,
        scope: SecretScope = SecretScope.WORKSPACE,
        by: Actor,
    ) -> Kept:
        """The secret with this value; the one that it had is still taken out of whatever goes to a model.

        `note` None keeps the note that it has. Raises `BadFields`, and `BadInput` where there is no key.
        """
        text = opened(value)
        check(name, text, note, owner, scope)
        ring = self._needed()
        known = self._known(name)
        if note is None:
            note = known.note if known is not None else ""
        # WHY again: the note that it has may tell of the value that it is about to have, or of one that it had.
        check(name, text, note, owner, scope)
        if note or owner:
            rows = [one for one in self._store.vault_rows()[1] if isinstance(one, SealedRecord)]
            check_shown(map(opened, self._opening.some(rows)), note, owner)
        row_id = f"{name}.{secrets.token_hex(12)}"
        fresh = row_id, ring.seal(value, place_of(row_id))
        # WHY not always: who sets the same value every hour would fill the vault with it.
        keeps = known is not None and known.revoked_at is None and self._is_current(name, text)
        record = self._store.set_vault_secret(
            name, scope=scope, owner=owner, note=note, value=None if keeps else fresh, by=by
        )
        self._changed()
        return Kept(record, warnings(text))

    def revoke(self, name: str, *, by: Actor) -> SecretRecord:
        """The secret, revoked: used no more, and taken out all the same. Raises `NotFound` and `Conflict`."""
        try:
            return self._store.revoke_vault_secret(name, by=by)
        except NotFound:
            raise NoSecret from None

    def forget(self, name: str, *, by: Actor) -> int:
        """Removes a revoked secret with every value that it had, which are looked for no more; returns how many.

        For a value that was set by mistake, such as a common word. Raises `NotFound`, and `Conflict` where the secret
        is not revoked.
        """
        try:
            count = self._store.forget_vault_secret(name, by=by)
        except NotFound:
            raise NoSecret from None
        self._changed()
        return count

    def unreadable(self) -> tuple[Unreadable, ...]:
        """What stops every send: each value that cannot be opened, and each row that cannot be read. It is read anew.

        Raises `StoreUnreadable`.
        """
        self._opening.read_again()
        records, values = self._store.vault_rows()
        known = {one.name for one in records if isinstance(one, SecretRecord)}
        having = {one.name for one in values if isinstance(one, SealedRecord)}
        found = [Unreadable(one.table, one.id, one.problem) for one in (*records, *values) if isinstance(one, Broken)]
        found += [Unreadable(SECRETS, name, "its value is gone") for name in sorted(known - having)]
        for one in values:
            if isinstance(one, SealedRecord):
                why = self._opening.problem(one) if one.name in known else "its secret is gone"
                found += [] if why is None else [Unreadable(TABLE, one.id, why)]
        return tuple(found)

    def forget_unreadable(self, count: int, *, by: Actor) -> tuple[Unreadable, ...]:
        """Removes the rows that `unreadable` gives, and returns them: whatever they held is looked for no more.

        `count` is how many the person was told of. Raises `Conflict`, and removes nothing, where there are others now.
        """
        found = self.unreadable()
        if len(found) != count or not found:
            raise Conflict(f"{len(found):,} rows cannot be opened by now; look at them again")
        secrets = [one.id for one in found if one.table == SECRETS]
        self._store.forget_vault_rows(secrets, [one.id for one in found if one.table == TABLE], by=by)
        self._changed()
        return found

    def counts(self, names: Collection[str]) -> dict[str, int]:
        """How many values each of these secrets has and had, which is what `forget` would remove."""
        return self._store.count_vault_values(names)

    def names(self, *, limit: int = 50, cursor: str | None = None) -> Page[SecretRecord | Broken]:
        """A page of secrets, by name; never a value."""
        return self._store.list_vault_secrets(limit=limit, cursor=cursor)

    def get(self, name: str) -> SecretRecord:
        """What is known of a secret; never its value. Raises `NotFound` and `BrokenRow`."""
        try:
            return self._store.vault_secret(name)
        except NotFound:
            raise NoSecret from None

    def entries(self) -> tuple[Entry, ...]:
        """Every value that any secret has or had, the newest of a name last.

        Raises `BrokenRow` where one of them cannot be opened: none is skipped.
        """
        records, values = self._store.vault_values()
        about = {record.name: record for record in records}
        found = self._opening.all(values)
        return tuple(
            Entry(one.name, value, about[one.name].scope, about[one.name].owner, one.ended_at is None)
            for one, value in zip(values, found, strict=True)
        )

    def revision(self) -> tuple[int, str | None]:
        """What changes with each value that the vault learns. A cheap question, made to be asked often."""
        return self._store.vault_revision()

    def problem(self) -> str | None:
        """Why the vault's values cannot be had; None where they can. Raises `StoreUnreadable` where nobody can say."""
        try:
            self.entries()
        except BrokenRow as why:
            return str(why)
        return None

    def reseal(self, *, by: Actor, progress: Callable[[int, int], None] | None = None) -> int:
        """Seals with the key that seals now whatever was sealed with another one; returns how many values.

        The keys are read again before. `progress` is told how many of how many are done. What was done stays done
        where it fails. Raises `BrokenRow` where a value cannot be opened, before anything is changed, and `BadInput`.
        """
        self._opening.reread()
        ring = self._needed()
        rows = self._store.vault_values()[1]
        opened_rows = zip(rows, self._opening.all(rows), strict=True)
        stale = [(one, value) for one, value in opened_rows if not ring.is_current(one.sealed)]
        done = 0
        for at in range(0, len(stale), BATCH):
            part = stale[at : at + BATCH]
            fresh = {one.id: (one.sealed, ring.seal(value, place_of(one.id))) for one, value in part}
            done += self._store.reseal_vault_values(fresh, by=by, detail={"key": ring.current})
            if progress is not None:
                progress(min(at + BATCH, len(stale)), len(stale))
        return done

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()

    def _needed(self) -> KeyRing:
        if self.ring is None:
            raise BadInput("there is no key to seal a secret with; give one with --key-file or STANCH_KEY")
        return self.ring

    def _known(self, name: str) -> SecretRecord | None:
        try:
            return self._store.vault_secret(name)
        except NotFound:
            return None

    def _is_current(self, name: str, text: str) -> bool:
        """True where the secret has this very value. WHY: who sets it every hour would fill the vault with it."""
        try:
            values = [one for one in self._store.vault_values()[1] if one.name == name and one.ended_at is None]
            return len(values) == 1 and opened(*self._opening.all(values)) == text
        except (BrokenRow, BadInput):
            return False
