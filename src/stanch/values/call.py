"""A tool call, what it does, and to which resources.

Settles the records that the gate and the judge read. Does not settle which effects a tool has (`policy.tools`) nor
what a path means (`paths.canonical`).
WHY: the records made once per call are named tuples, which cost a third of a frozen dataclass to make.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from stanch.values.command import Command, Weight
from stanch.values.reason import Code


class EffectClass(StrEnum):
    """What a call does to a target."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"


class Category(StrEnum):
    """The family a tool belongs to; bypasses are given by family."""

    FILESYSTEM = "filesystem"
    SHELL = "shell"
    SUBAGENT = "subagent"
    INTROSPECTION = "introspection"
    CONFIG = "config"
    NETWORK = "network"
    MCP = "mcp"


class ToolCall(NamedTuple):
    """What an agent asks to run: a tool's name and its arguments, as they came.

    INVARIANT: its printed form holds no argument, so that neither a log line nor a traceback does.
    """

    tool: str
    arguments: Mapping[str, Any]
    id: str = ""

    def __repr__(self) -> str:
        return f"ToolCall(tool={self.tool!r}, arguments=<{len(self.arguments)} not shown>, id={self.id!r})"


class Stamp(NamedTuple):
    """The canonical reading of one target, taken once per call and handed to every layer.

    `path` is the canonical path, absolute and free of links; it is the path that may be opened. `key` is the form that
    is compared: Unicode normal form C. `folded` is true where the file system ignores letter case. `links` counts the
    names of an existing regular file (0: not such a file, or not looked at). `refusal` says why there is no path.
    """

    requested: str
    path: str = ""
    key: str = ""
    folded: bool = False
    links: int = 0
    refusal: Code | None = None
    detail: str = ""


class Below(NamedTuple):
    """What lies below the target of an effect that reaches down: the comparison keys of what was found there.

    `complete` is false where there was more than was looked through.
    """

    keys: tuple[str, ...]
    complete: bool = True


class CallEffect(NamedTuple):
    """One effect of a call on one target.

    `cls` is None only for a call that has no effects, which is judged once by its tool's name. `stamp` is None where
    the effect touches no path. `subject` is what a person is told the effect touches. `below` is set where the effect
    reaches all that lies below a directory. `command` is the simple command that the effect runs or, where `found` is
    set, the one that was found to have it; `runs`: the command runs the file that it reads, as a script. `places` are
    the directories that an execution may take place in; none, or one without a path: it may be any.
    """

    cls: EffectClass | None
    argument: str = ""
    stamp: Stamp | None = None
    command: Command | None = None
    subject: str = ""
    below: Below | None = None
    found: Weight | None = None
    runs: bool = False
    places: tuple[Stamp, ...] = ()


class Reach(StrEnum):
    """Whether somebody can be asked about a call. A layer that would ask a person reads this before it does."""

    PERSON = "person"
    NONE = "none"


class Signal(Protocol):
    """Is set once nobody waits for an answer any more. It says nothing else: not that nobody could be asked."""

    def is_set(self) -> bool:
        """True from then on."""

    def wait(self, timeout: float | None = None, /) -> bool:
        """Blocks until then, or for so many seconds; true where it is set."""


class Manner(NamedTuple):
    """How a call is judged: for real, or as a question that nobody can answer but the layers themselves.

    `signal` is the asked layer's own, None where nobody gives one. `facts` are what the caller says of a write besides.
    """

    reach: Reach = Reach.PERSON
    signal: Signal | None = None
    facts: Mapping[str, Any] = MappingProxyType({})


LIVE = Manner()


class JudgedCall(NamedTuple):
    """A call with its effects stamped: the one object that every layer reads.

    `declared` is false for a tool nobody has described: it counts as all four effects (gate/effects). `builtin` is true
    for Stanch's own tools. `server` names the MCP server of an `mcp__server__tool` name. `manner` says whether the call
    is made or only asked about.
    """

    call: ToolCall
    effects: tuple[CallEffect, ...]
    declared: bool = True
    builtin: bool = False
    category: Category | None = None
    server: str | None = None
    manner: Manner = LIVE
