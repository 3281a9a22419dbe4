"""`/api/sessions/{session_id}/live`: a session as it goes on, as server-sent events.

Settles how each thing that happens travels, and that whoever asks again with the last id misses no message. Does not
settle what is told, nor in which order (`surfaces.following`).
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Header, Query, Request
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from stanch.app.service import Service
from stanch.app.told_records import TellsRecords
from stanch.runtime.live import Kind
from stanch.surfaces.following import LOOK_SECONDS, Following, Told, last_seq
from stanch.surfaces.http.access import Served, admitted
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.events import HEARTBEAT_SECONDS, LAST
from stanch.surfaces.http.problems import Problem
from stanch.surfaces.http.routers import guarded
from stanch.surfaces.http.shown_messages import message_or_broken, turn_shown
from stanch.values.fault import StoreUnreadable
from stanch.values.records import Broken

PATH = "/api/sessions/{session_id}/live"
ROUTER = guarded("/api", "conversations")
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "`message`: a stored message, whose `id` is its seq. `turn`: how a turn stands. Where the turn "
        "is run by this very node also `text`: words more of a message to come; `call`: how a call stands; `question`; "
        "`note`: words for a person, such as which file is withheld; "
        "`missed`: some of these were left out, since they were not taken fast enough.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@ROUTER.get("/sessions/{session_id}/live", response_class=EventSourceResponse, responses=_STREAM | problems(404))
async def follow_session(
    request: Request,
    session_id: str,
    service: Served,
    after_seq: Annotated[int | None, Query(ge=0, le=LAST, description="Tell what came behind this message.")] = None,
    last_event_id: Annotated[
        int | None, Header(ge=0, le=LAST, description="As `after_seq`, before which it goes.")
    ] = None,
) -> EventSourceResponse:
    """Follow a session, from now on or from behind a message that was seen: first how its newest turn stands."""
    newest = await run_in_threadpool(last_seq, service, session_id)
    seen = after_seq if last_event_id is None else last_event_id
    start = newest if seen is None else min(seen, newest)
    events = _events(request, service, session_id, start)
    return EventSourceResponse(events, ping=HEARTBEAT_SECONDS, sep="\n")


async def _events(request: Request, service: Service, session_id: str, after: int) -> AsyncIterator[ServerSentEvent]:
    """The events. They end where the store cannot be read, the server stops, or the token opens nothing any more."""
    following = Following(
        service, session_id, after, lambda: service.events.closed or bool(request.app.state.stopping())
    )
    admitted_at = time.monotonic()
    yield ServerSentEvent(comment="what happens from here on", retry=1000)
    try:
        async with aclosing(following.told()) as told:
            async for one in told:
                if one is not None:
                    yield _said(one, service.projecting.records(now=False))
                elif time.monotonic() - admitted_at > LOOK_SECONDS:
                    await run_in_threadpool(admitted, request, PATH)
                    admitted_at = time.monotonic()
    except (StoreUnreadable, Problem):
        return


def _said(told: Told, tells: TellsRecords) -> ServerSentEvent:
    if told.message is not None:
        name = "broken" if isinstance(told.message, Broken) else Kind.MESSAGE.value
        return ServerSentEvent(json.dumps(message_or_broken(told.message)), event=name, id=str(told.seq))
    if told.turn is not None:
        return ServerSentEvent(turn_shown(told.turn, tells).model_dump_json(), event=Kind.TURN.value)
    data = dict(told.data or {})
    if "reason" in data:
        data["reason"] = tells.reason(data["reason"])
    return ServerSentEvent(json.dumps(data, default=dict), event=told.kind.value)
