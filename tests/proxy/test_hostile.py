"""What is no request, or more than one: refused in the provider's own words, and nothing is sent."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from stanch.values.identity import Principal, PrincipalKind
from stanch.values.records import Broken
from tests.http.served import AGENTS, BY, CLIENT, KEY, WORKFLOW, until
from tests.proxy.worlds import Proxied, raw

GOOD = b'{"model":"open-1","messages":[{"role":"user","content":"hi"}]}'
CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxied]:
    with raw(tmp_path, monkeypatch) as made:
        yield made


def refused(reply: Any, status: int, anthropics: bool = False) -> str:
    """The message of a refusal, which has to have the provider's shape."""
    assert reply.status_code == status, reply.text
    said = reply.json()
    if anthropics:
        assert said["type"] == "error"
    error = said["error"]
    assert isinstance(error["type"], str)
    assert reply.headers["x-should-retry"] == "false"
    return str(error["message"])


def deep(count: int) -> bytes:
    return b'{"model":"open-1","messages":[{"role":"user","content":' + b"[" * count + b"]" * count + b"}]}"


@pytest.mark.parametrize("path", [CHAT, MESSAGES])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'"x"',
        GOOD[:-1],
        GOOD + b"x",
        b"\xef\xbb\xbf" + GOOD,
        b"\xff\xfe",
        GOOD.decode().encode("utf-16"),
        GOOD[:-1] + b',"model":"closed-1"}',
        GOOD[:-1] + b',"mod\\u0065l":"closed-1"}',
        GOOD[:-1] + b',"messages":[]}',
        b'{"model":"open-1","messages":[{"role":"user","role":"assistant","content":"hi"}]}',
        GOOD[:-1] + b',"x":NaN}',
        GOOD[:-1] + b',"x":-Infinity}',
        GOOD[:-1] + b',"x":' + b"9" * 5000 + b"}",
        deep(150_000),
        deep(300),
        b'{"messages":[{"role":"user","content":"hi"}]}',
        b'{"model":7,"messages":[{"role":"user","content":"hi"}]}',
        b'{"model":"","messages":[{"role":"user","content":"hi"}]}',
        b'{"model":"open-1"}',
        b'{"model":"open-1","messages":{}}',
        b'{"model":"open-1","messages":["hi"]}',
        b'{"model":"open-1","messages":[{"role":"wizard","content":"hi"}]}',
        b'{"model":"open-1","messages":[{"role":"user","content":7}]}',
    ],
)
def test_bodies_that_cannot_be_read(here: Proxied, path: str, body: bytes) -> None:
    refused(here.http().post(path, content=body), 400, path == MESSAGES)
    assert here.models.got == []


def test_a_refusal_repeats_nothing(here: Proxied) -> None:
    reply = here.http().post(CHAT, content=b'{"model":"open-1","messages":[{"role":"SECRET","content":"SECRET"}]}')
    assert "SECRET" not in reply.text


@pytest.mark.parametrize(
    ("model", "status"),
    [
        ("nowhere/open-1", 404),
        ("scripted-a/open-1", 404),
        ("scripted/", 404),
        ("/open-1", 404),
        ("*", 404),
        ("open*", 404),
        (" open-1", 404),
        ("scripted//open-1", 404),
        ("scripted/open-1/../closed-1", 404),
        ("open\u200b-1", 404),
        ("x" * 10_000 + "/y", 404),
    ],
)
def test_models_that_lead_nowhere(here: Proxied, model: str, status: int) -> None:
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "hi"}]})
    refused(here.http().post(CHAT, content=body), status)
    assert here.models.got == []


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
@pytest.mark.parametrize(
    "path",
    [
        *("/v1", "/v1/", "/v1/embeddings", "/v1/batches", "/v1/files", "/v1/responses/resp_1", "/v1/responses/compact"),
        *("/v1/messages/batches", "/v1/assistants", "/v1/completions", "/v1/models/x", "/v1/chat/completions/"),
        *("/v1//chat/completions", "/v1/../v1/chat/completions", "/v1/%63hat/completions", "/v1/chat%2fcompletions"),
        *("/v1/chat/completions;x", "/%761/chat/completions", "/v1/messages/../embeddings", "/v1/CHAT/completions"),
    ],
)
def test_addresses_that_nobody_knows(here: Proxied, method: str, path: str) -> None:
    with socket.create_connection(("127.0.0.1", int(here.world.url.rpartition(":")[2])), timeout=30) as line:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {here.token()}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(GOOD)}\r\nConnection: close\r\n\r\n"
        line.sendall(head.encode() + GOOD)
        got = b""
        while piece := line.recv(1 << 16):
            got += piece
    assert got.startswith(b"HTTP/1.1 404"), got
    assert method == "HEAD" or b'"error"' in got
    assert here.models.got == []


