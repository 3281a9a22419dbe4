"""No agent's call reaches what the server keeps for itself, wherever that is and whatever the rules say."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.server.conftest import Start
from tests.server.processes import Running

EVERYTHING = 'version = 1\n\n[[groups]]\nid = "default"\n\n[[groups.rules]]\ntool = "*"\naction = "allow"\n'


@pytest.fixture
def server(start: Start, workspace: Path) -> Running:
    """A server whose policy allows everything, with its data in the middle of its workspace."""
    (workspace / "stanch.toml").write_text(EVERYTHING, "utf-8")
    (workspace / "way-in").symlink_to("state")
    return start(data="workspace/state")


def test_its_data_can_be_neither_read_nor_written(server: Running) -> None:
    tools = {"read_file": "path", "write_file": "path", "Read": "file_path", "Write": "file_path", "anything": "x"}
    for name in ("admin-token", "stanch.db", "stanch.db-wal", "lock", "not-there-yet", "."):
        for path in (f"state/{name}", f"{server.data}/{name}", f"way-in/{name}", f"state/../state/{name}"):
            for tool, argument in tools.items():
                answer = server.check(tool, **{argument: path})
                assert (answer["effect"], answer["reason"]["code"]) == ("deny", "path_protected"), (tool, path)


def test_the_rest_of_the_workspace_is_free(server: Running) -> None:
    assert server.check("read_file", path="notes.md")["effect"] == "allow"
    assert server.check("write_file", path="notes.md")["effect"] == "allow"
    assert server.check("read_file", path="state-of-things")["effect"] == "allow"


def test_the_policy_file_can_be_read_and_not_written(server: Running) -> None:
    assert server.check("read_file", path="stanch.toml")["effect"] == "allow"
    answer = server.check("write_file", path="stanch.toml")
    assert (answer["effect"], answer["reason"]["code"]) == ("deny", "path_protected")


def test_a_grant_does_not_open_it(server: Running) -> None:
    context = {"allow_fs_reads": ["state"], "allow_fs_writes": ["state"]}
    for tool in ("read_file", "write_file"):
        body = {"tool": tool, "arguments": {"path": "state/admin-token"}, "context": context}
        reply = server.ask("POST", "/api/check", body)
        assert reply.status == 200, reply
        assert reply.json["reason"]["code"] == "path_protected"


def test_what_holds_it_cannot_be_moved(server: Running, workspace: Path) -> None:
    answer = server.check("mcp__filesystem__move_file", source=str(workspace), destination="/elsewhere")
    assert (answer["effect"], answer["reason"]["code"]) == ("deny", "path_protected")


def test_it_is_kept_where_it_lies_outside_of_the_workspace(start: Start, workspace: Path) -> None:
    (workspace / "stanch.toml").write_text(EVERYTHING, "utf-8")
    database = workspace / "kept" / "elsewhere.db"
    database.parent.mkdir()
    server = start("--database", f"sqlite:///{database}")
    (workspace / "link").symlink_to(server.data)
    places = ["link/admin-token", str(server.data / "admin-token"), str(server.data)]
    places += [f"kept/elsewhere.db{side}" for side in ("", "-wal", "-shm", "-journal")]
    for path in places:
        for tool in ("read_file", "write_file"):
            assert server.check(tool, path=path)["reason"]["code"] == "path_protected", (tool, path)
    assert server.check("read_file", path="kept/other.db")["effect"] == "allow"


def test_nothing_that_is_kept_holds_the_token(server: Running) -> None:
    server.check("read_file", path="notes.md")
    token = server.token
    assert server.stop() == 0
    with closing(sqlite3.connect(server.data / "stanch.db")) as connection:
        assert token not in "\n".join(connection.iterdump())
    for file in server.data.iterdir():
        assert file.name == "admin-token" or token.encode() not in file.read_bytes(), file
    assert token not in json.dumps(server.complained)
