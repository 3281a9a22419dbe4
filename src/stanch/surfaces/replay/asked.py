"""What a call asked for, in words short enough for one line of a report: its command, its path, its address.

Settles which arguments a person is shown: those that say what is touched or run, not the content that is written. Where
a tool's arguments have none of the usual names, each is shown, cut short.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from stanch.surfaces.replay.calls import command_line, text

LIMIT = 2000
_COMMANDS = ("command", "cmd", "chars", "script", "code")
_PATHS = ("file_path", "filePath", "notebook_path", "path", "paths", "source", "repo_path")
_OTHERS = ("pattern", "url", "uri", "query", "description", "prompt", "destination")
_PATCHED = re.compile(r"^\*\*\* ((?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_PIECE = 80


def asked(arguments: Mapping[str, Any] | None) -> str:
    """What the arguments ask for; empty where they say nothing of it, or cannot be read."""
    if not arguments:
        return ""
    for key in _COMMANDS:
        if said := command_line(arguments.get(key)):
            return _cut(said, LIMIT)
    patched = [f"{one[1].split()[0].lower()} {one[2]}" for one in _PATCHED.finditer(_input(arguments))]
    if patched:
        return _cut(", ".join(patched), LIMIT)
    found = [_words(arguments[key]) for key in (*_PATHS, *_OTHERS) if arguments.get(key)]
    if not found:
        found = [f"{key}: {_words(value)}" for key, value in arguments.items()]
    return _cut(" · ".join(one for one in found[:4] if one), LIMIT)


def _input(arguments: Mapping[str, Any]) -> str:
    return text(arguments.get("input")) or text(arguments.get("patch")) or text(arguments.get("patchText"))


def _words(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return _cut(", ".join(value), 4 * _PIECE)
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _cut(said, 4 * _PIECE if isinstance(value, str) and "\n" not in said else _PIECE)


def _cut(said: str, limit: int) -> str:
    return said if len(said) <= limit else said[: limit - 1] + "…"
