"""The files that a patch names, in the format of `git diff` and of `diff -u`, and in the one that coding agents use.

Settles which names stand in the headers. Does not apply a patch, nor say what a name means (`paths.canonical`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PATCH_LINE = re.compile(
    r"""^(?:
        [ \t]*\*\*\*\ (?:Add|Update|Delete)\ File:\ (?P<own>.+)
      | [ \t]*\*\*\*\ Move\ to:\ (?P<moved>.+)
      | (?:---|\+\+\+)\ (?P<unified>[^\t\r\n]+)
      | (?:rename|copy)\ (?:from|to)\ (?P<renamed>.+)
      | diff\ --git\ (?P<git>.+)
    )$""",
    re.MULTILINE | re.VERBOSE,
)


def names_in(patch: str) -> list[str]:
    """Every name in the headers, wherever such a line stands: rather one too many than one too few."""
    seen: dict[str, None] = {}
    for found in _PATCH_LINE.finditer(patch.replace("\r\n", "\n")):
        kind = found.lastgroup
        name = found[kind].strip() if kind else ""
        if kind == "git":
            for half in _git_names(name):
                seen.setdefault(half)
        elif kind == "unified":
            name = _unquoted(name)
            if name != "/dev/null":
                seen.setdefault(name[2:] if _SIDE.match(name) else name)
        else:
            seen.setdefault(_unquoted(name) if kind == "renamed" else name)
    return list(seen)


_SIDE = re.compile(r"[abciow]/")  # how git marks the two sides of a diff
_GIT_NAMES = re.compile(r'("(?:[^"\\]|\\.)*"|[abciow]/.*?) ("(?:[^"\\]|\\.)*"|[abciow]/.*)')


def _git_names(text: str) -> Iterator[str]:
    """Both names of a `diff --git a/x b/y` line."""
    found = _GIT_NAMES.fullmatch(text)
    for name in found.groups() if found else ():
        plain = _unquoted(name)
        yield plain[2:] if _SIDE.match(plain) else plain


def _unquoted(name: str) -> str:
    """A name as git means it: in quotes, with backslash escapes and octal bytes, where it holds odd characters."""
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    raw = re.sub(rb"\\([0-7]{1,3}|.)", _unescaped, name[1:-1].encode("utf-8", "surrogateescape"))
    return raw.decode("utf-8", "surrogateescape")


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    if code.isdigit():
        return bytes([int(code, 8) & 0xFF])
    return {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"v": b"\v", b"f": b"\f"}.get(code, code)
