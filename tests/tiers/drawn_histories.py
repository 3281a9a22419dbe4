"""Conversations drawn at random in which every piece of text says by itself where it is from."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from stanch.values.decision import Effect
from stanch.values.message import (
    Call,
    File,
    Fragment,
    Message,
    Opaque,
    Origin,
    Part,
    Reasoning,
    Result,
    Role,
    SourceTag,
    Tags,
    Text,
)

OPEN = ("/repo/app/a.py", "/repo/app/b.py", "item 1")
CLOSED = ("/repo/hr/pay.csv", "/repo/hr/old\n.csv", "item 9")
NAMES = (*OPEN, *CLOSED)
MODELS = (None, "one/small", "one/large", "two/large", "bare")
MODEL = "one/small"


def read(name: str, origin: Origin) -> Effect:
    """A tier that denies whatever is named among CLOSED, and so what is of unknown origin."""
    return Effect.DENY if origin is Origin.UNKNOWN or name in CLOSED else Effect.ALLOW


def allow(name: str, origin: Origin) -> Effect:
    """A tier without an objection."""
    return Effect.ALLOW


class Pieces:
    """Gives out texts that occur nowhere else, and remembers whose each is."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw
        self.closed: list[str] = []
        self.open: list[str] = []
        self._numbers = itertools.count()

    def piece(self, closed: bool, kept: bool = True) -> str:
        number = next(self._numbers)
        # No two of them have a run in common that is long enough for a quote.
        text = f"<{'closed' if closed else 'open'} {number} {hashlib.sha256(bytes([number])).hexdigest()}>"
        if closed:
            self.closed.append(text)
        elif kept:
            self.open.append(text)
        return text

    def tag(self, name: str, span: tuple[int, int] | None = None) -> SourceTag:
        below: tuple[str, ...] = ()
        origin = Origin.PATH if name.startswith("/") else Origin.ITEM
        if origin is Origin.PATH and self.draw(st.booleans()):
            below = tuple(self.draw(st.lists(st.sampled_from(OPEN[:2]), max_size=1)))
            origin = Origin.SUBTREE
        return SourceTag(name, origin, span, below)

    def spanned(self) -> tuple[str, Tags]:
        """A text of pieces, each with its span, and with words between them that are nobody's."""
        text, tags = "", []
        for name in self.draw(st.lists(st.sampled_from((*NAMES, None)), min_size=1, max_size=4)):
            piece = self.piece(name in CLOSED)
            if name is not None:
                tags.append(self.tag(name, (len(text), len(text) + len(piece))))
            text += piece + self.draw(st.sampled_from(("", "\n", " ")))
        return text, tuple(tags)

    def whole(self) -> tuple[str, Tags]:
        names = self.draw(st.lists(st.sampled_from(NAMES), max_size=3))
        tags = tuple(self.tag(name) for name in names)
        return self.piece(any(name in CLOSED for name in names)), tags


@st.composite
def histories(draw: Callable[..., Any]) -> tuple[list[Message], Pieces]:
    """A conversation, and what is whose in it. Results follow their calls; no role has a part that it cannot have."""
    pieces = Pieces(draw)
    messages = []
    for number in range(draw(st.integers(1, 6))):
        role = draw(st.sampled_from(Role))
        parts = [_part(draw, pieces, role, f"c{number}-{at}") for at in range(draw(st.integers(1, 3)))]
        messages.append(Message(role, tuple(parts), f"m{number}", draw(st.sampled_from(MODELS))))
    return messages, pieces


def _part(draw: Callable[..., Any], pieces: Pieces, role: Role, name: str) -> Part:
    text, tags = pieces.whole()
    closed = any(tag.name in CLOSED for tag in tags)
    kinds = {
        Role.SYSTEM: ("fragment", "text", "spans"),
        Role.USER: ("text", "spans", "file", "result", "opaque"),
        Role.ASSISTANT: ("text", "call", "reasoning"),
        Role.TOOL: ("result", "split"),
    }
    match draw(st.sampled_from(kinds[role])):
        case "fragment":
            return Fragment(text, "AGENTS.md", tags)
        case "spans":
            return Text(*pieces.spanned())
        case "file":
            return File("image/png", text, tags=tags)
        case "opaque":
            text = pieces.piece(closed, kept=False)
            return Opaque("odd", {"deep": [{"text": text}], "n": 1}, tags)
        case "call":
            return Call(name, "write_file", {"path": "/repo/app/n.txt", "content": text, "mode": 420}, tags)
        case "reasoning":
            return Reasoning(pieces.piece(closed, kept=False), draw(st.sampled_from((None, "proof"))), tags)
        case "result":
            return Result(name, (Text(text), File("image/png", "AAAA")), "read", draw(st.booleans()), tags)
        case "split":
            content, spans = pieces.spanned()
            if spans and all(tag.name in CLOSED for tag in spans):
                return Result(name, (Text(pieces.piece(closed=False)),))
            cut = draw(st.integers(0, len(content)))
            return Result(name, (Text(content[:cut]), Text(content[cut:])), "grep", tags=spans)
        case _:
            return Text(text, tags)
