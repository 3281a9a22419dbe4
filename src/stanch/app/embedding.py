"""Stanch inside another program: a policy, a store, and calls that are run once a person has approved them.

Settles the small face that a library's user has of the service. Does not settle any of its parts (`app.service`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from stanch.app.approving import Edit
from stanch.app.judging import Judge
from stanch.app.organization import Organization
from stanch.app.organization_opening import organization as organized
from stanch.app.running import Execute, Ran, Result
from stanch.app.sealing_keys import VARIABLE
from stanch.app.service import Service
from stanch.app.session_policies import PolicyFor
from stanch.app.vault import Vault
from stanch.host import keys
from stanch.judge.question import Facts
from stanch.policy.policies import Hook, Policy
from stanch.secrets.sealing import KeyRing
from stanch.storage.engine import url_of
from stanch.storage.store import Store
from stanch.values.approval import ApprovalRecord, CallRecord
from stanch.values.call import Signal
from stanch.values.context import RunContext
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind, Source
from stanch.values.records import Actor, Broken

SURFACE = "library"
_SIDES = ("", "-wal", "-shm", "-journal")


class Embedded:
    """A policy and a store, opened by `stanch.embed`. Safe to use from any thread; `service` is all that it can do.

    What it opened it closes: on `close`, or at the end of a `with` block.
    """

    def __init__(self, service: Service, store: Store, made: Organization | None = None) -> None:
        """`made` is an organization that was begun for this alone."""
        self.service, self._store, self._made = service, store, made

    def session(
        self,
        agent: str,
        *,
        source: Source = Source.API,
        on_behalf_of: str = "library",
        context: RunContext | None = None,
        approver: bool = True,
        session_id: str | None = None,
        parent: str | None = None,
        skills: Sequence[str] = (),
        narrowing: Sequence[Mapping[str, Any]] = (),
        policy: Policy | None = None,
    ) -> str:
        """The id of a new session. Without an `approver`, whatever would be asked is rejected at once.

        Without a `context` it has the policy's default for its agent, else for its source. `parent` is the session
        whose subagent works in it. `skills` are active from the start, `narrowing` are rows that deny or ask, and
        `policy` is asked about each of its calls, and of its subagents'.
        """
        given: dict[str, Any] = {} if context is None else {"context": context}
        made = self.service.sessions.create(
            agent_id=agent,
            source=source,
            principal=Principal(PrincipalKind.DELEGATED, on_behalf_of, COPILOT_SERVICE),
            session_id=session_id,
            parent_id=parent,
            approver=approver,
            skills=skills,
            narrowing=narrowing,
            policy=policy,
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

    def judge(self, session: str, *, facts: Callable[[], Facts] | None = None, signal: Signal | None = None) -> Judge:
        """Who judges probes for the session, and the sessions it stands below, as they are now: nobody is asked.

        `facts` are read anew for each judgment, `signal` ends with the run. Raises `NotFound`, and `Conflict` where the
        session has ended.
        """
        return self.service.judges.of(session, facts=facts, signal=signal)

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
        if self._made is not None:
            self._made.close()

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
    organization: Organization | Callable[[], Any] | str | None = None,
    policy_for: PolicyFor | None = None,
    hooks: Sequence[Hook | Policy] = (),
) -> Embedded:
    """Opens a policy file, if one is named, and a store: the path of a SQLite file, or a `postgresql://` address.

    The store is made, or brought up to date, if need be; several programs may have it open. `key_file` holds the keys
    that seal its vault, and is made with a new one, if need be; without it they are those of `$STANCH_KEY`, and where
    that is not set either, no secret can be set. `organization` is one whose rules are asked besides the policy's: what
    `organization_opening.organization` takes. No agent's call may touch these files. `policy_for`
    gives the policy of a session, from its record, or None; it is called whenever it is asked, for its subagents too.
    `hooks` screen every call as it is made. Needs
    `pip install 'stanch[server]'`. Raises `BadInput` and `StoreUnreadable` where one of them cannot be used.
    """
    address = os.fspath(store)
    if "://" not in address:
        address = "sqlite:///" + os.path.abspath(address).replace("%", "%25")
    url = url_of(address)
    file = str(url.database) if url.drivername == "sqlite" else None
    key = None if key_file is None else Path(os.path.abspath(key_file))
    own = () if file is None else tuple(Path(os.path.realpath(file) + side) for side in _SIDES)
    asked = None if organization is None else organized(organization)
    made = None if isinstance(organization, Organization) else asked
    opened = Store.open(address)
    try:
        opened.migrate()
        service = Service.open(
            store=opened,
            policy=None if policy is None else Path(os.path.abspath(policy)),
            workspace=None if workspace is None else Path(os.path.realpath(workspace)),
            private=own if key is None else (*own, Path(os.path.realpath(key))),
            vault=_vault(opened, key),
            organizations=() if asked is None else (asked,),
        )
    except BaseException:
        opened.close()
        raise
    service.policies.policy_for = policy_for
    service.policies.hooks = tuple(hook if isinstance(hook, Hook) else Hook(hook) for hook in hooks)
    service.notifier.start()
    return Embedded(service, opened, made)


def _vault(store: Store, file: Path | None) -> Vault:
    def ring() -> KeyRing:
        return keys.from_file(file) if file is not None else keys.from_environment(VARIABLE, os.environ)

    if file is None and not os.environ.get(VARIABLE):
        return Vault(store, None)
    return Vault(store, ring(), ring)
