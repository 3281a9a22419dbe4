"""The text behind backslashes and quotes, as bash reads them.

Settles what is literal. Does not settle what expands (`policy.shell.expanding`).
"""

from __future__ import annotations

import re

_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_IN_DOUBLE = re.compile(r'\\([$`"\\\n])')
_ANSI = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9a-fA-F]{1,2})|u(?P<short>[0-9a-fA-F]{1,4})|U(?P<long>[0-9a-fA-F]{1,8})"
    r"|c(?P<control>.)|(?P<letter>.))",
    re.DOTALL,
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def bare(text: str) -> list[tuple[str, bool]]:
    """Unquoted text as pieces, each with whether it was escaped and so stands for itself alone."""
    if "\\" not in text:
        return [(text, False)]
    found: list[tuple[str, bool]] = []
    last = 0
    for match in _ESCAPED.finditer(text):
        if match.start() > last:
            found.append((text[last : match.start()], False))
        if match[1] != "\n":
            found.append((match[1], True))
        last = match.end()
    rest = text[last:]
    if rest:
        found.append((rest.removesuffix("\\") if rest.endswith("\\") else rest, False))
    return found or [("", True)]


def in_double(text: str) -> str:
    """The text between double quotes, and of a here-document that is not quoted."""
    return _IN_DOUBLE.sub(lambda match: "" if match[1] == "\n" else match[1], text)


def in_heredoc(text: str) -> str:
    """The text of a here-document that is not quoted, where a double quote needs no backslash and keeps it."""
    return re.sub(r"\\([$`\\\n])", lambda match: "" if match[1] == "\n" else match[1], text)


def ansi(text: str) -> str | None:
    """The text of `$'...'`; None where it holds a NUL, behind which bash drops the rest, or bytes that are no text."""
    raw = _ANSI.sub(_ansi_one, text)
    if "\0" in raw:
        return None
    try:
        # WHY: \x and octal escapes give bytes; several of them together may be one letter.
        return raw.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return None


def _ansi_one(match: re.Match[str]) -> str:
    if match["octal"] is not None:
        return _byte(int(match["octal"], 8) & 0xFF)
    if match["hex"] is not None:
        return _byte(int(match["hex"], 16))
    for name in ("short", "long"):
        if match[name] is not None:
            code = int(match[name], 16)
            return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\0"
    if match["control"] is not None:
        return chr(ord(match["control"]) & 0x1F)
    return _LETTERS.get(match["letter"], match["letter"] if match["letter"] in "\\'\"?" else "\\" + match["letter"])


def _byte(value: int) -> str:
    return chr(value) if value < 0x80 else bytes([value]).decode("utf-8", "surrogateescape")
