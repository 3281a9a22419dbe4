"""`/api/events`: what happens to calls, approvals, questions, bypasses and sessions, as server-sent events.

Settles how an event travels, and that a stream ends when the server does or when its token is revoked. Does not settle
which events there are (`app.events`).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

from fastapi import Header, Query, Request
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from stanch.app.service import Service
from stanch.surfaces.http.access import Served, admitted
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.problems import Problem
from stanch.surfaces.http.routers import guarded
from stanch.values.fault import StoreUnreadable
from stanch.values.records import AuditRecord, Broken

PATH = "/api/events"
HEARTBEAT_SECONDS = 15.0
LOOK_SECONDS = 2.0
"""How long a change may go unheard that no watch tells of."""
STOP_SECONDS = 0.25
LAST = (1 << 63) - 1

ROUTER = guarded(PATH, "events")
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One event for each change: `event` is its action, `id` its place in the log, `data` JSON.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@ROUTER.get("", response_class=EventSourceResponse, responses=_STREAM | problems())
async def stream_events(
    request: Request,
    service: Served,
    after: Annotated[int | None, Query(ge=0, le=LAST, description="Tell what came behind this event.")] = None,
    last_event_id: Annotated[int | None, Header(ge=0, le=LAST, description="As `after`, and goes before it.")] = None,
) -> EventSourceResponse:
    """Tell what happens, from now on or from behind an event that was seen, until the server or the asker goes."""
    newest = await run_in_threadpool(service.events.last)
    seen = after if last_event_id is None else last_event_id
    start = newest if seen is None else min(seen, newest)
    return EventSourceResponse(_Stream(request, service, start).events(), ping=HEARTBEAT_SECONDS, sep="\n")


class _Stream:
    """What one asker is told."""

    def __init__(self, request: Request, service: Service, after: int) -> None:
        self._request, self._service, self._after = request, service, after
        self._rung = asyncio.Event()
        self._admitted_at = time.monotonic()

    async def events(self) -> AsyncIterator[ServerSentEvent]:
        """The events. It ends where the store cannot be read, and whoever asks again misses nothing."""
        loop = asyncio.get_running_loop()

        def ring() -> None:
            with suppress(RuntimeError):  # the loop may be closed by now
                loop.call_soon_threadsafe(self._rung.set)

        forget = None
        try:
            with suppress(StoreUnreadable):
                forget = await run_in_threadpool(self._service.events.listen, ring)
            yield ServerSentEvent(comment="what happens from here on", retry=1000)
            while not self._over():
                self._rung.clear()
                rows = await run_in_threadpool(self._service.events.after, self._after)
                told = await run_in_threadpool(self._service.projecting.records)
                for row in rows:
                    said = _said(row if isinstance(row, Broken) else told.row(row))
                    self._after = int(said.id or self._after)
                    yield said
                if not rows:
                    await self._wait()
                    await run_in_threadpool(self._still_admitted)
        except (StoreUnreadable, Problem):
            return
        finally:
            if forget is not None:
                forget()

    def _over(self) -> bool:
        return self._service.events.closed or bool(self._request.app.state.stopping())

    async def _wait(self) -> None:
        """Returns once there may be something to tell, or the server stops."""
        end = time.monotonic() + LOOK_SECONDS
        while not self._rung.is_set() and not self._over() and time.monotonic() < end:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._rung.wait(), STOP_SECONDS)

    def _still_admitted(self) -> None:
        """Raises `Problem` once the token opens nothing any more."""
        if time.monotonic() - self._admitted_at > LOOK_SECONDS:
            admitted(self._request, PATH)
            self._admitted_at = time.monotonic()


def _said(row: AuditRecord | Broken) -> ServerSentEvent:
    if isinstance(row, Broken):
        data: dict[str, Any] = {"table": row.table, "problem": row.problem}
        return ServerSentEvent(json.dumps(data), event="broken", id=row.id)
    data = {
        "seq": row.seq,
        "at": row.at.isoformat(),
        "actor": row.actor,
        "surface": row.surface,
        "action": row.action,
        "subject": row.subject,
        "detail": dict(row.detail),
    }
    return ServerSentEvent(json.dumps(data), event=row.action, id=str(row.seq))
