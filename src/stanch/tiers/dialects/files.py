"""Images and other files in a message: their bytes, or where these can be had.

Settles how a `data:` URL and base64 beside a media type become a `File`, and come back the same.
"""

from __future__ import annotations

import re
from typing import Any

from stanch.tiers.dialects.checking import Json
from stanch.tiers.dialects.hollow import Way, filled, hollow
from stanch.values.message import File

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,")
IMAGE, ANY = "image/*", "application/octet-stream"


def file_by_url(block: Json, way: Way, value: Any, media_type: str, name: Any = None) -> File:
    """A file by what stands at this way of its block: a `data:` URL, another address, or nothing that is a text."""
    data = url = None
    if isinstance(value, str):
        found = _DATA_URL.match(value)
        if found is not None:
            media_type, data = found[1], value[found.end() :]
        else:
            url = value
    named = name if isinstance(name, str) else None
    ways = (way,) if isinstance(value, str) else ()
    return File(media_type, data, url, named, extra=hollow(block, *ways))


def write_by_url(file: File, way: Way) -> Json:
    """The block of a file that was read by its URL."""
    if file.data is not None:
        return filled(file.extra, {way: f"data:{file.media_type};base64,{file.data}"})
    return filled(file.extra, {way: file.url} if file.url is not None else {})
