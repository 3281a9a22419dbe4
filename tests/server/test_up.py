"""The server starts, says where everything is, keeps what it kept, and stops in good order."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from stanch.surfaces.cli.up import PORT
from tests.server.conftest import Start
from tests.server.processes import SECONDS, Reply, environment, until

CHECK = {"tool": "read_file", "arguments": {"path": "notes.md"}}


def commands(said: str) -> list[str]:
    """The commands that a server printed to be tried."""
    return [line.strip() for line in said.partition("Try, in another terminal:")[2].splitlines() if line.strip()]


def test_the_first_start_makes_everything_for_its_owner_alone(command: Start) -> None:
    server = command().ready()
    assert server.data.stat().st_mode & 0o777 == 0o700
    files = sorted(server.data.iterdir())
    assert {"admin-token", "lock", "stanch.db"} <= {file.name for file in files}
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert server.shown_tokens == [server.token]
    assert server.url.startswith("http://127.0.0.1:")
    assert server.url in server.said
    assert str(server.data / "admin-token") in server.said
    assert server.check("read_file", path="notes.md")["effect"] == "allow"


def test_models_that_are_trusted_are_shown_so_unless_the_policy_says_otherwise(start: Start, workspace: Path) -> None:
    (workspace / "stanch.toml").write_text('version = 1\n[models.assignments]\n"openai/*" = "limited"\n', "utf-8")
    server = start("--policy", "stanch.toml", "--trust", "anthropic/*", "--trust", "openai/*")
    tiers = server.get("/api/tiers?model=anthropic/one")
    assert tiers["assignments"] == {"anthropic/*": "trusted", "openai/*": "limited"}
    assert (tiers["default_tier"], tiers["model"]["tier"]) == ("unassigned", "trusted")
    assert [one["id"] for one in tiers["tiers"] if one["shipped"]] == ["trusted", "limited", "untrusted", "unassigned"]


def test_only_who_has_a_token_is_answered(start: Start) -> None:
    server = start()
    for token in ("", "stanch_" + "x" * 43, server.token[:-1]):
        assert server.ask("POST", "/api/check", CHECK, token=token).status == 401
    assert server.ask("POST", "/api/check", CHECK).status == 200


@pytest.mark.parametrize(("data", "words"), [("data", ()), ("my 'own' data", ()), ("data", ("--workspace", "."))])
def test_the_commands_to_try_work_as_they_are_printed(
    command: Start, workspace: Path, tmp_path: Path, data: str, words: tuple[str, ...]
) -> None:
    if words:
        (workspace / "stanch.toml").unlink()
    server = command(*words, data=data).ready()
    until(lambda: "openapi" in server.said, "the commands")
    tried = commands(server.said)
    assert len(tried) == 3
    for line in tried:
        ended = subprocess.run(
            ["/bin/sh", "-ec", line],
            cwd=tmp_path,
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert ended.returncode == 0, (line, ended)
        good = ('{"effect"', '{"items"', '{"openapi"', "allow")
        assert ended.stdout.startswith(good), (line, ended)


def test_a_second_start_keeps_the_token_and_what_was_edited(command: Start, workspace: Path) -> None:
    (workspace / "stanch.toml").unlink()
    first = command().ready()
    token, seeded = first.token, first.get("/api/approval/rules?group_id=default&limit=100")
    removed = seeded["items"][0]["id"]
    assert first.ask("DELETE", f"/api/approval/rules/{removed}").status == 204
    assert first.stop() == 0
    second = command().ready()
    assert (second.token, second.shown_tokens) == (token, [])
    kept = second.get("/api/approval/rules?group_id=default&limit=100")
    assert [rule["id"] for rule in kept["items"]] == [rule["id"] for rule in seeded["items"][1:]]


def test_a_token_that_was_revoked_is_not_made_anew(start: Start) -> None:
    first = start()
    first.stop()
    (first.data / "admin-token").write_text("stanch_" + "y" * 43 + "\n", "utf-8")
    second = start()
    assert second.shown_tokens == []
    until(lambda: "does not know the token" in second.complained, "the note")
    second.stop()
    (first.data / "admin-token").unlink()
    third = start()
    assert third.shown_tokens == [third.token]
    assert third.ask("POST", "/api/check", CHECK).status == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_in_good_order(command: Start, number: int) -> None:
    server = command().ready()
    assert server.stop(number) == 0
    assert "Traceback" not in server.complained + server.said
    assert (server.data / "lock").read_text("utf-8") == ""
    assert sorted(file.name for file in server.data.iterdir()) == ["admin-token", "lock", "stanch.db", "vault.key"]


def test_it_can_be_stopped_while_it_starts(command: Start) -> None:
    for doing in ("loading", "bringing the database", "reading the policy"):
        # WHY this one warning not: the interpreter itself, cut off while it imports, leaves the file open.
        server = command(variables={"PYTHONWARNINGS": "error,ignore:unclosed file:ResourceWarning"})
        until(lambda server=server, doing=doing: doing in server.complained, doing)  # type: ignore[misc]
        assert server.stop() == 0, server.complained
        assert "Traceback" not in server.complained


def test_what_is_under_way_is_finished_before_it_stops(start: Start) -> None:
    server = start()
    body = b'{"tool": "read_file", "arguments": {"path": "notes.md"}}'
    head = (
        f"POST /api/check HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    ).encode()
    address = ("127.0.0.1", int(server.url.rpartition(":")[2]))
    with socket.create_connection(address, timeout=SECONDS) as connection:
        connection.sendall(head)
        assert connection.recv(1000).startswith(b"HTTP/1.1 100")
        server.send(signal.SIGTERM)
        until(lambda: _refuses(address), "an end of listening")
        connection.sendall(body)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200"), answer
    assert b'"effect"' in answer
    assert server.ended() == 0


def _refuses(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=SECONDS).close()
    except ConnectionRefusedError:
        return True
    return False


def test_one_server_at_a_time_has_a_data_directory(begin: Start, start: Start) -> None:
    first = start()
    second = begin()
    assert second.ended() == 2
    where = f"process {first.pid} at {first.url}"
    assert f"a server is running on the data directory {first.data} already: {where}" in second.err.read_text("utf-8")
    assert first.get("/api/tool-permission-groups")["total"] == 1
    first.kill()
    assert start().check("read_file", path="notes.md")["effect"] == "allow"


def test_where_the_usual_port_is_taken_a_free_one_is_found(start: Start) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", PORT))
            other.listen()
        except OSError:
            pass  # somebody else has it, which is as good
        server = start(usual_port=True)
        assert not server.url.endswith(f":{PORT}")
        until(lambda: f"the port {PORT} is taken" in server.complained, "the note")


def test_a_port_that_was_named_and_is_taken_is_refused(begin: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        server = begin("--port", str(port))
        assert server.ended() == 2
    assert f"the port {port} of 127.0.0.1 is taken" in server.complained
    assert server.said == ""


def test_other_machines_are_let_in_only_by_name_and_with_a_warning(start: Start) -> None:
    server = start("--host", "0.0.0.0")
    until(lambda: "tokens travel unencrypted" in server.complained, "the warning")
    assert server.url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--policy", "none.toml"], "there is no policy file none.toml"),
        (["--workspace", "none"], "the workspace none is no directory"),
        (["--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid"),
        (["--host", ""], "--host is empty"),
        (["--host", "a..b"], "--host is no name of a machine"),
        (["--host", "a" * 64], "--host is no name of a machine"),
        (["--database", "mysql://root:hunter2@localhost/x"], "write sqlite:///PATH or postgresql://"),
        (["--database", "postgresql://u:hunter2@127.0.0.1:9/x?connect_timeout=2"], "the server cannot be reached"),
    ],
)
def test_a_persons_mistake_is_one_line(begin: Start, words: list[str], why: str) -> None:
    server = begin(*words)
    assert server.ended() == 2
    assert why in server.complained.splitlines()[-1]
    assert "Traceback" not in server.complained
    assert "hunter2" not in server.complained
    assert server.said == ""


def test_without_the_extra_it_says_what_to_install(command: Start, tmp_path: Path) -> None:
    (tmp_path / "sqlalchemy.py").write_text("raise ModuleNotFoundError(\"No module\", name='sqlalchemy')\n", "utf-8")
    server = command(variables={"PYTHONPATH": str(tmp_path)})
    assert server.ended() == 2
    assert "pip install 'stanch[server]'" in server.complained
    assert "Traceback" not in server.complained


def test_a_database_elsewhere_is_used_and_its_password_is_never_shown(start: Start, workspace: Path) -> None:
    place = workspace.parent / "elsewhere.db"
    server = start("--database", f"sqlite:///{place}")
    assert place.stat().st_mode & 0o777 == 0o600
    assert not (server.data / "stanch.db").exists()


def test_answers_come_while_others_wait(start: Start) -> None:
    server = start()
    replies: list[Reply] = []
    threads = [
        threading.Thread(target=lambda: replies.append(server.ask("POST", "/api/check", CHECK))) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert [reply.status for reply in replies] == [200] * 20
