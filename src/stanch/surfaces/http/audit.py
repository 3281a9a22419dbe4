"""`/api/audit`: who changed what, when, through which door.

Settles the routes. Does not settle which events are kept (`storage`).
"""

from __future__ import annotations

from functools import partial
from typing import Literal

from stanch.surfaces.http.access import Served
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.routers import guarded
from stanch.surfaces.http.shown import BrokenShown, PageShown
from stanch.surfaces.http.shown_log import AuditShown, ChainShown, audit_shown, chain_shown

ROUTER = guarded("/api/audit", "audit")


@ROUTER.get("")
def list_audit(  # noqa: PLR0917 - called by name
    service: Served,
    limit: Limit = 50,
    cursor: Cursor = None,
    actor: str | None = None,
    surface: str | None = None,
    action: str | None = None,
    subject: str | None = None,
    order: Literal["oldest", "newest"] = "oldest",
) -> PageShown[AuditShown | BrokenShown]:
    """List the rows that fit every filter given."""
    page = service.audit.list(
        actor=actor,
        surface=surface,
        action=action,
        subject=subject,
        newest_first=order == "newest",
        limit=limit,
        cursor=cursor,
    )
    return page_shown(page, partial(audit_shown, told=service.projecting.records()))


@ROUTER.get("/verify")
def verify_audit(service: Served) -> ChainShown:
    """Say whether the log is whole: no row removed, moved, changed or put in between."""
    return chain_shown(service.audit.verify())
