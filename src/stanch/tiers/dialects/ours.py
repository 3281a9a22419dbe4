"""Messages as JSON in Stanch's own shape: what the store keeps and the doors show.

Settles the keys, and that a message which is written and read again is the same. Does not settle what it may hold
(`values.message`). INVARIANT: what is no message is refused with the place where it stops being one; nothing of it is
repeated. A key that says nothing is left out, the keys of a table are always in one order, and those of a provider's or
a model's own tables stay in theirs. The one thing that changes: a tuple within such a table comes back as a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from stanch.tiers.dialects.json_values import (
    arguments,
    each,
    expected,
    flag,
    maybe_text,
    span,
    table,
    text,
    texts,
    word,
    written_arguments,
    written_table,
    wrong,
)
from stanch.values.message import (
    NOTHING,
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
    Text,
)


def write_message(message: Message) -> dict[str, Any]:
    """The message as a JSON object. Raises `BadFields` for what JSON cannot say."""
    return _written(message, _MESSAGE, {}, "")


def write_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages as a JSON list. Raises `BadFields` for what JSON cannot say."""
    return [_written(message, _MESSAGE, {}, f"messages[{at}].") for at, message in enumerate(messages)]


def read_message(row: Any) -> Message:
    """The message of a JSON object. Raises `BadFields`, which names the field, its type, and what was expected."""
    return _message(row, "")


def read_messages(rows: Any) -> list[Message]:
    """The messages of a JSON list, all of them. Raises `BadFields`."""
    return list(each(rows, "messages", _message_at))


# --- the tables ------------------------------------------------------------------------------------------------------


class _Key(NamedTuple):
    """One key of a table: how it is read and written, and the value that it has where it is left out."""

    name: str
    read: Callable[[Any, str], Any]
    write: Callable[[Any, str], Any]
    default: Any = ...


class _Shape(NamedTuple):
    """A table: what it becomes, its keys in order, and the word for its kind, if it has one."""

    made: type
    keys: tuple[_Key, ...]
    names: frozenset[str]
    kind: str = ""


def _shape(made: type, *keys: _Key, kind: str = "") -> _Shape:
    names = frozenset(key.name for key in keys) | ({"type"} if kind else set())
    return _Shape(made, keys, names, kind)


def _written(value: Any, shape: _Shape, row: dict[str, Any], where: str) -> dict[str, Any]:
    if type(value) is not shape.made:
        raise expected(value, where.rstrip(".") or "the message", f"a {shape.made.__name__}")
    for key in shape.keys:
        held = getattr(value, key.name)
        if key.default is ... or held != key.default:
            row[key.name] = key.write(held, where + key.name)
    return row


def _made(row: Mapping[str, Any], shape: _Shape, where: str) -> Any:
    found = {}
    for key in shape.keys:
        if key.name in row:
            found[key.name] = key.read(row[key.name], where + key.name)
        elif key.default is ...:
            raise wrong(where + key.name, "is missing")
    if len(row) != len(found) + bool(shape.kind):
        unknown = next(name for name in row if name not in shape.names)
        known = ", ".join(key.name for key in shape.keys)
        raise wrong(where + _shown(unknown), f"is unknown (known: {known})")
    return shape.made(**found)


def _shown(name: Any) -> str:
    """An unknown key, if it is a word; what else is in a key may be content."""
    return name if isinstance(name, str) and name.isidentifier() and len(name) <= LONGEST_WORD else "…"


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise expected(value, where or "the message", "an object")
    return value


def _message(value: Any, where: str) -> Message:
    message: Message = _made(_object(value, where.rstrip(".")), _MESSAGE, where)
    return message


def _message_at(value: Any, where: str) -> Message:
    return _message(value, f"{where}.")


def _tag(value: Any, where: str) -> SourceTag:
    tag: SourceTag = _made(_object(value, where), _TAG, f"{where}.")
    return tag


def _tags(value: Any, where: str) -> tuple[SourceTag, ...]:
    return each(value, where, _tag)


def _written_tags(value: Any, where: str) -> list[dict[str, Any]]:
    return [_written(tag, _TAG, {}, f"{where}[{at}].") for at, tag in enumerate(value)]


def _word(value: Any, where: str) -> str:
    return str(text(value, where))


def _written_span(value: Any, where: str) -> list[int]:
    return list(span(value, where) or ())


def _written_texts(value: Any, where: str) -> list[str]:
    return list(texts(value, where))


def _parts_of(name: str, *shapes: _Shape) -> _Key:
    """The key of a list of parts that are each of one of these kinds."""
    kinds: dict[Any, _Shape] = {shape.kind: shape for shape in shapes}
    classes: dict[type, _Shape] = {shape.made: shape for shape in shapes}

    def read(value: Any, where: str) -> Part:
        row = _object(value, where)
        if "type" not in row:
            raise wrong(f"{where}.type", "is missing")
        shape = kinds.get(text(row["type"], f"{where}.type"))
        if shape is None:
            raise wrong(f"{where}.type", f"must be one of {', '.join(kinds)}")
        part: Part = _made(row, shape, f"{where}.")
        return part

    def write(value: Any, where: str) -> dict[str, Any]:
        shape = classes.get(type(value))
        if shape is None:
            raise expected(value, where, f"one of {', '.join(kinds)}")
        return _written(value, shape, {"type": shape.kind}, f"{where}.")

    return _Key(
        name, lambda value, where: each(value, where, read), lambda value, where: list(each(value, where, write))
    )


LONGEST_WORD = 64

_TAG = _shape(
    SourceTag,
    _Key("name", text, text),
    _Key("origin", word(Origin), _word, Origin.PATH),
    _Key("span", span, _written_span, None),
    _Key("below", texts, _written_texts, ()),
    _Key("all_below", flag, flag, True),
)
_BESIDES = (_Key("tags", _tags, _written_tags, ()), _Key("extra", table, written_table, NOTHING))
_WORDS = _Key("text", text, text)


def _maybe(name: str) -> _Key:
    return _Key(name, maybe_text, maybe_text, None)


_TEXT = _shape(Text, _WORDS, *_BESIDES, kind="text")
_FILE = _shape(
    File, _Key("media_type", text, text), _maybe("data"), _maybe("url"), _maybe("name"), *_BESIDES, kind="file"
)
_OPAQUE = _shape(
    Opaque, _Key("kind", text, text), _Key("data", table, written_table), *_BESIDES, kind="opaque"
)  # fmt: skip
_REASONING = _shape(Reasoning, _WORDS, _maybe("signature"), *_BESIDES, kind="reasoning")
_FRAGMENT = _shape(Fragment, _WORDS, _Key("name", text, text, ""), *_BESIDES, kind="fragment")
_CALL = _shape(
    Call,
    _Key("id", text, text),
    _Key("tool", text, text),
    _Key("arguments", arguments, written_arguments),
    *_BESIDES,
    kind="call",
)
_RESULT = _shape(
    Result,
    _Key("call_id", text, text),
    _parts_of("content", _TEXT, _FILE, _OPAQUE),
    _Key("tool", text, text, ""),
    _Key("failed", flag, flag, False),
    *_BESIDES,
    kind="result",
)
_MESSAGE = _shape(
    Message,
    _Key("id", text, text, ""),
    _Key("role", word(Role), _word),
    _maybe("model"),
    _parts_of("parts", _TEXT, _REASONING, _FRAGMENT, _FILE, _CALL, _RESULT, _OPAQUE),
    _Key("extra", table, written_table, NOTHING),
)
