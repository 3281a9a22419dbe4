"""A provider that answers at once: what a request takes where no model has to think.

`python -m bench.upstream` prints where it listens, then answers until it is killed: every request is read whole, and
answered with the same few events of a stream.
"""

from __future__ import annotations

import json

from starlette.types import Receive, Scope, Send

from stanch.surfaces.cli import listening

EVENT = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}\n\n'  # noqa: E501
EVENTS = 20


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body", False):
        pass
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for _ in range(EVENTS):
        await send({"type": "http.response.body", "body": EVENT, "more_body": True})
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n", "more_body": False})


def main() -> None:
    listener = listening.listen("127.0.0.1", 0, 0)
    with listener:
        said = json.dumps({"url": listening.url_of(listener)})
        server = listening.Server(application, lambda: print(said, flush=True))  # type: ignore[arg-type]
        server.config.lifespan = "off"
        server.run([listener])


if __name__ == "__main__":
    main()
