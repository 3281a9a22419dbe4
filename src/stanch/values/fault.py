"""The few exceptions: somebody is broken, as opposed to refused.

INVARIANT: a fault's message names fields, types and places; it never holds an argument's value or content.
"""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_NAME = 200


class Fault(Exception):
    """The root of every exception that Stanch raises on purpose."""


class BadCall(Fault):
    """A call cannot be read: a field is missing or of the wrong type."""


class BadContext(Fault):
    """A run context is malformed; nothing of it was taken."""


class BadInput(Fault):
    """A file, a flag or a document given by a person cannot be used; the message says what to write instead."""


class BadFields(BadInput):
    """Some fields of a document cannot be used: `fields` has each with what is wrong, and what to write instead."""

    def __init__(self, *fields: tuple[str, str]) -> None:
        self.fields = fields
        super().__init__("; ".join(message for _, message in fields))


class NotInstalled(BadInput):
    """What is asked for needs a package that is not there; the message says how it is installed."""


class NotFound(Fault):
    """There is nothing of that name: `kind` says what was looked for, `name` which one, or is empty."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        super().__init__(f"there is no {kind} {quoted(name)}" if name else f"there is no such {kind}")


class Conflict(Fault):
    """A change does not go with what is stored; nothing was changed."""


class StoreUnreadable(Fault):
    """A store, or a row of it, cannot be read or written; the message says why in a few words.

    INVARIANT: never to be taken for an empty answer.
    """


class BrokenRow(StoreUnreadable):
    """One row is there and cannot be read; `table` and `id` say which, `problem` what is wrong with it."""

    def __init__(self, table: str, id: str, problem: str) -> None:  # noqa: A002 - the record's own word
        self.table, self.id, self.problem = table, id, problem
        super().__init__(f"the row {quoted(id)} of {table} cannot be read: {problem}")


def quoted(name: str) -> str:
    """A name as messages show it: on one line, and not without end."""
    shown = repr(name)
    return shown if len(shown) <= LONGEST_NAME else f"{shown[:LONGEST_NAME]}…'"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a document: where, what, and what to write instead.

    `scope` names what depends on it: `policy` (everything), `group:ID`, `tiers`, `organization`.
    """

    line: int
    where: str
    message: str
    scope: str = "policy"
    warning: bool = False
