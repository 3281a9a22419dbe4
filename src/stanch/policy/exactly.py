"""How a rule names one thing alone: one path, one command, one tool. Where that cannot be written, why not.

Settles what the grammar of rules can say exactly. Does not settle which rule is wanted (`app.flipping`).
INVARIANT: what is written here covers the thing that it was made for and, as far as patterns go, nothing beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

from stanch.policy.shell.matching import command_pattern
from stanch.policy.shell.width import too_wide
from stanch.values.command import Command


@dataclass(frozen=True, slots=True)
class Unwritable:
    """Nothing in the grammar of rules names this alone; `why` is a sentence without its stop."""

    why: str


def tool_text(tool: str) -> str | Unwritable:
    """The tool pattern that names this tool and no other."""
    if "*" in tool or tool.startswith("@") or not tool:
        return Unwritable("no rule can name this tool alone, since its name would be read as a pattern")
    return tool


def path_text(key: str, workspace: str) -> str | Unwritable:
    """The path of a rule that names exactly this canonical path: below the workspace relative to it, else absolute."""
    if not key or key == "/":
        return Unwritable("no rule can name the root of the file system without naming every file")
    root = workspace.rstrip("/")
    inside = key == root or key.startswith(root + "/")
    text = (key[len(root) + 1 :] or ".") if inside else key
    if "*" in text or "?" in text:
        return Unwritable("no rule can name this path alone, since a pattern has no way to write a * or a ? in a name")
    try:
        text.encode()
    except UnicodeEncodeError:
        return Unwritable("no rule can name this path, since its name is no valid text")
    return f"./{text}" if text.startswith("~") else text


def grant_text(path: str) -> str | Unwritable:
    """The grant that names exactly this canonical path."""
    if "*" in path or "?" in path or path in ("", "/"):
        return Unwritable("no grant can name this path alone, since a grant has no wildcards")
    try:
        path.encode()
    except UnicodeEncodeError:
        return Unwritable("no grant can name this path, since its name is no valid text")
    return path


def command_text(command: Command) -> str | Unwritable:
    """The command pattern that allows this simple command, and no command with a word more, less or other."""
    if command.unread:
        return Unwritable(f"no rule can allow this command: {command.unread}")
    values = [*(value for _, value in command.assignments), *command.words]
    if not command.program or any(value is None for value in values):
        return Unwritable("no rule can name this command alone, since a part of it cannot be known before it runs")
    head = [f"{name}={_word(value or '')}" for name, value in command.assignments]
    words = [command.place + command.program, *(word or "" for word in command.words)]
    if any("*" in word for word in (*words, *(value or "" for value in values))):
        return Unwritable("no rule can name this command alone, since a pattern has no way to write a * in a word")
    if len(words) == 1:
        return Unwritable(f"no rule can name this command alone: '{words[0]}' would cover it with any words behind it")
    text = " ".join([*head, *map(_word, words)])
    try:
        pattern = command_pattern(text)
    except ValueError as why:
        return Unwritable(f"no rule can name this command: it would have {why}")
    if too_wide(pattern) is not None or not pattern.allows(command) or any(map(pattern.allows, _beside(command))):
        return Unwritable("no rule can name this command without others beside it")
    return text


def _beside(command: Command) -> list[Command]:
    """Commands that differ in one word: none of them may be covered."""
    words = command.words
    found = [(*words[:at], *words[at + 1 :]) for at in range(len(words))]
    found += [(*words, "another"), (*words, "--another"), (*words, "-Z"), ("another", *words)]
    found += [(*words[:at], f"{word}-another", *words[at + 1 :]) for at, word in enumerate(words)]
    return [command._replace(words=one) for one in found]


def _word(word: str) -> str:
    """A word as a pattern writes it: bare where nothing in it is special, else in quotes."""
    bare = word and all(char.isalnum() or char in "-_./:=@%+,~^#{}[]!?" for char in word)
    if bare:
        return word
    if "'" not in word:
        return f"'{word}'"
    return "".join(f'"{piece}"' if piece == "'" else f"'{piece}'" for piece in _pieces(word) if piece)


def _pieces(word: str) -> list[str]:
    out: list[str] = []
    for at, piece in enumerate(word.split("'")):
        out += ["'", piece] if at else [piece]
    return out
