"""The JSON text of a request to a model: its values, and where in the text each of them stands.

Settles what of a request is written anew: only what is another now, so that all else goes on byte for byte, and what
was read once is not read again when the conversation goes on. Read strictly: a key that stands twice means two things.
Does not settle what a request may hold (`tiers.dialects`), nor what becomes of it (`app.proxying`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stanch.values.fault import BadInput

LONGEST_KEY = 100
_BLANKS = re.compile(r"[ \t\n\r]*")
Span = tuple[int, int]


class _Twice(ValueError):
    """An object names a key twice; the argument is the key."""


class Piece(NamedTuple):
    """Elements of the list that are others now: from `first` to `end`, which is not in it, these texts instead."""

    first: int
    end: int
    texts: Sequence[bytes]


@dataclass(slots=True)
class RequestText:
    """A request's text, read. `body` has all values but the list's elements, `items` those and `spans` their places.

    `ends` says for each element how many bytes there are up to its end. `same` says how many elements stand where they
    stood in the text that came before.
    """

    raw: bytes
    text: str
    listed: str
    body: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    same: int = 0
    end: int = 0

    @property
    def has_list(self) -> bool:
        """True where what stands under the list's name is a list."""
        return isinstance(self.body.get(self.listed), list)

    def whole(self) -> dict[str, Any]:
        """The request as one value."""
        return {**self.body, self.listed: self.items} if self.has_list else self.body

    def written(self, values: Mapping[str, Any], pieces: Sequence[Piece] = ()) -> bytes:
        """The text with other values under these keys, new ones at the end, and other elements; else as it is.

        Raises `BadInput` for a value that JSON has no text for.
        """
        changes: list[tuple[int, int, bytes]] = []
        added = b""
        for key, value in values.items():
            text = json_text(value).encode()
            if key in self.places:
                start, end = self.places[key]
                changes.append((self._bytes_to(start), self._bytes_to(end), text))
            else:
                added += b"," + json_text(key).encode() + b":" + text
        if pieces:
            changes.append((self._start(0), self.ends[-1], b",".join(self._elements(pieces))))
        if added:
            end = self._bytes_to(self.end)
            changes.append((end, end, added if self.places else added[1:]))
        made, at = [], 0
        for start, end, text in sorted(changes):
            made += [self.raw[at:start], text]
            at = end
        return b"".join([*made, self.raw[at:]])

    def _elements(self, pieces: Sequence[Piece]) -> Iterator[bytes]:
        at = 0
        for piece in pieces:
            if piece.first > at:
                yield self.raw[self._start(at) : self.ends[piece.first - 1]]
            yield from piece.texts
            at = piece.end
        if at < len(self.spans):
            yield self.raw[self._start(at) : self.ends[-1]]

    def _start(self, at: int) -> int:
        """How many bytes there are up to the beginning of an element. WHY so: between two is nothing but ASCII."""
        if not at:
            return self._bytes_to(self.spans[0][0])
        return self.ends[at - 1] + self.spans[at][0] - self.spans[at - 1][1]

    def _bytes_to(self, at: int) -> int:
        """How many bytes there are up to a character outside of the list's elements."""
        if self.text.isascii():
            return at
        if not self.spans or at <= self.spans[0][0]:
            return len(self.text[:at].encode())
        end = self.spans[-1][1]
        return self.ends[-1] + len(self.text[end:at].encode())


def json_text(value: Any) -> str:
    """A value as JSON, without blanks. Raises `BadInput` for what JSON has no text for."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError):
        raise BadInput("the request holds a number that cannot be read") from None
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text


def read(raw: bytes, listed: str, before: RequestText | None = None) -> RequestText:
    """The text of a request with a list of messages under this name. Raises `BadInput` where it is no JSON object.

    `before` is the text that came before it in the same conversation, of which nothing is read again.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("the body is no UTF-8 text") from None
    made = RequestText(raw, text, listed)
    try:
        at = _resumed(made, before) if before is not None else 0
        _read(made, at)
    except _Twice as twice:
        raise BadInput(f"the body names {twice.args[0]!r} twice in one object") from None
    except json.JSONDecodeError as why:
        raise BadInput(f"the body is no JSON: {why.msg[:1].lower() + why.msg[1:]} at character {why.pos}") from None
    except ValueError:
        raise BadInput("the body holds a number that cannot be read") from None
    except RecursionError:
        raise BadInput("the body is nested too deeply") from None
    return made


