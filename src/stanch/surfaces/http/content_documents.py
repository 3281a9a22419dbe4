"""Documents made of workspace files, and files as a browser shows them, over REST: below `/api/files`.

Settles the routes. Does not settle what an operation does (`content.compile_files`, `content.views`).
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from stanch.content.compile_files import CompiledGiven, CompileFile, compile_file, compile_pdf
from stanch.content.views import ImageOf, ViewFile, give_image, view_file
from stanch.surfaces.http.content_files import FilePath, Version
from stanch.surfaces.http.content_route import Asks, ContentRoute, as_json, serves, streamed
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.problems import unprocessable
from stanch.surfaces.http.routers import guarded
from stanch.surfaces.inline import inline

ROUTER = guarded("/api/files", "files", ContentRoute)
Values = Annotated[
    str,
    Query(max_length=65_536, description='What a template may use, by name: a JSON object such as {"day": "monday"}.'),
]
Width = Annotated[int | None, Query(ge=16, le=2_000, description="How wide at most. Left out: as it is stored.")]


def _type(media_type: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {media_type: {}}}}


@ROUTER.get("/compiled/{path:path}", response_model=CompiledGiven, responses=problems(404))
@serves(compile_file)
def compiled(path: FilePath, asks: Asks, values: Values = "{}") -> Any:
    """Make one HTML page of a Markdown or HTML file, with the pictures, style sheets and files that it names."""
    return as_json(asks(compile_file, _asked(path, values)))


@ROUTER.get(
    "/pdf/{path:path}", response_class=StreamingResponse, responses={**problems(404), **_type("application/pdf")}
)
@serves(compile_pdf)
def pdf(path: FilePath, asks: Asks, values: Values = "{}") -> Any:
    """Make a PDF of a Markdown or HTML file, with the pictures and files that it names."""
    return streamed(asks(compile_pdf, _asked(path, values)))


@ROUTER.get("/view/{path:path}", response_class=StreamingResponse, responses={**problems(404), **_type("text/html")})
@serves(view_file)
def view(path: FilePath, asks: Asks, version: Version = None) -> Any:
    """Read a file, or a version of it, as a page that a browser can show, and that can do nothing."""
    return _shown(asks(view_file, ViewFile(path=path, version=version)))


@ROUTER.get("/image/{path:path}", response_class=StreamingResponse, responses={**problems(404), **_type("image/png")})
@serves(give_image)
def image(path: FilePath, asks: Asks, version: Version = None, width: Width = None) -> Any:
    """Read a picture (PNG, JPEG, GIF or WEBP, by what is in it) for a browser to show."""
    return _shown(asks(give_image, ImageOf(path=path, version=version, width=width)))


def _shown(stream: Any) -> StreamingResponse:
    return inline(stream, stream.name)


def _asked(path: str, values: str) -> CompileFile:
    """The arguments. Raises `Problem` 422."""
    try:
        given = json.loads(values)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise unprocessable([("values", "'values' must be a JSON object")])
    try:
        return CompileFile(path=path, values=given)
    except ValidationError as why:
        if any(error["loc"][0] == "values" for error in why.errors(include_url=False)):
            raise unprocessable([("values", "'values' must be names with texts, numbers, true, false, null")]) from None
        raise
