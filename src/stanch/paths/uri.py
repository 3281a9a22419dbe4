"""`file:` URIs become paths here, once, before anything is judged.

Settles how far a URI is decoded. Does not settle what the path means (`paths.canonical`).
"""

from __future__ import annotations

import re
from urllib.parse import unquote

_ROUNDS = 8
_LONGEST = 32_768


class BadUri(ValueError):
    """A URI that names no local path without doubt; the argument says why in a few words."""


def tidied(text: str) -> str:
    """The text as readers of URIs take it: no blanks or controls at its ends, no tabs or line breaks inside."""
    return re.sub(r"[\t\r\n]", "", text.strip("".join(map(chr, range(33)))))


def is_file_uri(text: str) -> bool:
    """True for a text that is a `file:` URI to whoever reads URIs, in any letter case."""
    return tidied(text[:64])[:5].lower() == "file:"


def is_web_url(text: str) -> bool:
    """True for an `http` or `https` URL."""
    return re.match(r"https?://", text, re.IGNORECASE) is not None


def has_scheme(text: str) -> bool:
    """True for a text that starts with the name of a scheme."""
    return re.match(r"[a-z][a-z0-9+.-]*:", tidied(text), re.IGNORECASE) is not None


def hides_file(text: str) -> bool:
    """True for an address that is not a web page's and wraps a `file:` URI, as `view-source:file:` does."""
    plain = tidied(text).lower()
    return not is_web_url(plain) and "file:" in plain[1:]


def path_of(uri: str) -> str:
    """The path of a `file:` URI, decoded until nothing changes. Raises `BadUri`.

    A separator or a `..` that only decoding brings out is refused, and so are another host, a query and a fragment.
    """
    if len(uri) > _LONGEST:
        raise BadUri("a file URI that is too long")
    rest = tidied(uri)[5:]
    if "\\" in rest:
        raise BadUri("a file URI with a backslash, which some take for a separator")
    if "?" in rest or "#" in rest:
        raise BadUri("a file URI with a query or a fragment")
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host.lower() not in ("", "localhost"):
            raise BadUri("a file URI of another host")
        rest = slash + path
    return "/".join(_decoded(segment) for segment in rest.split("/"))


def _decoded(segment: str) -> str:
    text = segment
    for _ in range(_ROUNDS):
        further = _unquoted(text)
        if further == text:
            break
        text = further
    else:
        raise BadUri("a file URI that is encoded too many times")
    if text != segment and ("/" in text or "\\" in text or text in (".", "..")):
        raise BadUri("a file URI that hides a separator or '..'")
    return text


def _unquoted(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise BadUri("a file URI that is no valid text") from None