def _resumed(made: RequestText, before: RequestText) -> int:
    """Takes over what stands at the same places as before; gives where reading goes on, 0 for the beginning."""
    count = _alike(made.text, before)
    if not count:
        return 0
    made.items, made.spans, made.ends = before.items[:count], before.spans[:count], before.ends[:count]
    made.same = count
    for key, place in before.places.items():
        if place[1] <= made.spans[0][0]:
            made.places[key], made.body[key] = place, before.body[key]
    made.body[made.listed] = []
    made.places[made.listed] = (before.places[made.listed][0], 0)
    return made.spans[-1][1]


def _alike(text: str, before: RequestText) -> int:
    """How many elements of the list stand at the same places in both texts.

    WHY the last ones first: a conversation that goes on has them all, or all but those that a client marks for a cache.
    """
    spans = before.spans
    if before.listed != "" and not spans:
        return 0

    def begins(count: int) -> bool:
        end = spans[count - 1][1]
        # WHY the character behind it: a number may go on there.
        return text.startswith(before.text[:end]) and text[end : end + 1] in (",", "]", " ", "\n", "\t", "\r")

    for near in range(5):
        if near >= len(spans):
            return 0
        if begins(len(spans) - near):
            return len(spans) - near
    low, high = 0, len(spans) - 5
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if begins(middle) else (low, middle - 1)
    return low


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Twice(key[:LONGEST_KEY])
            seen.add(key)
    return found


def _no_number(_: str) -> Any:
    raise ValueError


_VALUE = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number).raw_decode


def _read(made: RequestText, at: int) -> None:
    text = made.text
    if at:
        at = _behind_list(made, _elements_from(made, _skip(text, at)))
    else:
        at = _skip(text, 0)
        if text[at : at + 1] != "{":
            raise json.JSONDecodeError("an object was expected", text, at)
        at = _skip(text, at + 1)
        if text[at : at + 1] == "}":
            made.end = at
            return _ends(text, at + 1)
        at = _member(made, at)
    while text[at : at + 1] == ",":
        at = _member(made, _skip(text, at + 1))
    if text[at : at + 1] != "}":
        raise json.JSONDecodeError("',' or '}' was expected", text, at)
    made.end = at
    return _ends(text, at + 1)


def _ends(text: str, at: int) -> None:
    if _skip(text, at) != len(text):
        raise json.JSONDecodeError("nothing more was expected", text, at)


def _member(made: RequestText, at: int) -> int:
    """Reads a key with its value; gives where the next character that is no blank stands."""
    text = made.text
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError("a key was expected", text, at)
    key, at = _VALUE(text, at)
    if key in made.places:
        raise _Twice(key[:LONGEST_KEY])
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise json.JSONDecodeError("':' was expected", text, at)
    start = _skip(text, at + 1)
    if key == made.listed and text[start : start + 1] == "[":
        made.body[key], made.places[key] = [], (start, 0)
        at = _skip(text, start + 1)
        if text[at : at + 1] == "]":
            return _behind_list(made, at)
        return _behind_list(made, _elements_from(made, _element(made, at)))
    made.body[key], end = _VALUE(text, start)
    made.places[key] = (start, end)
    return _skip(text, end)


def _element(made: RequestText, at: int) -> int:
    text = made.text
    value, end = _VALUE(text, at)
    if text.isascii():
        made.ends.append(end)
    else:
        begun = made.ends[-1] + at - made.spans[-1][1] if made.spans else len(text[:at].encode())
        made.ends.append(begun + len(text[at:end].encode()))
    made.items.append(value)
    made.spans.append((at, end))
    return _skip(text, end)


def _elements_from(made: RequestText, at: int) -> int:
    """Reads elements for as long as a comma says that there are more; gives where the bracket stands."""
    text = made.text
    while text[at : at + 1] == ",":
        at = _element(made, _skip(text, at + 1))
    if text[at : at + 1] != "]":
        raise json.JSONDecodeError("',' or ']' was expected", text, at)
    return at


def _behind_list(made: RequestText, at: int) -> int:
    made.places[made.listed] = (made.places[made.listed][0], at + 1)
    return _skip(made.text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()
