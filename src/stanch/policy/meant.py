"""What a person most likely meant: the nearest known word, and what a line lacks that is no TOML.

Settles suggestions. Does not settle what is a mistake (`policy.shapes`, `policy.building`, `policy.lint`): a suggestion
changes no answer.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

# What other programs call the keys of a policy file. A word is looked up here only where it is no key itself.
KEYS: Mapping[str, str] = {
    "effect": "action",
    "decision": "action",
    "permission": "action",
    "verdict": "action",
    "tools": "tool",
    "tool_name": "tool",
    "matcher": "tool",
    "paths": "path",
    "file": "path",
    "files": "path",
    "glob": "path",
    "agents": "agent",
    "sources": "source",
    "commands": "command",
    "cmd": "command",
    "reason": "note",
    "comment": "note",
    "description": "note",
    "message": "note",
    "required": "mandatory",
    "order": "priority",
    "title": "name",
    "root": "workspace",
    "group": "security_group",
    "prompt": "system_prompt",
    "cwd": "working_directory",
    "workdir": "working_directory",
    "arg": "argument",
    "type": "class",
    "kind": "class",
}
# What other programs call the words that a policy file takes as values.
WORDS: Mapping[str, str] = {
    "block": "deny",
    "forbid": "deny",
    "reject": "deny",
    "refuse": "deny",
    "permit": "allow",
    "accept": "allow",
    "approve": "ask",
    "confirm": "ask",
    "prompt": "ask",
    "exec": "execute",
    "run": "execute",
    "net": "network",
}
# The lists of tables of a policy file: each item has a header in double brackets.
LISTS = {
    "groups": "each group",
    "groups.rules": "each rule",
    "skills": "each skill",
    "skills.rules": "each row",
    "narrowing": "each row",
    "hooks": "each hook",
}
_PAIR = re.compile(r"\s*(?P<key>[\w.-]+)\s*=\s*(?P<value>.*?)\s*(?:#.*)?$")
_COLON = re.compile(r"\s*[\"']?(?P<key>[\w.-]+)[\"']?\s*:\s*(?P<value>\S.*?),?\s*$")
_HEADER = re.compile(r"\s*(?P<open>\[{1,2})(?P<name>[^\[\]#=]*)\]{0,2}\s*(?:#.*)?$")


def nearest(
    word: str, known: Iterable[str], others: Mapping[str, str] | None = None, cutoff: float = 0.7
) -> str | None:
    """The known word that was most likely meant; None where none is near."""
    words = list(known)
    other = (others or {}).get(word.lower())
    if other in words:
        return other
    same = next((one for one in words if one.casefold() == word.casefold()), None)
    close = difflib.get_close_matches(word, words, n=1, cutoff=cutoff)
    return same or (close[0] if close else None)


def unknown(what: str, word: str, known: Iterable[str], others: Mapping[str, str] | None = None) -> str:
    """The message for a word that is in no closed list: the word, the nearest known one, and all that are known."""
    words = list(known)
    if not words:
        return f"unknown {what} '{word}' (there is none)"
    close = nearest(word, words, others)
    hint = f"; did you mean '{close}'?" if close else ""
    return f"unknown {what} '{word}'{hint} (known: {', '.join(words)})"


_SAID = (  # how the parser's message begins, and what to do about it
    ("unescaped '\\'", r"within double quotes write \\ for one \, or put the text in single quotes"),
    ("cannot mutate immutable", "a list is written in one form: rules = [...], or tables [[groups.rules]], not both"),
    ("unclosed array", "a list has no ] at its end, or two of its items have no comma between them"),
    ("expected newline", "one key and its value stand on one line"),
    ("illegal character '\\n'", "a quote that is opened on this line is not closed on it"),
    ("unterminated string", "a quote that is opened is never closed"),
    ('expected "\'"', "a quote that is opened is never closed"),
)


def toml_hint(line: str, message: str) -> str:
    """What to write instead of a line that is no TOML, given what the parser says of it; empty where that is unclear.

    `message` is the parser's, in small letters.
    """
    for begin, hint in _SAID:
        if message.startswith(begin):
            return hint
    header = _HEADER.match(line)
    if header is not None and header["name"].strip():
        return _header_hint(header["open"], header["name"].strip(), message)
    if message.startswith("cannot overwrite"):
        return "this key stands twice in its table; take one of them out"
    if "{" in line and message.startswith("invalid initial character"):
        return "a table in { } stands on one line, and has no comma at its end"
    if line.lstrip().startswith("- "):
        return "an item of a list of tables begins with a line such as [[groups.rules]]"
    colon = _COLON.match(line)
    if colon is not None and "=" not in line.partition(":")[0]:
        return f"between a key and its value stands =, as in {colon['key']} = {_value(colon['value'])}"
    pair = _PAIR.match(line)
    return "" if pair is None else _value_hint(pair["key"], pair["value"])


def _header_hint(mark: str, name: str, message: str) -> str:
    """What to write in place of a table's header."""
    if name in LISTS and (mark == "[" or message.startswith("cannot")):
        return f"{LISTS[name]} begins with [[{name}]]"
    if message.startswith("cannot"):
        return "this table stands twice; put its keys into one"
    return f"write {mark}{name}{mark.replace('[', ']')}"


def _value_hint(key: str, value: str) -> str:
    """What to write in place of a value."""
    if value.lower() in ("true", "false", "yes", "no", "on", "off"):
        return f"write {key} = {'true' if value.lower() in ('true', 'yes', 'on') else 'false'}"
    if not value:
        return f"{key} has no value; write one, or take the line out"
    if value[0] not in "\"'[{" and not value[0].isdigit():
        return f"a text stands in quotes, as in {key} = {_value(value)}"
    return ""


def _value(value: str) -> str:
    """The value as TOML, for an example: plain text in quotes, dots for what cannot be put there as it stands."""
    if value.lower() in ("true", "false") or value.isdigit():
        return value.lower()
    return '"..."' if any(mark in value for mark in "\"'\\[]{}") else f'"{value}"'
