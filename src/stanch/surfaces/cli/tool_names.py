"""Tools' names as somebody gives them: as words, or on standard input, one a line or as JSON.

Settles the forms in which a list of tools is read. Does not settle which of the names are tools' (`policy.coverage`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stanch.policy.coverage import Named
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.json_typed import read_json, read_text, type_name
from stanch.values.fault import BadInput

STDIN = "-"
WORDS, READ = "the command line", "standard input"


def tools_given(words: Sequence[str], server: str | None) -> Iterator[Named]:
    """The tools of the words, in order; `-` stands for those of standard input, which are perhaps of an MCP `server`.

    Raises `BadInput` where it cannot be read, or names nothing.
    """
    if words.count(STDIN) > 1:
        raise BadInput("standard input can be read once; write - once")
    if server is not None and STDIN not in words:
        raise BadInput("--server says whose the tools on standard input are; give - too")
    if server is not None and (not server or "__" in server or "*" in server):
        raise BadInput("--server is no server's name: it may not be empty, and holds neither __ nor *")
    for word in words:
        if word != STDIN:
            yield Named(word, WORDS)
            continue
        for name in _names(read_text(STDIN, "TOOL")):
            yield Named(name if server is None or not name else f"mcp__{server}__{name}", READ)


def _names(text: str) -> list[str]:
    """The names of a text: JSON where it begins as a list or an object does, else one a line."""
    text = text.removeprefix("\ufeff").strip()
    if not text:
        # WHY no empty list: a program that failed before the pipe would have every tool declared.
        raise BadInput(f"{READ} is empty")
    if text[0] not in "[{":
        return [name for line in text.split("\n") if (name := line.strip())]
    value = read_json(READ, text)
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    if isinstance(value, dict):
        if not isinstance(value.get("tools"), list):
            raise BadInput(f"{READ}: an object needs 'tools', a list, as an MCP server's answer to tools/list has")
        if value.get("nextCursor"):
            terminal.note(f"{READ} is one page of a list; its 'nextCursor' says that the server has more tools")
        value = value["tools"]
    return [_name(one, at) for at, one in enumerate(value, 1)]


def _name(one: Any, at: int) -> str:
    name = one.get("name") if isinstance(one, dict) else one
    if isinstance(name, str):
        return name
    if isinstance(one, dict):
        raise BadInput(f"{READ}: tool {at} has no 'name' that is a string")
    raise BadInput(f"{READ}: tool {at} must be a name, or an object with 'name', got {type_name(one)}")
