"""What goes between operations and whoever judges calls and runs tools for them.

Settles the words. Does not settle what is asked of whom (`content.access.Acting`), what the gate answers, nor what a
tool does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from stanch.provenance.states import Provenance


class Standing(StrEnum):
    """Where a call stands for whoever is about to run it."""

    READY = "ready"
    WAITS = "waits"  # for a person
    REFUSED = "refused"


class Does(StrEnum):
    """Whether a tool is done here."""

    TOOL = "tool"  # a built-in one, or one that the embedding program has: it acts in a session
    OPERATION = "operation"  # one on stored content
    BEGINS = "begins"  # it would begin runs or tools itself
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Judged:
    """A call of a session as it stands. `arguments` are what may run: a person may have changed them (`edited`)."""

    call_id: str
    standing: Standing
    reason: Mapping[str, Any]
    arguments: Mapping[str, Any] = field(repr=False)
    edited: bool = False


@dataclass(frozen=True, slots=True)
class Performed:
    """What came of a tool. `failed`: it could not do what it was asked, `value` says why.

    `provenance` is what is known of the value. `came_from` are the canonical paths that it came from, which a tier
    may close; an empty one among others stands for items that have none.
    """

    value: Any = field(repr=False)
    provenance: Provenance = field(repr=False)
    failed: bool = False
    came_from: tuple[str, ...] = ()
