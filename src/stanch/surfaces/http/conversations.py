"""Conversations with agents that Stanch runs: what is said to one, what was said, the turns that came of it.

Settles the routes, and how long an answer may be waited for. Does not settle what a turn does (`app.agents`), nor how
one is followed as it goes (`live`).
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

import anyio
from fastapi import Query, Request
from fastapi.responses import JSONResponse
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from stanch.app.agents import LONGEST_PROMPT
from stanch.app.attaching import MOST_ATTACHED
from stanch.app.service import Service
from stanch.runtime.live import Happening, Kind
from stanch.surfaces.http.access import SURFACE, Asked, By, Served
from stanch.surfaces.http.bodies import Body
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown import BrokenShown, PageShown
from stanch.surfaces.http.shown_calls import CallShown, call_shown
from stanch.surfaces.http.shown_messages import AgentTurnShown, MessageShown, message_or_broken, turn_shown
from stanch.values.fault import StoreUnreadable
from stanch.values.turn import TurnRecord, TurnState

ROUTER = guarded("/api", "conversations")
LONGEST_WAIT = 600
LOOK_SECONDS = 1.0
"""How long the end of a turn may go unheard that another node brought about, and the end of this server."""
LAST = (1 << 63) - 1

Wait = Annotated[
    int,
    Query(ge=0, le=LONGEST_WAIT, description="Answer once the turn has ended, after so many seconds at the latest."),
]
AfterSeq = Annotated[int, Query(ge=0, le=LAST, description="List what came behind this message.")]


class MessageBody(Body):
    """What a person says to an agent."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_PROMPT)]
    mentions: bool = Field(
        default=False,
        description="Whether a word with `@` in front mentions a file, whose text goes along. Where one of the files "
        "may not go, nothing is said.",
    )
    attachments: list[Annotated[str, Field(min_length=1, max_length=1_024)]] = Field(
        default=[],
        max_length=MOST_ATTACHED,
        description="Paths of stored pictures and small texts that go with it, if the session's model may have them.",
    )


@ROUTER.post("/sessions/{session_id}/messages", status_code=202, responses=problems(404, 409, *BODY))
async def send_message(  # noqa: PLR0917 - called by name
    request: Request, session_id: str, body: MessageBody, service: Served, asked: Asked, wait: Wait = 0
) -> AgentTurnShown:
    """Say something to a session's agent: a turn begins, which goes on by itself until the agent has answered."""
    by = asked.through(SURFACE)
    attaching = partial(service.attaching.parts, session_id, body.attachments, whose=asked.principal, by=by)
    attached = await run_in_threadpool(attaching) if body.attachments else ()
    turn = await run_in_threadpool(
        service.agents.begin, session_id, body.text, by=by, mentions=body.mentions, attached=attached
    )
    turn = await _ended(request, service, turn, wait) if wait else turn
    return turn_shown(turn, await run_in_threadpool(service.projecting.records))


@ROUTER.get(
    "/sessions/{session_id}/messages",
    response_model=PageShown[MessageShown | BrokenShown],
    responses=problems(404),
)
def list_messages(
    session_id: str, service: Served, after_seq: AfterSeq = 0, limit: Limit = 50, cursor: Cursor = None
) -> Any:
    """List the messages of a session, oldest first."""
    page = service.messages.list(session_id, after_seq=after_seq, limit=limit, cursor=cursor)
    # WHY as it is: a message is shown as it is kept, whatever a model has put into its tables.
    items = [message_or_broken(one) for one in page.items]
    return JSONResponse({"items": items, "total": page.total, "next": page.next})


@ROUTER.get("/sessions/{session_id}/turns", responses=problems(404))
def list_turns(
    session_id: str, service: Served, limit: Limit = 50, cursor: Cursor = None, state: TurnState | None = None
) -> PageShown[AgentTurnShown | BrokenShown]:
    """List the turns in which the session's agent answered, newest first."""
    service.sessions.get(session_id)
    page = service.turn_log.list(session_id, state=state, limit=limit, cursor=cursor)
    return page_shown(page, partial(turn_shown, told=service.projecting.records()))


@ROUTER.get("/turns/{turn_id}", responses=problems(404))
def read_turn(turn_id: str, service: Served) -> AgentTurnShown:
    """Read a turn: where it stands, and why it did not come to its end."""
    return turn_shown(service.turn_log.get(turn_id), service.projecting.records())


@ROUTER.get("/turns/{turn_id}/refused", responses=problems(404))
def list_refused(turn_id: str, service: Served) -> list[CallShown]:
    """List the calls of a turn that were refused, those of subagents too, oldest first."""
    told = service.projecting.records()
    return [call_shown(call, told) for call in service.agents.refused(turn_id)]


@ROUTER.post("/turns/{turn_id}/stop", responses=problems(404, 409))
def stop_turn(turn_id: str, service: Served, by: By) -> AgentTurnShown:
    """Stop a turn, whichever node runs it. What it waits for is taken back."""
    return turn_shown(service.agents.stop(turn_id, by=by), service.projecting.records())


async def _ended(request: Request, service: Service, turn: TurnRecord, seconds: int) -> TurnRecord:
    """The turn once it has ended, or as it is when the time is up, the server stops or the asker goes.

    WHY not in a thread: there are only so many, and those who answer what the turn waits for need one, too.
    """
    end = time.monotonic() + seconds
    while True:
        async with service.agents.happenings.watch(turn.session_id) as happenings:
            with suppress(StoreUnreadable):  # it has begun all the same, and that has to be told
                turn = await run_in_threadpool(service.turn_log.get, turn.id)
            left = end - time.monotonic()
            over = service.events.closed or request.app.state.stopping() or await request.is_disconnected()
            if turn.state is not TurnState.RUNNING or left <= 0 or over:
                return turn
            with anyio.move_on_after(min(left, LOOK_SECONDS)):
                await _turned(happenings, turn.id)


async def _turned(happenings: AsyncIterator[Happening], turn_id: str) -> None:
    """Returns once the turn is told to have moved."""
    async for happening in happenings:
        if happening.kind is Kind.TURN and happening.data.get("id") == turn_id:
            return
