"""Bodies that are files: taken as they come, onto the disk, and never as a whole into memory.

Settles which addresses take one, how many bytes each takes at most, and that whoever may not upload is told so before
their bytes are read. Does not settle what becomes of the bytes (`content`).
INVARIANT: an address that is not listed in `UPLOADS` takes no more than any other body has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, BinaryIO

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.routing import compile_path

from stanch.app.service import Service
from stanch.surfaces.http.content_route import ContentRoute
from stanch.surfaces.http.problems import Problem

MOST_UPLOADED = 2 << 30
WRITTEN_AT_ONCE = 1 << 20
UPLOADS: Mapping[tuple[str, str], int] = MappingProxyType(
    {
        ("PUT", "/api/files/content/{path:path}"): MOST_UPLOADED,
        ("POST", "/api/tables/{table}/import"): MOST_UPLOADED,
        ("POST", "/api/knowledge/uploads"): 64 << 20,
        ("PUT", "/api/runs/{run}/files/{name:path}"): 32 << 20,
    }
)
"""By the method and path of a route, in which its parameters stand in braces: the most bytes that it takes."""
_PATTERNS = tuple((method, compile_path(path)[0], most) for (method, path), most in UPLOADS.items())


class Unlisted(TypeError):
    """A route was defined that takes uploads, and `UPLOADS` does not know its address."""


class UploadRoute(ContentRoute):
    """A route of stored content whose body is a file. Raises `Unlisted` for an address that takes none.

    Its endpoint is `async`, takes the request, and gets the body of `received`.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        for method in more.get("methods") or ("GET",):
            if (method, path) not in UPLOADS:
                raise Unlisted(f"{method} {path} takes uploads, and is not listed in UPLOADS")
        super().__init__(path, endpoint, **more)

    async def known_body(self, request: Request) -> None:
        """Nothing is read before the endpoint does."""


def most_uploaded(method: str, path: str) -> int | None:
    """The most bytes that a request may upload; None where it is no upload. `path` is the one that was asked for."""
    return next((most for known, pattern, most in _PATTERNS if known == method and pattern.match(path)), None)


async def received(request: Request, most: int = MOST_UPLOADED) -> BinaryIO:
    """The body as a temporary file on the disk that keeps content, at its beginning. Closing it removes it.

    Raises `Problem` 413 for more than `most` bytes, and 400 where the body does not come to its end.
    """
    service: Service = request.app.state.service
    file = await run_in_threadpool(service.content.draft)
    try:
        await _written(request, file, most)
    except BaseException as why:
        file.close()
        if isinstance(why, ClientDisconnect):
            raise Problem(400, "cut-short", "the body did not come to its end") from None
        raise
    return file


async def _written(request: Request, file: BinaryIO, most: int) -> None:
    size, waiting = 0, bytearray()
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise too_long(most)
        waiting += chunk
        if len(waiting) >= WRITTEN_AT_ONCE:
            await run_in_threadpool(file.write, bytes(waiting))
            waiting.clear()
    await run_in_threadpool(file.write, bytes(waiting))
    await run_in_threadpool(file.seek, 0)


def too_long(most: int) -> Problem:
    """The answer to a body that has more bytes than may be taken."""
    return Problem(413, "too-large", f"the body is larger than {most:,} bytes", headers={"Connection": "close"})
