"""Who is logged in at the console.

Settles that a browser holds a random id and never the token, that a login ends, and that one whose token was revoked is
over. Does not settle which token opens what (`app.tokens`). Logins are kept in this process's memory alone.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass, field

from stanch.app.permissions import rights_of
from stanch.app.service import Service
from stanch.app.tokens import Caller
from stanch.values.fault import NotFound
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.records import Actor

SURFACE = "console"
LONGEST = 12 * 3600.0
"""Seconds that a login lasts."""
MOST = 256
_MAY = (PrincipalKind.USER, PrincipalKind.API_KEY)
LONGEST_TOKEN = 256


class LoginRefused(Exception):
    """Nobody was logged in; the message says why."""


@dataclass(frozen=True, slots=True)
class Login:
    """A login: whose it is, by which token, until when, and what every form of it holds."""

    caller: Caller
    token_id: str
    until: float
    form_key: str = field(repr=False)

    @property
    def by(self) -> Actor:
        """Whom an audit row names."""
        return self.caller.through(SURFACE)

    @property
    def who(self) -> str:
        """The principal's id."""
        return self.caller.principal.id

    def sent_by(self, key: str) -> bool:
        """True for the key that the forms of this login hold."""
        return hmac.compare_digest(key.encode("utf-8", "replace"), self.form_key.encode())


class Logins:
    """The logins of this process. Safe to use from any thread."""

    def __init__(self, service: Service, *, longest: float = LONGEST) -> None:
        self._service, self._longest = service, longest
        self._held: dict[str, Login] = {}
        self._lock = threading.Lock()

    def begin(self, token: str) -> str:
        """The id of a new login. Raises `LoginRefused`, and `StoreUnreadable`."""
        found = self._service.tokens.opened(token) if 0 < len(token) <= LONGEST_TOKEN else None
        if found is None:
            raise LoginRefused("This token opens nothing. It may be mistyped, or revoked.")
        if not may_enter(found.principal):
            raise LoginRefused("This token belongs to an agent. The console is for people and their keys.")
        login_id = secrets.token_urlsafe(32)
        caller = Caller(found.principal, rights_of(found.principal))
        login = Login(caller, found.id, time.monotonic() + self._longest, secrets.token_urlsafe(32))
        with self._lock:
            self._drop_old()
            self._held[_digest(login_id)] = login
        return login_id

    def find(self, login_id: str) -> Login | None:
        """The login with this id; None where there is none, or it is over. Raises `StoreUnreadable`."""
        digest = _digest(login_id)
        with self._lock:
            login = self._held.get(digest)
        if login is None:
            return None
        if login.until <= time.monotonic() or self._is_revoked(login.token_id):
            self.end(login_id)
            return None
        return login

    def end(self, login_id: str) -> None:
        """Ends the login. Safe to repeat."""
        with self._lock:
            self._held.pop(_digest(login_id), None)

    def _is_revoked(self, token_id: str) -> bool:
        try:
            return self._service.tokens.get(token_id).revoked_at is not None
        except NotFound:
            return True

    def _drop_old(self) -> None:
        now = time.monotonic()
        self._held = {key: login for key, login in self._held.items() if login.until > now}
        while len(self._held) >= MOST:
            self._held.pop(next(iter(self._held)))


def may_enter(principal: Principal) -> bool:
    """True for a person, and for a person's key. Whoever acts for a model answers no question that the model raised."""
    return principal.kind in _MAY


def _digest(login_id: str) -> str:
    return hashlib.sha256(login_id.encode("utf-8", "replace")).hexdigest()
