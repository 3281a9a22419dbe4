"""What a scripted model answers, in no provider's words.

Settles the records that a script is made of. Does not settle which of them answers a request (`runtime.scripted`), nor
how a dialect spells it (`runtime.scripted_chat`, `scripted_responses`, `scripted_messages`).
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Words:
    """What the model says."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Thought:
    """What the model thinks. An empty `signature` stands for the one that `signature_of` makes of the text."""

    text: str = field(repr=False)
    signature: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that the model calls. `arguments` may be a text that is no JSON; an empty `id` is filled in."""

    tool: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict, repr=False)
    id: str = ""

    def written(self) -> str:
        """The arguments as the text that a model writes."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))


Piece: TypeAlias = Words | Thought | ToolUse


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a reply says it took; `cached` of those that were read came from the provider's cache."""

    read: int = 10
    written: int = 5
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a scripted model.

    A `status` other than 200 is an error with the text `error`. `headers` are added to the answer. `gate` holds it back
    until somebody sets it: before its first byte or, with `gate_after`, after that many events of a stream.
    `cut_after` hangs up after that many events, and `error_after` tells of an error there; an answer that does not
    stream is cut in its middle. `grain` is the number of characters in each piece of a stream. `stop` is the reason for
    stopping in the dialect's own word, worked out where it is empty.
    """

    pieces: tuple[Piece, ...] = ()
    usage: Usage = Usage()
    status: int = 200
    error: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    gate: threading.Event | None = field(default=None, repr=False)
    gate_after: int = 0
    cut_after: int | None = None
    error_after: int | None = None
    grain: int = 12
    stop: str = ""

    def uses(self) -> bool:
        """True where the model calls a tool."""
        return any(isinstance(piece, ToolUse) for piece in self.pieces)

    def grains(self, text: str) -> list[str]:
        """The text in pieces of a stream, none for an empty one."""
        return [text[at : at + self.grain] for at in range(0, len(text), self.grain)]


def say(text: str, *, usage: Usage | None = None) -> Reply:
    """A reply of nothing but words."""
    return Reply((Words(text),), usage or Usage())


def use(tool: str, /, *, saying: str = "", **arguments: Any) -> Reply:
    """A reply that calls one tool, perhaps after some words."""
    first = (Words(saying),) if saying else ()
    return Reply((*first, ToolUse(tool, arguments)))


def fail(status: int, error: str, **headers: str) -> Reply:
    """An error instead of an answer; an underscore in a header's name stands for a hyphen."""
    return Reply(status=status, error=error, headers={name.replace("_", "-"): text for name, text in headers.items()})


def signature_of(thought: str) -> str:
    """The scripted model's proof of a thought: it holds for these very words, so that a changed one can be noticed."""
    return base64.b64encode(hashlib.sha256(b"scripted\0" + thought.encode()).digest()).decode()
