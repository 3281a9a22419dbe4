"""Which kind of session file this is, told by its content, and all that is in it.

Settles which reader takes a file, and that every line is either read or warned of. Does not settle what a record means.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from stanch.surfaces.replay import claude_code, codex, message_lists
from stanch.surfaces.replay.lines import Advance, Line, Unread, items_of, json_lines
from stanch.surfaces.replay.records import Found, Kind, ReplayCall, Seen, Warned
from stanch.values.fault import BadInput

# How far into a file its kind has to show.
_LOOK = 500
MAX_DOCUMENT = 512 << 20


class Reader(Protocol):
    """Reads the records of one file in order."""

    def calls(self, record: Mapping[str, Any], where: str) -> Iterator[ReplayCall]:
        """The calls of one record."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A file whose kind is known. `lines`: each line is a record; else the file is one JSON text.

    `beside` are the files that hold what the session's subagents did.
    """

    path: Path
    name: str
    kind: Kind
    lines: bool
    beside: tuple[Path, ...] = ()

    @property
    def size(self) -> int:
        """How many bytes there are to read, subagents' files among them."""
        return sum(_size(path) for path in (self.path, *self.beside))


def files_of(paths: Sequence[Path]) -> dict[Path, bool]:
    """The files to read: each path that is a file, and every `.jsonl` file below each that is a directory.

    The value is true for a file that was named itself, which has to be one that can be read.
    """
    found: dict[Path, bool] = {}
    for path in paths:
        if not path.is_dir():
            found[path] = True
            continue
        below = sorted(one for one in path.rglob("*.jsonl") if one.is_file())
        if not below:
            raise BadInput(f"{path}: there is no .jsonl file below this directory")
        for one in below:
            found.setdefault(one, False)
    return found


def recognise(path: Path) -> Transcript:
    """The file with its kind. Raises `BadInput`, naming file and line, where it is no kind that is known."""
    name, first, broken = str(path), 0, 0
    try:
        with path.open("rb") as file:
            for at, line in enumerate(json_lines(file)):
                if at >= _LOOK:
                    break
                first = first or line.number
                if isinstance(line, Unread):
                    broken = broken or line.number
                    continue
                kind = _kind(line.value)
                if kind is not None:
                    beside = claude_code.subagent_files(path) if kind is Kind.CLAUDE_CODE else ()
                    return Transcript(path, name, kind, True, tuple(beside))
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {(error.strerror or 'unknown').lower()}") from None
    if not first:
        raise BadInput(f"{name}:1: the file is empty; give a session of Claude Code or Codex, or a list of messages")
    if broken and _is_document(path):
        return Transcript(path, name, Kind.MESSAGES, False)
    what = "this is not JSON" if broken == first else "this is no record of a session"
    raise BadInput(
        f"{name}:{first}: {what}; give a session file of Claude Code or Codex, "
        "a list of OpenAI or Anthropic messages, or a request with 'messages' or 'input'"
    )


def read(transcript: Transcript, seen: Seen, advance: Advance = lambda _: None) -> Iterator[Found]:
    """Every call of a file in order, its subagents' after its own, and a warning for all that was not read."""
    if not transcript.lines:
        yield from _document(transcript, seen, advance)
        return
    for path in (transcript.path, *transcript.beside):
        name = transcript.name if path is transcript.path else str(path)
        try:
            with path.open("rb") as file:
                yield from _records(_reader(transcript.kind, seen), json_lines(file, advance), name)
        except OSError as error:
            yield Warned(name, 0, f"this cannot be read: {(error.strerror or 'unknown').lower()}")


def _reader(kind: Kind, seen: Seen) -> Reader:
    if kind is Kind.CLAUDE_CODE:
        return claude_code.ClaudeCodeReader(seen)
    return codex.CodexReader(seen) if kind is Kind.CODEX else message_lists.MessageReader(seen)


def _records(reader: Reader, lines: Iterator[Line | Unread], name: str) -> Iterator[Found]:
    for line in lines:
        if isinstance(line, Unread):
            yield Warned(name, line.number, line.why)
            continue
        records = line.value if isinstance(line.value, list) else [line.value]
        for record in records:
            if isinstance(record, dict):
                yield from reader.calls(record, f"{name}:{line.number}")
            else:
                yield Warned(name, line.number, "this is JSON but no record, and was not read")


def _document(transcript: Transcript, seen: Seen, advance: Advance) -> Iterator[Found]:
    whole = document_of(transcript.path)
    advance(transcript.size)
    yield from _records(message_lists.MessageReader(seen), items_of(whole, message_lists.KEYS), transcript.name)


def _kind(record: Any) -> Kind | None:
    if claude_code.recognise(record):
        return Kind.CLAUDE_CODE
    if codex.recognise(record):
        return Kind.CODEX
    return Kind.MESSAGES if message_lists.recognise(record) else None


def _is_document(path: Path) -> bool:
    items = items_of(document_of(path), message_lists.KEYS)
    return any(isinstance(item, Line) and message_lists.recognise(item.value) for item in items)


def document_of(path: Path) -> str:
    """The text of a file that is one JSON text. Raises `BadInput` where it is too large, or no UTF-8."""
    if _size(path) > MAX_DOCUMENT:
        raise BadInput(
            f"{path} is one JSON text of more than {MAX_DOCUMENT >> 20} MB; give one record to a line instead"
        )
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise BadInput(f"{path}:{line}: this is no UTF-8 text") from None


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
