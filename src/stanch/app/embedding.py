"""Stanch inside another program: a policy, a store, and calls that are run once a person has approved them.

Settles the small face that a library's user has of the service. Does not settle any of its parts (`app.service`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from stanch.app.approving import Edit
from stanch.app.running import Execute, Ran, Result
from stanch.app.sealing_keys import VARIABLE
from stanch.app.service import Service
from stanch.app.vault import Vault
from stanch.host import keys
from stanch.secrets.sealing import KeyRing
from stanch.storage.engine import url_of
from stanch.storage.store import Store
from stanch.values.approval import ApprovalRecord, CallRecord
from stanch.values.context import RunContext
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind, Source
from stanch.values.records import Actor, Broken

SURFACE = "library"
_SIDES = ("", "-wal", "-shm", "-journal")


class Embedded:
    """A policy and a store, opened by `stanch.embed`. Safe to use from any thread; `service` is all that it can do.

    What it opened it closes: on `close`, or at the end of a `with` block.
    """

    def __init__(self, service: Service, store: Store) -> None:
        self.service, self._store = service, store

    def session(
        self,
        agent: str,
        *,
        source: Source = Source.API,
        on_behalf_of: str = "library",
        context: RunContext | None = None,
        approver: bool = True,
        session_id: str | None = None,
    ) -> str:
        """The id of a new session. Without an `approver`, whatever would be asked is rejected at once.

        Without a `context` it has the policy's default for its agent, else for its source.
        """
        given: dict[str, Any] = {} if context is None else {"context": context}
        made = self.service.sessions.create(
            agent_id=agent,
            source=source,
            principal=Principal(PrincipalKind.DELEGATED, on_behalf_of, COPILOT_SERVICE),
            session_id=session_id,
            approver=approver,
            by=Actor(on_behalf_of, SURFACE),
            **given,
        )
        return made.id

    def run(
        self,
        session: str,
        tool: str,
        arguments: Mapping[str, Any],
        execute: Execute[Result],
        *,
        call_id: str = "",
        cwd: str | None = None,
        wait_seconds: float | None = None,
    ) -> Ran[Result]:
        """Judges the call, waits for a person where one is asked, judges it again, and runs it once.

        `execute(tool, arguments)` is given the arguments as they were approved. Waits for as long as it takes, or for
        `wait_seconds`: then the call goes on waiting, and `resume` takes it up. Raises `BadCall`, `NotFound`, and
        whatever `execute` raises.
        """
        return self.service.runner.run(
            session,
            tool,
            arguments,
            execute,
            tool_call_id=call_id,
            cwd=cwd,
            wait_seconds=wait_seconds,
            by=Actor(session, SURFACE),
        )

    def resume(self, call: str, execute: Execute[Result], *, wait_seconds: float | None = None) -> Ran[Result]:
        """Goes on with a call by its id, also one that was asked for before this program was started again."""
        by = Actor(self.service.calls.get(call).session_id, SURFACE)
        return self.service.runner.resume(call, execute, wait_seconds=wait_seconds, by=by)

    def waiting(self, session: str | None = None) -> list[ApprovalRecord]:
        """The requests for approval that are open, oldest first, at most 500."""
        page = self.service.inbox.list(session_id=session, limit=500)
        return [one for one in page.approvals.items if not isinstance(one, Broken)]

    def approve(
        self, request_id: str, *, by: str, note: str | None = None, arguments: Mapping[str, Any] | None = None
    ) -> CallRecord:
        """The call of a request that the person `by` approves, with other `arguments` where they are given.

        Raises `NotFound`, and `Conflict` with who answered before, or where the edited call is denied.
        """
        edit = None if arguments is None else Edit(arguments=arguments)
        return self.service.approving.approve(request_id, note=note, edit=edit, by=Actor(by, SURFACE)).call

    def reject(self, request_id: str, *, by: str, note: str | None = None) -> CallRecord:
        """The call of a request that the person `by` rejects. Raises `NotFound`, and `Conflict`."""
        return self.service.approving.reject(request_id, note=note, by=Actor(by, SURFACE)).call

    def close(self) -> None:
        """Ends it. Calls that are running here are interrupted. Safe to repeat."""
        self.service.close()
        self._store.close()

    def __enter__(self) -> Embedded:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def embed(
    policy: str | os.PathLike[str] | None = None,
    *,
    store: str | os.PathLike[str],
    workspace: str | os.PathLike[str] | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Embedded:
    """Opens a policy file, if one is named, and a store: the path of a SQLite file, or a `postgresql://` address.

    The store is made, or brought up to date, if need be; several programs may have it open. `key_file` holds the keys
    that seal its vault, and is made with a new one, if need be; without it they are those of `$STANCH_KEY`, and where
    that is not set either, no secret can be set. No agent's call may touch these files. Needs
    `pip install 'stanch[server]'`. Raises `BadInput` and `StoreUnreadable` where one of them cannot be used.
    """
    address = os.fspath(store)
    if "://" not in address:
        address = "sqlite:///" + os.path.abspath(address).replace("%", "%25")
    url = url_of(address)
    file = str(url.database) if url.drivername == "sqlite" else None
    key = None if key_file is None else Path(os.path.abspath(key_file))
    own = () if file is None else tuple(Path(os.path.realpath(file) + side) for side in _SIDES)
    opened = Store.open(address)
    try:
        opened.migrate()
        service = Service.open(
            store=opened,
            policy=None if policy is None else Path(os.path.abspath(policy)),
            workspace=None if workspace is None else Path(os.path.realpath(workspace)),
            private=own if key is None else (*own, Path(os.path.realpath(key))),
            vault=_vault(opened, key),
        )
    except BaseException:
        opened.close()
        raise
    service.notifier.start()
    return Embedded(service, opened)


def _vault(store: Store, file: Path | None) -> Vault:
    def ring() -> KeyRing:
        return keys.from_file(file) if file is not None else keys.from_environment(VARIABLE, os.environ)

    if file is None and not os.environ.get(VARIABLE):
        return Vault(store, None)
    return Vault(store, ring(), ring)
