"""`stanch demo`: a scripted agent at work on a sample workspace, under a real server, for a minute.

Settles what is shown and in which order. Does not settle what the agent does (`demo_workspace`), nor what is printed of
a turn (`following_turn`).
"""

from __future__ import annotations

import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.client import Client, Refusal
from stanch.values.fault import BadInput

YesOption = Annotated[bool, typer.Option("--yes", help="Answer everything by itself, and stop the server at the end.")]
SECONDS_BYPASSED = 900


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("demo")(demo)


def demo(yes: YesOption = False) -> None:
    """Watch an agent that a script plays: what it may do, what it may not, and what it has to ask you.

    Everything but the model is real: the server, its console, the rules, the tools. It works in a directory of its own,
    which is removed at the end. Exit code: 0 where all went as it should, 1 where it did not, 2 where it cannot start.
    """
    if not yes and not sys.stdin.isatty():
        raise BadInput("the demo asks you questions, and there is no terminal here; --yes has it answer by itself")
    try:
        from stanch.app.settings import settings_of
        from stanch.runtime.scripted import scripted_models
        from stanch.runtime.scripted_serving import served
        from stanch.surfaces.cli.demo_workspace import POLICY, lay_out, scripts
        from stanch.surfaces.cli.server_here import server_here
        from stanch.surfaces.cli.welcome import Progress
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "stanch":
            raise
        raise BadInput(f"the demo needs {missing.name}; install it with: pip install 'stanch[agent]'") from None
    sent: list[bytes] = []
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="stanch-demo-") as made:
        folder = Path(made)
        lay_out(folder)
        models = stack.enter_context(served(scripted_models(scripts(), seen=lambda one: sent.append(one.raw))))
        policy = folder / "stanch.toml"
        policy.write_text(POLICY.format(models=f"{models}/v1"))
        with Progress() as progress:
            settings = settings_of(policy=policy, data=folder / "data")
            client = stack.enter_context(server_here(settings, progress.say))
        good = _play(client, sent, yes=yes)
        if not yes:
            _look_around(client)
        stack.close()
    if not good:
        raise typer.Exit(1)


def _play(client: Client, sent: list[bytes], *, yes: bool) -> bool:
    from stanch.surfaces.cli import demo_stored
    from stanch.surfaces.cli.demo_workspace import PROMPT, SECOND_PROMPT
    from stanch.surfaces.cli.following_turn import Following
    from stanch.surfaces.cli.person import Person

    try:
        session = str(client.post("/api/sessions", {"agent_id": "shopkeeper", "source": "cli"})["id"])
        terminal.out(f"The console of this demo: {client.url}/console/sessions/{session}")
        terminal.out(f"Log in with the token {client.token}\n")
        following = Following(client, session, Answers() if yes else Person())
        _heading("An agent at work. Each call is judged before it runs.")
        terminal.out(f"> {PROMPT}")
        done = following.say(PROMPT)
        _heading("The same conversation, with a model that may see less.")
        terminal.out(terminal.dimmed("the session goes on with demo/small, whose tier may not read data/customers.csv"))
        client.post(f"/api/sessions/{session}/model", {"model": "demo/small"})
        terminal.out(f"> {SECOND_PROMPT}")
        second = following.say(SECOND_PROMPT)
        _show_sent(sent)
        good = demo_stored.play(client, Answers() if yes else Person(), sent, _heading)
    except Refusal as why:
        terminal.complain(str(why))
        return False
    return good and bool(done["state"] == second["state"] == "completed")


def _show_sent(sent: list[bytes]) -> None:
    """Prints what the models got, as their server took it down."""
    import json

    last = json.loads(sent[-1])
    lines = {
        line
        for message in last["messages"]
        for line in str(message.get("content") or "").split("\n")
        if "filtered — trust tier" in line
    }
    _heading("What the model's server got in that last request.")
    terminal.out(f"  {len(last['messages'])} messages; in place of what it may not see:")
    for line in sorted(lines):
        terminal.out(f"    {visible(line)}")
    for name, words in (("the payment key", b"live_key_that"), ("a customer's card, after the switch", b"4242")):
        where = sent if name == "the payment key" else sent[-1:]
        found = sum(words in one for one in where)
        terminal.out(f"  requests that held {name}: {found}")


def _look_around(client: Client) -> None:
    terminal.out(f"\nThe server runs on at {client.url}/console until you press Ctrl+C.")
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        terminal.out()


def _heading(text: str) -> None:
    terminal.out(f"\n{text}\n{'-' * len(text)}")


class Answers:
    """Answers as a person would who reads what is asked."""

    def approval(self, request: dict[str, Any]) -> dict[str, Any]:
        """Approves a call, and those like it for a quarter of an hour."""
        terminal.out(f"  you: yes, and for a quarter of an hour to all {request['tool_category']} calls")
        return {"action": "approve", "bypass_secs": SECONDS_BYPASSED}

    def question(self, question: dict[str, Any]) -> str:
        """Takes the last choice."""
        answer = str(question["choices"][-1]) if question["choices"] else "Go on."
        terminal.out(f"  ? {visible(str(question['question']))}\n  you: {visible(answer)}")
        return answer
