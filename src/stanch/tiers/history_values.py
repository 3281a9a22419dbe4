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
        "namespace", "environment", "arguments", "input_type", "caller", "effort", "clear_at",
    }
)  # fmt: skip
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
        made: dict[Any, Any] = {}
        same = True
        for key, inner in value.items():
            new_key, new_inner = change(key) if isinstance(key, str) else key, rewritten(inner, change)
            same = same and new_key is key and new_inner is inner
            plain, number = new_key, 2
            while new_key in made or (new_key is not key and new_key in value):
                new_key, number = f"{plain} ({number})", number + 1
            made[new_key] = new_inner
        return value if same else made
    if isinstance(value, (list, tuple)):
        listed = [rewritten(inner, change) for inner in value]
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
