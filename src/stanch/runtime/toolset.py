"""The tools of an agent as the agent library takes them, each behind the gate.

Settles which tools a model is offered, and that every call of one goes through the gate. Does not settle how a call
runs (`runtime.calling`). Leaving a tool out is a courtesy: the gate decides all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anyio.to_thread import run_sync
from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from stanch.runtime.calling import Calling
from stanch.runtime.ports import Gate
from stanch.values.message import Result

_ANY_OBJECT = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
# How often in a row a model may name a tool that there is not before its turn ends.
_MOST_RETRIES = 5


class Described:
    """What a model is told of a tool."""

    def __init__(self, name: str, description: str, parameters: Mapping[str, Any]) -> None:
        self.definition = ToolDefinition(
            name=name, description=description, parameters_json_schema=dict(parameters), strict=False
        )


class GatedToolset(AbstractToolset[None]):
    """The tools of one turn."""

    def __init__(self, session_id: str, gate: Gate, tools: Mapping[str, Described], calling: Calling) -> None:
        self._session_id, self._gate, self._tools, self._calling = session_id, gate, tools, calling

    @property
    def id(self) -> str | None:
        """No id: it serves one run."""
        return None

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:  # noqa: ARG002 - the library's
        """The tools that are not refused whatever they are given, as of now."""
        hidden = await run_sync(self._gate.hidden, self._session_id, tuple(self._tools))
        return {
            name: ToolsetTool(
                toolset=self, tool_def=tool.definition, max_retries=_MOST_RETRIES, args_validator=_ANY_OBJECT
            )
            for name, tool in self._tools.items()
            if name not in hidden
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> Any:
        """The text of the call's result. A refusal is one, too."""
        del tool
        return words_of(await self._calling.run(ctx.tool_call_id or "", name, tool_args))


def words_of(result: Result) -> str:
    """The words of a result."""
    return "".join(getattr(part, "text", "") for part in result.content)
