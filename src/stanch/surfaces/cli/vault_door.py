"""The vault as the command line reaches it: through the running server, else in the data directory's own store.

Settles which of the two, and that both say the same. Does not settle the commands (`vault`) nor what the vault does
(`app.vault`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from stanch.secrets.text import Secret, opened
from stanch.surfaces import finding
from stanch.surfaces.cli.client import Client, Refusal, client_for
from stanch.values.fault import BadInput, BrokenRow
from stanch.values.records import Actor, Broken
from stanch.values.vault import SecretRecord, SecretScope

if TYPE_CHECKING:
    from stanch.app.settings import Settings
    from stanch.app.vault import Unreadable, Vault

BY = Actor("administrator", "cli")
Json = dict[str, Any]
Told = Callable[[int, int], None]
Keys = tuple[Path | None, str | None, str | None]
"""A file, a variable and a command, as a person named them."""


class VaultDoor(Protocol):
    """What can be done with the vault from here. Answers are those of the REST API."""

    def names(self) -> list[Json]:
        """Every secret; one that cannot be read has a `problem`."""

    def set(self, name: str, value: Secret, *, note: str | None, owner: str | None, scope: str) -> Json:
        """The secret that was set, with `warnings`."""

    def revoke(self, name: str) -> Json:
        """The secret that was revoked."""

    def forget(self, name: str) -> Json:
        """How many values of a revoked secret were removed (`forgotten`)."""

    def unreadable(self) -> list[Json]:
        """The rows that cannot be opened or read, each with its `problem`."""

    def forget_unreadable(self, count: int) -> list[Json]:
        """The rows that were removed; there have to be so many."""

    def reseal(self, progress: Told) -> Json:
        """How many values were sealed anew (`resealed`), and with which key."""


@contextmanager
def vault_door(
    url: str | None,
    token: str | None,
    data: Path | None,
    database: str | None,
    keys: tuple[Path | None, str | None, str | None],
) -> Iterator[VaultDoor]:
    """The vault that is meant. `keys` are a file, a variable and a command, for where no server runs.

    Raises `BadInput` and `StoreUnreadable`; what the server refuses is a `BadInput`, too.
    """
    if url is not None:
        with _refusing():
            yield _Served(client_for(url, token, data))
        return
    settings = settings_for(data, database, keys)
    from stanch.app import wiring

    try:
        found = wiring.reached(settings)
    except BadInput:
        found = None
    if found is not None:
        with _refusing():
            yield _Served(Client(found.url, token or found.token))
        return
    with wiring.claimed(settings), wiring.vault_of(settings) as vault:
        yield _Own(vault)


def settings_for(data: Path | None, database: str | None, keys: tuple[Path | None, str | None, str | None]) -> Settings:
    """The settings of the server of this place. Raises `BadInput`."""
    try:
        from stanch.app.sealing_keys import key_place
        from stanch.app.settings import settings_of
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "stanch":
            raise
        raise BadInput(
            f"the vault needs packages that are not installed ({missing.name} is missing): pip install 'stanch[server]'"
        ) from None
    finding.current_directory()
    policy = None if data is not None else finding.nearest_policy()
    where = None if data is None else Path(os.path.abspath(data))
    return settings_of(policy=policy, data=where, database=database, keys=key_place(*keys))


class _Served:
    """The vault behind a running server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def names(self) -> list[Json]:
        found: list[Json] = []
        cursor: str | None = None
        while True:
            page = self._client.get("/api/vault", limit=500, cursor=cursor)
            found += page["items"]
            cursor = page["next"]
            if cursor is None:
                return found

    def set(self, name: str, value: Secret, *, note: str | None, owner: str | None, scope: str) -> Json:
        body: Json = {"value": opened(value), "scope": scope}
        body |= {key: said for key, said in (("note", note), ("owner", owner)) if said is not None}
        return dict(self._client.put(f"/api/vault/{quote(name, safe='')}", body))

    def revoke(self, name: str) -> Json:
        return dict(self._client.delete(f"/api/vault/{quote(name, safe='')}"))

    def forget(self, name: str) -> Json:
        at = quote(name, safe="")
        return dict(self._client.delete(f"/api/vault/{at}/values?confirm={at}"))

    def unreadable(self) -> list[Json]:
        return list(self._client.get("/api/vault/unreadable")["items"])

    def forget_unreadable(self, count: int) -> list[Json]:
        return list(self._client.post("/api/vault/unreadable/forget", {"count": count})["items"])

    def reseal(self, progress: Told) -> Json:
        del progress
        return dict(self._client.post("/api/vault/reseal", {}))


class _Own:
    """The vault of a store that nobody serves."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def names(self) -> list[Json]:
        found: list[Json] = []
        cursor: str | None = None
        while True:
            page = self._vault.names(limit=500, cursor=cursor)
            counts = self._vault.counts([one.name for one in page.items if isinstance(one, SecretRecord)])
            found += [_broken(one) if isinstance(one, Broken) else _shown(one, counts) for one in page.items]
            cursor = page.next
            if cursor is None:
                return found

    def set(self, name: str, value: Secret, *, note: str | None, owner: str | None, scope: str) -> Json:
        kept = self._vault.set(name, value, note=note, owner=owner, scope=SecretScope(scope), by=BY)
        return {**_shown(kept.record, self._vault.counts([name])), "warnings": list(kept.warnings)}

    def revoke(self, name: str) -> Json:
        return _shown(self._vault.revoke(name, by=BY), self._vault.counts([name]))

    def forget(self, name: str) -> Json:
        return {"name": name, "forgotten": self._vault.forget(name, by=BY)}

    def unreadable(self) -> list[Json]:
        return [_broken(one) for one in self._vault.unreadable()]

    def forget_unreadable(self, count: int) -> list[Json]:
        return [_broken(one) for one in self._vault.forget_unreadable(count, by=BY)]

    def reseal(self, progress: Told) -> Json:
        try:
            done = self._vault.reseal(by=BY, progress=progress)
        except BrokenRow as why:
            raise BadInput(f"nothing was sealed anew: {why}") from None
        return {"resealed": done, "key": self._vault.key}


def _shown(record: SecretRecord, counts: Mapping[str, int]) -> Json:
    return {
        "name": record.name,
        "scope": record.scope.value,
        "owner": record.owner,
        "note": record.note,
        "created_at": _at(record.created_at),
        "changed_at": _at(record.changed_at),
        "revoked_at": None if record.revoked_at is None else _at(record.revoked_at),
        "values": counts.get(record.name, 0),
    }


def _broken(row: Broken | Unreadable) -> Json:
    return {"id": row.id, "table": row.table, "problem": row.problem}


def _at(moment: datetime) -> str:
    # As the REST API writes it.
    return moment.isoformat().replace("+00:00", "Z")


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except Refusal as why:
        raise BadInput(str(why)) from None
