"""Putting a server together: its data directory, the store that its settings name, its administrator, its service.

Settles which adapters serve the settings, in which order they start, and that they end in the reverse one. This is the
only place that chooses them. Does not settle what any door answers (`app.service`, `surfaces`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from stanch.app.audit_log import AuditLog
from stanch.app.service import Service
from stanch.app.settings import Settings, make_private, read_private, write_private
from stanch.app.vault import Vault
from stanch.host.locking import Held, Lock, holder_of
from stanch.storage.blobs import Blobs
from stanch.storage.engine import url_of
from stanch.storage.store import Store
from stanch.values.fault import BadInput
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.records import Actor

ADMINISTRATOR = Principal(PrincipalKind.USER, "administrator")
_STARTER = Actor("stanch", "up")


@dataclass(frozen=True, slots=True)
class Started:
    """What runs, and what its starter should hear.

    `store` says where the store is, without a password. `new_token` is the administrator's token where it was made
    just now, to be shown this once.
    """

    service: Service
    store: str
    new_token: str | None = field(repr=False)
    warnings: tuple[str, ...]


def claimed(settings: Settings) -> Lock:
    """The data directory, made if need be, and claimed for this process until the lock is released.

    Raises `BadInput` where another server has it, and where others could change what is in it.
    """
    make_private(settings.data)
    try:
        return Lock(settings.lock_file)
    except Held as held:
        who = _who(held.holder)
        raise BadInput(f"a server is running on the data directory {settings.data} already{who}") from None
    except OSError as error:
        raise BadInput(f"{settings.lock_file} cannot be locked: {(error.strerror or 'unknown').lower()}") from None


class Reached(NamedTuple):
    """Where a server answers, and the administrator's token for it."""

    url: str
    token: str


def reached(settings: Settings) -> Reached:
    """The server that runs on the data directory. Raises `BadInput` where none does, or its token cannot be read."""
    try:
        said = holder_of(settings.lock_file)
        url = None if said is None else str(json.loads(said)["url"])
    except (OSError, ValueError, TypeError, KeyError):
        url = None
    if url is None:
        raise BadInput(
            f"no server is running on the data directory {settings.data}; start one with stanch up, or name one with "
            "--url and --token"
        )
    token = read_private(settings.token_file)
    if token is None:
        raise BadInput(f"there is no token in {settings.token_file}; give one with --token or STANCH_TOKEN")
    return Reached(url, token.strip())


@contextmanager
def audit_of(settings: Settings) -> Iterator[AuditLog]:
    """The audit log of the store that the settings name, as it is: nothing is made or brought up to date.

    Raises `BadInput` and `StoreUnreadable` where it cannot be read.
    """
    store = Store.open(settings.address)
    try:
        readiness = store.ready()
        if not readiness.ready:
            why = readiness.problem.removesuffix("; migrate it")
            where = f" in {settings.data}" if settings.database is None else ""
            raise BadInput(
                f"the audit log cannot be read{where}: {why} (`stanch up` makes it and brings it up to date; --data "
                "names another data directory)"
            )
        yield AuditLog(store)
    finally:
        store.close()


@contextmanager
def vault_of(settings: Settings) -> Iterator[Vault]:
    """The vault of the store that the settings name, brought up to date, where no server runs on it.

    The data directory has been claimed. Raises `BadInput` and `StoreUnreadable` where it cannot be used.
    """
    store = Store.open(settings.address)
    try:
        store.migrate()
        yield _vault(store, settings)[0]
    finally:
        store.close()


def holder(url: str) -> str:
    """What this process says of itself to whoever wants its data directory: where it answers."""
    return json.dumps({"process": os.getpid(), "url": url})


@contextmanager
def started(settings: Settings, say: Callable[[str], None]) -> Iterator[Started]:
    """A service over the store that the settings name, until the block ends. `say` is told what is going on.

    The data directory has been claimed. Raises `BadInput` for settings that cannot be used, and `StoreUnreadable` where
    the store cannot be.
    """
    url = url_of(settings.address)
    file = str(url.database) if url.drivername == "sqlite" else None
    store = Store.open(settings.address)
    try:
        say("bringing the database up to date")
        store.migrate()
        token, warnings = _administrator(store, settings.token_file)
        vault, notes = _vault(store, settings)
        warnings += notes
        if file is None and (note := _own_key(settings)) is not None:
            warnings += (note,)
        if file is None and settings.content is None:
            warnings += (
                f"the bytes of stored files are in {settings.blobs}; every node of this database needs the same "
                "directory: give it with --content or STANCH_CONTENT",
            )
        say("reading the policy")
        service = Service.open(
            store=store,
            policy=settings.policy,
            workspace=settings.workspace,
            private=settings.private(file),
            trust=settings.trust,
            alone=file is not None,
            vault=vault,
            blobs=Blobs(settings.blobs),
            data=settings.data,
            workbenches=settings.workbenches,
        )
        try:
            where = f"PostgreSQL, {url.database}" if file is None else f"SQLite, {file}"
            with service.projecting.logs():
                yield Started(service, where, token, warnings)
        finally:
            service.close()
    finally:
        store.close()


def _vault(store: Store, settings: Settings) -> tuple[Vault, tuple[str, ...]]:
    """The vault, and what is wrong with it. Raises `BadInput` for a place of keys that gives none."""
    count, _ = store.vault_revision()
    file = settings.keys.file_for(settings.data)
    ring = None
    # WHY not made anew where the vault holds something: a new key opens nothing of it, and hides that the old is gone.
    if count == 0 or file is None or settings.keys.file is not None or os.path.lexists(file):
        ring = settings.keys.ring(settings.data, make=True)
    vault = Vault(store, ring, lambda: settings.keys.ring(settings.data))
    problem = vault.problem()
    if problem is None:
        return vault, ()
    where = settings.keys.words(settings.data)
    return vault, (
        f"the vault cannot be opened ({problem}), so nothing is sent to a model; its keys are looked for in {where}",
    )


def _own_key(settings: Settings) -> str | None:
    """What to hear where several nodes may share a store, and each would make a key of its own."""
    if settings.keys.file_for(settings.data) != settings.data / "vault.key":
        return None
    return (
        f"the vault's key is in {settings.data / 'vault.key'}; every node of this database needs the same one: give it "
        "with --key-file or STANCH_KEY"
    )


def _who(holder: str) -> str:
    """What a holder said of itself, in words; nothing where it has not said it yet."""
    try:
        said = json.loads(holder)
        return f": process {int(said['process'])} at {said['url']}"
    except (ValueError, TypeError, KeyError):
        return ""


def _administrator(store: Store, file: Path) -> tuple[str | None, tuple[str, ...]]:
    """The token of a new administrator where the data directory has none yet, and what is wrong with one it has.

    WHY: one that no longer works is not replaced: somebody may have revoked it on purpose.
    """
    kept = read_private(file)
    if kept is not None:
        if store.find_token(kept.strip()) is not None:
            return None, ()
        return None, (f"the store does not know the token in {file}; for a new one, remove that file and start again",)
    made = store.create_token(name="administrator", principal=ADMINISTRATOR, by=_STARTER)
    write_private(file, made.secret + "\n")
    return made.secret, ()
