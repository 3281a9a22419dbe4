"""`/api/audit`: who changed what, when, through which door.

Settles the routes. Does not settle which events are kept (`storage`).
"""

from __future__ import annotations

import os
from functools import partial
from typing import Literal

from stanch.delivery.who_saw import Asked
from stanch.surfaces.http.access import Served
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.routers import guarded
from stanch.surfaces.http.shown import BrokenShown, PageShown
from stanch.surfaces.http.shown_log import AuditShown, ChainShown, WhoSawShown, audit_shown, chain_shown, who_saw_shown
from stanch.values.fault import BadFields

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


@ROUTER.get("/who-saw")
def who_saw(
    service: Served, secret: str | None = None, item: str | None = None, session: str | None = None
) -> WhoSawShown:
    """Say which sessions and models were ever sent an item that carried a secret, or an item, and in what form.

    `item` is a path in the workspace, or a kind and an id such as `document:doc_1`; a part of it, such as the rows
    of a table, counts as it. It reads the whole log.
    """
    if not secret and not item:
        raise BadFields(("secret", "'secret' or 'item' is needed"))
    told = service.projecting.records()
    # WHY told: so are the names in receipts.
    name, about = (told.tell(secret) if secret else None), (told.tell(item) if item else None)
    places = (os.path.join(service.policy.workspace, about),) if about else ()
    return who_saw_shown(*service.audit.who_saw(Asked(name, about, session or None, places)), told)


@ROUTER.get("/verify")
def verify_audit(service: Served) -> ChainShown:
    """Say whether the log is whole: no row removed, moved, changed or put in between."""
    return chain_shown(service.audit.verify())