def test_a_method_that_is_not_the_addresses_own(here: Proxied) -> None:
    refused(here.http().get(CHAT), 405)
    refused(here.http().put(MESSAGES, content=GOOD), 405, anthropics=True)
    refused(here.http().post("/v1/models", content=GOOD), 405)


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "multipart/form-data; boundary=x"},
        {"content-type": ""},
        {"content-encoding": "gzip"},
        {"content-encoding": "zstd"},
    ],
)
def test_content_that_is_no_plain_json(here: Proxied, headers: dict[str, str]) -> None:
    refused(here.http(**headers).post(CHAT, content=GOOD), 415)
    assert here.models.got == []


def test_who_has_no_token(here: Proxied) -> None:
    client = here.http()
    for headers in ({}, {"authorization": "Bearer nothing"}, {"authorization": "Basic abc"}, {"x-api-key": "nothing"}):
        client.headers.pop("authorization", None)
        refused(client.post(CHAT, content=GOOD, headers=headers), 401)
        refused(client.post(MESSAGES, content=GOOD, headers=headers), 401, anthropics=True)
    both = {"authorization": f"Bearer {here.token()}", "x-api-key": "another"}
    refused(client.post(CHAT, content=GOOD, headers=both), 401)
    twice = [("authorization", f"Bearer {here.token()}"), ("authorization", "Bearer x")]
    refused(client.post(CHAT, content=GOOD, headers=[*twice, ("content-type", "application/json")]), 400)
    assert here.models.got == []


def test_a_token_that_was_revoked_opens_nothing_from_then_on(here: Proxied) -> None:
    made = here.world.store.create_token(name="t", principal=KEY, by=BY)
    client = here.http(authorization=f"Bearer {made.secret}")
    assert client.post(CHAT, content=GOOD).status_code == 200
    here.world.store.revoke_token(made.record.id, by=BY)
    refused(client.post(CHAT, content=GOOD), 401)


@pytest.mark.parametrize("principal", [*AGENTS, CLIENT, WORKFLOW, KEY])
def test_every_kind_of_principal_may_ask(here: Proxied, principal: Principal) -> None:
    assert here.http(principal).post(CHAT, content=GOOD).status_code == 200


