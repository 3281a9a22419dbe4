"""Files that a session's model has read and that are others by now: it is told so, without a word of what is in them.

Settles which files a model has read, who judges whether it may hear of one, and what it is told. Does not settle when a
file counts as changed (`runtime.seen`). INVARIANT: nothing here breaks a turn: where anything fails, nothing is said.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stanch.app.asking import Asking
from stanch.app.attaching import STORED
from stanch.app.judges import Judges
from stanch.app.messages import Messages
from stanch.delivery.operation import OPERATIONS
from stanch.judge.notices import Consumer, goes_on
from stanch.runtime.builtin.asked import shown
from stanch.runtime.seen import GONE, Seen, as_of, changed, look
from stanch.runtime.tool import Job, Output
from stanch.values.fault import Fault
from stanch.values.message import Message, Origin, Result, Role, SourceTag, Text
from stanch.values.records import Broken
from stanch.values.turn import MessageRecord

MOST_NAMED = 20
MOST_JUDGED = 500
MOST_FILES = 2_000
SECONDS = 2.0
HEAD = "These files have changed on disk since you last saw them. What you know of them may be out of date:"
GONE_WORD = " (gone)"
_MOST_SESSIONS = 256
_PAGE = 500
# A list of names shows nothing of what is in the files.
_NO_CONTENT = frozenset({"list_files", "run_code"})
_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class _Known:
    """What one session's model has read, by path, as of the message `seq`.

    `calls` and `texts` are those since then that this process has seen to itself.
    """

    files: OrderedDict[str, Seen] = field(default_factory=OrderedDict)
    seq: int = 0
    calls: set[str] = field(default_factory=set)
    texts: list[Text] = field(default_factory=list)


class ChangedFiles:
    """Knows what the models of sessions have read. In memory; of a session it does not know, made from its messages."""

    def __init__(self, asking: Asking, messages: Messages, *, seconds: float = SECONDS) -> None:
        self._asking, self._judges, self._messages, self._seconds = asking, Judges(asking), messages, seconds
        self._sessions: OrderedDict[str, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def ran(self, job: Job, output: Output, call_id: str, began: int) -> None:
        """Takes down what a tool that began at this moment, in nanoseconds of the epoch, has read and written."""
        try:
            known = self._of(job.session_id)
            known.calls.add(call_id)
            wrote = {*job.writes}
            read = _paths(output.tags) if _reads_the_disk(job.tool) else ()
            for path in dict.fromkeys((*read, *wrote)):
                # WHY: what the session itself wrote is no news to it, whenever it was written.
                seen = look(path) if path in wrote else as_of(path, began)
                if seen is not None and (path in known.files or not seen.gone):
                    self._put(known, path, seen)
        except Exception as why:
            _LOG.warning("what a call has read cannot be kept: %s", type(why).__name__)

    def told(self, session_id: str, parts: Iterable[Text]) -> None:
        """Takes down that texts of files were put before the session's model."""
        known = self._of(session_id)
        for part in parts:
            known.texts.append(part)
            for path in _paths(part.tags):
                seen = look(path)
                if seen is not None:
                    self._put(known, path, seen)

    def notice(self, session_id: str) -> Message | None:
        """What the session's model is to be told now, once for each change; None for nothing."""
        try:
            return self._notice(session_id)
        except Exception as why:
            if not isinstance(why, Fault):
                _LOG.warning("which files have changed cannot be told: %s", type(why).__name__)
            return None

    def _notice(self, session_id: str) -> Message | None:
        known = self._of(session_id)
        self._catch_up(session_id, known)
        with self._lock:
            files = list(known.files.items())
        news: dict[str, Seen] = {}
        for path, before in files:
            now = changed(path, before)
            if now is not None:
                news[path] = now
                if len(news) == MOST_JUDGED:
                    break
            elif before.since is not None:
                # WHY: from now on it is known exactly how the file was.
                exact = look(path, digest=False)
                if exact is not None and not exact.gone:
                    self._put(known, path, exact)
        if not news:
            return None
        judge = self._judges.of(session_id)
        deadline = (time.time() + self._seconds) * 1000
        verdicts = judge.batch((Consumer.CHANGED_FILE.probe(path) for path in news), deadline_at=deadline)
        known_as = dict(files)
        told = []
        for path, verdict in zip(news, verdicts, strict=True):
            if goes_on(Consumer.CHANGED_FILE, verdict):
                told.append(path)
                self._put(known, path, news[path])
            else:
                # WHY it is put at all: it comes last from now on, so that many of them keep no other one back.
                self._put(known, path, known_as[path])
        here = self._asking.lineage(session_id)[0].session.context.effective_working_dir()
        if not told:
            return None
        said = _words(told, {path for path in told if news[path].gone}, here)
        known.texts += [part for part in said.parts if isinstance(part, Text)]
        return said

    def _of(self, session_id: str) -> _Known:
        with self._lock:
            known = self._sessions.setdefault(session_id, _Known())
            self._sessions.move_to_end(session_id)
            while len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
            return known

    def _catch_up(self, session_id: str, known: _Known) -> None:
        """Takes in what was stored since: by another process, or by one that is gone, as of when it was stored.

        What this process has seen to itself is known better than that.
        """
        after, more = known.seq, True
        cursor: str | None = None
        while more:
            page = self._messages.list(session_id, after_seq=after, limit=_PAGE, cursor=cursor)
            for record in page.items:
                if not isinstance(record, Broken):
                    known.seq = max(known.seq, record.seq)
                    self._take_in(known, record)
            cursor, more = page.next, page.next is not None
        known.calls.clear()
        known.texts.clear()

    def _take_in(self, known: _Known, record: MessageRecord) -> None:
        gone = record.message.extra.get("gone", ())
        since = int(record.created_at.timestamp() * 1_000_000_000)
        for path in _read_in(record.message, known):
            self._put(known, path, GONE if path in gone else Seen(since=since))

    def _put(self, known: _Known, path: str, seen: Seen) -> None:
        with self._lock:
            known.files.pop(path, None)
            known.files[path] = seen
            while len(known.files) > MOST_FILES:
                known.files.popitem(last=False)


