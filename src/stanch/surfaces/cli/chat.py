"""`stanch chat`: a conversation with an agent on the terminal, and the person's answers to what it asks.

Settles the commands of a chat, and whose server it talks to: the one that runs on the data directory, else one that
runs as long as the chat does. Does not settle what is printed of a turn (`following_turn`), nor what an agent may do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from stanch.explain import visible
from stanch.surfaces import finding
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import Client, DataOption, Refusal, TokenOption, UrlOption, client_for
from stanch.surfaces.cli.following_turn import Following, shown_arguments
from stanch.surfaces.cli.person import Person, read_line
from stanch.surfaces.cli.up import PolicyOption
from stanch.values.fault import BadInput

MOST_ASKED = 20
HELP = """\
  /model NAME   go on with another model, as provider/model
  /attach PATH  let a stored picture or text go with what is said next
  /why          what was asked for in the last turn, and why each call was answered as it was
  /session      the session's id, its model, and where to see it in the console
  /quit         leave; the session stays
Ctrl+C stops a turn that is under way. Anything else is said to the agent; @FILE in it adds the text of a file."""

SessionArgument = Annotated[
    str | None, typer.Argument(metavar="SESSION", help="Go on with this session.", show_default=False)
]
AgentOption = Annotated[str, typer.Option("--agent", metavar="NAME", help="The agent to talk to.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The model, as provider/model. Without it: the agent's own, in the policy file.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("chat")(chat)


def chat(  # noqa: PLR0917 - typer calls it by name
    session: SessionArgument = None,
    agent: AgentOption = "assistant",
    model: ModelOption = None,
    policy: PolicyOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    data: DataOption = None,
) -> None:
    """Talk to an agent, see what it does, and answer what it asks, here or in the console.

    Where standard input is no terminal, each of its lines is said to the agent, and nobody answers: what would ask is
    rejected. Exit code: 0 at the end; 1 where the last turn did not come to its end; 2 where it cannot start.
    """
    finding.current_directory()
    with _server(url, token, data, policy) as client, _clean():
        found = _session(client, session, agent, model)
        if not _talk(client, found):
            raise typer.Exit(1)


@contextmanager
def _server(url: str | None, token: str | None, data: Path | None, policy: Path | None) -> Iterator[Client]:
    """The server that is meant, or one of our own where none runs."""
    if url is not None:
        yield client_for(url, token, data)
        return
    from stanch.app.settings import settings_of
    from stanch.app.wiring import reached

    settings = settings_of(policy=policy if policy is not None else finding.nearest_policy(), data=data)
    try:
        found = reached(settings)
    except BadInput:
        found = None
    if found is not None:
        yield Client(found.url, token or found.token)
        return
    from stanch.surfaces.cli.server_here import server_here
    from stanch.surfaces.cli.welcome import Progress

    with ExitStack() as stack:
        with Progress() as progress:
            client = stack.enter_context(server_here(settings, progress.say))
        yield client


@contextmanager
def _clean() -> Iterator[None]:
    """Turns what the server refuses into one line."""
    try:
        yield
    except Refusal as why:
        terminal.refuse(str(why))


def _session(client: Client, session: str | None, agent: str, model: str | None) -> dict[str, Any]:
    if session is not None:
        found = client.get(f"/api/sessions/{_part(session)}")
        if model is not None:
            found = client.post(f"/api/sessions/{_part(session)}/model", {"model": model})
        return dict(found)
    body: dict[str, Any] = {"agent_id": agent, "source": "cli", "approver": sys.stdin.isatty()}
    if model is not None:
        body["model"] = model
    return dict(client.post("/api/sessions", body))


def _talk(client: Client, session: dict[str, Any]) -> bool:
    """Talks until the person leaves; True where the last turn came to its end."""
    session_id = str(session["id"])
    following = Following(client, session_id, Person())
    following.start_behind()
    told = sys.stdin.isatty()
    if told:
        _show_session(client, session_id)
        terminal.out(terminal.dimmed("/help lists what else can be said"))
    done = True
    while True:
        line = read_line("> " if told else "")
        if line is None or line.strip() == "/quit":
            return done
        if not line.strip():
            continue
        try:
            if line.startswith("/"):
                _command(client, following, session_id, line)
            else:
                done = _turn(client, following, line)
        except Refusal as why:
            terminal.complain(str(why))
            done = False


def _turn(client: Client, following: Following, text: str) -> bool:
    try:
        # WHY only there: what comes through a pipe, nobody has typed, and a word of it mentions nothing.
        turn = following.say(text, mentions=sys.stdin.isatty())
    except KeyboardInterrupt:
        turn = following.stopped()
    if turn["state"] != "completed":
        problem = turn.get("problem") or {}
        terminal.out(f"{turn['state']}: {visible(str(problem.get('sentence') or 'the turn did not come to its end'))}")
    if not sys.stdin.isatty():
        _show_refused(client, str(turn["id"]))
    return bool(turn["state"] == "completed")


def _show_refused(client: Client, turn_id: str) -> None:
    """Prints at the end of a turn that nobody watched what it was not let do."""
    refused = client.get(f"/api/turns/{turn_id}/refused")
    if refused:
        terminal.out(f"Refused in this turn: {len(refused)}")
    for call in refused:
        terminal.out(f"  {visible(str(call['tool']))} {shown_arguments(call['arguments'])}")
        terminal.out(f"      {visible(_sentence(call))}")


def _command(client: Client, following: Following, session_id: str, line: str) -> None:
    word, _, rest = line.strip().partition(" ")
    match word:
        case "/model" if rest.strip():
            client.post(f"/api/sessions/{session_id}/model", {"model": rest.strip()})
            _show_session(client, session_id)
            _ask_for_tier(client, session_id)
        case "/attach" if rest.strip():
            following.attached.append(rest.strip())
        case "/why":
            _why(client, session_id)
        case "/session":
            _show_session(client, session_id)
        case "/help":
            terminal.out(HELP)
        case "/model":
            terminal.complain("name a model behind /model, as provider/model")
        case _:
            terminal.complain(f"there is no {visible(word)}; /help lists what there is")


def _show_session(client: Client, session_id: str) -> None:
    found = client.get(f"/api/sessions/{session_id}")
    model = found["model"] or "that of the agent"
    terminal.out(f"session {visible(session_id)}, agent {visible(found['agent_id'])}, model {visible(model)}")
    if found["skills"] or found["narrowing"]:
        terminal.out(f"skills: {visible(', '.join(found['skills']) or 'none')}; own rows: {len(found['narrowing'])}")
    terminal.out(terminal.dimmed(f"{client.url}/console/sessions/{session_id}"))


def _ask_for_tier(client: Client, session_id: str) -> None:
    """Says what the session's model is not shown of it, and asks the one question that its tier leaves open."""
    found = client.get(f"/api/sessions/{session_id}/withheld")
    withheld = sum(found["pieces"].values())
    if withheld:
        terminal.out(f"the tier {visible(found['label'])} is not shown {withheld} pieces of the conversation so far")
    asks = found["asks"]
    if not asks or not sys.stdin.isatty():
        return
    terminal.out(f"it asks about what came from these {len(asks)}:")
    for name in asks[:MOST_ASKED]:
        terminal.out(f"  {visible(name)}")
    if len(asks) > MOST_ASKED:
        terminal.out(f"  … and {len(asks) - MOST_ASKED} more")
    body: dict[str, Any] = {"send": [], "withhold": []}
    match (read_line("[s]end them, [w]ithhold them, [c]hoose, or leave it for [l]ater? ") or "l").strip().lower()[:1]:
        case "s":
            body["send"] = asks
        case "w":
            body["withhold"] = asks
        case "c":
            for name in asks:
                yes = (read_line(f"  send {visible(name)}? [y/n] ") or "n").strip().lower().startswith("y")
                body["send" if yes else "withhold"].append(name)
    if body["send"] or body["withhold"]:
        client.post(f"/api/sessions/{session_id}/answers", body)


