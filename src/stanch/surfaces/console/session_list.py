"""`/console/sessions`: every session, the newest first, and the form that begins one.

Settles what is said of each session in a line, and that subagents' stand below their parent's. Does not settle what a
session's own page shows (`session_page`), nor how one begins (`session_new`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from starlette.responses import Response

from stanch.app.service import Service
from stanch.surfaces.console.guard import Asked
from stanch.surfaces.console.session_records import tier_words
from stanch.values.fault import StoreUnreadable
from stanch.values.message import Role, Text
from stanch.values.records import Broken, SessionRecord
from stanch.values.turn import TurnRecord

PAGE = "/console/sessions"
MOST_ROWS = 40
MOST_WAITING = 500
LONGEST_TITLE = 90
AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Row:
    """A session in the list: how it began, its newest turn, how much waits, and the sessions of its subagents."""

    session: SessionRecord
    title: str
    tier: str
    turn: TurnRecord | None
    waiting: int
    below: list[Row] = field(default_factory=list)


class Form(NamedTuple):
    """What stands in the form of a new session, and what is wrong with it."""

    agent: str = AGENT
    model: str = ""
    text: str = ""
    problem: str = ""
    mentions: bool = True


def page(asked: Asked) -> Response:
    """The list."""
    return shown(asked, Form(agent=_usual(asked.service)))


def rows(asked: Asked) -> Response:
    """The rows alone."""
    return asked.page("session_rows.html.j2", **_listed(asked))


def shown(asked: Asked, form: Form, status: int = 200) -> Response:
    """The list, with the form of a new session as somebody left it."""
    listed = _listed(asked)
    return asked.page(
        "sessions.html.j2", status=status, at="sessions", form=form, **listed, **choices(asked.service, listed["rows"])
    )


def _listed(asked: Asked) -> dict[str, Any]:
    service = asked.service
    found = service.sessions.list(limit=MOST_ROWS, cursor=asked.get("cursor") or None)
    waiting = _waiting(service)
    kept = [one for one in found.items if not isinstance(one, Broken)]
    made = {one.id: _row(service, one, waiting) for one in kept}
    top: list[Row] = []
    for one in kept:
        parent = made.get(one.parent_id or "")
        if parent is None:
            top.append(made[one.id])
        else:
            parent.below.insert(0, made[one.id])
    return {
        "rows": top,
        "total": found.total,
        "next": found.next,
        "broken": [one for one in found.items if isinstance(one, Broken)],
    }


def _row(service: Service, session: SessionRecord, waiting: Mapping[str, int]) -> Row:
    turns = service.turn_log.list(session.id, limit=1).items
    turn = turns[0] if turns and not isinstance(turns[0], Broken) else None
    return Row(session, _title(service, session), tier_words(service, session.model), turn, waiting.get(session.id, 0))


def _title(service: Service, session: SessionRecord) -> str:
    """The first words that were said in the session, empty where there are none."""
    for one in service.messages.list(session.id, limit=1).items:
        if isinstance(one, Broken) or one.message.role is not Role.USER:
            return ""
        text = " ".join(part.text for part in one.message.parts if isinstance(part, Text))
        first = " ".join(text[: 4 * LONGEST_TITLE].split())
        return first if len(first) <= LONGEST_TITLE else f"{first[: LONGEST_TITLE - 1]}…"
    return ""


def _waiting(service: Service) -> Mapping[str, int]:
    """How much of each session waits for a person, as far as one look into the inbox says."""
    try:
        found = service.inbox.list(limit=MOST_WAITING)
    except StoreUnreadable:
        return {}
    both = (*found.approvals.items, *found.clarifications.items)
    return Counter(one.session_id for one in both if not isinstance(one, Broken))


def _usual(service: Service) -> str:
    return next(iter(service.policy.agents), AGENT)


def choices(service: Service, rows: Iterable[Row] = ()) -> dict[str, list[str]]:
    """What may be written for an agent and for a model, as far as is known: those of the policy, and those in use."""
    policy = service.policy
    used = [one for row in rows for one in (row, *row.below)]
    models = [one.model for one in policy.agents.values()] + [one.session.model for one in used]
    named = [name for name in policy.assignments if "*" not in name]
    return {
        "agents": list(dict.fromkeys([*policy.agents, *(one.session.agent_id for one in used)])),
        "models": list(dict.fromkeys([one for one in models if one] + named)),
    }
