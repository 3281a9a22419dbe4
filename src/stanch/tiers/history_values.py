"""JSON values in a conversation: the arguments of calls, and what a part or a message holds besides its words.

Settles which strings in them are words that can be withheld, and that what is left has the same form. Does not settle
whether something is withheld (`tiers.history_parts`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

INSTEAD = "filtered"
"""The name of the one argument that is left of arguments which have no form."""
_LONGEST_PATH = 4096
_NAME = re.compile(r"[\w$.-]{1,64}")
_WORD = re.compile(r"[\w.:/+=-]{1,128}")
_PATH_WORDS = frozenset(
    {
        "path", "paths", "file", "files", "filename", "filepath", "dir", "dirs", "directory", "directories", "folder",
        "folders", "cwd", "workdir", "root",
    }
)  # fmt: skip
# What the known formats keep under these is of a closed set, or an id.
_FORM_KEYS = frozenset(
    {
        "type", "id", "ids", "role", "name", "status", "phase", "index", "ttl", "format", "detail", "media_type",
        "call_id", "item_id", "tool_id", "tool_use_id", "tool_call_id", "server_name", "server_label", "server_id",
        "namespace", "environment", "arguments", "input_type", "caller", "effort", "clear_at", "error_code",
    }
)  # fmt: skip
_FORM_NAME = re.compile(r"[a-z]+(?:_[a-z0-9]+){0,15}")
_MODELS_OWN = frozenset({"input", "arguments"})
_PIECES = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def strings(value: Any) -> Iterator[str]:
    """Every string in the value, the keys of its tables among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from strings(inner)


def argument_strings(arguments: Mapping[str, Any] | str) -> Iterator[str]:
    """Every string in the arguments of a call; those of the JSON object where they are a text that holds one."""
    table = _object(arguments) if isinstance(arguments, str) else None
    yield from strings(arguments if table is None else table)


def rewritten(value: Any, change: Callable[[str], str]) -> Any:
    """The value with each string changed; the very same where none is. Keys that become alike are numbered."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        inner = {key: rewritten(below, change) for key, below in value.items()}
        names = {key: change(key) for key in inner if isinstance(key, str)}
        if all(names.get(key, key) is key and inner[key] is below for key, below in value.items()):
            return value
        return _renamed(inner, names)
    if isinstance(value, (list, tuple)):
        listed = [rewritten(inner, change) for inner in value]
        return value if all(new is old for new, old in zip(listed, value, strict=True)) else listed
    return value


def loose_strings(value: Any, key: str = "") -> Iterator[str]:
    """The strings of what a part or a message holds besides its words, but for those that are a matter of form.

    Names of keys as formats have them are, and what stands under some of these; nothing is in what a model made up, the
    input of a call.
    """
    if isinstance(value, str):
        if not _formal(key, value):
            yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name in _MODELS_OWN:
                yield from strings(inner)
                continue
            if not _is_form_name(name):
                yield str(name)
            yield from loose_strings(inner, name if isinstance(name, str) else "")
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from loose_strings(inner, key)


def loosely_rewritten(value: Any, change: Callable[[str], str], key: str = "") -> Any:
    """The value with each of its `loose_strings` changed; the very same where none is."""
    if isinstance(value, str):
        return value if _formal(key, value) else change(value)
    if isinstance(value, Mapping):
        inner = {
            name: rewritten(below, change) if name in _MODELS_OWN else loosely_rewritten(below, change, str(name))
            for name, below in value.items()
        }
        kept = {name: name if _is_form_name(name) else change(name) for name in inner if isinstance(name, str)}
        if all(kept.get(name, name) is name and inner[name] is below for name, below in value.items()):
            return value
        return _renamed(inner, kept)
    if isinstance(value, (list, tuple)):
        listed = [loosely_rewritten(inner, change, key) for inner in value]
        return value if all(new is old for new, old in zip(listed, value, strict=True)) else listed
    return value


def rewritten_arguments(arguments: Mapping[str, Any] | str, change: Callable[[str], str]) -> Mapping[str, Any] | str:
    """The arguments with each string changed; a text that holds a JSON object still holds one then."""
    if isinstance(arguments, str):
        table = _object(arguments)
        if table is None:
            return change(arguments)
        made = rewritten(table, change)
        return arguments if made is table else json.dumps(made, ensure_ascii=False)
    changed: Mapping[str, Any] = rewritten(arguments, change)
    return changed


def without_words(arguments: Mapping[str, Any] | str, words: str) -> Mapping[str, Any] | str:
    """The arguments with `words` for each of their texts, but for paths under a name that says so.

    Numbers, booleans and the form stay. What was a text is one that holds a JSON object.
    """
    if isinstance(arguments, str):
        table = _object(arguments)
        left = {INSTEAD: words} if table is None else _without(table, words, "", _argument)
        return json.dumps(left if isinstance(left, dict) else {INSTEAD: words}, ensure_ascii=False)
    left = _without(arguments, words, "", _argument)
    return left if isinstance(left, dict) else {INSTEAD: words}


def form_alone(extra: Mapping[str, Any], words: str) -> Mapping[str, Any]:
    """What a part or a message holds besides, with `words` for each text in it that is not a matter of form."""
    if not extra:
        return extra
    left = _without(extra, words, "", _formal)
    return left if isinstance(left, dict) else {}


def _renamed(table: Mapping[Any, Any], names: Mapping[str, str]) -> dict[Any, Any]:
    """The table with other names for some keys, in its order; those that become alike are numbered."""
    made: dict[Any, Any] = {}
    for key, inner in table.items():
        plain = new = names.get(key, key) if isinstance(key, str) else key
        number = 2
        while new in made or (new is not key and new in table):
            new, number = f"{plain} ({number})", number + 1
        made[new] = inner
    return made


def _is_form_name(name: Any) -> bool:
    return isinstance(name, str) and (name in _FORM_KEYS or _FORM_NAME.fullmatch(name) is not None)


def _argument(key: str, text: str) -> bool:
    """True for an argument that is a path, and is called one."""
    pieces = _PIECES.findall(key)
    if not pieces or pieces[-1].lower() not in _PATH_WORDS or len(text) > _LONGEST_PATH or not text.isprintable():
        return False
    return text.startswith(("/", "~/", "./", "../")) or (" " not in text and ("/" in text or "." in text))


def _formal(key: str, text: str) -> bool:
    return key in _FORM_KEYS and _WORD.fullmatch(text.replace(" ", "-")) is not None


def _without(value: Any, words: str, key: str, stays: Callable[[str, str], bool]) -> Any:
    if isinstance(value, str):
        return value if not value or stays(key, value) else words
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) and _NAME.fullmatch(name) for name in value):
            return words
        return {name: _without(inner, words, name, stays) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        found: list[Any] = []
        for inner in value:
            new = _without(inner, words, key, stays)
            if not (found and new is words and found[-1] is words):
                found.append(new)
        return found
    return value


def _object(text: str) -> dict[str, Any] | None:
    """The object that a JSON text holds; None where it holds none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
