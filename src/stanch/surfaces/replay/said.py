"""What was said in recorded sessions: conversations, as messages.

Settles which records of a file are messages, in which conversation each stands, and where that was had. Does not settle
how a message of a provider is read (`tiers.dialects`) nor what a model may see of it (`withholding`). A message that
cannot be read is told of with its line, and never left out in silence. One that a file repeats counts once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stanch.surfaces.replay import message_lists
from stanch.surfaces.replay.calls import table, text
from stanch.surfaces.replay.detect import Transcript, document_of
from stanch.surfaces.replay.lines import Advance, Line, Unread, decoded, items_of, json_lines
from stanch.surfaces.replay.records import Kind, Warned
from stanch.tiers.dialects import conversation
from stanch.tiers.dialects.telling import Shape, shape_of
from stanch.values.fault import BadInput
from stanch.values.message import Message, Opaque, Role, Text

_NAMED = ("filename", "path", "file_path")
_SUMMARY, _FILE = "compaction", "file"


@dataclass(slots=True)
class Said:
    """One conversation. `started` is the first directory that it is known to have been had in.

    `made_by` says which model made a message, by its place, where the file says so.
    """

    started: str | None = None
    messages: list[Message] = field(default_factory=list)
    made_by: dict[int, str] = field(default_factory=dict)
    here: str | None = None

    def moved(self, directory: str) -> None:
        """Notes where the next messages are said, as an agent tells its model."""
        if not directory.startswith("/") or directory == self.here:
            return
        self.started = self.started or directory
        if self.here is not None and "<" not in directory:
            told = f"<environment_context>\n<cwd>{directory}</cwd>\n</environment_context>"
            self.messages.append(Message(Role.USER, (Text(told),)))
        self.here = directory


class Conversations:
    """The conversations of one file, as they are read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.warnings: list[Warned] = []
        self._said: dict[str, Said] = {}
        self._ids: set[str] = set()
        self.here = ""
        self.model = ""

    def of(self, key: str) -> Said:
        """The conversation of that name."""
        return self._said.setdefault(key, Said())

    def all(self) -> list[Said]:
        """Those in which something was said."""
        return [said for said in self._said.values() if said.messages]

    def again(self, identity: str) -> bool:
        """True where a message of that id was there before; one without an id never was."""
        if identity and identity in self._ids:
            return True
        self._ids.add(identity)
        return False

    def add(self, key: str, value: Any, shape: Shape | None, line: int, model: str = "") -> None:
        """Adds a message of a provider, or one of Stanch's own. `model` made it, where that is known."""
        try:
            read = conversation.read([value], shape).messages
        except BadInput as why:
            what = str(why).replace("messages[0]", "it").replace("input[0]", "it")
            self.warnings.append(Warned(self.name, line, f"a message is not in 'withheld', since {what}"))
            return
        said = self.of(key)
        for message in read:
            if made_by := message.model or model or self.model:
                said.made_by[len(said.messages)] = made_by
            said.messages.append(message)


def conversations(transcript: Transcript, advance: Advance = lambda _: None) -> tuple[list[Said], list[Warned]]:
    """Every conversation in a file and in those of its subagents, and a warning for each message that was not read.

    What is no JSON is not told of: whoever reads the calls of the file does that.
    """
    found, warnings = [], []
    for path in (transcript.path, *transcript.beside):
        into = Conversations(transcript.name if path is transcript.path else str(path))
        if not transcript.lines:
            _document(document_of(path), into)
            advance(transcript.size)
        else:
            try:
                with path.open("rb") as file:
                    _lines(transcript.kind, json_lines(file, advance), into)
            except OSError:
                continue  # WHY: whoever reads the calls has told of it
        found += into.all()
        warnings += into.warnings
    return found, warnings


def _lines(kind: Kind, lines: Iterator[Line | Unread], into: Conversations) -> None:
    for line in lines:
        if isinstance(line, Unread):
            continue
        for record in line.value if isinstance(line.value, list) else [line.value]:
            if not isinstance(record, dict):
                continue
            match kind:
                case Kind.CLAUDE_CODE:
                    _claude_code(record, record, line.number, into)
                case Kind.CODEX:
                    _codex(record, line.number, into)
                case Kind.MESSAGES:
                    _message(record, line.number, into)


# --- Claude Code -----------------------------------------------------------------------------------------------------


