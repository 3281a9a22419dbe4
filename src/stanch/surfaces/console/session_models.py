"""The models that a session ever had, and which trust tier each is in now.

Settles where they are looked for: the session, its messages, its turns, and the log of its changes. Does not settle
what one of them is sent (`sent`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stanch.app.service import Service
from stanch.surfaces.console.session_records import tier_words
from stanch.values.message import Message
from stanch.values.records import AuditRecord, Broken, SessionRecord

MOST = 200
_SWITCHES = {"session.set_model": ("model",), "session.switch": ("from", "to")}


class Had(NamedTuple):
    """A model that a session has, or had: its name and its tier. `now` is the one it has."""

    name: str
    tier: str
    now: bool


def models_of(service: Service, session: SessionRecord, messages: Iterable[Message]) -> list[Had]:
    """The session's models: the one it has first, then the others, those that wrote something before the rest."""
    names: dict[str, None] = {} if session.model is None else {session.model: None}
    names |= dict.fromkeys(one.model for one in messages if one.model)
    turns = service.turn_log.list(session.id, limit=MOST).items
    names |= dict.fromkeys(one.model for one in turns if not isinstance(one, Broken) and one.model)
    for action, fields in _SWITCHES.items():
        rows = service.audit.list(subject=session.id, action=action, newest_first=True, limit=MOST).items
        for row in rows:
            if isinstance(row, AuditRecord):
                said = [row.detail.get(field) for field in fields]
                names |= dict.fromkeys(name for name in said if isinstance(name, str) and name)
    return [Had(name, tier_words(service, name), name == session.model) for name in list(names)[:MOST]]
