"""Conversations: what is added to a session's, who reads it, and who hears that it went on.

Settles that what a turn adds is added by the process that runs the turn. Does not settle what a message holds
(`values.message`), nor what another model may see of it (`tiers.history`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from stanch.storage.store import Store
from stanch.storage.watching import Watch
from stanch.values.message import Message
from stanch.values.records import Broken, Page
from stanch.values.turn import MessageRecord, Moved


class Messages:
    """What is done with the messages of stored sessions. `node` is this process."""

    def __init__(self, store: Store, node: str) -> None:
        self._store, self._node = store, node
        self._listeners: dict[object, Callable[[], None]] = {}
        self._watching = threading.Lock()
        self._watch: Watch | None = None

    def add(self, session_id: str, message: Message, turn_id: str | None = None) -> Message:
        """The message as it is kept, with its id. `turn_id` is the turn that adds it, which this process must run.

        Raises `NotFound`; `Conflict` where the session or the turn has ended, another process runs the turn by now, or
        a call that the message answers has a result already; `BadInput` for a message that cannot be kept.
        """
        return self.add_all(session_id, (message,), turn_id)[0]

    def add_all(self, session_id: str, messages: Sequence[Message], turn_id: str | None = None) -> tuple[Message, ...]:
        """The messages as they are kept, in their order: all of them, or none. Raises as `add` does."""
        node = None if turn_id is None else self._node
        return self._store.add_messages(session_id, messages, turn_id=turn_id, node=node)

    def all(self, session_id: str) -> list[Message]:
        """Every message of the session, oldest first. Raises `NotFound`, and `BrokenRow` where one cannot be read."""
        return self._store.all_messages(session_id)

    def list(
        self, session_id: str, *, after_seq: int = 0, limit: int = 50, cursor: str | None = None
    ) -> Page[MessageRecord | Broken]:
        """A page of the session's messages behind this one, oldest first. Raises `NotFound`, and `BadInput`."""
        return self._store.list_messages(session_id, after_seq=after_seq, limit=limit, cursor=cursor)

    def newest(self) -> int:
        """The number of the newest message of all sessions, from which `moved` tells what is new."""
        return self._store.newest_message()

    def moved(self, after: int) -> Moved:
        """The sessions with messages behind this number, whichever node added them, and the number to go on from."""
        return self._store.moved_since(after)

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls the listener, in a thread that is not its own, after new messages on any node; returns what ends that.

        One watch serves every listener. Raises `StoreUnreadable`.
        """
        key = object()
        with self._watching:
            if self._watch is None or not self._watch.running:
                self._watch = self._store.watch_messages(lambda _: self._tell())
            self._listeners[key] = listener
        return lambda: self._forget(key)

    def _forget(self, key: object) -> None:
        with self._watching:
            self._listeners.pop(key, None)

    def _tell(self) -> None:
        with self._watching:
            listeners = tuple(self._listeners.values())
        for listener in listeners:
            listener()
