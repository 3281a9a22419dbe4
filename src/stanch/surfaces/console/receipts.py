"""`/console/sessions/{session_id}/receipts`: what a session's models were given and sent, and what was kept from them.

Settles how a receipt reads. Does not settle what it holds (`delivery.receipts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from typing import Any, NamedTuple

from starlette.responses import Response

from stanch.delivery.receipts import ADMITTED, SENT
from stanch.surfaces.console.guard import Asked
from stanch.values.fault import NotFound
from stanch.values.records import AuditRecord, Broken

MOST_ROWS, MOST_LINES, MOST_NAMES = 50, 40, 20
_VIEWS = {
    "complete": "its text",
    "derived": "a part of it, or something made of it",
    "opaque": "its bytes",
    "excerpt": "an excerpt",
}
_STATES = {"exact": "", "unknown": "unknown", "unrecorded": "not recorded"}
_ENDED = {"given": ("allow", "✓ given"), "refused": ("deny", "✕ refused"), "failed": ("ask", "! failed")}


class Line(NamedTuple):
    """One item of a receipt: its name, in what shape, what is known of it, the secrets in it, and why it stayed."""

    name: str
    about: str
    state: str = ""
    secrets: tuple[str, ...] = ()
    more: int = 0
    code: str = ""


class Shown(NamedTuple):
    """One receipt. `got` is what the model was given, `kept` what it was not; `labels` came with no item."""

    seq: int
    at: datetime
    title: str
    model: str
    call: str
    tone: str
    chip: str
    code: str
    got: list[Line]
    kept: list[Line]
    labels: list[str]
    further: int


def page(asked: Asked) -> Response:
    """The receipts of a session, the newest first."""
    service, session_id = asked.service, asked.parameters["session_id"]
    found = service.audit.receipts(session_id, limit=MOST_ROWS, cursor=asked.get("cursor") or None)
    # WHY: of a conversation that nobody named, another program's, there is no session, and yet there are receipts.
    session = None
    with suppress(NotFound) if found.total else nullcontext():
        session = service.sessions.get(session_id)
    told = service.projecting.records()
    shown: list[Shown] = []
    unread: list[str] = []
    for one in found.items:
        if isinstance(one, Broken):
            unread.append(one.id)
            continue
        try:
            shown.append(_shown(told.row(one), f"{service.policy.workspace}/"))
        except (KeyError, TypeError, ValueError, AttributeError):
            unread.append(str(one.seq))
    return asked.page(
        "receipts.html.j2",
        at="sessions",
        wide=True,
        id=session_id,
        session=session,
        rows=shown,
        unread=unread,
        total=found.total,
        next=found.next,
    )


def _shown(row: AuditRecord, root: str) -> Shown:
    """`root` is taken off in front of paths."""
    detail = row.detail
    return _sent(row, detail, root) if row.action == SENT else _delivered(row, detail)


def _delivered(row: AuditRecord, detail: Mapping[str, Any]) -> Shown:
    tone, chip = _ENDED[detail["ended"]]
    given = detail["ended"] != "refused"
    got: list[Line] = []
    kept: list[Line] = []
    for item in detail["items"][:MOST_LINES]:
        admitted = given and item["verdict"] == ADMITTED
        (got if admitted else kept).append(_item(item))
    return Shown(
        row.seq,
        row.at,
        str(detail["operation"]) or "an operation",
        str(detail["model"] or ""),
        str(detail.get("call", "")),
        tone,
        chip,
        str(detail.get("code", "")),
        got,
        kept,
        [str(one) for one in detail.get("unexplained", ())][:MOST_NAMES],
        max(0, len(detail["items"]) - MOST_LINES),
    )


def _item(item: Mapping[str, Any]) -> Line:
    secrets = tuple(str(one) for one in item.get("secrets", ()))
    version = f", version {item['version']}" if str(item.get("version", "")).isdigit() else ""
    code = "" if item["verdict"] == ADMITTED else str(item["verdict"])
    about = f"{item['kind'].replace('_', ' ')}{version}: {_VIEWS.get(item['view'], item['view'])}"
    state = _STATES.get(item.get("state", "exact"), "")
    return Line(str(item["id"]), about, state, secrets[:MOST_NAMES], max(0, len(secrets) - MOST_NAMES), code)


def _named(name: str, root: str, secrets: Sequence[object] = ()) -> Line:
    return Line(name.removeprefix(root), "", "", tuple(map(str, secrets))[:MOST_NAMES])


def _sent(row: AuditRecord, detail: Mapping[str, Any], root: str) -> Shown:
    new, withheld = detail.get("new", ()), detail.get("withheld", ())
    got = [_named(str(one["name"]), root, one.get("secrets", ())) for one in new[:MOST_LINES]]
    kept = [_named(str(one), root) for one in withheld[:MOST_LINES]]
    count = int(detail["messages"])
    what = "counted" if detail.get("counted") else "sent"
    return Shown(
        row.seq,
        row.at,
        f"{count:,} message{'' if count == 1 else 's'} {what}",
        str(detail["model"]),
        "",
        "none",
        f"tier {detail['tier']}",
        "",
        got,
        kept,
        [str(one) for one in detail.get("labels", ())][:MOST_NAMES],
        max(0, len(new) - MOST_LINES) + max(0, len(withheld) - MOST_LINES),
    )
