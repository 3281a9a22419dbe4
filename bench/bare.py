"""A server with one route that judges nothing: the least that this framework and this server take for a request.

`python -m bench.bare` prints where it listens, then answers until it is killed. The route reads a body of the same
shape as the gate's own, whole, and answers with a constant.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from stanch.surfaces.cli import listening


class Call(BaseModel):
    tool: str
    arguments: dict[str, Any]


def application() -> FastAPI:
    app = FastAPI()

    @app.post("/api/check")
    async def check(call: Call) -> dict[str, Any]:
        return {"effect": "allow", "reason": {"code": "bare", "sentence": call.tool}}

    return app


def main() -> None:
    listener = listening.listen("127.0.0.1", 0, 0)
    with listener:
        said = json.dumps({"url": listening.url_of(listener)})
        listening.Server(application(), lambda: print(said, flush=True)).run([listener])


if __name__ == "__main__":
    main()
