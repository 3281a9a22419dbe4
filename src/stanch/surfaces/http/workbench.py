"""`/api/sessions/{session_id}/workbench`: what lies where a chat's code runs, for people; what its model puts there.

Settles the routes. Does not settle what may come into a workbench (`content.workbench`), nor what it remembers
(`app.workbenches`). No model may use any of these but the one that fills it.
"""

from __future__ import annotations

import os
from typing import Annotated, Any

from fastapi import Path, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from stanch.app.owning import own_session
from stanch.app.service import Service
from stanch.app.workbench_gates import FetchGate, Filling
from stanch.content.access import item_path
from stanch.content.streams import Stream
from stanch.content.workbench import Filled, FillWorkbench, entry_path, fill_workbench
from stanch.content.workbench_disk import chunks_of
from stanch.surfaces.attachment import attachment
from stanch.surfaces.http.access import SURFACE, Asked, By, Served
from stanch.surfaces.http.bodies import Body
from stanch.surfaces.http.content_route import Asks, ContentRoute, as_json, serves
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.problems import Problem
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown import Shown
from stanch.values.fault import NotFound

ROUTER = guarded("/api/sessions/{session_id}/workbench", "workbench")
FILLING = guarded("/api/sessions/{session_id}/workbench", "workbench", ContentRoute)
MOST_SHOWN = 2_000
BYTES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}}
EntryPath = Annotated[str, Path(min_length=1, max_length=4_096, description="An entry, such as out/plan.md.")]


class FillBody(Body):
    """Which file is copied."""

    path: Annotated[str, Field(min_length=1, max_length=1_024)]
    version: Annotated[int | None, Field(ge=1, le=1 << 53)] = None


class EntryShown(Shown):
    """An entry of a workbench. `tainted`: nobody can say what it carries."""

    path: str
    kind: str
    size: int
    tainted: bool


class WorkbenchShown(Shown):
    """What lies in a workbench, and what it remembers: names alone.

    While it is `tainted`, nothing that code prints goes to the model. `brought` are the stored items that brought that
    in, `secrets` the names of all secrets that ever came near it, `places` and `items` what it was filled from.
    `outputs` are the calls whose outputs were withheld. `entries` are at most 2,000 of the `total`.
    """

    session_id: str
    entries: list[EntryShown]
    total: int
    tainted: bool
    brought: list[str]
    secrets: list[str]
    places: list[str]
    items: list[str]
    outputs: list[str]


class OutputShown(Shown):
    """What a run printed, without secrets."""

    call_id: str
    text: str


@ROUTER.get("", responses=problems(404))
def show(session_id: str, service: Served) -> WorkbenchShown:
    """Read what lies in a session's workbench, and what it remembers."""
    service.sessions.get(session_id)
    memory, registry, entries = service.workbenches.look(session_id)
    shown = [
        EntryShown(
            path=os.fsencode(path).decode("utf-8", "backslashreplace"),
            kind=mark.kind.value,
            size=mark.size,
            tainted=memory.everything or memory.running or path in memory.tainted,
        )
        for path, mark in sorted(entries.items())[:MOST_SHOWN]
    ]
    return WorkbenchShown(
        session_id=session_id,
        entries=shown,
        total=len(entries),
        tainted=memory.everything or memory.running or not memory.tainted.isdisjoint(entries),
        brought=sorted(memory.brought),
        secrets=sorted({entry.name for entry in registry.entries}),
        places=sorted(memory.places),
        items=sorted(memory.items),
        outputs=list(service.workbenches.outputs(session_id).calls()),
    )


@ROUTER.delete("", status_code=204, responses=problems(404, 409))
def clear(session_id: str, service: Served, by: By) -> Response:
    """Remove everything in a workbench, and forget what it remembers."""
    service.sessions.get(session_id)
    service.workbenches.clear(session_id, by=by)
    return Response(status_code=204)


@ROUTER.get("/files/{path:path}", response_class=StreamingResponse, responses={**problems(404), **BYTES})
def read_entry(session_id: str, path: EntryPath, service: Served) -> StreamingResponse:
    """Download a file of a workbench, as it is."""
    service.sessions.get(session_id)
    file = service.workbenches.directory(session_id).open(entry_path(path))
    name = path.rpartition("/")[2]
    return attachment(Stream(chunks_of(file), name), name, "application/octet-stream")


@ROUTER.delete("/files/{path:path}", status_code=204, responses=problems(404, 409))
def remove_entry(session_id: str, path: EntryPath, service: Served, by: By) -> Response:
    """Remove an entry of a workbench; of a folder, all that lies in it."""
    service.sessions.get(session_id)
    with service.workbenches.held(session_id, by=by, patience=0.0) as bench:
        if not bench.directory.remove(entry_path(path), tree=True):
            raise NotFound("workbench entry", path)
        bench.look()
    return Response(status_code=204)


@ROUTER.get("/outputs/{call_id}", responses=problems(404))
def read_output(session_id: str, call_id: str, service: Served) -> OutputShown:
    """Read what a run printed that was withheld from the model."""
    service.sessions.get(session_id)
    return OutputShown(call_id=call_id, text=service.workbenches.outputs(session_id).read(call_id))


@FILLING.post("/files", response_model=Filled, responses=problems(404, 409, *BODY))
@serves(fill_workbench)
def fill(session_id: str, body: FillBody, service: Served, caller: Asked, asks: Asks) -> Any:
    """Copy a stored file into the workbench of the session, as its model."""
    if not caller.principal.is_copilot:
        raise Problem(403, "forbidden", "a workbench is filled by the model of its session")
    own_session(service, caller, session_id)
    path = item_path(body.path)
    with service.workbenches.held(session_id, by=caller.through(SURFACE)) as bench:
        filling = Filling(bench, FetchGate(bench, _projectors(service), path))
        return as_json(asks(fill_workbench, FillWorkbench(path=body.path, version=body.version), workbench=filling))


def _projectors(service: Service) -> Any:
    return service.content.secrets.projector
