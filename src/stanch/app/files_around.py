"""What a session's model is told of files that it has not called for: those that go along, and those that changed.

Settles that a turn goes on whatever becomes of that, and how a person hears of a file that is withheld. Does not settle
which files these are (`app.context_files`, `app.changed_files`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from stanch.app.asking import Asking
from stanch.app.changed_files import ChangedFiles
from stanch.app.context_files import ContextFiles
from stanch.app.live import Live
from stanch.app.messages import Messages
from stanch.runtime.live import Kind
from stanch.runtime.live import Live as Happenings
from stanch.runtime.tool import Job, Output
from stanch.storage.store import Store
from stanch.values.fault import Fault
from stanch.values.message import Message

_LOG = logging.getLogger(__name__)


class FilesAround:
    """As the runtime asks for it. `tell` makes of words what may be told; it raises nothing."""

    def __init__(
        self,
        store: Store,
        live: Live,
        asking: Asking,
        *,
        messages: Messages,
        happenings: Happenings,
        tell: Callable[[str], str],
    ) -> None:
        def told(session_id: str, words: str) -> None:
            happenings.tell(session_id, Kind.NOTE, words=tell(words))

        self.files = ContextFiles(store, live, asking, tell=told)
        self.changed = ChangedFiles(asking, messages)

    def context(self, session_id: str) -> Message | None:
        """What files say that go along with the session's requests."""
        try:
            return self.files.of(session_id)
        except Exception as why:
            if not isinstance(why, Fault):
                _LOG.warning("no context file is read: %s", type(why).__name__)
            return None

    def notice(self, session_id: str) -> Message | None:
        """That files which the session's model has read are others by now."""
        return self.changed.notice(session_id)

    def ran(self, job: Job, output: Output, call_id: str, began: int) -> None:
        """Takes down what a tool has read and written."""
        self.changed.ran(job, output, call_id, began)
