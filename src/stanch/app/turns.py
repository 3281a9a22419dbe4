"""Turns: how long a session keeps the context that it began with.

Settles that a turn under way keeps its context, whatever is stored meanwhile, and that a new one reads it anew. Does
not settle what the context is (`app.contexts`). Rules are not kept: a rule that denies from now on denies within a turn
too. ABSENT: turns outlive no process, and each node knows its own.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from stanch.app.engine import Engine, Session
from stanch.values.context import RunContext

MOST_TURNS = 10_000
MOST_BOUND = 4
"""How many sessions one turn keeps: as itself, and as an ancestor of others."""


@dataclass(slots=True)
class Turn:
    """One turn of a session: the context that it keeps, and the engine's session that was last bound for it."""

    session_id: str
    context: RunContext | None
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    _bound: tuple[tuple[Engine, object, Session], ...] = field(default=(), repr=False)

    def bound(self, engine: Engine, key: object, make: Callable[[RunContext | None], Session]) -> Session:
        """The session of this turn on the engine of the moment, made where there is none yet for such a key.

        The key says what it depends on besides the context. Raises whatever making it raises.
        """
        for of, known, session in self._bound:
            if of is engine and known == key:
                return session
        made = make(self.context)
        current = [one for one in self._bound if one[0] is engine]
        self._bound = ((engine, key, made), *current[: MOST_BOUND - 1])
        return made


class Turns:
    """The turns that are under way on this node, one for each session."""

    def __init__(self, most: int = MOST_TURNS) -> None:
        self._turns: OrderedDict[str, Turn] = OrderedDict()
        self._most = most
        self._lock = threading.Lock()

    def begin(self, turn: Turn) -> None:
        """Keeps the turn; the session's last one is over. Where too many are kept, the one begun first is let go."""
        with self._lock:
            self._turns[turn.session_id] = turn
            self._turns.move_to_end(turn.session_id)
            while len(self._turns) > self._most:
                self._turns.popitem(last=False)

    def of(self, session_id: str) -> Turn | None:
        """The turn of the session that is under way; None where there is none."""
        return self._turns.get(session_id)

    def forget(self, session_id: str) -> None:
        """Ends the session's turn, if there is one."""
        with self._lock:
            self._turns.pop(session_id, None)
