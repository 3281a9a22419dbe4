"""The vault: named secrets, set, revoked and sealed anew, and never listed with a value.

Settles what a secret may be called and hold, what is said of one, and that of all values none is skipped. Does not
settle how one is sealed (`secrets.sealing`) nor where it is taken out (`app.projecting`).
INVARIANT: no record, error, audit row or answer holds a value; an `Entry` alone does, as a `Secret`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stanch.secrets.sealing import KeyRing, Place, Unopened
from stanch.secrets.text import Secret, opened
from stanch.storage.store import Store
from stanch.values.fault import BadFields, BadInput, BrokenRow, NotFound
from stanch.values.records import Actor, Broken, Page
from stanch.values.vault import LONGEST_NAME, NAME, SealedRecord, SecretRecord, SecretScope

SHORTEST = 8
"""Characters below which a value is taken out of nothing: it would stand in too much that is none."""
LONGEST = 65_536
LONGEST_NOTE = 2_000
LONGEST_OWNER = 512
BATCH = 200
SHORT = f"the value has fewer than {SHORTEST} characters: it is replaced in no text"
SPACED = "the value begins or ends with white space, which is part of it: without that, nobody recognises it"
TABLE, COLUMN = "vault_values", "sealed"


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


class Vault:
    """What is done with the vault. Safe to use from any thread; every method blocks."""

    def __init__(self, store: Store, ring: KeyRing | None, reread: Callable[[], KeyRing] | None = None) -> None:
        """`ring` is None where there are no keys: then nothing can be set, and no value be opened.

        `reread` gives the keys as they are now, for a key that was added meanwhile.
        """
        self._store, self._ring, self._reread = store, ring, reread
        self._listeners: list[Callable[[], None]] = []

    @property
    def key(self) -> str | None:
        """The id of the key that seals; None where there is none. It says nothing of the key."""
        return None if self._ring is None else self._ring.current

    @property
    def ring(self) -> KeyRing | None:
        """The keys that seal what is kept beside stored content; None where there are none."""
        return self._ring

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls the listener after each value that was set through this object, before whoever set it goes on."""
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
        _check(name, text, note, owner, scope)
        ring = self._needed()
        known = self._known(name)
        if note is None:
            note = known.note if known is not None else ""
        row_id = f"{name}.{secrets.token_hex(12)}"
        fresh = row_id, ring.seal(value, Place(TABLE, row_id, COLUMN))
        # WHY not always: who sets the same value every hour would fill the vault with it.
        keeps = known is not None and known.revoked_at is None and self._is_current(name, text)
        record = self._store.set_vault_secret(
            name, scope=scope, owner=owner, note=note, value=None if keeps else fresh, by=by
        )
        for listener in self._listeners:
            listener()
        return Kept(record, _warnings(text))

    def revoke(self, name: str, *, by: Actor) -> SecretRecord:
        """The secret, revoked: used no more, and taken out all the same. Raises `NotFound` and `Conflict`."""
        try:
            return self._store.revoke_vault_secret(name, by=by)
        except NotFound:
            raise NoSecret from None

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
        found = self._opened(values)
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
        if self._reread is not None:
            self._ring = self._reread()
        ring = self._needed()
        rows = self._store.vault_values()[1]
        opened_rows = zip(rows, self._opened(rows), strict=True)
        stale = [(one, value) for one, value in opened_rows if not ring.is_current(one.sealed)]
        done = 0
        for at in range(0, len(stale), BATCH):
            part = stale[at : at + BATCH]
            fresh = {one.id: (one.sealed, ring.seal(value, _place(one))) for one, value in part}
            done += self._store.reseal_vault_values(fresh, by=by, detail={"key": ring.current})
            if progress is not None:
                progress(min(at + BATCH, len(stale)), len(stale))
        return done

    def _opened(self, values: Sequence[SealedRecord]) -> list[Secret]:
        """The value of each. Raises `BrokenRow` for the first that cannot be opened."""
        try:
            return [_open(self._ring, one) for one in values]
        except _KeyGone as gone:
            # WHY again: another node may have sealed it with a key that was added since this one read them.
            if not self._read_again():
                raise gone.row from None
        try:
            return [_open(self._ring, one) for one in values]
        except _KeyGone as gone:
            raise gone.row from None

    def _read_again(self) -> bool:
        """True where there are keys to be had anew."""
        if self._reread is None:
            return False
        try:
            self._ring = self._reread()
        except BadInput:
            return False
        return True

    def _needed(self) -> KeyRing:
        if self._ring is None:
            raise BadInput("there is no key to seal a secret with; give one with --key-file or STANCH_KEY")
        return self._ring

    def _known(self, name: str) -> SecretRecord | None:
        try:
            return self._store.vault_secret(name)
        except NotFound:
            return None

    def _is_current(self, name: str, text: str) -> bool:
        """True where the secret has this very value. WHY: who sets it every hour would fill the vault with it."""
        try:
            values = [one for one in self._store.vault_values()[1] if one.name == name and one.ended_at is None]
            return len(values) == 1 and opened(*self._opened(values)) == text
        except (BrokenRow, BadInput):
            return False


