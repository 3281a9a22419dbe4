"""Which session a request to the model proxy is of.

Settles that a header names a session and a token proves it: what is named belongs to the principal of the token, or is
nobody else's. Does not settle what the session may see. One id joins hooks, tool calls and model calls: whoever hears
an agent's own id takes `foreign_session_id` of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from stanch.app.contexts import Contexts
from stanch.app.remembered import Remembered
from stanch.app.sessions import hands_of
from stanch.storage.store import Store
from stanch.values.fault import BadInput, Conflict, NotFound, StoreUnreadable, quoted
from stanch.values.identity import Principal, PrincipalKind, Source
from stanch.values.records import Actor, SessionRecord

AGENT = "proxy"
SURFACE = "proxy"
# In the order in which they are looked for: ours, and what Claude Code, Codex and OpenCode send.
NAMING = ("x-stanch-session", "x-claude-code-session-id", "session-id", "session_id", "thread-id", "x-session-id")
LONGEST = 200


@dataclass(frozen=True, slots=True)
class ProxySession:
    """A session of the proxy. `stored` is its record, None where nobody named it and nothing had to be kept of it.

    `directory` is where it works, if a person said so.
    """

    id: str
    principal: Principal
    stored: SessionRecord | None = None
    directory: str | None = None


class ProxySessions:
    """Finds sessions, and keeps those that agents name."""

    def __init__(self, store: Store, contexts: Contexts, remembered: Remembered) -> None:
        self._store, self._contexts, self._remembered = store, contexts, remembered

    def of(self, principal: Principal, headers: Mapping[str, str], first: str) -> ProxySession:
        """The session that the headers name; without a name, one of this principal and these first words.

        A name that is new is kept. Raises `BadInput` for a name of no use, `Conflict` for a session that has ended, and
        `StoreUnreadable`.
        """
        header = next((name for name in NAMING if name in headers), None)
        if header is None:
            own_id = _digest("first", _who(principal), first)
            known = self._found(own_id)
            return ProxySession(own_id, principal) if known is None else self._bound(principal, known)
        name = headers[header].strip()
        if not name or len(name) > LONGEST or not name.isprintable():
            raise BadInput(f"the header {header} has to be one name of at most {LONGEST} characters")
        own = self._own(principal, name)
        return self._bound(principal, own if own is not None else self._kept(principal, name))

    def kept(self, session: ProxySession, model: str) -> ProxySession:
        """The session, in the store from now on."""
        if session.stored is not None:
            return session
        return self._bound(session.principal, self._opened(session.principal, session.id, model))

    def _own(self, principal: Principal, name: str) -> SessionRecord | None:
        """The stored session of this very id, if it is the principal's.

        WHY no refusal of somebody else's: it would tell that there is one.
        """
        found = self._found(name)
        return found if found is not None and _is_of(found, principal) else None

    def _kept(self, principal: Principal, name: str) -> SessionRecord:
        own_id = foreign_session_id(principal, name)
        found = self._found(own_id)
        return found if found is not None else self._opened(principal, own_id, None)

    def _found(self, session_id: str) -> SessionRecord | None:
        def read() -> SessionRecord | None:
            try:
                return self._store.get_session(session_id)
            except NotFound:
                return None

        return self._remembered.get(("session", session_id), read)

    def _opened(self, principal: Principal, session_id: str, model: str | None) -> SessionRecord:
        try:
            return self._store.create_session(
                agent_id=AGENT,
                source=Source.API,
                principal=hands_of(principal),
                session_id=session_id,
                model=model,
                by=Actor(principal.id, SURFACE),
            )
        except Conflict:
            return self._store.get_session(session_id)  # another request was quicker

    def _bound(self, principal: Principal, record: SessionRecord) -> ProxySession:
        if record.ended_at is not None:
            raise Conflict(f"the session {quoted(record.id)} has ended")
        if not _is_of(record, principal):
            raise StoreUnreadable(f"the session {quoted(record.id)} is somebody else's")
        context = self._contexts.now(record)
        return ProxySession(record.id, principal, record, None if context is None else context.working_directory)


def _is_of(session: SessionRecord, principal: Principal) -> bool:
    """True for a session of the principal's own hands; of a person, also of an agent that acts for them."""
    person = principal.kind is PrincipalKind.USER and session.principal.id == principal.id
    return person or session.principal == hands_of(principal)


def named_by_agent(headers: Mapping[str, str]) -> bool:
    """True where an agent named the session in a way of its own."""
    return any(name in headers for name in NAMING[1:])


def foreign_session_id(principal: Principal, name: str) -> str:
    """The id under which the store has a session that an agent of this principal knows by this name."""
    return _digest("named", _who(principal), name)


def _who(principal: Principal) -> str:
    hands = hands_of(principal)
    return "\0".join((hands.kind.value, hands.id, hands.service_id or ""))


def _digest(*told: str) -> str:
    return "px-" + hashlib.sha256("\0".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:32]
