"""What a person sees of a server: what it does while it starts, and where everything is once it is up.

Settles words and streams: what goes on is said on standard error, what is found where on standard output. Does not
settle what runs (`app.wiring`).
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from stanch.explain import visible
from stanch.surfaces.cli import terminal

if TYPE_CHECKING:
    from rich.status import Status

    from stanch.app.settings import Settings
    from stanch.policy.document import Policy

MOST_PROBLEMS = 5


class Progress:
    """What the server does while it starts: one line that changes on a terminal, else a line each."""

    def __init__(self) -> None:
        self._status: Status | None = None

    def say(self, doing: str) -> None:
        """Says what is being done now."""
        if not terminal.wants_colour(sys.stderr):
            terminal.progress(doing)
            return
        if self._status is None:
            from rich.console import Console

            self._status = Console(file=sys.stderr).status(doing)
            self._status.start()
        self._status.update(doing)

    def end(self) -> None:
        """Takes the line away. Safe to repeat."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()


@dataclass(frozen=True, slots=True)
class Welcome:
    """What a person is told once the server is up.

    `docs` and `openapi` are paths, None where there is no such page; `store` says where the store is, in words.
    """

    url: str
    docs: str | None
    openapi: str | None
    settings: Settings
    store: str
    new_token: str | None

    def show(self) -> None:
        """Prints it."""
        file = self.settings.policy
        policy = "none: the groups of the database speak alone" if file is None else _short(file)
        terminal.out(f"Stanch is running at {self.url}; Ctrl+C stops it.\n")
        terminal.out(f"  console   {self.url}/console")
        terminal.out(f"  API       {self.url}/api")
        terminal.out(f"  models    {self.url}/v1 for OpenAI's clients, {self.url} for Anthropic's")
        if self.docs is not None:
            terminal.out(f"  docs      {self.url}{self.docs}")
        if self.openapi is not None:
            terminal.out(f"  OpenAPI   {self.url}{self.openapi}")
        terminal.out(f"  policy    {visible(policy)}")
        terminal.out(f"  data      {visible(str(self.settings.data))}")
        terminal.out(f"  database  {visible(self.store)}")
        terminal.out(f"  token     {visible(str(self.settings.token_file))}, which only you can read")
        if self.new_token is not None:
            terminal.out(f"            {self.new_token}, shown this once")
        terminal.out(f"  inbox     {visible(self.inbox())}")
        terminal.out(f"  chat      {visible(self.chat())}")
        terminal.out(f"  demo      {visible(f'{_program()} demo')}, which needs no model")
        terminal.out("\nTry, in another terminal:\n")
        for command in self.commands():
            terminal.out(f"  {visible(command)}")

    def inbox(self) -> str:
        """The command that shows what waits for a person, in any directory."""
        return f"{_program()} inbox list --data {shlex.quote(str(self.settings.data))}"

    def chat(self) -> str:
        """The command that talks to an agent, in any directory. The model is for the person to name."""
        return f"{_program()} chat --data {shlex.quote(str(self.settings.data))} --model PROVIDER/MODEL"

    def commands(self) -> list[str]:
        """Commands that work as they are printed, in any directory."""
        token = f'"Authorization: Bearer $(cat {shlex.quote(str(self.settings.token_file))})"'
        call = '\'{"tool": "read_file", "arguments": {"path": "README.md"}}\''
        found = [f"curl -sS -H {token} -H 'Content-Type: application/json' -d {call} {self.url}/api/check"]
        if self.settings.policy is None:
            found.append(f"curl -sS -H {token} {self.url}/api/tool-permission-groups")
        else:
            policy = shlex.quote(str(self.settings.policy))
            found.append(f'{_program()} check --policy {policy} --tool read_file --args \'{{"path": "README.md"}}\'')
        if self.openapi is not None:
            found.append(f"curl -sS {self.url}{self.openapi}")
        return found


def _program() -> str:
    """How a person types the program that this is: by its name where that finds it."""
    this = Path(sys.argv[0])
    found = shutil.which(this.name)
    if found is not None and os.path.realpath(found) == os.path.realpath(this):
        return this.name
    if this.name == "__main__.py" or not os.access(this, os.X_OK):
        return f"{shlex.quote(sys.executable)} -m stanch.surfaces.cli.main"
    return shlex.quote(os.path.abspath(this))


def _short(path: Path) -> str:
    """The path from here where it lies below, else in full."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def note_problems(policy: Policy) -> None:
    """Says on standard error what is wrong with the policy, with lines."""
    for problem in policy.problems[:MOST_PROBLEMS]:
        place = f"{policy.file}:{problem.line}: " if problem.line else ""
        terminal.note(f"{place}{problem.message}")
    further = len(policy.problems) - MOST_PROBLEMS
    if further > 0:
        terminal.note(f"and {further} more; stanch policy check lists those of a file")
