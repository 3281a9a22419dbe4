"""What would change an answer of a running server, and what of the calls that its store keeps.

Settles which recorded calls are looked at, and as whom each is asked again. Does not settle which change it is
(`app.flipping`).
"""

from __future__ import annotations

from collections.abc import Iterator

from stanch.app.asking import Answered, Asking, Described, where
from stanch.app.beside import Party
from stanch.app.engine import UNSET
from stanch.app.flipping import Flipping, Flips, owner_of
from stanch.app.live import Live
from stanch.app.recorded import Recorded
from stanch.paths.grants import BadGrant
from stanch.storage.store import Store
from stanch.values.approval import CallRecord
from stanch.values.call import ToolCall
from stanch.values.decision import Effect
from stanch.values.fault import BadCall, BadContext, Fault, StoreUnreadable

MOST_RECORDED = 1_000
_PAGE = 200
_IN_DATABASE = "database"


class StoredFlips:
    """What is asked about changes of answers."""

    def __init__(self, store: Store, live: Live, asking: Asking) -> None:
        self._store, self._live, self._asking = store, live, asking

    def flips(
        self, session: str | Described, answered: Answered, to: Effect, *, cwd: str | None = None, everyone: bool = True
    ) -> Flips:
        """What would make the answer `to`. `everyone`: calls of all sessions are looked at, else those of its own.

        The newest calls are looked at, a thousand at most. What cannot be asked about again is not looked at.
        """
        own = None if isinstance(session, Described) else session
        parties = [Party(one) for one in answered.session.line] if own is None else self._parties(own)
        owner = owner_of(answered.session) if isinstance(session, Described) and session.context is UNSET else None
        groups = self._live.policy.groups.values()
        stored = {group.id for group in groups if any(rule.place == _IN_DATABASE for rule in group.rules)}
        start = None if own is None else where(parties[0].session, cwd)
        recorded = [*self._recorded(own, everyone)] if everyone or own is not None else []
        document = self._live.document
        return Flipping(parties, answered.decision, document, start, owner, stored, recorded).flips(to)

    def _parties(self, session_id: str) -> list[Party]:
        line = self._asking.lineage(session_id, ended=True)
        return [Party(one, kin.bypasses) for kin in line for one in kin.session.line]

    def _recorded(self, own: str | None, everyone: bool) -> Iterator[Recorded]:
        known: dict[str, list[Party] | None] = {}
        for call in self._calls(None if everyone else own):
            if call.session_id not in known:
                try:
                    known[call.session_id] = self._parties(call.session_id)
                except (Fault, BadGrant):
                    known[call.session_id] = None
            parties = known[call.session_id]
            if parties is None:
                continue
            asked = ToolCall(call.tool, call.arguments, call.tool_call_id)
            try:
                start = where(parties[0].session, call.cwd)
                parties[0].session.stamped(asked, start)
            except (BadCall, BadContext, RecursionError):
                continue
            yield Recorded(asked, parties, call.id, "", start, shares_context=call.session_id == own)

    def _calls(self, session_id: str | None) -> Iterator[CallRecord]:
        """The newest calls that can be read."""
        cursor, left = None, MOST_RECORDED
        while left > 0:
            try:
                page = self._store.list_calls(session_id=session_id, limit=min(left, _PAGE), cursor=cursor)
            except StoreUnreadable:
                return
            left -= len(page.items)
            yield from (one for one in page.items if isinstance(one, CallRecord))
            cursor = page.next
            if cursor is None:
                return
