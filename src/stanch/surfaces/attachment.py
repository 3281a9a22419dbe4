"""Bytes that leave over HTTP, to be kept under a name and never shown as a page.

Settles how a name becomes a header, so that no name can make another one. Does not settle what is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from starlette.responses import StreamingResponse

from stanch.content.streams import Stream


def attachment(
    stream: Stream, name: str, media_type: str, headers: Mapping[str, str] | None = None
) -> StreamingResponse:
    """The answer that sends a stream under this name, as bytes of this type."""
    plain = "".join(
        letter if letter.isascii() and letter.isprintable() and letter not in '"\\' else "_" for letter in name
    )
    quoted = quote(name.encode("utf-8", "replace"), safe="")
    given = {**(headers or {}), "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quoted}"}
    if stream.size is not None:
        given["Content-Length"] = str(stream.size)
    return StreamingResponse(stream.chunks, media_type=media_type, headers=given)
