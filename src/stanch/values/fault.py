"""The few exceptions: somebody is broken, as opposed to refused.

INVARIANT: a fault's message names fields, types and places; it never holds an argument's value or content.
"""

from __future__ import annotations

from dataclasses import dataclass


class Fault(Exception):
    """The root of every exception that Stanch raises on purpose."""


class BadCall(Fault):
    """A call cannot be read: a field is missing or of the wrong type."""


class BadContext(Fault):
    """A run context is malformed; nothing of it was taken."""


class BadInput(Fault):
    """A file, a flag or a document given by a person cannot be used; the message says what to write instead."""


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
