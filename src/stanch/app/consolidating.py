"""Consolidation of the memory: a background run in which a model is shown the memory of the workspace and rewrites it.

Settles which files it is shown, what it may write, and what is told of it afterwards. Does not settle when it runs
(`app.scheduling`), nor how a call is judged besides (`app.calls`).
INVARIANT: nobody is there to answer, so a write happens only where everybody was asked and nobody objected; and what
the model has not seen, as it stands now, it does not replace.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from stanch.app.asking import Asking, Kin
from stanch.app.jobs import Jobs
from stanch.app.judges import Judges
from stanch.app.live import Live
from stanch.app.memory_agent import TASK, WRITE
from stanch.app.messages import Messages
from stanch.app.searching import SearchReader
from stanch.app.session import Session
from stanch.explain.sentences import visible
from stanch.explain.verdicts import verdict_words
from stanch.judge.notices import Consumer, goes_on
from stanch.policy.memory_table import MEMORY_AGENT
from stanch.runtime.builtin.asked import CannotDo, opened, opened_file, refused
from stanch.runtime.builtin.content import decoded, is_binary, read_whole
from stanch.storage.store import Store
from stanch.values.call import Stamp
from stanch.values.fault import Conflict, NotFound
from stanch.values.message import Call, Message, Result, Role, SourceTag, Text
from stanch.values.reason import Code
from stanch.values.records import Actor

NAME = "Memory consolidation"
MOST_FILES = 200
MOST_BYTES = 256 * 1024
MOST_IN_ALL = 1024 * 1024
NOTHING = "there is nothing to consolidate"
_MOST_TOLD = 5
_LONGEST_TOLD = 200
_SUFFIX = ".md"


class Shown(NamedTuple):
    """What the model is shown of the memory."""

    parts: tuple[Text, ...]
    left: int


class Consolidating:
    """What is done with the memory in the background. `holds_secret`: the text holds a value of the vault."""

    def __init__(
        self,
        store: Store,
        live: Live,
        asking: Asking,
        *,
        jobs: Jobs,
        messages: Messages,
        holds_secret: Callable[[str], bool],
    ) -> None:
        self._store, self._live, self._asking = store, live, asking
        self._jobs, self._messages, self._holds_secret = jobs, messages, holds_secret
        self._judges = Judges(asking)
        self._off: str | None = None  # the version of the policy that wants no consolidation, once that is seen to

    def settle(self, by: Actor) -> None:
        """Has the job be as the policy says: there and enabled, or disabled where the policy does not want it.

        Any number of processes may do so at once. Where the policy has a mistake in what it says of agents, the job is
        left as it is.
        """
        policy = self._live.policy
        wanted = policy.memory
        if policy.broken_runtime is not None or (wanted is None and self._off == policy.version):
            return
        self._off = policy.version if wanted is None else None
        try:
            job = self._jobs.get(MEMORY_AGENT)
        except NotFound:
            if wanted is not None:
                self._make(wanted.cron, by)
            return
        cron = job.cron if wanted is None else wanted.cron
        if (job.cron, job.enabled, job.agent_id) != (cron, wanted is not None, MEMORY_AGENT):
            self._jobs.update(
                job.id,
                name=job.name,
                cron=cron,
                prompt=job.prompt,
                agent_id=MEMORY_AGENT,
                enabled=wanted is not None,
                by=by,
            )

    def _make(self, cron: str, by: Actor) -> None:
        try:
            self._store.create_job(
                job_id=MEMORY_AGENT, name=NAME, cron=cron, prompt=TASK, agent_id=MEMORY_AGENT, enabled=True, by=by
            )
        except Conflict:
            return  # WHY: another process was faster

    def shown(self, session_id: str) -> Shown:
        """The memory as the session may read it, each file as a text with its source tag. Raises `NotFound`.

        Left are files that it may not read without asking, and those that could not be written again as they are:
        links, files with other names, those that are no text, too long, or hold a secret of the vault.
        """
        line = self._asking.lineage(session_id)
        session, reader = line[0].session, _reader(line)
        parts: list[Text] = []
        left, room = 0, MOST_IN_ALL
        for path in _files(session):
            stamp = reader(path) if len(parts) < MOST_FILES else None
            text = None if stamp is None or stamp.path != path else _text(stamp)
            if text is None or len(text) > room or not text.strip() or self._holds_secret(path + "\n" + text):
                left += 1
                continue
            room -= len(text)
            parts.append(_part(path, text))
        if parts and left:
            words = f"Further files that are not shown here: {left}. Leave them alone."
            parts.append(Text(words, extra={"left": left}))
        return Shown(tuple(parts), left)

    def objection(self, session_id: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Why a call of the session may not be made; None for a write that may be, and for all other sessions' calls.

        Raises `NotFound`, and `Conflict` where the session has ended.
        """
        if self._store.get_session(session_id).agent_id != MEMORY_AGENT:
            return None
        line = self._asking.lineage(session_id)
        session = line[0].session
        path, content = _target(session, tool, arguments), arguments.get("content")
        if path is None:
            return f"A consolidation only writes files of the memory, named *{_SUFFIX}, as they were shown"
        if not isinstance(content, str) or not content.strip() or len(content) > MOST_BYTES:
            return "A file of the memory is a text that is neither empty nor too long"
        stamp = session.engine.canonicaliser.stamp(path, "/", write=True)
        if stamp.refusal is not None or stamp.path != path or stamp.links > 1:
            return refused(stamp, stamp.refusal or Code.TARGET_CHANGED)
        before = self._known(session_id).get(path)
        now = _text(stamp) if os.path.lexists(path) else None
        if now != before:
            why = "it was not shown" if before is None else "it has changed since it was shown"
            return f"{visible(path)} is not replaced: {why}"
        # WHY also what was shown: its model may be another by now, which has a placeholder in the place of the text.
        if before is not None and _reader(line)(path) is None:
            return f"{visible(path)} is not replaced: it may not be read any more"
        verdict = self._judges.of(session_id)(Consumer.MEMORY.probe(path))
        if not goes_on(Consumer.MEMORY, verdict):
            return verdict_words(verdict)
        return None if verdict.judged == path else refused(stamp, Code.TARGET_CHANGED)

    def outcome(self, session_id: str) -> str:
        """What came of it, in a few words: names of files, and why some were not written."""
        messages = self._messages.all(session_id)
        results = {part.call_id: part for message in messages for part in message.parts if isinstance(part, Result)}
        wrote: set[str] = set()
        refusals: dict[str, str] = {}
        for call in _writes(messages):
            result = results.get(call.id)
            name = _name(call)
            if result is not None and not result.failed:
                wrote.add(name)
                refusals.pop(name, None)
            else:
                refusals[name] = "the run ended first" if result is None else _words(result)
        said = [f"{len(wrote)} written"]
        if refusals:
            told = [f"{name}: {why}" for name, why in list(refusals.items())[:_MOST_TOLD]]
            more = f"; and {len(refusals) - _MOST_TOLD} more" if len(refusals) > _MOST_TOLD else ""
            said.append(f"{len(refusals)} not written ({'; '.join(told)}{more})")
        left = sum(
            int(part.extra.get("left", 0)) for one in messages[:1] for part in one.parts if isinstance(part, Text)
        )
        if left:
            said.append(f"{left} not read")
        return ", ".join(said)

    def _known(self, session_id: str) -> dict[str, str]:
        """Each file as the model knows it: as it was shown, or as it has written it since."""
        messages = self._messages.all(session_id)
        done = {
            part.call_id
            for message in messages
            for part in message.parts
            if isinstance(part, Result) and not part.failed
        }
        known = {
            part.tags[0].name: part.text.partition("\n")[2]
            for message in messages
            if message.role is Role.USER and message.extra.get("by") != "runtime"
            for part in message.parts
            if isinstance(part, Text) and part.tags
        }
        session = self._asking.lineage(session_id)[0].session
        for call in _writes(messages):
            if call.id in done and isinstance(call.arguments, Mapping):
                path, content = _target(session, call.tool, call.arguments), call.arguments.get("content")
                if path is not None and isinstance(content, str):
                    known[path] = content
        return known


