"""`/api/sessions/{session_id}/bypasses`: a person's leave to skip ordinary asks of a session for a while.

Settles the routes. Does not settle which calls a bypass answers for (`gate.relax`).
"""

from __future__ import annotations

from stanch.app.bypassing import BypassWish
from stanch.surfaces.http.access import By, Served
from stanch.surfaces.http.calls_bodies import BypassBody
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import page_shown
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown import BrokenShown, PageShown
from stanch.surfaces.http.shown_calls import BypassShown, bypass_shown
from stanch.values.approval import BypassScope
from stanch.values.call import Category
from stanch.values.records import Page

ROUTER = guarded("/api/sessions/{session_id}/bypasses", "inbox")


@ROUTER.get("", responses=problems(404))
def list_bypasses(session_id: str, service: Served) -> PageShown[BypassShown | BrokenShown]:
    """List the bypasses of a session that hold now, on one page."""
    held = service.bypasses.list(session_id)
    return page_shown(Page(held, len(held)), bypass_shown)


@ROUTER.post("", status_code=201, responses=problems(404, 409, *BODY))
def give_bypass(session_id: str, body: BypassBody, service: Served, by: By) -> BypassShown:
    """Suspend ordinary asks of a session. Denies, and asks that only a person may answer, stand."""
    scope = None if body.scope is None else BypassScope(body.scope)
    made = service.bypasses.give(
        session_id,
        BypassWish(body.secs, scope, body.include_subagents),
        category=None if body.category is None else Category(body.category),
        server=body.mcp_server,
        by=by,
    )
    return bypass_shown(made)


@ROUTER.delete("/{bypass_id}", responses=problems(404, 409))
def end_bypass(session_id: str, bypass_id: str, service: Served, by: By) -> BypassShown:
    """End a bypass. It stays to be read in the audit log."""
    return bypass_shown(service.bypasses.end(session_id, bypass_id, by=by))
