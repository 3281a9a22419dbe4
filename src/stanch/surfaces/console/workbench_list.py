"""`/console/workbenches`: every session's workbench, with how it stands and how long it stays.

Settles what is said of each in a line. Does not settle what lies in one (`workbench`).
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from starlette.responses import Response

from stanch.app.workbench_memory import Forgotten
from stanch.surfaces.console.content_badges import Badge
from stanch.surfaces.console.guard import Asked
from stanch.surfaces.console.naming import Naming
from stanch.surfaces.console.workbench_reach import UNKNOWN, standing
from stanch.values.records import Broken, SessionRecord

PAGE = "/console/workbenches"
MOST_ROWS = 40


class Row(NamedTuple):
    """A workbench: whose it is, how it stands, how many of its outputs wait, and when it may go."""

    session: SessionRecord
    badge: Badge
    unread: int
    goes_at: datetime | None


def page(asked: Asked) -> Response:
    """Those of the newest sessions first."""
    naming, service = Naming(asked), asked.service
    found = service.workbenches.sessions()
    start = _start(asked.get("start"))
    after = start + MOST_ROWS
    some = found[start:after]
    hours = service.clearing.after
    return asked.page(
        "workbenches.html.j2",
        at="sessions",
        rows=[_row(naming, one) for one in some if not isinstance(one, Broken)],
        broken=[one for one in some if isinstance(one, Broken)],
        total=len(found),
        next=after if len(found) > after else 0,
        hours=None if hours is None else round(hours.total_seconds() / 3600),
    )


def _row(naming: Naming, session: SessionRecord) -> Row:
    service = naming.asked.service
    try:
        badge = standing(naming, *service.workbenches.remembered(session.id)).badge
    except Forgotten:
        badge = UNKNOWN
    unread = sum(not one.is_read for one in service.workbenches.outputs(session.id).listed())
    return Row(session, badge, unread, service.clearing.goes_at(session))


def _start(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
