"""Sessions, from their making to their end, and the context that each starts with.

Settles where a new session's context comes from, and that what it is given can be used. Does not settle what its calls
are answered (`app.asking`) nor how long a turn keeps its context (`app.turns`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from stanch.app.contexts import Contexts
from stanch.app.engine import UNSET, _Unset
from stanch.app.further import known_skills, rows_of
from stanch.app.live import Live
from stanch.app.permissions import problem_with
from stanch.app.session_policies import SessionPolicies
from stanch.app.turns import Turns
from stanch.gate.context import ContextSources, context_for
from stanch.policy.model_names import why_never
from stanch.policy.policies import Policy
from stanch.storage.store import Store
from stanch.values.context import RunContext
from stanch.values.fault import BadFields, BrokenRow, Conflict, quoted
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind, Source
from stanch.values.narrowing import Narrowing
from stanch.values.records import Actor, Broken, Page, SessionRecord

Given = RunContext | _Unset | None
"""A context that may be left out, where None means that there shall be none."""


def hands_of(principal: Principal) -> Principal:
    """The principal of the sessions that this one opens: a model acts in them, on its behalf."""
    if principal.kind in (PrincipalKind.DELEGATED, PrincipalKind.ORGANIZATION_DELEGATED):
        return principal
    return Principal(PrincipalKind.DELEGATED, principal.id, COPILOT_SERVICE)


def acting(principal: Principal) -> Principal:
    """The same principal, if it is one that acts for somebody, as those of sessions do. Raises `BadFields`."""
    problem = problem_with(principal)
    if problem is None and hands_of(principal) != principal:
        problem = ("kind", "must be 'delegated' or 'organization_delegated': an agent acts for somebody")
    if problem is not None:
        field, message = problem
        raise BadFields((f"principal.{field}", f"'{field}' {message}"))
    return principal


def naming(model: str | None) -> str | None:
    """The same name of a model, `provider/model` or a bare one, None for none. Raises `BadFields` for any other text.

    WHY bare ones too: an agent that Stanch does not run may know no other name of its model.
    """
    problem = None if model is None else why_never(model)
    if problem is not None:
        raise BadFields(("model", f"'model' names no model, as provider/model does: {problem}"))
    return model


class Sessions:
    """What is done with sessions."""

    def __init__(
        self, store: Store, live: Live, contexts: Contexts, turns: Turns, policies: SessionPolicies | None = None
    ) -> None:
        self._store, self._live, self._contexts, self._turns = store, live, contexts, turns
        self._policies = policies if policies is not None else SessionPolicies()

    def create(
        self,
        *,
        agent_id: str,
        source: Source,
        principal: Principal,
        session_id: str | None = None,
        parent_id: str | None = None,
        model: str | None = None,
        context: Given = UNSET,
        approver: bool | None = None,
        skills: Sequence[str] = (),
        narrowing: Sequence[Mapping[str, Any]] = (),
        policy: Policy | None = None,
        by: Actor,
    ) -> SessionRecord:
        """The new session. Its context: the one given, if only as None; else its agent's default, else its source's.

        A subagent's session without a group has its parent's, unless it was given a context. `approver` says whether
        somebody answers what it asks; None stands for its parent's word, else yes. `skills` are active from the start,
        `narrowing` are rows that deny or ask. `policy` is a program's own, asked in this process about each call.
        Raises `BadFields` for a context that cannot be used, a skill that there is not and a row that is none,
        `Conflict` where the id is taken or the parent has ended, and `NotFound` for the parent.
        """
        engine = self._live.engine
        active = known_skills(engine.policy, skills)
        rows = tuple(rows_of(narrowing, engine.patterns))
        given = not isinstance(context, _Unset)
        if not isinstance(context, _Unset):
            found = self._contexts.usable(context, "run_context")
        else:
            found = self._default(agent_id, source)
        if parent_id is not None:
            parent = self.get(parent_id)
            found = found if given else _in_group_of(found, self._contexts.now(parent))
            approver = parent.approver if approver is None else approver
        made = self._made(
            agent_id=agent_id,
            source=source,
            principal=principal,
            session_id=session_id,
            parent_id=parent_id,
            model=model,
            run_context=found,
            context_given=given,
            approver=approver is not False,
            skills=active,
            narrowing=Narrowing(rows, len(rows) + 1),
            has_policy=policy is not None,
            by=by,
        )
        if policy is not None:
            self._policies.keep(made.id, policy)
        return made

    def open_on(
        self,
        project_id: str,
        *,
        ticket_id: str | None,
        agent_id: str,
        source: Source,
        principal: Principal,
        session_id: str | None = None,
        model: str | None = None,
        approver: bool = True,
        by: Actor,
    ) -> SessionRecord:
        """The new session of a project, or of a ticket of it, on whose contexts it stands. Raises `NotFound`."""
        project = self._store.get_project(project_id)
        ticket = None if ticket_id is None else self._store.get_ticket(project_id, ticket_id).run_context
        return self._made(
            agent_id=agent_id,
            source=source,
            principal=principal,
            session_id=session_id,
            project_id=project_id,
            ticket_id=ticket_id,
            model=model,
            run_context=self._contexts.of_project(project, ticket),
            approver=approver,
            by=by,
        )

    def open_for_job(
        self,
        job_id: str,
        *,
        principal: Principal,
        session_id: str | None = None,
        model: str | None = None,
        approver: bool = True,
        by: Actor,
    ) -> SessionRecord:
        """The new session of a scheduled job: its agent, its context if it has one, and the source `cron`."""
        job = self._store.get_job(job_id)
        return self._made(
            agent_id=job.agent_id,
            source=Source.CRON,
            principal=principal,
            session_id=session_id,
            job_id=job_id,
            model=model,
            run_context=job.run_context or self._default(job.agent_id, Source.CRON),
            approver=approver,
            by=by,
        )

    def get(self, session_id: str) -> SessionRecord:
        """The session. Raises `NotFound`, and `BrokenRow`."""
        return self._store.get_session(session_id)

    def list(self, **filters: Any) -> Page[SessionRecord | Broken]:
        """A page of sessions; takes what the store's `list_sessions` takes."""
        return self._store.list_sessions(**filters)

    def now(self, session: SessionRecord) -> SessionRecord:
        """The session with the context that it has from its next turn on; as it is stored where that cannot be read."""
        try:
            context = self._contexts.now(session)
        except BrokenRow:
            return session
        return session if context == session.run_context else replace(session, run_context=context)

    def set_context(self, session_id: str, context: RunContext | None, *, by: Actor) -> SessionRecord:
        """The session with this context, or with none, from its next turn on. Raises `BadFields` and `Conflict`."""
        return self._store.set_run_context(session_id, self._contexts.usable(context), by=by)

    def set_model(self, session_id: str, model: str | None, *, by: Actor) -> SessionRecord:
        """The session with this model from now on.

        Raises `NotFound`, `BadFields` for what names no model, and `Conflict` where the session has ended.
        """
        return self._store.set_model(session_id, naming(model), by=by)

    def set_skills(
        self, session_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = (), by: Actor
    ) -> SessionRecord:
        """The session with these skills active and those no more, from its next call on.

        Raises `NotFound`, `BadFields` for a skill that there is not, and `Conflict` for one to be removed that is not
        active, and where the session has ended.
        """
        known = known_skills(self._live.engine.policy, add)
        return self._store.set_skills(session_id, add=known, remove=remove, by=by)

    def narrow(
        self,
        session_id: str,
        *,
        add: Sequence[Mapping[str, Any]] = (),
        remove: Sequence[int] = (),
        by: Actor,
    ) -> SessionRecord:
        """The session with further rows, and without those of these numbers, from its next call on.

        Raises `NotFound`, `BadFields` for a row that is none, and `Conflict` for a row that there is not or that is
        frozen, and where the session has ended.
        """
        rows = tuple(rows_of(add, self._live.engine.patterns))
        return self._store.narrow(session_id, add=rows, remove=remove, by=by)

    def replace_policy(self, session_id: str, policy: Policy) -> None:
        """Has another policy speak for a session that was given one, and for its subagents. Raises `NotFound`.

        Raises `Conflict` where it was given none, or has ended.
        """
        record = self.get(session_id)
        if record.ended_at is not None or not record.has_policy:
            raise Conflict(f"the session {quoted(session_id)} has ended, or was never given a policy")
        self._policies.keep(session_id, policy)

    def end(self, session_id: str, *, by: Actor) -> SessionRecord:
        """The session, ended, with its turn. Raises `NotFound`, and `Conflict` where it has ended before."""
        ended = self._store.end_session(session_id, by=by)
        self._turns.forget(session_id)
        self._policies.forget(session_id)
        return ended

    def _default(self, agent: str, source: Source) -> RunContext | None:
        """The default for the agent, else for the source. Raises `Conflict` where the policy file cannot say it."""
        policy = self._live.policy
        if policy.broken is not None:
            # WHY: what is left out now would be left out for as long as the session lasts.
            raise Conflict(
                f"the policy file has a mistake at {policy.broken}, so that nobody can tell which context is the "
                "default; mend it, or give a context"
            )
        return context_for(
            ContextSources((), policy.agent_defaults.get(agent), policy.source_defaults.get(source.value))
        )

    def _made(self, *, model: str | None, **fields: Any) -> SessionRecord:
        return self._store.create_session(model=naming(model), **fields)


def _in_group_of(own: RunContext | None, parents: RunContext | None) -> RunContext | None:
    """The context of a subagent: its own, in its parent's group where it names none."""
    if parents is None or parents.security_group is None:
        return own
    if own is not None and own.security_group is not None:
        return own
    return replace(own or RunContext(), security_group=parents.security_group)
