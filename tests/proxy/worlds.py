"""A Stanch server with the model proxy in front of scripted providers, and clients told nothing but its address."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from stanch.runtime.scripted import Answers
from stanch.runtime.scripted_reply import Reply
from stanch.runtime.scripted_serving import served as serving
from stanch.values.identity import Principal
from tests.canary import CANARY, REQUEST
from tests.fakes.model_server import ModelServer, model_server
from tests.http.served import BY, PERSON, PLAIN, SECONDS, World, served

KEY = "key-of-the-provider"
SECRET = "SECRET-ROW-7f3a: the launch code is 0000-1111-2222"
POLICY = """
version = 1
workspace = "{workspace}"

[providers.scripted]
dialect = "openai"
base_url = "{openai}"
key_env = "STANCH_TEST_KEY"

[providers.scripted-a]
dialect = "anthropic"
base_url = "{anthropic}"
key_env = "STANCH_TEST_KEY"

[models.assignments]
"*/open*" = "trusted"
"*/closed*" = "closed"
"*/asks*" = "asks"
"*/tight*" = "tight"

[tiers.closed]
label = "no secrets"
otherwise = {{ read = "allow", write = "allow", execute = "allow", network = "deny" }}
[[tiers.closed.cells]]
path = "secrets"
read = "deny"
[[tiers.closed.cells]]
path = "**/.env*"
read = "deny"

[tiers.asks]
label = "asks first"
otherwise = {{ read = "ask", write = "ask", execute = "ask", network = "ask" }}

[tiers.tight]
label = "nothing"
otherwise = {{ read = "deny", write = "deny", execute = "deny", network = "deny" }}

[proxy.usual]
openai = "scripted"
openai-responses = "scripted"
anthropic = "scripted-a"
{more}
"""


@dataclass
class Proxied:
    """A server with the proxy, and the providers behind it."""

    world: World
    models: Any
    _clients: list[Any] = field(default_factory=list)

    @property
    def workspace(self) -> str:
        return str(self.world.workspace)

    def token(self, principal: Principal = PERSON) -> str:
        return self.world.store.create_token(name="proxy", principal=principal, by=BY).secret

    def openai(self, principal: Principal = PERSON, **given: Any) -> openai.OpenAI:
        """The real client, told another address."""
        client = openai.OpenAI(
            base_url=f"{self.world.url}/v1", api_key=self.token(principal), max_retries=0, timeout=SECONDS, **given
        )
        self._clients.append(client)
        return client

    def anthropic(self, principal: Principal = PERSON, **given: Any) -> anthropic.Anthropic:
        """The real client, told another address."""
        client = anthropic.Anthropic(
            base_url=self.world.url, api_key=self.token(principal), max_retries=0, timeout=SECONDS, **given
        )
        self._clients.append(client)
        return client

    def http(self, principal: Principal = PERSON, /, **headers: str) -> httpx2.Client:
        """A bare client."""
        client = httpx2.Client(
            base_url=self.world.url,
            headers={"authorization": f"Bearer {self.token(principal)}", "content-type": "application/json", **headers},
            timeout=SECONDS,
            verify=PLAIN,
        )
        self._clients.append(client)
        return client

    def events(self, action: str) -> list[Any]:
        """The rows of the audit log with this action."""
        return list(self.world.store.list_audit(action=action, limit=200).items)

    def close(self) -> None:
        for client in self._clients:
            client.close()


class RawProvider:
    """A provider whose every byte is a test's, and who keeps every byte that it gets."""

    def __init__(self, answer: Callable[[Request, bytes], Response]) -> None:
        self.url = ""
        self.got: list[tuple[str, list[tuple[bytes, bytes]], bytes]] = []
        self.gone = threading.Event()
        self._answer = answer

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def raw(self) -> bytes:
        return b"\n".join(body for _, _, body in self.got)

    async def serve(self, request: Request) -> Response:
        body = await request.body()
        CANARY.look(REQUEST, body)
        self.got.append((str(request.url.path), list(request.headers.raw), body))
        return self._answer(request, body)

    def application(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self.serve, methods=["GET", "POST"])])


@contextmanager
def proxied(
    root: Path, models: ModelServer | RawProvider, monkeypatch: pytest.MonkeyPatch, more: str = ""
) -> Iterator[Proxied]:
    """A server with the proxy, for as long as the block lasts."""
    monkeypatch.setenv("STANCH_TEST_KEY", KEY)
    text = POLICY.format(workspace=(root / "repo").resolve(), openai=models.openai_url, anthropic=models.url, more=more)
    with served(World(root, text)) as world:
        (world.workspace / "secrets").mkdir()
        (world.workspace / "secrets" / "k").write_text(SECRET)
        made = Proxied(world, models)
        try:
            yield made
        finally:
            made.close()


@contextmanager
def scripted(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: Sequence[Reply | Answers] | Answers,
    more: str = "",
) -> Iterator[Proxied]:
    """The same, in front of scripted models."""
    with ExitStack() as stack:
        models = stack.enter_context(model_server(script))
        yield stack.enter_context(proxied(root, models, monkeypatch, more))


@contextmanager
def raw(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[Request, bytes], Response] | None = None,
    more: str = "",
) -> Iterator[Proxied]:
    """The same, in front of a provider that answers what it is told to, else an empty object."""
    provider = RawProvider(answer or (lambda _, __: Response(b"{}", media_type="application/json")))
    with serving(provider.application()) as provider.url, proxied(root, provider, monkeypatch, more) as made:
        yield made


def stream_of(*pieces: bytes) -> Response:
    """A stream of these pieces, one at a time."""

    async def sent() -> Any:
        for piece in pieces:
            yield piece

    return StreamingResponse(sent(), media_type="text/event-stream")