def _paths(tags: Iterable[SourceTag]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.name for tag in tags if tag.origin is Origin.PATH and tag.name.startswith("/")))


def _read_in(message: Message, known: _Known) -> Iterator[str]:
    for part in message.parts:
        # WHY not of a failed call: that there is no such file is tagged with the file, too.
        if isinstance(part, Result) and _reads_the_disk(part.tool) and not part.failed:
            if part.call_id not in known.calls:
                yield from _paths((*part.tags, *(tag for one in part.content for tag in one.tags)))
        elif isinstance(part, Text) and message.role is Role.USER and _is_news(part, known):
            yield from _paths(part.tags)


def _is_news(part: Text, known: _Known) -> bool:
    return bool(part.tags) and part not in known.texts and not part.extra.get(STORED)


def _reads_the_disk(tool: str) -> bool:
    """False for a tool of stored items: these have places in the workspace, and are no files there."""
    return tool not in _NO_CONTENT and all(tool != operation.tool for operation in OPERATIONS.values())


def _words(paths: list[str], gone: set[str], here: str) -> Message:
    """The notice: each name is tagged with its file, so that who may not see the one does not see the other."""
    text, tags = HEAD, []
    for path in sorted(paths)[:MOST_NAMED]:
        line = f"{shown(path, here)}{GONE_WORD if path in gone else ''}"
        tags.append(SourceTag(path, span=(len(text) + 3, len(text) + 3 + len(line))))
        text += f"\n- {line}"
    if len(paths) > MOST_NAMED:
        text += f"\nand {len(paths) - MOST_NAMED} more"
    return Message(Role.USER, (Text(text, tuple(tags)),), extra={"by": "runtime", "gone": sorted(gone)})
