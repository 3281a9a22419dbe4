"""What a provider may send back, and who stands between it and the runtime."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest

from stanch.runtime.fetching import TooMuch, provider_client
from stanch.runtime.scripted_reply import say
from stanch.values.turn import TurnState
from tests.runtime.world import World

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def serving(status: int, body: bytes, **headers: str) -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name.replace("_", "-"), text)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                return

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_that_is_too_long_is_not_held(status: int) -> None:
    with serving(status, b"x" * 2_000) as (url, _):
        async with provider_client(most=1_999) as client:
            with pytest.raises(TooMuch):
                await client.get(url)
        async with provider_client(most=2_000) as client:
            assert len((await client.get(url)).content) == 2_000


async def test_a_packed_answer_is_not_unpacked() -> None:
    with serving(200, gzip.compress(b"x" * 1_000_000), Content_Encoding="gzip") as (url, _):
        async with provider_client() as client:
            with pytest.raises(TooMuch):
                await client.get(url)


async def test_a_redirect_is_not_followed() -> None:
    with serving(200, b"") as (other, asked), serving(307, b"", Location=other) as (url, _):
        async with provider_client() as client:
            assert (await client.get(url)).status_code == 307
        assert asked == []


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_no_proxy_of_the_environment_is_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(200, b"here") as (url, _), serving(200, b"there") as (proxy, asked):
        for other in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(other, raising=False)
        monkeypatch.setenv(name, proxy)
        async with provider_client() as client:
            assert (await client.get(url)).content == b"here"
        assert asked == []


def test_a_turn_goes_past_the_proxies_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(200, b"there") as (proxy, asked):
        for other in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(other, raising=False)
        monkeypatch.setenv("HTTP_PROXY", proxy)
        with World(tmp_path, [say("done")]) as world:
            assert world.ask("go").state is TurnState.COMPLETED
        assert asked == []


def test_what_is_too_much_is_a_fault_of_the_way() -> None:
    assert issubclass(TooMuch, httpx2.TransportError)