def _reader(line: Sequence[Kin]) -> SearchReader:
    """Says which files the session may read without asking."""
    return SearchReader("read_file", line, line[0].session.context.effective_working_dir(), ())


def _memory(session: Session) -> str:
    return session.engine.policy.workspace.rstrip("/") + "/memory"


def _files(session: Session) -> Iterator[str]:
    """The files of the memory, by name; none where it is no directory of the workspace's own."""
    folder = _memory(session)
    stamp = session.engine.canonicaliser.stamp(folder, "/")
    if stamp.refusal is not None or stamp.path != folder:
        return
    try:
        with opened(stamp, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
            names = sorted(os.listdir(descriptor))
    except (CannotDo, OSError):
        return
    yield from (f"{folder}/{name}" for name in names if _is_name(name))


def _is_name(name: str) -> bool:
    return name.endswith(_SUFFIX) and not name.startswith(".") and name.isprintable() and "/" not in name


def _target(session: Session, tool: str, arguments: Mapping[str, Any]) -> str | None:
    """The file of the memory that a call writes, by its one spelling; None for any other call.

    WHY one spelling: what is judged here is then what the tool takes, whatever links and dots would make of another.
    """
    written, folder = arguments.get("path"), _memory(session)
    if tool != WRITE or not isinstance(written, str) or set(arguments) != {"path", "content"}:
        return None
    if not written.startswith("/") and folder == session.context.effective_working_dir().rstrip("/") + "/memory":
        written = f"{folder.removesuffix('/memory')}/{written}"
    head, _, name = written.rpartition("/")
    return written if head == folder and _is_name(name) else None


def _text(stamp: Stamp) -> str | None:
    """The whole text of the file; None where it is none, is too long, or has other names besides."""
    try:
        with opened_file(stamp, os.O_RDONLY) as descriptor:
            if os.fstat(descriptor).st_nlink > 1:
                return None
            data = read_whole(descriptor, MOST_BYTES)
    except (CannotDo, OSError):
        return None
    if data is None or is_binary(data):
        return None
    found = decoded(data)
    return None if found.odd else found.text


def _part(path: str, text: str) -> Text:
    return Text(f"{path}\n{text}", (SourceTag(path),))


def _writes(messages: Sequence[Message]) -> Iterator[Call]:
    for message in messages:
        yield from (part for part in message.parts if isinstance(part, Call))


def _name(call: Call) -> str:
    path = call.arguments.get("path") if isinstance(call.arguments, Mapping) else None
    name = visible(path) if isinstance(path, str) and path else call.tool
    return name if len(name) <= _LONGEST_TOLD else name[:_LONGEST_TOLD] + "…"


def _words(result: Result) -> str:
    text = "".join(one.text for one in result.content if isinstance(one, Text))
    line = visible(text.split("\n", 1)[0])
    return line if len(line) <= _LONGEST_TOLD else line[:_LONGEST_TOLD] + "…"
