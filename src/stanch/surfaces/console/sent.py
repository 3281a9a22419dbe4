"""`/console/sessions/{session_id}/sent`: what is stored of a conversation, and what a model is sent of it.

Settles which model is asked about and how much a page shows. Does not settle what a model may see (`app.switching`),
nor how a message reads (`sent_words`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.responses import Response

from stanch.app.sessions import naming
from stanch.app.switching import Shown
from stanch.surfaces.console.failing import Refused
from stanch.surfaces.console.guard import Asked
from stanch.surfaces.console.sent_words import differing, rows
from stanch.surfaces.console.session_list import choices
from stanch.surfaces.console.session_models import models_of
from stanch.values.fault import BadFields, Conflict
from stanch.values.records import SessionRecord

MOST_MESSAGES = 40
MOST_NAMES = 100
LONGEST_NUMBER = 9


class Name(NamedTuple):
    """Where something that is withheld came from: how many pieces and quotes of it, and whether a person may answer."""

    name: str
    pieces: int
    quotes: int
    asks: bool


def page(asked: Asked) -> Response:
    """The page: the newest messages, those before one, those that differ alone, or one of them whole."""
    service, session_id = asked.service, asked.parameters["session_id"]
    session = service.sessions.now(service.sessions.get(session_id))
    model = asked.get("model").strip()
    found: Shown | None = None
    status, problem = 200, ""
    try:
        found = service.switching.shown(session_id, naming(model or None))
    except (Conflict, BadFields) as why:
        status, problem = asked.failing.said_of(why)
    values: dict[str, Any] = {"rows": [], "summary": None} if found is None else _seen(asked, found)
    values |= {"shown": found, "problem": problem, **choices(service)}
    messages = () if found is None else found.stored
    return asked.page(
        "sent.html.j2",
        status=status,
        at="sessions",
        wide=True,
        id=session.id,
        session=session,
        model=found.model if found is not None else model or session.model or "",
        had=models_of(service, session, messages),
        is_own=_is_own(session, found),
        **values,
    )


def _is_own(session: SessionRecord, found: Shown | None) -> bool:
    return found is not None and found.model == session.model and session.ended_at is None


def _seen(asked: Asked, found: Shown) -> dict[str, Any]:
    differs, total = differing(found), len(found.stored)
    only, one = bool(asked.get("only")), _number(asked.get("message"))
    before = _number(asked.get("before"))
    if one is not None and one > total:
        raise Refused(404, "There is no such message.")
    wanted = [one - 1] if one is not None else differs if only else list(range(total))
    if before is not None:
        wanted = [at for at in wanted if at < before - 1]
    kept = wanted[-MOST_MESSAGES:]
    return {
        "rows": rows(found, kept, all_of_it=one is not None),
        "summary": _summary(found),
        "differs": len(differs),
        "total": total,
        "only": only,
        "one": one,
        "is_newest": before is None,
        "first": kept[0] + 1 if len(kept) < len(wanted) else 0,
    }


def _summary(found: Shown) -> dict[str, Any]:
    """What is kept back, by where it came from: what waits for an answer first, then what there is most of."""
    report = found.report
    asks = frozenset(report.asks)
    names = [
        Name(name, report.pieces.get(name, 0), report.quotes.get(name, 0), name in asks)
        for name in dict.fromkeys([*report.asks, *report.pieces, *report.quotes])
    ]
    names.sort(key=lambda one: (not one.asks, -one.pieces - one.quotes))
    return {
        "names": names[:MOST_NAMES],
        "more": max(0, len(names) - MOST_NAMES),
        "pieces": sum(report.pieces.values()),
        "quotes": sum(report.quotes.values()),
        "unsent": report.unsent,
        "asks": len(asks),
        "paths": len(names),
        "empty": report.empty,
    }


def _number(text: str) -> int | None:
    """The number of a message in an address, from 1. Raises `Refused` for what is none."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER and int(text)):
        raise Refused(404, "There is nothing at this address.")
    return int(text)
