"""`stanch tools execute`: one tool, run on the server as a call of a session.

Settles the command, and that it waits for a person where one has to be asked. Does not settle which tools there are.
"""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import quote

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import DataOption, Refusal, TokenOption, UrlOption
from stanch.surfaces.cli.content_client import (
    EXIT_REFUSED,
    SECONDS,
    ContentClient,
    SessionOption,
    asking,
    awaited,
    content_client,
    is_kind,
    read_json,
    refused,
)
from stanch.surfaces.cli.question import JsonOption
from stanch.values.fault import BadInput

EXIT_WAITS = 10


def register(app: typer.Typer) -> None:
    """Adds the group of commands to the application."""
    commands = typer.Typer(name="tools", help="Tools, run on the server as calls of a session.", no_args_is_help=True)
    commands.command("execute")(execute)
    # WHY: a group of one command would otherwise be that command.
    commands.callback()(_group)
    app.add_typer(commands)


def _group() -> None:
    pass


def execute(  # noqa: PLR0917 - typer calls it by name
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The name of a tool, such as execute_cmd.")],
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="Its arguments, as an object.")] = "{}",
    secret: Annotated[
        list[str] | None,
        typer.Option("--secret", metavar="NAME", help="A secret that a command gets as a variable; repeatable."),
    ] = None,
    acting: Annotated[
        str | None, typer.Option("--in", metavar="SESSION", help="The session whose call it is, where a person asks.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for a person who has to be asked.")] = True,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a tool as a call of the session, and print what came of it.

    Exit code 0, 1 where it failed or was refused, 10 where a person has to be asked and --no-wait was given.
    """
    to = content_client(url, token, data, session)
    body: dict[str, Any] = {"arguments": _object(args)}
    body |= {} if not secret else {"secrets": secret}
    body |= {} if acting is None else {"session": acting}
    given = _ran(to, tool, body)
    if "call_id" in given and "value" not in given:
        call_id = str(given["call_id"])
        if not wait:
            terminal.note(f"{visible(tool)} needs approval: the call {call_id}")
            raise typer.Exit(EXIT_WAITS)
        _approved(to, tool, call_id)
        given = _ran(to, tool, {**body, "call": call_id})
        if "value" not in given:
            terminal.complain(f"{visible(tool)} needs approval again: the call {given['call_id']}")
            raise typer.Exit(EXIT_WAITS)
    if as_json:
        terminal.out_json(given)
    else:
        value = given["value"]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
        for line in text.splitlines():
            terminal.out(visible(line))
    if given["failed"]:
        raise typer.Exit(EXIT_REFUSED)


def _ran(to: ContentClient, tool: str, body: dict[str, Any]) -> dict[str, Any]:
    """What came of the tool; else `call_id` alone, where a person has to be asked about its call."""

    def send(headers: Any) -> dict[str, Any]:
        raw, kind = json.dumps(body).encode(), {"Content-Type": "application/json"}
        path = f"/api/tools/{quote(tool, safe='')}/execute"
        try:
            with to.client.opened("POST", path, raw, {**headers, **kind}, SECONDS) as answer:
                return dict(read_json(answer, to.client.url))
        except Refusal as why:
            reason = why.problem.get("reason")
            if is_kind(why, "approval-needed") and isinstance(reason, dict) and "call_id" in reason:
                return {"call_id": reason["call_id"]}
            raise

    return asking(to, "tools_execute", {"tool": tool, **body}, send)


def _approved(to: ContentClient, tool: str, call_id: str) -> None:
    """Waits for a person. Ends the command where they say no."""
    try:
        call = to.client.get(f"/api/calls/{quote(call_id, safe='')}")
    except Refusal as why:
        refused(why)
    awaited(to.client, tool, call)


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadInput("--args must be a JSON object")
    return found
