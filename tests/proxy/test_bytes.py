"""Every byte that has no reason to be another one is the same, on the way there and on the way back."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.proxy.test_clients import HIDDEN, chat_with, items_with, messages_with
from tests.proxy.worlds import SECRET, raw, stream_of

ODD = (
    b' {"model" : "open-1","messages":[ {"role":"user" ,"content":"h\\u00e9 \xc3\xa9 1"} ],'
    b'"temperature":1.0e-3,"n":1}\n'
)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_a_request_goes_on_as_it_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    with raw(tmp_path, monkeypatch) as here:
        for _ in range(2):
            assert here.http().post(path, content=ODD).status_code == 200
        assert [body for _, _, body in here.models.got] == [ODD, ODD]


def test_what_is_stored_is_turned_off_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"model":"open-1", "input":[ {"role":"user","content":"hi"} ], "x":1.50}'
    with raw(tmp_path, monkeypatch) as here:
        here.http().post("/v1/responses", content=body)
        here.http().post("/v1/responses", content=body.replace(b'"x"', b'"store":true,"x"'))
        assert [sent for _, _, sent in here.models.got] == [
            body[:-1] + b',"store":false}',
            body.replace(b'"x"', b'"store":false,"x"'),
        ]


def test_a_policy_may_let_providers_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"model":"open-1","input":"hi"}'
    with raw(tmp_path, monkeypatch, more="[proxy]\nstore = true\n") as here:
        here.http().post("/v1/responses", content=body)
        assert here.models.got[0][2] == body


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
def test_only_what_is_withheld_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dialect: str) -> None:
    with raw(tmp_path, monkeypatch) as here:
        secret, line = f"{here.workspace}/secrets/k", HIDDEN.format(path=f"{here.workspace}/secrets/k")
        said, listed, path = {
            "chat": (chat_with(secret), "messages", "/v1/chat/completions"),
            "responses": (items_with(secret), "input", "/v1/responses"),
            "messages": (messages_with(secret), "messages", "/v1/messages"),
        }[dialect]
        # Spelled as no program of ours would, and with letters of several bytes before and after.
        texts = [json.dumps(one, ensure_ascii=False, indent=1) for one in said]
        texts.insert(0, '{ "role":"user",  "content":"Grüße \\u2603 ☃"}')
        text = f'{{"note":"é☃", "model":"closed-1", "{listed}":[{" , ".join(texts)} ], "more":"☃", "store": false}}'
        for _ in range(2):
            assert here.http().post(path, content=text.encode()).status_code == 200
        first, second = (body for _, _, body in here.models.got)
        assert first == second
        assert SECRET not in first.decode()
        got = json.loads(first)
        assert line in str(got[listed][3])
        head = first.decode().partition(texts[1])[0]
        assert head == text.partition(texts[1])[0]
        assert first.decode().endswith(texts[5] + ' ], "more":"☃", "store": false}')


def test_a_prefix_stays_when_a_conversation_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with raw(tmp_path, monkeypatch) as here:
        said = chat_with(f"{here.workspace}/secrets/k")
        client = here.http()
        for more in range(4):
            said += [{"role": "assistant", "content": f"word {more}"}, {"role": "user", "content": "go on"}]
            client.post("/v1/chat/completions", json={"messages": said, "model": "closed-1"})
        bodies = [body for _, _, body in here.models.got]
        for before, after in itertools.pairwise(bodies):
            assert after.startswith(before[: before.rindex(b"]")])
        assert SECRET.encode() not in here.models.raw()


def test_an_answer_comes_back_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = b'data: {"a":1}\r\n\r\n: word\n\nevent:x\ndata:\xff\xfe\n\n'
    answers = iter(
        [
            Response(odd, 200, {"x-request-id": "r1", "set-cookie": "a=b", "x-secret": "s"}, "text/event-stream"),
            stream_of(odd[:5], odd[5:9], odd[9:]),
            Response(b'{"error": "no"}', 429, {"retry-after": "7", "anthropic-ratelimit-x": "1"}, "application/json"),
            Response(b"<html>", 302, {"location": "http://127.0.0.1:1/"}, "text/html"),
        ]
    )
    with raw(tmp_path, monkeypatch, lambda _, __: next(answers)) as here:
        client = here.http()
        replies = [client.post("/v1/chat/completions", content=ODD) for _ in range(4)]
        assert [reply.content for reply in replies] == [odd, odd, b'{"error": "no"}', b"<html>"]
        assert [reply.status_code for reply in replies] == [200, 200, 429, 302]
        assert replies[0].headers["x-request-id"] == "r1"
        assert not {"set-cookie", "x-secret"} & set(replies[0].headers)
        assert replies[2].headers["retry-after"] == "7"
        assert replies[2].headers["anthropic-ratelimit-x"] == "1"
        assert "location" not in replies[3].headers


def test_the_first_byte_does_not_wait_for_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def answer(_: Request, __: bytes) -> Response:
        async def pieces() -> Any:
            yield b"data: 1\n\n"
            import anyio

            while not go.is_set():
                await anyio.sleep(0.005)
            yield b"data: 2\n\n"

        from starlette.responses import StreamingResponse

        return StreamingResponse(pieces(), media_type="text/event-stream")

    with (
        raw(tmp_path, monkeypatch, answer) as here,
        here.http().stream("POST", "/v1/chat/completions", content=ODD) as reply,
    ):
        pieces = reply.iter_raw()
        assert next(pieces) == b"data: 1\n\n"
        go.set()
        assert b"".join(pieces) == b"data: 2\n\n"


def test_headers_that_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = {
        "anthropic-beta": "a,b",
        "anthropic-version": "2023-06-01",
        "openai-beta": "c",
        "openai-organization": "org",
        "cookie": "a=b",
        "x-forwarded-for": "1.2.3.4",
        "idempotency-key": "i",
        "x-claude-code-session-id": "s",
        "x-stanch-cwd": "/tmp",
        "accept-encoding": "zstd",
        "proxy-authorization": "Basic x",
        "te": "trailers",
    }
    with raw(tmp_path, monkeypatch) as here:
        here.http(**sent).post("/v1/messages?beta=true&x=1", content=ODD)
        ((path, headers, _),) = here.models.got
        got = {name.decode(): value.decode() for name, value in headers}
        assert path == "/v1/messages"
        assert got.pop("user-agent")
        assert got.pop("accept")
        assert got == {
            "host": here.models.url.removeprefix("http://"),
            "accept-encoding": "identity",
            "content-type": "application/json",
            "content-length": str(len(ODD)),
            "x-api-key": "key-of-the-provider",
            "anthropic-beta": "a,b",
            "anthropic-version": "2023-06-01",
            "openai-beta": "c",
        }


def test_a_redirect_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(_: Request, __: bytes) -> Response:
        return JSONResponse({}, 307, {"location": "/v1/elsewhere"})

    with raw(tmp_path, monkeypatch, answer) as here:
        assert here.http().post("/v1/chat/completions", content=ODD).status_code == 307
        assert len(here.models.got) == 1
