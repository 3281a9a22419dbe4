"""The rows of the policy table about a workbench, by U, E and C: its model's command line, its code, its mounts."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Ended, Stanch, stanch
from tests.delivery.benching import ENDED, WITHHELD, Chat, all_kinds, excluded, put
from tests.delivery.stage import CLEAN, LABEL, Stage, State
from tests.http.served import COPILOT

__all__ = ["stanch"]
U, E = State.UNKNOWN, State.ENTRIES
PRINTS = "print(open('a.txt').read())"
ASKS = "from stanch_workbench import files, call, Refused\n"
ASKING = """
try:
    print(files.get('a.txt'))
except Refused as why:
    print(why.status, why.code, why)
"""


def get(stage: Stage, stanch: Stanch, chat: Chat, path: str = "a.txt") -> Ended:
    """`stanch files get --workbench`, as the chat's model types it."""
    token = stage.client(COPILOT).headers["Authorization"].partition(" ")[2]
    return stanch("files", "get", path, "--workbench", "--url", stage.url, "--token", token, "--session", chat.id)


# a file's bytes into a workbench, by the agent's command line


def test_workbench_get__unknown(stage: Stage, stanch: Stanch) -> None:
    text = put(stage, U, "a.txt")
    chat = Chat(stage)
    ended = get(stage, stanch, chat)
    assert (ended.code, ended.out) == (1, "")
    assert "nobody can vouch for: file:a.txt" in ended.err
    stage.assert_clean(ended.err)
    assert chat.read("a.txt") == text.encode()
    told = chat.run(PRINTS)
    assert told.startswith(WITHHELD)
    assert "the key is" not in told
    assert "the key is" in chat.output()
    assert chat.bash("rm a.txt; echo gone").startswith(WITHHELD)
    assert chat.bash("echo there").startswith("there\n")


def test_workbench_get__entries(stage: Stage, stanch: Stanch) -> None:
    text = put(stage, E, "a.txt")
    chat = Chat(stage)
    assert get(stage, stanch, chat).code == 0
    assert chat.read("a.txt") == text.encode()
    assert chat.run(PRINTS).startswith(f"the key is {LABEL} and nothing else")


@pytest.mark.parametrize("state", CLEAN)
def test_workbench_get__clean(stage: Stage, stanch: Stanch, state: State) -> None:
    text = put(stage, state, "a.txt")
    chat = Chat(stage)
    ended = get(stage, stanch, chat)
    assert (ended.code, ended.out) == (0, f"a.txt: version 1, {len(text)} bytes, in the workbench\n")
    assert chat.run(PRINTS).startswith(text)


# a file's bytes through the proxy of running code


def test_workbench_proxy__unknown(stage: Stage) -> None:
    put(stage, U, "a.txt")
    chat = Chat(stage)
    told = chat.run(
        ASKS + "try:\n  print(files.get('a.txt'))\nexcept Refused as why:\n  print(why.status, why.code, why)"
    )
    assert told.startswith("403 content_unknown Withheld because nobody can say which secrets it carries")
    shown = chat.shown()
    assert (shown["secrets"], shown["places"], shown["tainted"]) == ([], [], False)


def test_workbench_proxy__entries(stage: Stage) -> None:
    text = put(stage, E, "a.txt")
    chat = Chat(stage)
    told = chat.run(ASKS + f"data = files.get('a.txt')\nprint(len(data) == {len(text)}, data.decode())")
    assert told.startswith(f"True the key is {LABEL} and nothing else")
    shown = chat.shown()
    assert shown["secrets"] == ["PAY_KEY"]
    assert shown["places"] == [str(stage.workspace / "a.txt")]


@pytest.mark.parametrize("state", CLEAN)
def test_workbench_proxy__clean(stage: Stage, state: State) -> None:
    text = put(stage, state, "a.txt")
    chat = Chat(stage)
    assert chat.bash("stanch-files get a.txt -o b/c.txt && cat b/c.txt").startswith(text)


# files that are asked to be mounted


def test_mount__unknown(stage: Stage) -> None:
    all_kinds(stage)
    put(stage, U, "a.txt")
    chat = Chat(stage)
    assert excluded(chat.bash("touch ran", "a.txt", "c.txt", "u.txt", "e.txt")) == {
        "a.txt": "content_unknown",
        "u.txt": "content_unknown",
    }
    assert "ran" not in chat.entries()
    assert chat.bash("cat c.txt", "c.txt").startswith("the key is nowhere")


def test_mount__entries(stage: Stage) -> None:
    text = put(stage, E, "a.txt")
    chat = Chat(stage)
    assert chat.run(PRINTS, "a.txt").startswith(f"the key is {LABEL} and nothing else")
    assert chat.read("a.txt") == text.encode()
    assert chat.shown()["secrets"] == ["PAY_KEY"]
    # The history stays when the copy is gone.
    assert chat.bash("cp a.txt b.txt; rm a.txt").endswith(ENDED)
    assert chat.bash("cat b.txt").startswith(f"the key is {LABEL}")


@pytest.mark.parametrize("state", CLEAN)
def test_mount__clean(stage: Stage, state: State) -> None:
    text = put(stage, state, "sub/a.txt")
    chat = Chat(stage)
    assert chat.run("print(open('sub/a.txt').read())", "sub/a.txt").startswith(text)


# a public link that running code makes or sees


LINKS = """
for tool in ("files_share", "files_links"):
    try:
        print(tool, sorted(call(tool, path="a.txt")))
    except Refused as why:
        print(tool, why.code)
"""


@pytest.mark.parametrize(("state", "code"), [(U, "content_unknown"), (E, "content_opaque")])
def test_run_code_link__withheld(stage: Stage, state: State, code: str) -> None:
    put(stage, state, "a.txt")
    made = stage.send("POST", "/api/links", json={"path": "a.txt"}).json()
    chat = Chat(stage)
    told = chat.run(ASKS + LINKS)
    assert told.startswith(f"files_share {code}\nfiles_links {code}\n")
    assert made["id"] not in told
    assert len(stage.get("/api/links?path=a.txt")["items"]) == 1


@pytest.mark.parametrize("state", CLEAN)
def test_run_code_link__clean(stage: Stage, state: State) -> None:
    put(stage, state, "a.txt")
    chat = Chat(stage)
    told = chat.run(ASKS + LINKS)
    assert told.startswith("files_share ['address', 'created_at'")
    assert len(stage.get("/api/links?path=a.txt")["items"]) == 1
    # Once a secret has come near, code makes and sees none, of whatever file: it could spell it out.
    put(stage, E, "e.txt")
    assert chat.bash("true", "e.txt").endswith(ENDED)
    assert chat.run(ASKS + LINKS).startswith("files_share content_opaque\nfiles_links content_opaque\n")
