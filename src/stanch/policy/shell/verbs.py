"""The table of commands: what a program's operands and options mean, and how a row of it is read.

Settles the records and which words the table may use. The rows themselves stand in `verbs/*.toml`; whoever reads those
files hands their contents over. Does not settle what a command's words come to (`policy.shell.operands`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

VERSION = 1
KINDS = frozenset(
    {
        *("read", "write", "both", "move", "below", "wipe", "unpack", "text", "maybe", "any", "url", "host"),
        *("script", "command", "assigns", "code", "opaque"),
    }
)
# Roles of options that take a value, in the next word or attached.
TAKING = frozenset(
    {
        *("value", "maybe", "read", "write", "both", "below", "wipe", "at", "base", "into", "pattern", "patterns"),
        *("shell", "opaque", "script", "url", "mount"),
    }
)
# Roles of flags that change what the operands are.
FLAGGING = frozenset({"deep", "edit", "lists", "own", "here", "bare", "look", "follow"})
ROLES = TAKING | FLAGGING | {"flag", "optional", "unread", "stop"}
# Roles of options that touch nothing and run nothing.
HARMLESS = frozenset({"flag", "value", "optional", "pattern", "deep", "lists", "stop", "own", "look"})

SHELLS = frozenset({"bash", "sh", "dash", "ash", "ksh", "zsh"})


@dataclass(frozen=True, slots=True)
class Slot:
    """One word of a layout: what the operand is, and how many there may be (`1`, `?` or `*`)."""

    kind: str
    many: str = "1"
    default: str = ""


@dataclass(frozen=True, slots=True)
class Verb:
    """A program, or one of its subcommands: what its words mean. The keys are those of the table."""

    names: tuple[str, ...]
    layout: tuple[Slot, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[tuple[str, str], ...] = ()
    front: Mapping[str, str] = field(default_factory=dict)
    subs: Mapping[str, Verb] = field(default_factory=dict)
    other: tuple[Slot, ...] = ()
    wrapper: str = ""
    inert: bool = False
    code_on_stdin: bool = False
    network: bool = False
    prints: str = ""
    special: str = ""
    strict: bool = False
    also: tuple[tuple[str, str], ...] = ()
    saves: bool = False
    response: bool = False

    @property
    def takes(self) -> frozenset[str]:
        """The options that take a value."""
        return frozenset(name for name, role in (*self.options.items(), *self.front.items()) if role in TAKING)

    @property
    def is_shell(self) -> bool:
        """True for a shell whose code is read here."""
        return not SHELLS.isdisjoint(self.names)

    @property
    def has_dangerous_options(self) -> bool:
        """True where an option that nobody knows could touch a file or run something."""
        return self.strict or any(role not in HARMLESS for role in self.options.values())


UNKNOWN = Verb((), (Slot("any", "*"),))
"""A program that is not in the table: each operand may be a path."""

Verbs = Mapping[str, Verb]


class BadTable(ValueError):
    """A row of the table that cannot be read."""


_KEYS = frozenset(
    {
        *("names", "operands", "options", "aliases", "front", "sub", "other", "wrapper", "inert", "code_on_stdin"),
        *("network", "prints", "special", "strict", "also", "saves", "response", "must", "must_not"),
    }
)


def verbs_of(documents: Iterable[Mapping[str, Any]]) -> dict[str, Verb]:
    """The table by program, out of its documents. Raises `BadTable` for a row that cannot be read."""
    table: dict[str, Verb] = {}
    for document in documents:
        if document.get("version") != VERSION:
            raise BadTable(f"the table of commands must have version {VERSION}")
        for row in document.get("verb", ()):
            verb = _verb(row)
            for name in verb.names:
                if name in table:
                    raise BadTable(f"the command {name} stands in the table twice")
                table[name] = verb
    return table


def _verb(row: Mapping[str, Any]) -> Verb:
    names = tuple(row["names"])
    unknown = row.keys() - _KEYS
    if unknown:
        raise BadTable(f"the command {names[0]} has the unknown key {sorted(unknown)[0]}")
    subs: dict[str, Verb] = {}
    for below in row.get("sub", ()):
        verb = _verb(below)
        subs |= dict.fromkeys(verb.names, verb)
    return Verb(
        names,
        _layout(row.get("operands", "text*"), names),
        _options(row.get("options", {}), names),
        tuple(row.get("aliases", {}).items()),
        _options(row.get("front", {}), names),
        subs,
        _layout(row.get("other", "maybe*"), names),
        row.get("wrapper", ""),
        row.get("inert", False),
        row.get("code_on_stdin", False),
        row.get("network", False),
        row.get("prints", ""),
        row.get("special", ""),
        row.get("strict", False),
        _also(row.get("also", ()), names),
        row.get("saves", False),
        row.get("response", False),
    )


def _also(rows: Iterable[str], names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    found = []
    for row in rows:
        kind, _, path = row.partition(" ")
        if kind not in KINDS or not path:
            raise BadTable(f"the command {names[0]} has an effect of the unknown kind {kind}")
        found.append((kind, path))
    return tuple(found)


def _layout(text: str, names: tuple[str, ...]) -> tuple[Slot, ...]:
    slots = []
    for word in text.split():
        bare, _, default = word.partition("=")
        many = bare[-1] if bare[-1] in "*?" else "1"
        kind = bare.rstrip("*?")
        if kind not in KINDS:
            raise BadTable(f"the command {names[0]} has an operand of the unknown kind {kind}")
        slots.append(Slot(kind, many, default))
    return tuple(slots)


def _options(rows: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    options: dict[str, str] = {}
    for words, role in rows.items():
        if role not in ROLES:
            raise BadTable(f"the command {names[0]} has an option with the unknown role {role}")
        options |= dict.fromkeys(words.split(), role)
    return options
