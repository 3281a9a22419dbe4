"""`/console/bypasses` and `/console/audit`: what holds by a person's word, and who did what.

Settles what is shown of each. Does not settle what is kept (`storage`).
"""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.responses import Response

from stanch.surfaces.console.guard import Asked, goes_to
from stanch.values.approval import BypassRecord, BypassScope
from stanch.values.call import Category
from stanch.values.fault import Conflict
from stanch.values.records import Broken, ChainReport

BYPASSES = "/console/bypasses"
MOST_ROWS = 100
LONGEST = 512


def bypasses(asked: Asked, *, problem: str = "", status: int = 200) -> Response:
    """The bypasses that hold now."""
    held = asked.service.overview.bypasses()
    return asked.page(
        "bypasses.html.j2",
        status=status,
        at="bypasses",
        problem=problem,
        held=[(one, scope_words(one)) for one in held if not isinstance(one, Broken)],
        broken=[one for one in held if isinstance(one, Broken)],
    )


def end_bypass(asked: Asked) -> Response:
    """Ends one."""
    try:
        asked.service.bypasses.end(asked.get("session"), asked.get("bypass"), by=asked.login.by)
    except Conflict as why:
        return bypasses(asked, problem=asked.failing.sentence(why), status=409)
    return goes_to(BYPASSES)


def scope_words(bypass: BypassRecord) -> str:
    """Which calls a bypass answers for."""
    match bypass.scope:
        case BypassScope.CATEGORY if bypass.category is Category.MCP:
            return "calls of any MCP server"
        case BypassScope.CATEGORY if bypass.category is not None:
            return f"{bypass.category.value} calls"
        case BypassScope.MCP_SERVER:
            return f"calls of the MCP server {bypass.mcp_server}"
        case _:
            return "calls of any kind"


def audit(asked: Asked, *, report: ChainReport | None = None) -> Response:
    """The newest rows of the audit log, all of them or those that somebody asks for."""
    filters = {name: asked.get(name).strip()[:LONGEST] for name in ("actor", "action", "subject")}
    changes = bool(asked.get("changes"))
    page = asked.service.audit.list(
        actor=filters["actor"] or None,
        action=filters["action"] or None,
        subject=filters["subject"] or None,
        receipts=not changes,
        newest_first=True,
        limit=MOST_ROWS,
        cursor=asked.get("cursor") or None,
    )
    chosen = {name: value for name, value in {**filters, "changes": "1" if changes else ""}.items() if value}
    told = asked.service.projecting.records()
    return asked.page(
        "audit.html.j2",
        at="audit",
        wide=True,
        rows=[told.row(one) for one in page.items if not isinstance(one, Broken)],
        broken=[one for one in page.items if isinstance(one, Broken)],
        total=page.total,
        next=page.next,
        filters={**filters, "changes": changes},
        filtered=bool(chosen),
        query=f"{urlencode(chosen)}&" if chosen else "",
        report=report,
    )


def verify(asked: Asked) -> Response:
    """Whether the log is whole."""
    report = asked.service.audit.verify()
    if asked.in_page:
        return asked.page("verified.html.j2", report=report)
    return audit(asked, report=report)
