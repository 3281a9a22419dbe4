"""`stanch runs`: what workflows did, step by step, and repeating it.

Settles the commands about runs. Does not settle those about their files (`runs_files`), nor which server is asked
(`content_client`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from stanch.explain import visible
from stanch.surfaces.cli import runs_files, terminal, tools
from stanch.surfaces.cli.client import DataOption, TokenOption, UrlOption
from stanch.surfaces.cli.content_asked import PAGE, CursorOption, said
from stanch.surfaces.cli.content_client import ContentClient, SessionOption, content_client
from stanch.surfaces.cli.question import JsonOption
from stanch.surfaces.cli.runs_progress import steps_shown
from stanch.values.fault import BadInput

EXIT_WAITS, EXIT_FAILED = 10, 1
MOST_BYTES = 1 << 20
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")]
LimitOption = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, max=200, help="How many items a page holds at most.")
]
Base64Option = Annotated[
    bool, typer.Option("--base64", help="Put the files that outputs and results name into them, as base64.")
]


def register(app: typer.Typer) -> None:
    """Adds the groups of commands to the application."""
    commands = typer.Typer(
        name="runs",
        help="What workflows did: record it, read it, repeat it through the gate. A running server is asked.",
        no_args_is_help=True,
    )
    for name, command in (
        ("list", list_runs),
        ("read", read),
        ("record", record),
        ("execute", execute),
        ("resume", resume),
        ("files", runs_files.list_files),
        ("get", runs_files.get),
        ("add-file", runs_files.add_file),
    ):
        commands.command(name)(command)
    app.add_typer(commands)
    tools.register(app)


def list_runs(  # noqa: PLR0917 - typer calls it by name
    state: Annotated[
        str | None, typer.Option("--state", metavar="STATE", help="recorded, running, paused, completed or failed.")
    ] = None,
    limit: LimitOption = PAGE,
    cursor: CursorOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the runs, newest first."""
    page = content_client(url, token, data, session).json(
        "GET",
        "/api/runs",
        tool="runs_list",
        arguments=said(state=state, limit=None if limit == PAGE else limit, cursor=cursor),
        query={"state": state, "limit": limit, "cursor": cursor},
    )
    if as_json:
        terminal.out_json(page)
        return
    for one in page["items"]:
        terminal.out(_line(one))
    if not page["items"] and not page.get("withheld"):
        terminal.note("there is no such run" if state else "there is no run; `stanch runs record FILE` records one")
    if page["next"] is not None:
        terminal.note(f"{page['total']:,} in all; more with --cursor {page['next']}")


def read(  # noqa: PLR0917 - typer calls it by name
    run: RunArgument,
    part: Annotated[
        list[str] | None,
        typer.Option("--part", metavar="WORD", help="input, output, logs, arguments or result; repeatable."),
    ] = None,
    step: Annotated[list[int] | None, typer.Option("--step", metavar="N", help="Only this step; repeatable.")] = None,
    after: Annotated[int, typer.Option("--after", metavar="N", min=0, help="Only the steps behind this one.")] = 0,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=0, max=200, help="How many steps at most.")] = PAGE,
    base64: Base64Option = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a run: its input, its steps, its output and logs."""
    found = content_client(url, token, data, session).json(
        "GET",
        place(run),
        tool="runs_read",
        arguments=said(
            run=run,
            parts=part or None,
            steps=step or None,
            after=after or None,
            limit=None if limit == PAGE else limit,
            base64=base64 or None,
        ),
        query={
            "parts": part or None, "steps": step or None, "after": after, "limit": limit, "base64": base64 or None,
        },
    )  # fmt: skip
    show(found, as_json)


def record(  # noqa: PLR0917 - typer calls it by name
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The run as JSON, as POST /api/runs takes it; - is standard input.")
    ],
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record a run that was done elsewhere."""
    body = _document(file)
    made = content_client(url, token, data, session).json(
        "POST", "/api/runs", tool="runs_record", arguments=_as_judged(body), body=body
    )
    terminal.out_json(made) if as_json else terminal.out(_line(made))


