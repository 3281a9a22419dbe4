"""`/console/audit/who-saw`: which sessions and models were ever sent a secret's label or an item, and in what form.

Settles what is asked and how the answer reads. Does not settle what follows from a receipt (`delivery.who_saw`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from starlette.responses import Response

from stanch.delivery.who_saw import Asked as Question
from stanch.delivery.who_saw import Form, Sighting
from stanch.surfaces.console.content_reach import Reach
from stanch.surfaces.console.guard import Asked
from stanch.values.fault import BrokenRow, NotFound

PAGE = "/console/audit/who-saw"
MOST_SHOWN, MOST_SESSIONS = 300, 100
LONGEST = 1_100
WORDS = {
    Form.REDACTED: ("ask", "redacted: the label stood in its place"),
    Form.LABEL: ("ask", "the label alone, in words or a task"),
    Form.UNRECORDED: ("ask", "not recorded what it carries"),
    Form.RAW: ("ask", "as it is, into a workbench"),
    Form.ERROR: ("ask", "an error about it"),
    Form.WITHHELD: ("deny", "✕ withheld"),
    Form.AS_IT_IS: ("allow", "✓ as it is: it carried no secret"),
}


class Line(NamedTuple):
    """What one model got of one item in one form."""

    item: str
    tone: str
    words: str
    first: datetime
    last: datetime
    times: int
    operations: str


class Group(NamedTuple):
    """One model of one session. `agent` is whose session it is, None where it has no page."""

    session: str
    model: str
    agent: str | None
    lines: list[Line]


def page(asked: Asked) -> Response:
    """The form, and the answer where something is asked."""
    return _answered(asked, asked.get("secret").strip()[:LONGEST], asked.get("item").strip()[:LONGEST])


def of_file(asked: Asked) -> Response:
    """The answer for a stored file, whose path may be hidden in the address."""
    return _answered(asked, "", Reach(asked).get("path")[:LONGEST])


def _answered(asked: Asked, secret: str, item: str) -> Response:
    told = asked.service.projecting.records()
    # WHY told: so are the names in receipts.
    secret, item = str(told.tell(secret)), str(told.tell(item))
    values: dict[str, Any] = {"found": None, "groups": [], "report": None, "left": 0}
    if secret or item:
        places = (os.path.join(asked.service.policy.workspace, item),) if item else ()
        found, report = asked.service.audit.who_saw(Question(secret or None, item or None, None, places))
        shown = sorted(found.items, key=lambda one: (one.session, one.model, one.first))[:MOST_SHOWN]
        left = len(found.items) - len(shown) + found.more
        values = {"found": found, "groups": _groups(asked, shown), "report": report, "left": left}
    return asked.page("who_saw.html.j2", at="audit", wide=True, secret=secret, item=item, **values)


def _groups(asked: Asked, shown: list[Sighting]) -> list[Group]:
    tell, agents = asked.service.projecting.records().tell, dict[str, str | None]()
    root = f"{asked.service.policy.workspace}/"
    groups: list[Group] = []
    for (session, model), some in groupby(shown, key=lambda one: (one.session, one.model)):
        if session not in agents:
            agents[session] = _agent(asked, session) if len(agents) < MOST_SESSIONS else None
        lines = [_line(one, str(tell("" if one.item is None else one.item)).removeprefix(root)) for one in some]
        groups.append(Group(session, str(tell(model)), agents[session], lines))
    return groups


def _line(one: Sighting, item: str) -> Line:
    tone, words = WORDS[one.form]
    first, last = datetime.fromisoformat(one.first), datetime.fromisoformat(one.last)
    return Line(item, tone, words, first, last, one.count, ", ".join(one.operations))


def _agent(asked: Asked, session_id: str) -> str | None:
    with suppress(NotFound, BrokenRow):
        return asked.service.sessions.get(session_id).agent_id
    return None