def _claude_code(record: Mapping[str, Any], outer: Mapping[str, Any], line: int, into: Conversations) -> None:
    kind = record.get("type")
    if kind == "progress":
        data = table(record.get("data"))
        told = table(data.get("message"))
        if told:
            _claude_code({"isSidechain": True, "agentId": data.get("agentId"), **told}, record, line, into)
        return
    if kind not in ("user", "assistant", "attachment") or into.again(text(record.get("uuid"))):
        return
    # WHY one conversation for all helpers without a name: their messages stand among one another, and say no more.
    key = text(record.get("agentId")) or ("helper" if record.get("isSidechain") is True else "")
    into.here = text(outer.get("cwd")) or text(record.get("cwd")) or into.here
    into.of(key).moved(into.here)
    if kind == "attachment":
        _attachment(record, key, line, into)
        return
    message = table(record.get("message"))
    if message.get("content") is not None:
        said = {"role": kind, "content": message["content"]}
        into.add(key, said, Shape.ANTHROPIC, line, text(message.get("model")))


def _attachment(record: Mapping[str, Any], key: str, line: int, into: Conversations) -> None:
    """What the agent puts into what it sends by itself: as it was put, else the file that it names."""
    rendered = record.get("rendered")
    if isinstance(rendered, list):
        blocks: list[Any] = []
        for one in rendered:
            content = table(one).get("content")
            blocks += content if isinstance(content, list) else [{"type": "text", "text": text(content)}]
        if blocks:
            into.add(key, {"role": "user", "content": blocks}, Shape.ANTHROPIC, line)
        return
    attachment = table(record.get("attachment"))
    name = next((found for key in _NAMED if (found := text(attachment.get(key)))), "")
    if name:
        part = Opaque(_FILE, {"filename": name, "attachment": attachment})
        into.of(key).messages.append(Message(Role.USER, (part,)))


# --- Codex -----------------------------------------------------------------------------------------------------------


def _codex(record: Mapping[str, Any], line: int, into: Conversations) -> None:
    payload = table(record.get("payload"))
    match record.get("type"):
        case "session_meta" | "turn_context":
            into.of("").moved(text(payload.get("cwd")))
            into.model = text(payload.get("model")) or into.model
        case "response_item":
            if not into.again(text(payload.get("id"))):
                into.add("", payload, Shape.RESPONSES, line)
        case "compacted":
            history = payload.get("replacement_history")
            if not isinstance(history, list):
                part = Opaque(_SUMMARY, {"summary": text(payload.get("message"))})
                into.of("").messages.append(Message(Role.USER, (part,)))
                return
            for item in history:
                if isinstance(item, dict) and not into.again(text(item.get("id"))):
                    into.add("", item, Shape.RESPONSES, line)


# --- lists of messages -----------------------------------------------------------------------------------------------


def _message(record: Mapping[str, Any], line: int, into: Conversations) -> None:
    """A message on a line of its own, or a request: whose messages are another conversation, and may begin alike."""
    listed = next((record[key] for key in message_lists.KEYS if isinstance(record.get(key), list)), None)
    if listed is None:
        into.add("", record, None, line)
        return
    into.model = text(record.get("model")) or into.model
    _beside(record, line, into)
    shape = _shape(listed)
    for message in listed:
        if isinstance(message, dict) and not into.again(json.dumps(message, sort_keys=True)):
            into.add("", message, shape, line)


def _beside(request: Mapping[str, Any], line: int, into: Conversations) -> None:
    """What a request says to its model beside the messages."""
    for key in ("system", "instructions"):
        if request.get(key) and not into.again(json.dumps([key, request[key]])):
            into.add("", {"role": "system", "content": request[key]}, None, line)


def _document(whole: str, into: Conversations) -> None:
    try:
        value = decoded(whole)
    except ValueError:
        value = None
    if isinstance(value, dict):
        into.model = text(value.get("model")) or into.model
        _beside(value, 1, into)
    items = [item for item in items_of(whole, message_lists.KEYS) if isinstance(item, Line)]
    shape = _shape([item.value for item in items])
    for item in items:
        if isinstance(item.value, dict):
            if any(isinstance(item.value.get(key), list) for key in message_lists.KEYS):
                _message(item.value, item.number, into)
            else:
                into.add("", item.value, shape, item.number)


def _shape(messages: list[Any]) -> Shape | None:
    """The shape of all of them; None where each has to be told by itself."""
    try:
        return shape_of(messages)
    except BadInput:
        return None
