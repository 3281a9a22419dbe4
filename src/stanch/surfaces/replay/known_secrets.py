"""Which known secrets are in recorded sessions, and which models were sent them.

Settles that whatever was said in a conversation was sent to every model that spoke in it later, and that what is found
in a file and in no message is told of too. Does not settle what is found (`secrets.projection`), nor what was said
(`said`).
INVARIANT: what is told of a secret is its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stanch.secrets.budget import Withheld
from stanch.secrets.projection import Projector
from stanch.surfaces.replay.detect import Transcript
from stanch.surfaces.replay.records import Warned
from stanch.surfaces.replay.said import Said, conversations
from stanch.tiers.history_words import words_of
from stanch.values.message import File, Message, Result, Role

CHUNK = 1 << 20
UNNAMED = "(a model without a name)"


@dataclass(frozen=True, slots=True)
class KnownSecret:
    """A secret that occurs in a file: in how many messages, and which models were sent one of them, or wrote one."""

    name: str
    messages: int
    models: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The row as JSON."""
        return {"name": self.name, "messages": self.messages, "models": list(self.models)}


def known_in(transcript: Transcript, projector: Projector) -> tuple[list[KnownSecret], list[Warned]]:
    """What is found in a file and those beside it, by name, and a warning where something cannot be looked through."""
    said, _ = conversations(transcript)
    counts: Counter[str] = Counter()
    models: dict[str, dict[str, None]] = {}
    warnings: list[Warned] = []
    for one in said:
        try:
            _look(one, projector, counts, models)
        except Withheld as why:
            warnings.append(Warned(transcript.name, 0, f"a conversation is not in 'secrets', since {why}"))
    for path in (transcript.path, *transcript.beside):
        stream = projector.data_stream(bulk=True)
        try:
            with path.open("rb") as file:
                while chunk := file.read(CHUNK):
                    stream.feed(chunk)
            stream.end()
        except OSError:
            continue  # WHY: whoever reads the calls has told of it
        except Withheld as why:
            warnings.append(Warned(str(path), 0, f"the file was not looked through for secrets, since {why}"))
        for name in stream.found:
            models.setdefault(name, {})
    return _rows(counts, models), warnings


def summed(rows: Iterable[KnownSecret]) -> list[KnownSecret]:
    """One row for each name."""
    counts: Counter[str] = Counter()
    models: dict[str, dict[str, None]] = {}
    for row in rows:
        counts[row.name] += row.messages
        models.setdefault(row.name, {}).update(dict.fromkeys(row.models))
    return _rows(counts, models)


def _rows(counts: Mapping[str, int], models: Mapping[str, Mapping[str, None]]) -> list[KnownSecret]:
    rows = [KnownSecret(name, counts[name], tuple(got)) for name, got in models.items()]
    return sorted(rows, key=lambda row: (-row.messages, row.name))


def _look(said: Said, projector: Projector, counts: Counter[str], models: dict[str, dict[str, None]]) -> None:
    """Goes through a conversation from its end, so that whoever speaks later is known."""
    later: dict[str, None] = {}
    for at in range(len(said.messages) - 1, -1, -1):
        message = said.messages[at]
        if message.role is Role.ASSISTANT:
            later = {said.made_by.get(at, UNNAMED): None, **later}
        for name in _found(message, projector):
            counts[name] += 1
            models[name] = {**later, **models.get(name, {})}


def _found(message: Message, projector: Projector) -> set[str]:
    found: set[str] = set()
    for part in message.parts:
        for text in words_of(part):
            found |= projector.found(text)
        for one in (part, *(part.content if isinstance(part, Result) else ())):
            if isinstance(one, File) and one.data is not None:
                found |= projector.found(one.data)
    return found
