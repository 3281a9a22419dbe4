"""`stanch inbox`: what waits for a person, and their answers.

Settles the commands and their exit codes. Does not settle which server is asked (`client`), how things are shown
(`inbox_words`) nor what an answer does (`app.approving`).
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from stanch.surfaces.cli import inbox_plans, inbox_words, terminal
from stanch.surfaces.cli.client import Client, DataOption, Refusal, TokenOption, UrlOption, client_for
from stanch.surfaces.cli.editor import edited
from stanch.surfaces.cli.inbox_asking import NoteOption, asked, refused, request_id
from stanch.surfaces.cli.question import JsonOption
from stanch.values.fault import BadInput


class Scope(StrEnum):
    """Which calls a bypass answers for."""

    CATEGORY = "category"
    MCP_SERVER = "mcp_server"
    ALL = "all"


RequestArgument = Annotated[str, typer.Argument(metavar="ID", help="The request, as `stanch inbox list` names it.")]
SecsOption = Annotated[
    int | None,
    typer.Option(
        "--secs", metavar="N", min=0, help="Approve what is like it for N seconds; 0: until the session ends."
    ),
]
ScopeOption = Annotated[
    Scope | None,
    typer.Option("--scope", help="What is like it. Without it: the tool's category, else its MCP server, else all."),
]
SubagentsOption = Annotated[bool, typer.Option("--include-subagents", help="For the session's subagents too.")]


def register(app: typer.Typer) -> None:
    """Adds the group of commands to the application."""
    commands = typer.Typer(
        name="inbox",
        help="See what waits for a person on a running server, and answer it. Exit codes: 0 done, 1 somebody else was "
        "faster or the answer was refused, 2 it could not be asked.",
        no_args_is_help=True,
    )
    for name, command in (
        ("list", list_waiting),
        ("show", show),
        ("approve", approve),
        ("reject", reject),
        ("edit", edit),
        ("bypass", bypass),
        ("plan", inbox_plans.plan),
        ("answer", answer),
        ("watch", watch),
    ):
        commands.command(name)(command)
    app.add_typer(commands)


def list_waiting(
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="Of this session alone.")] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the calls that need approval and the questions of agents, oldest first."""
    client = client_for(url, token, data)
    found = waiting(client, session)
    if as_json:
        terminal.out_json(found)
    else:
        inbox_words.show_list(found)


