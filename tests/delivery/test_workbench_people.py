"""A workbench for people: the commands, and that no agent's tool gets to its directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Ended, Stanch, stanch
from tests.delivery.benching import Chat, all_kinds
from tests.delivery.stage import Stage, State
from tests.http.served import COPILOT

__all__ = ["stanch"]


@pytest.fixture
def chat(stage: Stage) -> Chat:
    """A chat with some of each kind."""
    all_kinds(stage)
    made = Chat(stage)
    made.bash("mkdir d; cp c.txt d/in", "c.txt", "e.txt")
    made.taint()
    return made


def test_the_commands(stage: Stage, chat: Chat, stanch: Stanch, tmp_path: Path) -> None:
    token = stage.client().headers["Authorization"].partition(" ")[2]

    def command(*words: str) -> Ended:
        return stanch("workbench", *words, "--url", stage.url, "--token", token)

    told = chat.bash("cat u.txt")
    assert told.startswith("Withheld")
    shown = command("show", chat.id)
    assert shown.out.splitlines()[0].split() == ["36", "file", "c.txt"]
    assert "u.txt  tainted" in shown.out
    assert "secrets near it: PAY_KEY" in shown.err
    assert "file:u.txt" in shown.err
    found = command("show", chat.id, "--json").json
    assert command("output", chat.id, found["outputs"][0]).out.startswith("the key is {{PAY_KEY}}")
    out = tmp_path / "out"
    assert command("get", chat.id, "e.txt", str(out)).code == 0
    assert out.read_text() == stage.written(State.ENTRIES)
    assert command("get", chat.id, "d/nope", str(tmp_path / "x")).code == 1
    assert command("get", chat.id, "e.txt", str(out)).code == 2
    assert command("remove", chat.id, "d").out == "removed: d\n"
    assert command("remove", chat.id, "d").code == 1
    assert command("remove", chat.id, "../lock").code == 2
    assert command("clear", chat.id).out == "the workbench is empty\n"
    assert "the workbench is empty" in command("show", chat.id).err
    assert command("show", "nobody").code == 1


def test_a_model_has_no_command_but_the_one(stage: Stage, chat: Chat, stanch: Stanch) -> None:
    token = stage.client(COPILOT).headers["Authorization"].partition(" ")[2]
    at = ("--url", stage.url, "--token", token)
    for words in (("show",), ("get", "e.txt", "-"), ("remove", "u.txt"), ("clear",), ("output", "call_1")):
        assert stanch("workbench", words[0], chat.id, *words[1:], *at).code == 1, words
    assert stanch("files", "get", "c.txt", "--workbench", *at).code == 2
    assert stanch("files", "get", "c.txt", "here", "--workbench", *at, "--session", chat.id).code == 2
    assert stanch("files", "get", "c.txt", "--workbench", *at, "--session", chat.id).code == 0
    assert chat.entries()["u.txt"]


def test_no_tool_of_an_agent_gets_to_its_directory(stage: Stage, chat: Chat) -> None:
    (place,) = (stage.root / "workbenches").iterdir()
    for tool, arguments in (
        ("read_file", {"path": str(place / "files" / "e.txt")}),
        ("list_files", {"path": str(place)}),
        ("write_file", {"path": str(place / "files" / "u.txt"), "content": "x"}),
        ("execute_cmd", {"command": f"cat {place}/files/e.txt"}),
        ("execute_cmd", {"command": f"rm -r {place}"}),
    ):
        told = chat.tool(tool, **arguments)
        assert "belongs to Stanch itself" in told, told
    (stage.workspace / "way").symlink_to(place)
    assert "belongs to Stanch itself" in chat.tool("read_file", path="way/files/e.txt")
