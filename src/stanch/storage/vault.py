"""The vault's rows: named secrets, and every value that each has or had, sealed.

Settles that a value that was replaced or revoked stays until a person has it forgotten, that a row belongs to its name,
and that none is skipped. Does not settle how a value is sealed or opened (`app.vault`): nothing here ever holds one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import func, select, update

from stanch.storage.pages import page_of
from stanch.storage.rows import Fields, Noun, Unread, written_moment
from stanch.storage.transactions import Change, Transactions, find
from stanch.storage.vault_schema import VAULT_SECRETS, VAULT_VALUES
from stanch.values.fault import BadInput, BrokenRow, Conflict, NotFound
from stanch.values.records import Actor, Broken, Page
from stanch.values.vault import NAME, SealedRecord, SecretRecord, SecretScope


def _secret(row: Fields) -> SecretRecord:
    name = row.key("name")
    if NAME.fullmatch(name) is None:
        raise Unread("name", "is no name of a secret")
    return SecretRecord(
        name=name,
        scope=row.word("scope", SecretScope),
        owner=row.maybe("owner"),
        note=row.text("note", empty=True),
        created_at=row.moment("created_at"),
        changed_at=row.moment("changed_at"),
        revoked_at=row.maybe_moment("revoked_at"),
    )


def _value(row: Fields) -> SealedRecord:
    row_id, name = row.key("id"), row.key("name")
    # INVARIANT: what is sealed is bound to the id, and the id to the name: no value can be moved to another name.
    if row_id.rpartition(".")[0] != name:
        raise Unread("name", "is not the one that the value was sealed for")
    return SealedRecord(
        id=row_id,
        name=name,
        sealed=row.text("sealed"),
        created_at=row.moment("created_at"),
        ended_at=row.maybe_moment("ended_at"),
    )


VAULT_SECRET = Noun("secret", VAULT_SECRETS, _secret)
VAULT_VALUE = Noun("value of a secret", VAULT_VALUES, _value)


class VaultRows(Transactions):
    """The part of a store that keeps the vault."""

    def set_vault_secret(
        self,
        name: str,
        *,
        scope: SecretScope,
        owner: str | None,
        note: str,
        value: tuple[str, str] | None,
        by: Actor,
    ) -> SecretRecord:
        """The secret, new or changed. `value` is the id of a new value and its sealed text; None keeps what it has.

        Whatever value it had is ended; one that was revoked is in use again. Raises `NotFound` where it is to keep a
        value and has none in use, and `Conflict` where the id is taken.
        """
        if NAME.fullmatch(name) is None:
            raise BadInput("the secret cannot be stored: 'name' is no name of a secret")
        with self._changing(by, "vault.set", name) as change:
            at = written_moment(change.at)
            wanted = select(VAULT_SECRETS).where(VAULT_SECRETS.c.name == name)
            known = change.connection.execute(wanted).mappings().first()
            row: dict[str, Any] = {
                "scope": scope.value,
                "owner": owner,
                "note": note,
                "changed_at": at,
                "revoked_at": None,
            }
            if value is None and (known is None or known["revoked_at"] is not None):
                raise NotFound(VAULT_SECRET.kind, name)
            if known is None:
                whole = {"name": name, "created_at": at, **row}
                record = VAULT_SECRET.written(whole)
                change.add(VAULT_SECRET, whole)
            else:
                record = change.replace(VAULT_SECRET, name, row)
            if value is not None:
                self._end_value(change, name, at)
                value_row = {"id": value[0], "name": name, "sealed": value[1], "created_at": at, "ended_at": None}
                VAULT_VALUE.written(value_row)
                change.vacant(VAULT_VALUE, value[0])
                change.add(VAULT_VALUE, value_row)
            change.detail.update(new=known is None, scope=scope.value, owner=owner)
        return record

    def revoke_vault_secret(self, name: str, *, by: Actor) -> SecretRecord:
        """The secret, revoked. Its values stay. Raises `NotFound`, and `Conflict` where it was revoked before."""
        with self._changing(by, "vault.revoke", name) as change:
            if change.find(VAULT_SECRET, name)["revoked_at"] is not None:
                raise Conflict("the secret was revoked before")
            at = written_moment(change.at)
            self._end_value(change, name, at)
            return change.replace(VAULT_SECRET, name, {"revoked_at": at, "changed_at": at})

    def vault_secret(self, name: str) -> SecretRecord:
        """The secret, revoked or not. Raises `NotFound`, and `BrokenRow` where it cannot be read."""
        with self._reading() as connection:
            return VAULT_SECRET.readable(find(connection, VAULT_SECRET, name))

    def list_vault_secrets(self, *, limit: int = 50, cursor: str | None = None) -> Page[SecretRecord | Broken]:
        """A page of secrets, by name. Raises `BadInput` as `list_groups` does."""
        with self._reading() as connection:
            return page_of(connection, VAULT_SECRET, [VAULT_SECRETS.c.name], limit=limit, cursor=cursor)

    def vault_values(self) -> tuple[tuple[SecretRecord, ...], tuple[SealedRecord, ...]]:
        """Every secret by name, and every value of each, oldest first.

        Raises `BrokenRow` where a row of either cannot be read, or a secret has no value: nothing is skipped.
        """
        with self._reading() as connection:
            secrets = connection.execute(select(VAULT_SECRETS).order_by(VAULT_SECRETS.c.name)).mappings().all()
            wanted = select(VAULT_VALUES).order_by(VAULT_VALUES.c.name, VAULT_VALUES.c.created_at, VAULT_VALUES.c.id)
            values = connection.execute(wanted).mappings().all()
        records = tuple(VAULT_SECRET.readable(row) for row in secrets)
        sealed = tuple(VAULT_VALUE.readable(row) for row in values)
        having, known = {one.name for one in sealed}, {one.name for one in records}
        for record in records:
            if record.name not in having:
                raise BrokenRow(VAULT_SECRETS.name, record.name, "its value is gone")
        for one in sealed:
            if one.name not in known:
                raise BrokenRow(VAULT_VALUES.name, one.id, "its secret is gone")
        return records, sealed

    def reseal_vault_values(self, fresh: Mapping[str, tuple[str, str]], *, by: Actor, detail: Mapping[str, Any]) -> int:
        """Puts, by the id of a value, a new sealed text where the old one still stands; returns how many."""
        done = 0
        with self._changing(by, "vault.reseal") as change:
            for row_id, (old, new) in fresh.items():
                changed = update(VAULT_VALUES).where(VAULT_VALUES.c.id == row_id, VAULT_VALUES.c.sealed == old)
                done += change.connection.execute(changed.values(sealed=new)).rowcount
            change.subject = "vault"
            change.detail.update(detail, values=done)
        return done

    def vault_rows(self) -> tuple[tuple[SecretRecord | Broken, ...], tuple[SealedRecord | Broken, ...]]:
        """Every row of the vault, those among them that cannot be read; for whoever looks for these."""
        with self._reading() as connection:
            secrets = connection.execute(select(VAULT_SECRETS).order_by(VAULT_SECRETS.c.name)).mappings().all()
            values = connection.execute(select(VAULT_VALUES).order_by(VAULT_VALUES.c.id)).mappings().all()
        return tuple(map(VAULT_SECRET.read, secrets)), tuple(map(VAULT_VALUE.read, values))

    def count_vault_values(self, names: Collection[str]) -> dict[str, int]:
        """How many values each of these secrets has and had; a name that has none is left out."""
        wanted = select(VAULT_VALUES.c.name, func.count()).where(VAULT_VALUES.c.name.in_(names))
        with self._reading() as connection:
            return {str(name): int(count) for name, count in connection.execute(wanted.group_by(VAULT_VALUES.c.name))}

    def forget_vault_secret(self, name: str, *, by: Actor) -> int:
        """Removes a revoked secret with every value that it had; returns how many.

        Raises `NotFound`, and `Conflict` where it is not revoked.
        """
        with self._changing(by, "vault.forget", name) as change:
            if change.find(VAULT_SECRET, name)["revoked_at"] is None:
                raise Conflict("the secret is in use; revoke it before its values are forgotten")
            count = change.remove(VAULT_VALUE, VAULT_VALUES.c.name == name)
            change.remove(VAULT_SECRET, VAULT_SECRETS.c.name == name)
            change.detail.update(values=count)
        return count

    def forget_vault_rows(self, secrets: Collection[str], values: Collection[str], *, by: Actor) -> None:
        """Removes these rows: secrets with all their values, and values by their ids.

        A secret that has no value left goes too, and one that has none in use any more is revoked.
        Raises `Conflict`, and removes nothing, where one of them is gone by now.
        """
        with self._changing(by, "vault.forget_unreadable", "vault") as change:
            at, gone = written_moment(change.at), 0
            for row_id in values:
                gone += change.remove(VAULT_VALUE, VAULT_VALUES.c.id == row_id)
            for name in secrets:
                change.remove(VAULT_VALUE, VAULT_VALUES.c.name == name)
                gone += change.remove(VAULT_SECRET, VAULT_SECRETS.c.name == name)
            if gone != len(values) + len(secrets):
                raise Conflict("the vault was changed meanwhile")
            having, current = select(VAULT_VALUES.c.name), VAULT_VALUES.c.ended_at.is_(None)
            change.remove(VAULT_SECRET, VAULT_SECRETS.c.name.not_in(having))
            unused = VAULT_SECRETS.c.revoked_at.is_(None), VAULT_SECRETS.c.name.not_in(having.where(current))
            change.connection.execute(update(VAULT_SECRETS).where(*unused).values(revoked_at=at, changed_at=at))
            change.detail.update(values=len(values), secrets=len(secrets))

    def vault_revision(self) -> tuple[int, str | None]:
        """How many values there are, and when the newest was set: what changes whenever there is one more. Cheap."""
        wanted = select(func.count(VAULT_VALUES.c.id), func.max(VAULT_VALUES.c.created_at))
        with self._reading() as connection:
            count, newest = connection.execute(wanted).one()
        return int(count), None if newest is None else str(newest)

    @staticmethod
    def _end_value(change: Change, name: str, at: str) -> None:
        current = VAULT_VALUES.c.name == name, VAULT_VALUES.c.ended_at.is_(None)
        change.connection.execute(update(VAULT_VALUES).where(*current).values(ended_at=at))
