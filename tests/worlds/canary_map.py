"""A map of where marked secrets come out: each kind of stored content by each door, in each state that it may be in.

A number is how many marked bytes came out, in any of the encodings that are looked for; `.` is none, `-` stands where
the door gives nothing of that kind in any state. What is clean is the control: it has to come out, or nothing is looked
through there. WHY marks of one kind each: who sees one knows where it came from.
"""

from __future__ import annotations

import io
import secrets
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import pypdf

from stanch.secrets.encodings import forms
from tests.canary import spellings
from tests.delivery.stage import State

KINDS: Mapping[str, str] = {
    "txt": "a file's text",
    "bin": "a file of bytes",
    "ver": "an older version of a file",
    "val": "a value of a run",
    "fil": "a file of a run",
    "log": "a log line of a run",
    "doc": "a document's title",
    "chk": "a chunk of a document",
    "cel": "a cell of a table",
    "lnk": "what a link leads to",
    "tol": "the result of a tool",
    "wbk": "a copy in a workbench",
    "cmp": "a compiled document",
    "msg": "a value of the vault in a message",
    "env": "a value of the vault in a variable of the server",
}
STATES = (State.UNKNOWN, State.ENTRIES, State.UNRECORDED)
WIDTH, _NAME, _CELL = 120, 44, 4


def new_marks() -> dict[str, str]:
    """A mark for each kind. It has letters that encodings change, and none that would end a word in a document."""
    return {kind: f"{kind}+{secrets.token_hex(6)}/{secrets.token_hex(2)}" for kind in KINDS}


@cache
def _spelled(mark: str) -> frozenset[bytes]:
    return frozenset({*spellings(mark), *forms(mark)})


def marked_bytes(data: bytes, mark: str) -> int:
    """How many bytes of the mark are in it, whatever way they are spelled."""
    return sum(data.count(form) * len(form) for form in _spelled(mark))


def opened(data: bytes) -> bytes:
    """The answer, with what is packed in it as it reads unpacked."""
    if data[:4] == b"%PDF":
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        return data + "".join(page.extract_text() for page in pages).replace("\n", "").encode()
    if data[:2] == b"PK":
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                return data + b"\n".join(opened(packed.read(name)) for name in packed.namelist())
        except zipfile.BadZipFile:
            return data
    return data


@dataclass
class Map:
    """What came out, by state and door. `shows`: the kinds of which a door gives something that is clean."""

    marks: dict[State, dict[str, str]] = field(default_factory=lambda: {state: new_marks() for state in STATES})
    shows: dict[str, frozenset[str]] = field(default_factory=dict)
    seen: dict[State, dict[str, dict[str, int]]] = field(default_factory=lambda: {state: {} for state in STATES})
    views: dict[str, set[str]] = field(default_factory=dict)

    def look(self, state: State, door: str, data: bytes, shows: Collection[str] = ()) -> None:
        """Counts the marks in what came through a door."""
        self.shows[door] = self.shows.get(door, frozenset()) | frozenset(shows)
        found = self.seen[state].setdefault(door, dict.fromkeys(KINDS, 0))
        whole = opened(data)
        for kind, mark in self.marks[state].items():
            found[kind] += marked_bytes(whole, mark)

    def problems(self, expected: Collection[str]) -> Iterator[str]:
        """Everything that is not as it has to be. `expected` are the doors that something has to come to."""
        doors = self.seen[State.UNRECORDED]
        yield from (f"nothing exercises {door}" for door in sorted({*expected} - doors.keys()))
        for state in (State.UNKNOWN, State.ENTRIES):
            for door, found in self.seen[state].items():
                for kind, count in found.items():
                    if count:
                        yield f"{door} gives {count} marked bytes of {KINDS[kind]} ({state})"
        for door, found in doors.items():
            for kind in sorted(self.shows[door]):
                if not found[kind]:
                    yield f"{door} gives nothing of {KINDS[kind]} that is clean"

    def text(self) -> str:
        """The map, one table for each state."""
        lines = [f"{kind}  {words}" for kind, words in KINDS.items()]
        for state in STATES:
            title = {State.UNRECORDED: "clean, with a mark: the control"}.get(state, str(state))
            lines += ["", f"{title}", self._line("door, views", KINDS)]
            for door in sorted(self.seen[state]):
                found = self.seen[state][door]
                cells = [self._cell(door, kind, found[kind]) for kind in KINDS]
                views = "".join(sorted(view[0].lower() for view in self.views.get(door, ())))
                lines.append(self._line(f"{door} {views}".rstrip(), cells))
        lines += ["", "views: c complete, d derived, e excerpt, o opaque"]
        return "\n".join(lines) + "\n"

    def _cell(self, door: str, kind: str, count: int) -> str:
        if count:
            return str(count) if count < 1_000 else f"{count // 1_000}k"
        return "." if kind in self.shows[door] else "-"

    @staticmethod
    def _line(name: str, cells: Collection[str]) -> str:
        short = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
        return f"{short:<{_NAME}}" + "".join(f"{cell:>{_CELL + 1}}" for cell in cells)
