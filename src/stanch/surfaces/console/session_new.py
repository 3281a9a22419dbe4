"""A session that a person begins at the console, perhaps with the first words to its agent.

Settles what becomes of a form that cannot be used. Does not settle what a session is made of (`app.sessions`).
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from starlette.responses import Response

from stanch.app.sessions import hands_of
from stanch.surfaces.console import session_list, session_page
from stanch.surfaces.console.guard import Asked, goes_to
from stanch.values.fault import BadInput, Conflict
from stanch.values.identity import Source


def begin(asked: Asked) -> Response:
    """A new session. It stays where its first words could not be said."""
    agent, model = asked.get("agent").strip(), asked.get("model").strip()
    text = asked.get("text").replace("\r\n", "\n")
    mentions = bool(asked.get("mentions"))
    form = session_list.Form(agent, model, text, mentions=mentions)
    if not agent:
        return session_list.shown(asked, form._replace(problem="Name an agent."), 422)
    try:
        made = asked.service.sessions.create(
            agent_id=agent,
            source=Source.WEB,
            principal=hands_of(asked.login.caller.principal),
            model=model or None,
            by=asked.login.by,
        )
    except (BadInput, Conflict) as why:
        status = 409 if isinstance(why, Conflict) else 422
        return session_list.shown(asked, form._replace(problem=asked.failing.sentence(why)), status)
    if text.strip():
        try:
            asked.service.agents.begin(made.id, text, by=asked.login.by, mentions=mentions)
        except (BadInput, Conflict) as why:
            status, problem = asked.failing.said_of(why)
            there = replace(asked, parameters={"session_id": made.id})
            return session_page.shown(there, text=text, mentions=mentions, problem=problem, status=status)
    return goes_to(f"{session_list.PAGE}/{quote(made.id, safe='')}")