class _KeyGone(Exception):
    """A value is sealed with a key that is not there. `row` is how that is told."""

    def __init__(self, row: BrokenRow) -> None:
        self.row = row
        super().__init__()


def _open(ring: KeyRing | None, one: SealedRecord) -> Secret:
    """The value. Raises `_KeyGone` and `BrokenRow`."""
    if ring is None:
        raise _KeyGone(BrokenRow(TABLE, one.id, "there is no key"))
    try:
        return ring.open(one.sealed, _place(one))
    except Unopened as why:
        told = BrokenRow(TABLE, one.id, str(why))
        raise (_KeyGone(told) if why.key_gone else told) from None


def _place(one: SealedRecord) -> Place:
    return Place(TABLE, one.id, COLUMN)


def _warnings(text: str) -> tuple[str, ...]:
    said = [SHORT] if len(text) < SHORTEST else []
    return (*said, SPACED) if text != text.strip() else tuple(said)


def _check(name: str, text: str, note: str | None, owner: str | None, scope: SecretScope) -> None:
    """Raises `BadFields`, whose messages hold nothing of what was given."""
    wrong: list[tuple[str, str]] = []
    if type(name) is not str or NAME.fullmatch(name) is None:
        wrong.append(
            (
                "name",
                "'name' must begin with a letter or '_', and hold letters, digits and '_' only, "
                f"{LONGEST_NAME} characters at most",
            )
        )
    elif len(text) >= SHORTEST and text in name:
        wrong.append(("name", "'name' holds the value; it is shown to people"))
    if len(text) > LONGEST:
        wrong.append(("value", f"'value' is longer than {LONGEST:,} characters"))
    elif not text.strip():
        wrong.append(("value", "'value' holds nothing but space"))
    elif not _is_text(text):
        wrong.append(("value", "'value' holds a NUL, or what is no Unicode text"))
    for field, said, longest in (("note", note, LONGEST_NOTE), ("owner", owner, LONGEST_OWNER)):
        if said is None:
            continue
        if len(said) > longest or not _is_text(said):
            wrong.append((field, f"'{field}' must be text of at most {longest:,} characters"))
        elif len(text) >= SHORTEST and text in said:
            wrong.append((field, f"'{field}' holds the value; it is shown to people"))
    if owner == "":
        wrong.append(("owner", "'owner' is empty"))
    if scope is SecretScope.USER and owner is None:
        wrong.append(("owner", "'owner' is needed: whose secret it is"))
    if wrong:
        raise BadFields(*wrong)


def _is_text(text: str) -> bool:
    try:
        return "\0" not in text and bool(text.encode()) | (text == "")
    except UnicodeEncodeError:
        return False
