"""`stanch chat`, at a terminal and in a pipe, with a model that is a script behind real HTTP."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stanch.runtime.scripted_reply import say, use
from tests.fakes.model_server import ModelServer, model_server

COMMAND = [sys.executable, "-m", "stanch.surfaces.cli.main", "chat"]
SECONDS = 60.0


def policy(folder: Path, models: ModelServer) -> Path:
    workspace = folder / "workspace"
    (workspace / "secrets").mkdir(parents=True)
    (workspace / "notes.txt").write_text("buy milk\n")
    (workspace / "secrets/key").write_text("marker of the key\n")
    file = folder / "stanch.toml"
    file.write_text(
        f"version = 1\nworkspace = 'workspace'\n[providers.fake]\ndialect = 'openai'\n"
        f"base_url = '{models.openai_url}'\n[models]\ndefault_tier = 'trusted'\n"
        "[agents.assistant]\nmodel = 'fake/scripted'\n"
        "[[groups]]\nid = 'default'\n"
        "[[groups.rules]]\ntool = '@read'\npath = '/**/secrets'\naction = 'deny'\nmandatory = true\n"
        "[[groups.rules]]\ntool = '@read'\npath = '**'\naction = 'allow'\n"
    )
    return file


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb"}


def piped(folder: Path, models: ModelServer, said: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--policy", str(policy(folder, models)), "--data", str(folder / "data")],
        input=said,
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment(folder),
        cwd=folder,
    )


def test_lines_of_a_pipe_are_said_and_what_would_ask_is_rejected(tmp_path: Path) -> None:
    script = [
        use("read_file", path="notes.txt", saying="Looking."),
        use("read_file", path="secrets/key"),
        use("write_file", path="out.txt", content="hello"),
        say("Milk, and\n\x1b[31mnothing\x1b[0m else."),
    ]
    with model_server(script) as models:
        done = piped(tmp_path, models, "what is there?\n/why\n")
    assert done.returncode == 0, done.stderr
    assert "Looking." in done.stdout
    assert "Milk, and\n" in done.stdout
    assert "\x1b" not in done.stdout  # what a model writes is no command to the terminal
    assert "✗ read_file secrets/key" in done.stdout
    assert "Refused in this turn: 2\n  read_file secrets/key\n" in done.stdout
    assert "marker of the key" not in done.stdout
    assert not (tmp_path / "workspace/out.txt").exists()
    why = done.stdout.partition("nothing")[2]
    assert "completed: Allowed by rule 2" in why
    assert "rejected: " in why


def test_a_turn_that_fails_is_told_and_the_exit_code_says_so(tmp_path: Path) -> None:
    with model_server([]) as models:
        done = piped(tmp_path, models, "hello\n")
    assert done.returncode == 1
    assert "failed: fake/scripted answered with the status 400" in done.stdout


def test_a_chat_without_a_model_says_what_to_do(tmp_path: Path) -> None:
    with model_server([]) as models:
        file = policy(tmp_path, models)
        file.write_text(file.read_text().replace("[agents.assistant]\nmodel = 'fake/scripted'\n", ""))
        done = subprocess.run(
            [*COMMAND, "--policy", str(file), "--data", str(tmp_path / "data")],
            input="hello\n",
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=environment(tmp_path),
            cwd=tmp_path,
        )
    assert "has no model" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 1


class Terminal:
    """A person's side of a terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self.seen = descriptor, ""

    def until(self, words: str) -> str:
        end = time.monotonic() + SECONDS
        while words not in self.seen:
            assert time.monotonic() < end, f"{words!r} did not come; there is:\n{self.seen}"
            if select.select([self._descriptor], [], [], 0.2)[0]:
                self.seen += os.read(self._descriptor, 65536).decode("utf-8", "replace")
        before, _, self.seen = self.seen.partition(words)
        return before

    def type(self, line: str) -> None:
        os.write(self._descriptor, f"{line}\n".encode())


@contextmanager
def terminal(folder: Path, models: ModelServer) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "--policy", str(policy(folder, models)), "--data", str(folder / "data")],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(folder),
        cwd=folder,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(ours)
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_a_person_approves_answers_and_switches_at_the_terminal(tmp_path: Path) -> None:
    script = [
        use("write_file", path="out.txt", content="hello"),
        use("ask_user", question="Tea?"),
        say("All done."),
        say("As another model."),
    ]
    with model_server(script, models=("scripted", "other")) as models, terminal(tmp_path, models) as person:
        person.until("> ")
        person.type("write it")
        person.until("[y]es, [n]o")
        person.type("y")
        person.until("[y]es, [n]o")  # ask_user has no rule here, and so is asked about as well
        person.type("y")
        person.until("| Tea?")
        person.type("no, coffee")
        person.until("All done.")
        person.until("> ")
        person.type("/model fake/other")
        person.until("model fake/other")
        person.type("and now?")
        person.until("As another model.")
        person.until("> ")
        person.type("/quit")
    assert (tmp_path / "workspace/out.txt").read_text() == "hello"
    assert models.bodies()[-1]["model"] == "other"
    assert "no, coffee" in str(models.bodies()[2])


def test_a_terminal_shows_no_advertisement_and_a_mistyped_command_is_named(tmp_path: Path) -> None:
    with model_server([say("Hello.")]) as models, terminal(tmp_path, models) as person:
        person.until("> ")
        person.type("hi")
        assert "pydantic" not in person.until("Hello.").lower()
        person.type("/modle fake/other")
        person.until("there is no /modle")
        person.type("/model")
        person.until("name a model behind /model")
        person.type("/quit")