def show(
    request: RequestArgument,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what would run: the call, what it touches, why it asks, and what it would change."""
    found = asked(lambda: client_for(url, token, data).get(f"/api/inbox/approvals/{request_id(request)}"))
    if as_json:
        terminal.out_json(found)
    else:
        inbox_words.show_request(found)


def approve(  # noqa: PLR0917 - typer calls it by name
    request: RequestArgument,
    note: NoteOption = None,
    secs: SecsOption = None,
    scope: ScopeOption = None,
    include_subagents: SubagentsOption = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve a call. It is judged again before it runs."""
    body = {"action": "approve", **_noted(note), **_bypass(secs, scope, include_subagents)}
    _resolve(client_for(url, token, data), request, body, as_json)


def reject(  # noqa: PLR0917 - typer calls it by name
    request: RequestArgument,
    note: NoteOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reject a call: it does not run."""
    _resolve(client_for(url, token, data), request, {"action": "reject", **_noted(note)}, as_json)


def edit(  # noqa: PLR0917 - typer calls it by name
    request: RequestArgument,
    args: Annotated[
        str | None,
        typer.Option(
            "--args", metavar="JSON", help="The arguments to run instead. Without it: $EDITOR, on a terminal."
        ),
    ] = None,
    tool: Annotated[str | None, typer.Option("--tool", metavar="NAME", help="Another tool to run instead.")] = None,
    note: NoteOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the arguments of a call, and approve what it then is. The changed call is judged from the start."""
    client = client_for(url, token, data)
    if args is None and tool is None:
        if not sys.stdin.isatty() or not sys.stdout.isatty():
            raise BadInput("without a terminal, give the arguments with --args")
        args = edited(asked(lambda: client.get(f"/api/inbox/approvals/{request_id(request)}"))["arguments"])
    body: dict[str, Any] = {"action": "approve", **_noted(note)}
    if args is not None:
        body["arguments"] = _object(args)
    if tool is not None:
        body["tool"] = tool
    _resolve(client, request, body, as_json)


def bypass(  # noqa: PLR0917 - typer calls it by name
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")],
    secs: Annotated[int, typer.Option("--secs", metavar="N", min=0, help="For so long; 0: until the session ends.")],
    scope: Annotated[Scope | None, typer.Option("--scope", help="Without it: what is named, else all.")] = None,
    category: Annotated[str | None, typer.Option("--category", metavar="NAME", help="Such as 'filesystem'.")] = None,
    server: Annotated[str | None, typer.Option("--server", metavar="NAME", help="The MCP server.")] = None,
    include_subagents: SubagentsOption = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Suspend ordinary asks of a session. What is denied, or needs a person each time, stands."""
    named = {
        "scope": None if scope is None else scope.value,
        "category": category,
        "mcp_server": server,
        "include_subagents": include_subagents or None,
    }
    body = {"secs": secs, **{key: value for key, value in named.items() if value is not None}}
    client = client_for(url, token, data)
    found = asked(lambda: client.post(f"/api/sessions/{request_id(session)}/bypasses", body))
    if as_json:
        terminal.out_json(found)
    else:
        inbox_words.show_bypass(found)


def answer(  # noqa: PLR0917 - typer calls it by name
    request: RequestArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer.")],
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question of an agent."""
    client = client_for(url, token, data)
    found = asked(lambda: client.post(f"/api/inbox/clarifications/{request_id(request)}/resolve", {"answer": text}))
    if as_json:
        terminal.out_json(found)
    else:
        terminal.out("answered")


def watch(
    once: Annotated[bool, typer.Option("--once", help="End after the first that comes.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what waits, and then what comes, goes and is answered, as it happens, until the server stops."""
    client = client_for(url, token, data)
    try:
        events = client.events()
        for event in inbox_words.told(client, events, waiting, as_json=as_json):
            if once and event in inbox_words.NEW:
                return
    except Refusal as refusal:
        refused(refusal)
    except KeyboardInterrupt:
        return
    terminal.note("the server has stopped")


def waiting(client: Client, session: str | None = None) -> dict[str, Any]:
    """All that waits, of every page."""
    found: dict[str, Any] = {"total": 0, "approvals": [], "clarifications": []}
    cursor: str | None = None
    while True:
        at = cursor
        page = asked(lambda at=at: client.get("/api/inbox", limit=500, cursor=at, session_id=session))
        found["total"] = page["total"]
        found["approvals"] += page["approvals"]
        found["clarifications"] += page["clarifications"]
        cursor = page["next"]
        if cursor is None:
            return found


def _resolve(client: Client, request: str, body: dict[str, Any], as_json: bool) -> None:
    done = asked(lambda: client.post(f"/api/inbox/approvals/{request_id(request)}/resolve", body))
    if as_json:
        terminal.out_json(done)
    else:
        inbox_words.show_resolved(done)


def _noted(note: str | None) -> dict[str, Any]:
    return {} if note is None else {"note": note}


def _bypass(secs: int | None, scope: Scope | None, include_subagents: bool) -> dict[str, Any]:
    if secs is None:
        if scope is not None or include_subagents:
            raise BadInput("--scope and --include-subagents need --secs beside them")
        return {}
    found: dict[str, Any] = {"bypass_secs": secs}
    if scope is not None:
        found["bypass_scope"] = scope.value
    if include_subagents:
        found["include_subagents"] = True
    return found


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise BadInput("the arguments are not JSON") from None
    if not isinstance(value, dict):
        raise BadInput("the arguments must be a JSON object")
    return value