def execute(  # noqa: PLR0917 - typer calls it by name
    run: RunArgument,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="What the new run is called.")] = None,
    acting: Annotated[
        str | None,
        typer.Option("--in", metavar="SESSION", help="The session whose calls the steps are, where a person asks."),
    ] = None,
    personal: Annotated[bool, typer.Option("--personal", help="The new run is there for its person alone.")] = False,
    base64: Base64Option = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Repeat a run, each step judged as a call of the session.

    Exit code 0 where it was completed, 10 where a person has to be asked first, 1 where it has failed.
    """
    to = content_client(url, token, data, session)
    asked = said(name=name, session=acting, personal=personal or None, base64=base64 or None)
    with steps_shown(to, lambda: _newest_of(to, run)):
        found = to.json(
            "POST", f"{place(run)}/execute", tool="runs_execute", arguments={"run": run, **asked}, body=asked
        )
    ended(found, as_json)


def resume(  # noqa: PLR0917 - typer calls it by name
    run: RunArgument,
    base64: Base64Option = False,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
    session: SessionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Go on with a run that is paused. The exit codes are those of `execute`."""
    to = content_client(url, token, data, session)
    asked = said(base64=base64 or None)
    with steps_shown(to, lambda: run):
        found = to.json("POST", f"{place(run)}/resume", tool="runs_resume", arguments={"run": run, **asked}, body=asked)
    ended(found, as_json)


def place(run: str) -> str:
    """The address of a run."""
    return f"/api/runs/{quote(run, safe='')}"


def show(found: dict[str, Any], as_json: bool) -> None:
    """Prints a run with its values."""
    if as_json:
        terminal.out_json(found)
        return
    terminal.out(_line(found["run"]))
    _values(found, "  ")
    for step in found["steps"]:
        why = (step["reason"] or {}).get("sentence") or (step["reason"] or {}).get("code") or ""
        terminal.out(
            f"  {step['place']:>3}. {visible(step['tool'])}: {step['state']}{f' ({visible(why)})' if why else ''}"
        )
        _values(step, "       ")
    if found["next"] is not None:
        terminal.note(f"more steps with --after {found['next']}")
    for one in found["not_inlined"]:
        terminal.note(f"{visible(one['file'])} is not in it as base64: {one['code']}")


def ended(found: dict[str, Any], as_json: bool) -> None:
    """Prints a run that goes on no more, and ends the command as the run did."""
    show(found, as_json)
    state = found["run"]["state"]
    if state == "paused":
        waiting = next((step for step in found["steps"] if step["state"] == "waiting"), None)
        what = "" if waiting is None else f" for the call {waiting['call_id']} of {visible(waiting['tool'])}"
        terminal.note(f"it waits{what}; then: stanch runs resume {found['run']['id']}")
        raise typer.Exit(EXIT_WAITS)
    if state != "completed":
        raise typer.Exit(EXIT_FAILED)


def _newest_of(to: ContentClient, run: str) -> str | None:
    items = to.client.get("/api/runs", of_run=run, state="running", limit=1)["items"]
    return str(items[0]["id"]) if items else None


def _values(found: dict[str, Any], indent: str) -> None:
    for part, value in found["values"].items():
        for line in json.dumps({part: value}, ensure_ascii=False, indent=1)[2:-2].splitlines():
            terminal.out(indent + visible(line))
    for one in found["withheld"]:
        terminal.out(
            f"{indent}[{one['part']} withheld: {one['code']}{', ' if one['cause'] else ''}{visible(one['cause'])}]"
        )


def _line(run: dict[str, Any]) -> str:
    if "problem" in run:
        return f"{visible(run['id'])}  cannot be read: {visible(run['problem'])}"
    steps = run["steps"]
    return f"{run['id']}  {run['state']:<9}  {steps:,} step{'' if steps == 1 else 's'}  {visible(run['name'])}"


def _as_judged(body: dict[str, Any]) -> dict[str, Any]:
    """The arguments as a person is asked about them: without what is left at its default."""
    from stanch.content.runs_record import RecordRun

    try:
        return RecordRun.model_validate(body).model_dump(mode="json", exclude_defaults=True)
    except ValueError:
        return body


def _document(file: str) -> dict[str, Any]:
    """The JSON object of a file. Raises `BadInput`."""
    try:
        if file == "-" and sys.stdin.isatty():
            raise BadInput("standard input is a terminal; name a file")
        raw = sys.stdin.buffer.read(MOST_BYTES + 1) if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {(error.strerror or 'unknown').lower()}") from None
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadInput(f"{'standard input' if file == '-' else file} holds no JSON object")
    return found
