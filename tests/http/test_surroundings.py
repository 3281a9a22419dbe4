"""What surrounds every request: hosts, lengths, headers, media types, and the one shape of every error."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from typing import Any

import pytest
from starlette.testclient import TestClient

from stanch.surfaces.http.application import application
from stanch.surfaces.http.surrounding import HEADERS, MOST_BODY_BYTES
from tests.http.served import World

CHECK = {"tool": "read_file", "arguments": {"path": "a"}}
JSON = {"Content-Type": "application/json"}


def is_problem(reply: Any, status: int) -> dict[str, Any]:
    """The problem that an answer holds, whose form is that of every other."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    said: dict[str, Any] = reply.json()
    assert said["status"] == status
    assert said["type"].startswith("urn:problem-type:stanch:")
    assert said["title"] and said["detail"]  # noqa: PT018
    assert set(said) <= {"type", "title", "status", "detail", "code", "errors"}
    assert all(set(one) == {"field", "message"} for one in said.get("errors", ()))
    for name, value in HEADERS.items():
        assert reply.headers[name] == value
    return said


def test_every_error_has_one_form(world: World) -> None:
    ask = world.client().request
    is_problem(ask("GET", "/nothing"), 404)
    is_problem(ask("GET", "/api/sessions/nobody"), 404)
    is_problem(ask("GET", "/api/approval/rules/99999999999999999999999"), 404)
    allowed = ask("PATCH", "/api/sessions")
    is_problem(allowed, 405)
    assert allowed.headers["allow"]
    is_problem(ask("POST", "/api/sessions", content="{", headers=JSON), 400)
    is_problem(ask("POST", "/api/sessions", content=b"\xff", headers=JSON), 400)
    is_problem(ask("POST", "/api/sessions", content='{"agent_id": "a", "agent_id": "b"}', headers=JSON), 400)
    is_problem(ask("POST", "/api/sessions", content='{"agent_id": "a"}'), 415)
    is_problem(ask("POST", "/api/check", content=json.dumps(CHECK), headers={"Content-Type": "text/plain"}), 415)
    is_problem(ask("POST", "/api/sessions", json={}), 422)
    is_problem(ask("POST", "/api/sessions"), 422)
    is_problem(ask("GET", "/api/approval/rules/x"), 422)
    is_problem(ask("DELETE", "/api/tool-permission-groups/default"), 409)
    is_problem(ask("DELETE", "/api/sessions/x", content='{"force": true}', headers=JSON), 422)


def test_a_field_is_named_with_its_type_and_never_its_value(world: World) -> None:
    body = {"agent_id": 7, "source": "hunter2", "model": ["hunter2"], "run_context": {"system_prompt": ["a", {}]}}
    said = is_problem(world.client().post("/api/sessions", json=body), 422)
    assert {one["field"]: one["message"] for one in said["errors"]} == {
        "agent_id": "'agent_id' must be a string, got a number",
        "source": "'source' must be 'web', 'cli', 'mobile', 'telegram', 'cron', 'mcp' or 'api', got another word",
        "model": "'model' must be a string, got a list",
        "run_context.system_prompt[1]": "'system_prompt[1]' must be a string, got an object",
    }
    said = is_problem(world.client().post("/api/sessions", json={"agent": "a"}), 422)
    assert said["errors"][1]["message"].startswith("'agent' is no field of this; did you mean 'agent_id'? (known: ")


def test_a_body_has_a_greatest_length(world: World) -> None:
    def body(length: int) -> bytes:
        text = json.dumps(CHECK | {"arguments": {"path": "a", "x": ""}})
        return (text[:-3] + "x" * (length - len(text)) + text[-3:]).encode()

    post = world.client().post
    assert post("/api/check", content=body(MOST_BODY_BYTES), headers=JSON).status_code == 200
    is_problem(post("/api/check", content=body(MOST_BODY_BYTES + 1), headers=JSON), 413)
    pieces = (body(MOST_BODY_BYTES + 1)[at : at + 65536] for at in range(0, MOST_BODY_BYTES + 1, 65536))
    is_problem(post("/api/check", content=pieces, headers=JSON), 413)
    is_problem(post("/api/sessions", content=body(MOST_BODY_BYTES + 1), headers=JSON), 413)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("LOCALHOST", 200),
        ("127.1.2.3", 200),
        ("[::1]:{port}", 200),
        ("evil.example:{port}", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("10.0.0.1", 421),
        ("", 421),
    ],
)
def test_a_request_by_another_name_is_refused(world: World, host: str, status: int) -> None:
    name = host.format(port=world.url.rpartition(":")[2])
    for path in ("/healthz", "/openapi.json", "/api/policy"):
        reply = world.client().get(path, headers={"Host": name})
        assert reply.status_code == status, (path, reply.text)
        if status == 421:
            is_problem(reply, 421)


@pytest.mark.parametrize("headers", ["", "Host: localhost\r\nHost: evil.example\r\n"])
def test_a_request_without_one_name_is_refused(world: World, headers: str) -> None:
    port = int(world.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"GET /healthz HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode())
        said = connection.makefile("rb").read()
    assert said.split(b" ")[1] in (b"400", b"421"), said


def test_a_proxys_name_can_be_given(world: World) -> None:
    scope = {"type": "http", "server": ("127.0.0.1", 80), "method": "GET", "path": "/healthz", "query_string": b""}
    status: list[int] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    for hosts in ((), ("stanch.example",)):
        app = application(world.service, hosts=hosts)
        asyncio.run(app({**scope, "headers": [(b"host", b"stanch.example")]}, receive, send))
    assert status == [421, 200]


def test_no_other_site_may_read_an_answer(world: World) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for reply in (
        world.client().get("/api/policy", headers=headers),
        world.client().options("/api/check", headers=headers),
        world.client().get("/healthz", headers=headers),
    ):
        assert not [name for name in reply.headers if name.startswith("access-control")]
        for name, value in HEADERS.items():
            assert reply.headers[name] == value


def test_a_failing_server_says_so_and_tells_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("hunter2")

    monkeypatch.setattr(world.service.sessions, "list", fail)
    monkeypatch.setattr(world.service, "check", fail)
    with caplog.at_level(logging.DEBUG):
        for reply in (world.client().get("/api/sessions"), world.client().post("/api/check", json=CHECK)):
            said = is_problem(reply, 500)
            assert said["detail"] == "the server failed with RuntimeError"
    assert "RuntimeError" in caplog.text
    assert "hunter2" not in caplog.text


def test_health_is_told_to_anybody_and_nothing_else(world: World) -> None:
    client = TestClient(application(world.service))
    assert client.get("/healthz").json() == {"status": "ok"}
    world.rows("DELETE FROM schema_version")
    broken = client.get("/healthz")
    assert (broken.status_code, broken.json()) == (503, {"status": "store unreadable"})
