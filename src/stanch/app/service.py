"""The service that every door of a running server calls: one store, one policy file, one engine at a time.

Settles how a service is opened and closed, and what its parts share. Does not settle what any answer is (`app.engine`)
nor who may ask for what (`app.permissions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from stanch.app.agent_gate import AgentGate
from stanch.app.agents import Agents
from stanch.app.approving import Approving
from stanch.app.asking import Answered, Asking, Described
from stanch.app.attaching import Attaching
from stanch.app.audit_log import AuditLog
from stanch.app.bypassing import Bypasses
from stanch.app.calls import Calls
from stanch.app.consolidating import Consolidating
from stanch.app.content import Content
from stanch.app.contexts import Contexts
from stanch.app.engine import Audit
from stanch.app.events import Events
from stanch.app.explaining import contests
from stanch.app.inbox import Inbox
from stanch.app.job_runs import JobRuns
from stanch.app.jobs import Jobs
from stanch.app.judges import Judges
from stanch.app.live import Live
from stanch.app.messages import Messages
from stanch.app.node import Node
from stanch.app.notifying import Notifier
from stanch.app.organization import Organization
from stanch.app.organized import Organized, noting
from stanch.app.overview import Overview
from stanch.app.performing import Performing
from stanch.app.plans import Plans
from stanch.app.policy_groups import PolicyGroups
from stanch.app.projecting import Projecting
from stanch.app.projects import Projects
from stanch.app.proxying import Proxy
from stanch.app.receipts import Receipts
from stanch.app.redacting import Redaction
from stanch.app.running import Runner
from stanch.app.scheduling import Scheduler
from stanch.app.session_policies import SessionPolicies
from stanch.app.sessions import Sessions
from stanch.app.stored_flips import StoredFlips
from stanch.app.switching import Switching
from stanch.app.tier_tree import TierTree
from stanch.app.tokens import Tokens
from stanch.app.tools import Tools
from stanch.app.turn_log import TurnLog
from stanch.app.turns import Turn, Turns
from stanch.app.vault import Vault
from stanch.app.workbench_clearing import Clearing
from stanch.app.workbenches import Workbenches
from stanch.policy.document import Policy
from stanch.policy.losers import Contest
from stanch.storage.blobs import Blobs
from stanch.storage.store import Store
from stanch.tiers.tier import TiersBroken
from stanch.values.fault import Conflict, StoreUnreadable
from stanch.values.records import Readiness


class Service:
    """What a server's doors call. Safe to use from any thread; made by `Service.open`.

    Each noun has its part. `runner` runs calls in this process, `agents` drives agents in it, `node` is the process,
    and `notifier` tells others of new requests once it is started, as `clearing` then removes old workbenches.
    `organizations` are those whose rules are asked. `changes` says what would change an answer. `projecting` takes the
    vault's values out of what leaves. `tools` run outside of a conversation, and take a program's own.
    """

    def __init__(
        self,
        store: Store,
        live: Live,
        node: Node,
        clock: Callable[[], datetime] | None = None,
        vault: Vault | None = None,
        *,
        blobs: Blobs | None = None,
        workbenches: Path | None = None,
    ) -> None:
        self._store, self._live, self.node = store, live, node
        self.organizations = live.organized
        self.vault = vault if vault is not None else Vault(store, None)
        self.projecting = Projecting(self.vault)
        store.notes_as(self.projecting.noted)
        turns, contexts, receipts = Turns(), Contexts(store, live), Receipts(store)
        self.policies = SessionPolicies()
        self._asking = Asking(store, live, contexts, turns, self.policies)
        self.judges = Judges(self._asking)
        self.changes = StoredFlips(store, live, self._asking)
        self.turns = turns
        self.groups = PolicyGroups(store, live)
        self.sessions = Sessions(store, live, contexts, turns, self.policies)
        self.projects, self.jobs = Projects(store, contexts), Jobs(store, contexts)
        self.messages, self.turn_log = Messages(store, node.id), TurnLog(store, node.id)
        self.job_runs = JobRuns(store, node.id)
        self.tokens, self.audit = Tokens(store), AuditLog(store)
        self.bypasses = Bypasses(store, node.id, clock)
        self.approving = Approving(store, live, self._asking, self.bypasses, clock)
        self.plans = Plans(store, self.approving)
        self.calls = Calls(store, self._asking, self.approving, node.id)
        self.inbox = Inbox(store, live, clock)
        self.overview = Overview(store, live)
        self.runner = Runner(store, self.calls)
        self.consolidating = Consolidating(
            store, live, self._asking, jobs=self.jobs, messages=self.messages, holds_secret=self.projecting.changes
        )
        self.agents = Agents(
            store,
            live,
            self._asking,
            calls=self.calls,
            inbox=self.inbox,
            sessions=self.sessions,
            messages=self.messages,
            turn_log=self.turn_log,
            projecting=self.projecting,
            guard=self.consolidating.objection,
            receipts=receipts,
        )
        self.proxy = Proxy(
            store, live, asking=self._asking, contexts=contexts, sight=self.agents.sight, projecting=self.projecting
        )
        self.content = Content(
            store,
            blobs if blobs is not None else Blobs(None),
            live=live,
            asking=self._asking,
            calls=self.calls,
            sight=self.agents.sight,
            vault=self.vault,
            projecting=self.projecting,
            receipts=receipts,
        )
        self.workbenches = Workbenches(workbenches, store, self.content.seals)
        self.clearing = Clearing(self.workbenches, clock)
        self.agents.content, self.agents.workbenches = self.content, self.workbenches
        self.attaching = Attaching(self.content)
        self.tools = Tools()
        self.content.acting = Performing(
            store,
            self.content,
            calls=self.calls,
            gate=AgentGate(store, live, self._asking, self.calls),
            tools=self.tools,
            vault=self.vault,
            node=node.id,
        )
        self.switching = Switching(store, self.sessions, self.messages, self.agents.sight, self.proxy.conversation)
        self.tier_tree = TierTree(live, self.agents.sight)
        self.scheduler = Scheduler(
            jobs=self.jobs,
            job_runs=self.job_runs,
            sessions=self.sessions,
            turn_log=self.turn_log,
            agents=self.agents,
            consolidating=self.consolidating,
            clock=clock,
        )
        self.agents.on_end = self.scheduler.ended
        self.events = Events(store, self.overview.listen)
        self.notifier = Notifier(store, live, tell=self.projecting.told)

    @classmethod
    def open(
        cls,
        *,
        store: Store,
        policy: Path | None,
        workspace: Path | None,
        private: Iterable[Path] = (),
        audit: Audit | None = None,
        trust: Iterable[str] = (),
        alone: bool = False,
        clock: Callable[[], datetime] | None = None,
        vault: Vault | None = None,
        blobs: Blobs | None = None,
        data: Path | None = None,
        organizations: Iterable[Organization] = (),
        workbenches: Path | None = None,
    ) -> Service:
        """The service over a store that is opened already, and watched from now on. The store stays the caller's.

        `policy` is the policy file, None for none: then the groups of the store speak alone. It may be broken, or be
        missing: the service answers all the same, and denies what depends on it. `workspace` is where relative paths
        start where the file names no workspace; None stands for the file's folder, else the current directory.
        `private` are further places that no agent's call may read or write, such as the store's own file. `audit` takes
        every answer that is given to a call; without it none is kept. `trust` are patterns of models that are in the
        tier `trusted` where the policy file does not assign them otherwise. `alone`: no other process serves the store,
        so that whatever one left running is not running any more. `clock` says what time it is, for requests and
        bypasses. `vault` is the store's vault with its keys; None for one without keys, in which nothing can be set.
        `blobs` are the bytes of stored content; None for none, in which nothing can be kept. `data` is where a copy of
        an organization's rules outlives this process. `organizations` are asked besides the policy's, and stay the
        caller's. `workbenches` is the directory in which code of chats runs, None for none; it has to be one of the
        private places.
        Raises `BadInput` for a workspace that cannot be used at all.
        """
        organized = Organized(data, noting(store), tuple(organizations))
        live = Live(store, policy, workspace, private=private, audit=audit, trust=trust, organized=organized)
        service = cls(store, live, Node(store, alone=alone), clock, vault, blobs=blobs, workbenches=workbenches)
        service.projecting.prepare()
        try:
            service.node.start()
            service.content.clear_up(alone=alone)
        except StoreUnreadable:
            # WHY not raised: a service whose store is away answers all the same, and the node's beat goes on trying.
            service.node.go_on()
        return service

    def close(self) -> None:
        """Stops watching the store, which stays open, and the file; says that this process goes. Safe to repeat."""
        self.scheduler.stop()
        self.clearing.stop()
        self.agents.close()
        self.proxy.close()
        self.notifier.stop()
        self.events.close()
        self.node.stop()
        self._live.close()

    @property
    def policy(self) -> Policy:
        """The whole policy of the moment: the file's groups and the store's."""
        return self._live.policy

    @property
    def policy_file(self) -> Path | None:
        """The policy file; None where there is none."""
        return self._live.file

    def ready(self) -> Readiness:
        """Whether the store can be used, as of now and as the policy was last read from it."""
        readiness, unreadable = self._store.ready(), self.policy.unreadable
        return readiness if unreadable is None or not readiness.ready else Readiness(False, unreadable)

    def refresh(self) -> None:
        """Brings this node up to date with the file and the store at once, instead of within half a second."""
        self._live.refresh()

    def check(
        self,
        session: str | Described,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        cwd: str | None = None,
        trace: bool = False,
        hooks: bool = True,
    ) -> Answered:
        """The gate's answer to a call of a stored session, by its id, or of one that is described. Nothing is stored.

        `cwd` is where this one call's relative paths start, for an agent that has moved within its session. Raises
        `BadCall` for a call that cannot be read, `BadFields` for a description of no use, and of a stored session
        `NotFound`, and `Conflict` where it has ended. Without `hooks` none is asked.
        """
        if isinstance(session, Described):
            return self._asking.described(session, tool, arguments, call_id=call_id, trace=trace, hooks=hooks)
        return self._asking.stored(session, tool, arguments, call_id=call_id, cwd=cwd, trace=trace, hooks=hooks)

    def explain(
        self,
        session: str | Described,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        cwd: str | None = None,
    ) -> tuple[Answered, tuple[Contest, ...]]:
        """The answer as `check` gives it without hooks, with a trace, and for each effect the rules that were in it."""
        answered = self.check(session, tool, arguments, call_id=call_id, cwd=cwd, trace=True, hooks=False)
        return answered, contests(answered.session, answered.decision)

    def redact_history(self, messages: Any, model: str, **given: Any) -> Redaction:
        """A conversation that is given, as a model may have it; takes what `redacting.redacted` takes.

        Raises `BadInput` for what cannot be read, and `Conflict` where the policy has a mistake in its tiers.
        """
        try:
            return self._live.engine.redact_history(messages, model, **given)
        except TiersBroken as why:
            raise Conflict(str(why)) from None

    def turn(self, session_id: str) -> Turn:
        """The session's new turn, which keeps the context that is stored now. Raises what `Asking.turn` raises."""
        return self._asking.turn(session_id)

    def context_of(self, turn: Turn) -> tuple[str, str | None]:
        """Where the turn works, and what it adds to the system prompt."""
        context = self._asking.bound(turn).context
        return context.effective_working_dir(), context.extra_system_prompt()
