"""Tools over REST: `/api/tools`.

Settles the route, and that a call which waits for a person is told with its id. Does not settle which tools there are
(`app.tools`), nor what the gate answers.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from stanch.app.content import CallRefused
from stanch.content.tools import MOST_SECRETS, CallId, CallStands, ExecuteTool, SecretName, ToolRan, execute_tool
from stanch.surfaces.http.bodies import Body, Name
from stanch.surfaces.http.content_route import Asks, ContentRoute, as_json, serves
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.routers import BODY, guarded

ROUTER = guarded("/api/tools", "tools", ContentRoute)
ToolName = Annotated[str, Path(min_length=1, max_length=200, description="The name of a tool.")]


class ExecuteToolBody(Body):
    """What to run a tool with."""

    arguments: dict[str, Any] = Field(default_factory=dict)
    secrets: list[SecretName] = Field(
        default=[],
        max_length=MOST_SECRETS,
        description="Names of the vault whose values a command gets as variables of these names.",
    )
    session: Name | None = Field(default=None, description="The session whose call it is. A model's is its own.")
    call: CallId | None = Field(
        default=None, description="The `call_id` of the answer that told of a person to be asked, once they said yes."
    )


@ROUTER.post("/{tool}/execute", response_model=ToolRan, responses=problems(404, 409, *BODY))
@serves(execute_tool)
def execute(tool: ToolName, body: ExecuteToolBody, asks: Asks) -> Any:
    """Run a built-in tool, or one of the program that Stanch is part of, as a call of the session."""
    asked = ExecuteTool(
        tool=tool, arguments=body.arguments, secrets=tuple(body.secrets), session=body.session, call=body.call
    )
    try:
        return as_json(asks(execute_tool, asked))
    except CallStands as why:
        raise CallRefused({**why.reason, "call_id": why.call_id}, asks=why.asks) from None
