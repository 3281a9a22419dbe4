"""Bytes that a browser may show: pages that were made of stored files, and pictures.

Settles what such a page may do, which is nothing: no script, no form, no request, no look at what surrounds it. Does
not settle what is sent, nor what is sent to be kept (`attachment`).
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from starlette.responses import StreamingResponse

from stanch.content.streams import Stream

# WHY 'unsafe-inline' for style alone: the page names its one style sheet by its digest itself, and nothing in it loads.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'"
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def inline(stream: Stream, name: str, headers: Mapping[str, str] | None = None) -> StreamingResponse:
    """The answer that lets a browser show a stream, of a type that Stanch itself has found out."""
    quoted = quote(name.encode("utf-8", "replace"), safe="")
    given = {**HEADERS, **(headers or {}), "Content-Disposition": f"inline; filename*=UTF-8''{quoted}"}
    if stream.size is not None:
        given["Content-Length"] = str(stream.size)
    return StreamingResponse(stream.chunks, media_type=stream.media_type, headers=given)
