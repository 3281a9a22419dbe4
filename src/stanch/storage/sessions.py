"""Sessions in the store.

Settles how a session is kept from its start to its end. Does not settle where its context comes from
(`gate.context`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement

from stanch.storage.nouns import JOB, PROJECT, SESSION, TICKET
from stanch.storage.pages import page_of
from stanch.storage.rows import context_places, principal_columns, written_context, written_moment
from stanch.storage.schema import SESSIONS, TICKETS
from stanch.storage.session_columns import written_narrowing, written_skills
from stanch.storage.transactions import Change, Transactions, find
from stanch.storage.turns import stop_turns
from stanch.storage.waiting_end import end_waiting
from stanch.values.context import RunContext
from stanch.values.fault import BadInput, Conflict, quoted
from stanch.values.identity import Principal, Source
from stanch.values.narrowing import NONE, Narrowing, Row
from stanch.values.records import Actor, Broken, Page, SessionRecord


class Sessions(Transactions):
    """The part of a store that keeps sessions."""

    def create_session(
        self,
        *,
        agent_id: str,
        source: Source,
        principal: Principal,
        session_id: str | None = None,
        parent_id: str | None = None,
        project_id: str | None = None,
        ticket_id: str | None = None,
        job_id: str | None = None,
        model: str | None = None,
        run_context: RunContext | None = None,
        context_given: bool = False,
        approver: bool = True,
        skills: Sequence[str] = (),
        narrowing: Narrowing = NONE,
        has_policy: bool = False,
        by: Actor,
    ) -> SessionRecord:
        """The new session, under an id of the store's own where none is given.

        Raises `Conflict` where the id is taken or the parent has ended, `NotFound` for a parent, project, ticket or job
        that does not exist (a ticket is looked for in the project), and `BadInput` for a ticket without a project.
        """
        if ticket_id is not None and project_id is None:
            raise BadInput("a session with a ticket has to name the ticket's project")
        row: dict[str, Any] = {
            "id": secrets.token_hex(12) if session_id is None else session_id,
            "agent_id": agent_id,
            "source": source.value,
            **principal_columns(principal),
            "parent_id": parent_id,
            "project_id": project_id,
            "ticket_id": ticket_id,
            "job_id": job_id,
            "model": model,
            "run_context": written_context(run_context),
            "context_given": int(context_given),
            "approver": int(approver),
            "skills": written_skills(skills),
            "narrowing": written_narrowing(narrowing),
            "has_policy": int(has_policy),
            "created_at": written_moment(self._clock()),
            "ended_at": None,
        }
        record = SESSION.written(row)
        with self._changing(by, "session.create", record.id) as change:
            change.vacant(SESSION, record.id)
            if parent_id is not None:
                _going_on(change, parent_id)
            if project_id is not None:
                change.find(PROJECT, project_id)
            if ticket_id is not None:
                change.find(TICKET, ticket_id, TICKETS.c.project_id == project_id)
            if job_id is not None:
                change.find(JOB, job_id)
            change.add(SESSION, row)
            change.detail.update(agent=agent_id, source=source.value, parent=parent_id, **context_places(run_context))
            if skills or narrowing.rows or has_policy:
                change.detail.update(skills=list(skills), rows=len(narrowing.rows), policy=has_policy)
        return record

    def get_session(self, session_id: str) -> SessionRecord:
        """The session. Raises `NotFound`, and `BrokenRow` where it cannot be read."""
        with self._reading() as connection:
            return SESSION.readable(find(connection, SESSION, session_id))

    def list_sessions(
        self,
        *,
        agent_id: str | None = None,
        source: Source | None = None,
        parent_id: str | None = None,
        project_id: str | None = None,
        ticket_id: str | None = None,
        job_id: str | None = None,
        ended: bool | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[SessionRecord | Broken]:
        """A page of the sessions that fit every filter given, newest first. Raises `BadInput` as `list_groups` does."""
        filters = {
            SESSIONS.c.agent_id: agent_id,
            SESSIONS.c.source: None if source is None else source.value,
            SESSIONS.c.parent_id: parent_id,
            SESSIONS.c.project_id: project_id,
            SESSIONS.c.ticket_id: ticket_id,
            SESSIONS.c.job_id: job_id,
        }
        conditions: list[ColumnElement[bool]] = []
        if ended is not None:
            conditions.append(SESSIONS.c.ended_at.is_not(None) if ended else SESSIONS.c.ended_at.is_(None))
        order = (SESSIONS.c.created_at, SESSIONS.c.id)
        with self._reading() as connection:
            return page_of(
                connection,
                SESSION,
                order,
                limit=limit,
                cursor=cursor,
                filters=filters,
                conditions=conditions,
                descending=True,
            )

    def set_run_context(self, session_id: str, run_context: RunContext | None, *, by: Actor) -> SessionRecord:
        """The session with this context, or with none. Raises `NotFound`, and `Conflict` where it has ended.

        The context counts as given from then on. This mends one that cannot be read.
        """
        with self._changing(by, "session.set_run_context", session_id) as change:
            _going_on(change, session_id)
            change.detail.update(context_places(run_context))
            columns = {"run_context": written_context(run_context), "context_given": 1}
            return change.replace(SESSION, session_id, columns)

    def set_model(self, session_id: str, model: str | None, *, by: Actor) -> SessionRecord:
        """The session with this model. Raises `NotFound`, and `Conflict` where it has ended."""
        with self._changing(by, "session.set_model", session_id) as change:
            _going_on(change, session_id)
            change.detail["model"] = model
            return change.replace(SESSION, session_id, {"model": model})

    def set_skills(self, session_id: str, *, add: Sequence[str], remove: Sequence[str], by: Actor) -> SessionRecord:
        """The session with these skills active and those no more. Raises `NotFound`, and `Conflict` where it has ended.

        `Conflict` too for one to be removed that is not active.
        """
        with self._changing(by, "session.set_skills", session_id) as change:
            _going_on(change, session_id)
            active = SESSION.readable(change.find(SESSION, session_id)).skills
            for name in remove:
                if name not in active:
                    raise Conflict(f"the skill {quoted(name)} is not active in the session {quoted(session_id)}")
            left = tuple(dict.fromkeys((*(one for one in active if one not in remove), *add)))
            change.detail.update(add=list(add), remove=list(remove), skills=list(left))
            return change.replace(SESSION, session_id, {"skills": written_skills(left)})

    def narrow(self, session_id: str, *, add: Sequence[Row], remove: Sequence[int], by: Actor) -> SessionRecord:
        """The session with further rows, numbered as they come, and without those of these numbers.

        Raises `NotFound`, and `Conflict` where it has ended, has no such row, or where one of them is frozen.
        """
        with self._changing(by, "session.narrow", session_id) as change:
            _going_on(change, session_id)
            before = SESSION.readable(change.find(SESSION, session_id)).narrowing
            known = {row.id: row for row in before.rows}
            for number in remove:
                if number not in known:
                    raise Conflict(f"the session {quoted(session_id)} has no row {number}")
                if known[number].frozen:
                    raise Conflict(
                        f"row {number} of the session {quoted(session_id)} is frozen, and stays until it ends"
                    )
            made = tuple(replace(row, id=before.next + at) for at, row in enumerate(add))
            kept = tuple(row for row in before.rows if row.id not in remove)
            after = Narrowing((*kept, *made), before.next + len(made))
            change.detail.update(add=[_named(row) for row in made], remove=list(remove))
            return change.replace(SESSION, session_id, {"narrowing": written_narrowing(after)})

    def end_session(self, session_id: str, *, by: Actor) -> SessionRecord:
        """The session, ended, with whatever of it waits for a person, its bypasses, and its turn.

        Raises `NotFound`, and `Conflict` where it has ended before.
        """
        with self._changing(by, "session.end", session_id) as change:
            _going_on(change, session_id)
            # WHY first: whoever adds messages holds the session before its turn.
            ended = change.replace(SESSION, session_id, {"ended_at": written_moment(change.at)})
            change.detail.update(end_waiting(change, session_id, by), turns=stop_turns(change, session_id))
            return ended


def _named(row: Row) -> str:
    """A row as an audit row says it."""
    on = "" if row.path is None else f" on {row.path}"
    return f"{row.id}: {row.action.value} {row.tool}{on}"


def _going_on(change: Change, session_id: str) -> None:
    if change.find(SESSION, session_id)["ended_at"] is not None:
        raise Conflict(f"the session {quoted(session_id)} has ended")