def test_a_body_that_is_too_long(here: Proxied, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stanch.surfaces.proxy.door.MOST_BODY_BYTES", 3000)
    long = GOOD[:-1] + b" " * 3000 + b"}"
    refused(here.http().post(CHAT, content=long), 413)
    refused(here.http().post(MESSAGES, content=iter([long[:2000], long[2000:]])), 413, anthropics=True)
    assert here.models.got == []


def test_a_long_body_needs_a_token_before_it_is_read(here: Proxied, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stanch.surfaces.proxy.door.MOST_UNKNOWN_BYTES", 100)
    with socket.create_connection(("127.0.0.1", int(here.world.url.rpartition(":")[2])), timeout=30) as line:
        line.sendall(
            b"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer nothing\r\n"
            b"Content-Type: application/json\r\nContent-Length: 9000\r\n\r\n" + b"x" * 4000
        )
        assert line.recv(4096).startswith(b"HTTP/1.1 401")


def test_bodies_in_chunks(here: Proxied) -> None:
    reply = here.http().post(CHAT, content=iter([GOOD[at : at + 1] for at in range(len(GOOD))]))
    assert reply.status_code == 200
    assert here.models.got[0][2] == GOOD


def test_headers_with_more_in_them(here: Proxied) -> None:
    port = int(here.world.url.rpartition(":")[2])
    for odd in (b"anthropic-beta: a\r\n x-evil: 1", b"anthropic-beta: a\nx-evil: 1", b"anthropic-beta: a\0b"):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
            head = f"POST {MESSAGES} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: {here.token()}\r\n".encode()
            head += b"Content-Type: application/json\r\n" + odd + b"\r\n"
            line.sendall(head + f"Content-Length: {len(GOOD)}\r\nConnection: close\r\n\r\n".encode() + GOOD)
            while line.recv(1 << 16):
                pass
    for _, headers, _ in here.models.got:
        assert not any(name == b"x-evil" or b"evil" in name for name, _ in headers)


def test_a_name_of_another_host(here: Proxied) -> None:
    refused(here.http().post(MESSAGES, content=GOOD, headers={"host": "evil.example"}), 421, anthropics=True)
    assert here.models.got == []


def test_a_policy_that_is_broken(here: Proxied) -> None:
    whole = here.world.policy.read_text()
    for broken in ("version = [", whole + "\n[unknown]\n", whole + '\n[proxy.models]\n"x*" = "nowhere"\n'):
        here.world.write_policy(broken)
        here.world.service.refresh()
        refused(here.http().post(CHAT, content=GOOD), 503)
        refused(here.http().post(MESSAGES, content=GOOD), 503, anthropics=True)
    here.world.write_policy(whole.replace('label = "nothing"', 'label = ""'))
    here.world.service.refresh()
    refused(here.http().post(CHAT, content=GOOD), 503)
    assert here.models.got == []
    here.world.write_policy(whole)
    here.world.service.refresh()
    assert here.http().post(CHAT, content=GOOD).status_code == 200


def test_a_key_that_is_not_there(here: Proxied, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STANCH_TEST_KEY")
    assert "STANCH_TEST_KEY" in refused(here.http().post(CHAT, content=GOOD), 503)
    assert here.models.got == []


def test_a_store_that_fails(here: Proxied) -> None:
    client = here.http()
    assert client.post(CHAT, content=GOOD).status_code == 200
    here.world.store.close()
    refused(client.post(CHAT, content=GOOD), 503)
    assert len(here.models.got) == 1


def test_a_provider_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = '[providers.gone]\ndialect = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
    with raw(tmp_path, monkeypatch, more=more) as here:
        reply = here.http().post(CHAT, content=GOOD.replace(b"open-1", b"gone/open-1"))
        message = refused(reply, 502)
        assert "gone" in message
        assert "127.0.0.1" not in message


def test_a_caller_who_goes_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, begun = threading.Event(), threading.Event()

    def answer(_: Request, __: bytes) -> Response:
        async def pieces() -> Any:
            import anyio

            try:
                while True:
                    yield b"data: 1\n\n"
                    begun.set()
                    await anyio.sleep(0.01)
            finally:
                gone.set()

        return StreamingResponse(pieces(), media_type="text/event-stream")

    with raw(tmp_path, monkeypatch, answer) as here:
        with here.http().stream("POST", CHAT, content=GOOD) as reply:
            assert next(reply.iter_raw())
            begun.wait(30)
        assert gone.wait(30), "the request at the provider went on"


def test_a_provider_that_hangs_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(_: Request, __: bytes) -> Response:
        async def pieces() -> Any:
            yield b"data: 1\n\n"
            raise RuntimeError

        return StreamingResponse(pieces(), media_type="text/event-stream")

    with raw(tmp_path, monkeypatch, answer) as here:
        got: list[bytes] = []

        def ask() -> None:
            with here.http().stream("POST", CHAT, content=GOOD) as reply:
                got.extend(reply.iter_raw())

        with pytest.raises(httpx2.RemoteProtocolError):
            ask()
        assert b"".join(got) == b"data: 1\n\n"
        until(lambda: here.http().post("/v1/nothing").status_code == 404, "the server goes on")


def test_sessions_of_others(here: Proxied) -> None:
    ada, eve = Principal(PrincipalKind.DELEGATED, "ada", "coder"), Principal(PrincipalKind.DELEGATED, "eve", "coder")
    for header in ("x-stanch-session", "x-claude-code-session-id", "session-id", "thread-id"):
        for who in (ada, eve):
            assert here.http(who, **{header: f"one {header}"}).post(CHAT, content=GOOD).status_code == 200
    sessions = [one for one in here.world.service.sessions.list(limit=100).items if not isinstance(one, Broken)]
    assert len(sessions) == 8
    assert len({one.id for one in sessions}) == 8
    theirs = next(one.id for one in sessions if one.principal == ada)
    here.world.service.sessions.end(theirs, by=BY)
    assert here.http(eve, **{"x-stanch-session": theirs}).post(CHAT, content=GOOD).status_code == 200
    refused(here.http(ada, **{"x-stanch-session": theirs}).post(CHAT, content=GOOD), 409)


@pytest.mark.parametrize("name", ["x" * 201, "", "a\tb"])
def test_names_of_sessions_that_are_none(here: Proxied, name: str) -> None:
    refused(here.http(**{"x-stanch-session": name}).post(CHAT, content=GOOD), 400)


def test_a_directory_that_is_none(here: Proxied) -> None:
    refused(here.http(**{"x-stanch-cwd": "relative"}).post(CHAT, content=GOOD), 400)