def _why(client: Client, session_id: str) -> None:
    """Prints the calls of the last turn, each with its answer."""
    turns = client.page(f"/api/sessions/{session_id}/turns", limit=1)
    since = str(turns[0]["started_at"]) if turns else ""
    calls = [
        call
        for call in reversed(client.page(f"/api/sessions/{session_id}/calls", limit=100))
        if "problem" not in call and str(call["created_at"]) >= since
    ]
    if not calls:
        terminal.out("no call was made in the last turn")
    for call in calls:
        edited = ", as a person edited it" if call["edited"] else ""
        terminal.out(f"{visible(str(call['tool']))} {shown_arguments(call['arguments'])}")
        terminal.out(f"    {str(call['state']).replace('_', ' ')}{edited}: {visible(_sentence(call))}")


def _sentence(call: dict[str, Any]) -> str:
    reason = call["reason"]
    rule = reason.get("rule") or {}
    note = f" ({rule['note']})" if rule.get("note") else ""
    return str(reason.get("sentence") or reason.get("code") or "") + note


def _part(text: str) -> str:
    """A session's id as it may stand in an address. Raises `BadInput` for what is none."""
    if not text or any(not (letter.isascii() and (letter.isalnum() or letter in "_-.")) for letter in text):
        raise BadInput(f"'{visible(text)}' is no session's id")
    return text
