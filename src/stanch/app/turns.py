"""Turns: how long a session keeps the context that it began with.

Settles that a turn under way keeps its context, whatever is stored meanwhile, and that a new one reads it anew. Does
not settle what the context is (`app.contexts`). Rules are not kept: a rule that denies from now on denies within a turn
too. ABSENT: turns outlive no process, and each node knows its own.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime

from stanch.app.engine import Engine, Session
from stanch.tiers.answers import NO_ANSWERS, Answers
from stanch.values.context import RunContext
from stanch.values.identity import Source

MOST_TURNS = 10_000


@dataclass(slots=True)
class Turn:
    """One turn of a session: the context that it keeps, and the engine's session that was last bound for it."""

    session_id: str
    context: RunContext | None
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    _bound: tuple[Engine, str | None, Answers, Session] | None = field(default=None, repr=False)

    def bound(
        self, engine: Engine, agent: str, source: Source, model: str | None, answers: Answers = NO_ANSWERS
    ) -> Session:
        """The session of this turn on the engine of the moment. Raises `BadContext` and `BadGrant`."""
        bound = self._bound
        if bound is None or bound[0] is not engine or bound[1] != model or bound[2] != answers:
            made = engine.session(context=self.context, agent=agent, source=source, model=model, answers=answers)
            bound = self._bound = (engine, model, answers, made)
        return bound[3]


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
