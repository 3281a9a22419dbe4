"""What a model itself wrote in the place of a conversation, told apart from what another wrote there.

Settles which characters of a summary are the very words of an answer that was made by no more than is read now: these
are its model's own, and all around them keeps its tags. Does not settle what a summary is (`tiers.tag_attached`), nor
who may read what (`app.proxy_settling`).
WHY needed: an agent sums up as somebody's words what its model answered. Without this a model that may not read
everything would forget all at each summary, its own included.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Generic, TypeVar

from stanch.app.foreign_tags import shipped_shapes
from stanch.tiers.tag_attached import is_summary
from stanch.values.message import Message, Role, Text

MOST_SESSIONS = 256
MOST_ANSWERS = 4
LONGEST = 32_768
_SUMMARY = re.compile(r"<summary>(.*)</summary>", re.DOTALL)
M = TypeVar("M")


class OwnWords(Generic[M]):
    """The last answers in words of each session, with whatever is known of their making. Not for several threads."""

    def __init__(self) -> None:
        self._said: OrderedDict[str, deque[tuple[str, M]]] = OrderedDict()

    def note(self, session_id: str, text: str, made: M) -> None:
        """Keeps an answer. One that is too long is nobody's."""
        inner = _SUMMARY.search(text)
        words = (inner[1] if inner is not None else text).strip()
        if not words or len(words) > LONGEST:
            return
        self._said.setdefault(session_id, deque(maxlen=MOST_ANSWERS)).append((words, made))
        self._said.move_to_end(session_id)
        while len(self._said) > MOST_SESSIONS:
            self._said.popitem(last=False)

    def of(self, session_id: str, fits: Callable[[M], bool]) -> tuple[str, ...]:
        """The answers whose making fits, the longest first."""
        return tuple(sorted((words for words, made in self._said.get(session_id, ()) if fits(made)), key=len)[::-1])


def summaries(messages: Iterable[Message]) -> tuple[int, ...]:
    """The places of the messages in which something stands for others, and is of files."""
    return tuple(at for at, message in enumerate(messages) if any(map(_is_summary, message.parts)))


def own(message: Message, words: Iterable[str]) -> Message:
    """The message, where the first of these words that stand in a summary are of no file; itself where none do."""
    known = tuple(words)
    parts = []
    for part in message.parts:
        found = next((one for one in known if _is_summary(part) and isinstance(part, Text) and one in part.text), None)
        if found is None or not isinstance(part, Text):
            parts.append(part)
            continue
        start = part.text.index(found)
        around = [(0, start), (start + len(found), len(part.text))]
        spans = [span for span in around if part.text[slice(*span)].strip()]
        parts.append(replace(part, tags=tuple(replace(tag, span=span) for span in spans for tag in part.tags)))
    same = all(new is old for new, old in zip(parts, message.parts, strict=True))
    return message if same or message.role not in (Role.USER, Role.SYSTEM) else replace(message, parts=tuple(parts))


def _is_summary(part: object) -> bool:
    if not isinstance(part, Text) or not part.tags or any(tag.span is not None for tag in part.tags):
        return False
    return is_summary(part.text, shipped_shapes())
