"""Files of a project that go along with every request of a session working in it, such as `AGENTS.md`.

Settles which files these are, and who hears of one that is withheld: a person, and never the model. Does not settle how
a file is judged and opened (`app.judged_files`).
INVARIANT: what a link leads to has to lie where the session works, too: a project may not have files of other places
read by naming them.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from stanch.app.agent_settings import agent_of
from stanch.app.asking import Asking
from stanch.app.judged_files import Left, Taken, taken
from stanch.app.judges import Judges
from stanch.app.live import Live
from stanch.explain.sentences import visible
from stanch.judge.notices import Consumer
from stanch.storage.store import Store
from stanch.values.call import Stamp
from stanch.values.fault import Fault
from stanch.values.message import Fragment, Message, Role, SourceTag
from stanch.values.records import Actor

MOST_FILES = 32
MOST_CHARACTERS = 64 * 1024
MOST_IN_ALL = 256 * 1024
SECONDS = 2.0
WITHHELD = "context_file.withheld"
_MOST_KEPT = 256
_BY = Actor("stanch", "agents")
_NO_MESSAGE = Message(Role.SYSTEM, ())


class ContextFiles:
    """Reads them anew whenever a model begins to be asked. `tell` is told, by session, what a person is to hear."""

    def __init__(
        self, store: Store, live: Live, asking: Asking, *, tell: Callable[[str, str], None], seconds: float = SECONDS
    ) -> None:
        self._store, self._live, self._asking, self._tell = store, live, asking, tell
        self._judges, self._seconds = Judges(asking), seconds
        self._known: OrderedDict[str, Message] = OrderedDict()
        self._told: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, session_id: str) -> Message | None:
        """What they say, as a message of the system with a fragment for each file; None where there are none.

        Raises `NotFound`, and `Conflict` where the session has ended.
        """
        session = self._asking.lineage(session_id)[0].session
        names = agent_of(self._live.policy, self._store.get_session(session_id).agent_id).context_files
        if not names:
            return self._kept(session_id, _NO_MESSAGE)
        workspace, here = session.engine.policy.workspace, session.context.effective_working_dir()
        stamps: dict[str, Stamp] = {}
        left: list[Left] = []
        for path in _candidates(workspace, here, names):
            stamp = session.engine.canonicaliser.stamp(path, here)
            if stamp.refusal is None and not _within(stamp.path, (workspace, here)):
                left.append(Left(stamp, "it is a link that leads out of the workspace"))
            elif len(stamps) == MOST_FILES:
                left.append(Left(stamp, f"there are more than {MOST_FILES}"))
            else:
                # WHY by what is meant: two names of one file say it once, where the deeper one stands.
                stamps.pop(stamp.path, None)
                stamps[stamp.path or path] = stamp
        found: Sequence[Taken | Left] = ()
        if stamps:
            judge = self._judges.of(session_id)
            found = taken(judge, Consumer.CONTEXT_FILE, [*stamps.values()], most=MOST_CHARACTERS, seconds=self._seconds)
        fragments: list[Fragment] = []
        room = MOST_IN_ALL
        for one in reversed(found):  # WHY from behind: what lies nearest to the work counts most
            if isinstance(one, Left):
                left.append(one)
            elif len(one.text) > room:
                left.append(Left(one.stamp, "there is too much in all of them"))
            elif one.text.strip():
                room -= len(one.text)
                fragments.insert(0, _fragment(one))
        for one in left:
            self._withheld(session_id, one)
        return self._kept(session_id, Message(Role.SYSTEM, tuple(fragments)))

    def last(self, session_id: str) -> Message | None:
        """What `of` gave last in this process for the session."""
        return self._known.get(session_id)

    def _kept(self, session_id: str, made: Message) -> Message | None:
        with self._lock:
            # WHY the one there was: whoever filters a conversation goes on from it where it begins with the same.
            before = self._known.pop(session_id, None)
            if not made.parts:
                return None
            self._known[session_id] = before if before == made else made
            while len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
            return self._known[session_id]

    def _withheld(self, session_id: str, left: Left) -> None:
        """Has a person told, once for each reason, and keeps it in the audit log."""
        path = left.stamp.path or left.stamp.requested
        key = (session_id, path, left.why)
        with self._lock:
            if key in self._told:
                return
            self._told[key] = None
            while len(self._told) > _MOST_KEPT * MOST_FILES:
                self._told.popitem(last=False)
        self._tell(session_id, f"{visible(path)} is withheld from the model: {left.why}")
        try:
            self._store.append_audit(
                action=WITHHELD, subject=session_id, detail={"path": path, "why": left.why}, by=_BY
            )
        except Fault:
            return  # WHY: what is withheld stays so, whether or not it can be noted


def _candidates(workspace: str, here: str, names: Sequence[str]) -> Iterator[str]:
    """Every such file in the directories from the workspace down to here; in this one alone where it lies elsewhere."""
    folders = [here]
    if here != workspace and _within(here, (workspace,)):
        while folders[-1] != workspace:
            folders.append(os.path.dirname(folders[-1]))
    for folder in reversed(folders):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.lexists(path) and not os.path.isdir(path):
                yield path


def _within(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def _fragment(one: Taken) -> Fragment:
    path = one.stamp.path
    return Fragment(f"What {visible(path)} says:\n{one.text}", visible(path), (SourceTag(path),))
