"""The tools that run outside of a conversation: Stanch's own, and those of the program that it is part of.

Settles which there are, and what is known of what comes of one. Does not settle whether a call may run
(`app.performing`), nor what a built-in tool does (`runtime.builtin`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stanch.policy.known_tools import known
from stanch.runtime.builtin.executing import EXECUTE_CMD
from stanch.runtime.builtin.tools import FILE_TOOLS
from stanch.runtime.environment import environment_for, is_never_passed
from stanch.runtime.tool import Job
from stanch.secrets.telling import is_short
from stanch.secrets.text import Secret, opened
from stanch.values.fault import BadFields, BadInput
from stanch.values.message import SourceTag

_BUILTIN = {tool.name: tool for tool in (*FILE_TOOLS, EXECUTE_CMD)}
MOST_CHARACTERS = 4 << 20
_CUT = "bytes left out …]"
TOO_SHORT = "'secrets' names a value that is too short to be taken out of what a command prints"
NO_VARIABLE = "'secrets' names one that no command can have as a variable: it means something to the shell or to Stanch"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a tool. `value` is JSON-like.

    `secrets` are names of the vault whose values it was given or has seen; those of the vault are looked for in any
    case. `complete` is false where the tool cannot say that these are all: then no model is given the value. `failed`:
    it could not do what it was asked, and the value says why.
    """

    value: Any = field(repr=False)
    secrets: Sequence[str] = ()
    complete: bool = True
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a tool, and where that came from."""

    result: ToolResult
    tags: tuple[SourceTag, ...] = ()


RunTool = Callable[[Mapping[str, Any]], Any]
"""From the arguments to a `ToolResult`, or to a value of which nothing else is known than the vault says."""


class Tools:
    """The tools of this process. Safe to use from any thread."""

    def __init__(self) -> None:
        self._added: dict[str, RunTool] = {}
        self._adding = threading.Lock()

    def add(self, name: str, run: RunTool) -> None:
        """Has `run` do the tool of that name. What it may do is for the policy's declaration of the tool to say.

        Raises `BadInput` for the name of a tool that there is.
        """
        with self._adding:
            if not name or len(name) > 200 or name in known() or name in self._added:
                raise BadInput("a tool needs a name that no other one has")
            self._added[name] = run

    def has(self, name: str) -> bool:
        """True for a tool that is run here."""
        return name in _BUILTIN or name in self._added

    def run(self, job: Job, secrets: Mapping[str, Secret]) -> Ran:
        """What comes of the job, which has been judged. `secrets` are the variables that a command gets besides.

        It raises nothing that a tool raises: one that breaks has failed.
        """
        try:
            return self._run(job, secrets)
        except Exception as error:  # whatever a tool breaks with, its call has come to its end
            return Ran(ToolResult(f"{job.tool} broke: {type(error).__name__}", failed=True))

    def _run(self, job: Job, secrets: Mapping[str, Secret]) -> Ran:
        builtin = _BUILTIN.get(job.tool)
        if builtin is None:
            found = self._added[job.tool](dict(job.arguments))
            result = found if isinstance(found, ToolResult) else ToolResult(found)
            if len(json.dumps(result.value, allow_nan=False)) > MOST_CHARACTERS:
                return Ran(ToolResult(f"{job.tool} gave more than can be kept", failed=True))
            return Ran(result)
        values = {name: opened(secret) for name, secret in secrets.items()}
        output = builtin.run(replace(job, environment={**job.environment, **values}))
        # WHY: an output that was cut before anybody looked for a secret in it may end within one.
        whole = not secrets or _CUT not in output.text
        return Ran(ToolResult(output.text, tuple(secrets), whole, output.failed), tuple(output.tags))


def check_variables(tool: str, secrets: Mapping[str, Secret]) -> None:
    """Raises `BadFields` for secrets that the tool cannot be given. No message holds a name or a value."""
    if not secrets:
        return
    if tool != EXECUTE_CMD.name:
        raise BadFields(("secrets", "'secrets' are for execute_cmd, which gets them as variables"))
    if any(is_never_passed(name) or name in environment_for({name: ""}) for name in secrets):
        raise BadFields(("secrets", NO_VARIABLE))
    if any(is_short(secret) for secret in secrets.values()):
        raise BadFields(("secrets", TOO_SHORT))
