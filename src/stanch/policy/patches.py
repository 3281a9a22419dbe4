"""The files that a patch names, in the format of `git diff` and of `diff -u`, and in the one that coding agents use.

Settles which names stand in the headers. Does not apply a patch, nor say what a name means (`paths.canonical`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PATCH_LINE = re.compile(
    r"""^(?:
        \s*\*\*\*\ (?:Add|Update|Delete)\ File:\ (?P<own>.+)
      | \s*\*\*\*\ Move\ to:\ (?P<moved>.+)
      | (?:---|\+\+\+|\*\*\*)\ (?P<unified>[^\t\r\n]+)
      | (?:rename|copy)\ (?:from|to)\ (?P<renamed>.+)
      | diff\ --git\ (?P<git>.+)
    )$""",
    re.VERBOSE,
)
_ENVELOPE_LINE = re.compile(r"\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)")
_ENVELOPE_MARKS = ("*** Begin Patch", "*** End Patch", "*** End of File", "*** Environment ID:")


class BadPatch(ValueError):
    """A patch that cannot be read without doubt; the argument says why in a few words."""


def names_in(patch: str, *, envelope: bool = False) -> list[str]:
    """Every name in the headers, wherever such a line stands: rather one too many than one too few.

    `envelope`: the tool reads the format of coding agents, in which a removed line may well look like another format's
    header; so in a patch that begins as such a one, only its own marks count. Raises `BadPatch` for an unknown mark.
    """
    enveloped = envelope and patch.lstrip().startswith(_ENVELOPE_MARKS[0])
    return list(dict.fromkeys(_envelope_names(patch) if enveloped else _any_names(patch)))


def _envelope_names(patch: str) -> Iterator[str]:
    for line in patch.split("\n"):
        mark = line.strip()
        found = _ENVELOPE_LINE.fullmatch(mark)
        if found:
            yield found[1].strip()
        elif mark.startswith("*** ") and line[:1] not in (" ", "+", "-") and not mark.startswith(_ENVELOPE_MARKS):
            raise BadPatch("a mark that is not known")


def _any_names(patch: str) -> Iterator[str]:
    for line in patch.splitlines():
        found = _PATCH_LINE.match(line)
        kind = found.lastgroup if found else None
        if found is None or kind is None:
            continue
        name = found[kind].strip()
        if kind == "git":
            yield from _git_names(name)
        elif kind == "unified":
            name = _unquoted(name)
            if name != "/dev/null":
                yield name[2:] if _SIDE.match(name) else name
        else:
            yield _unquoted(name) if kind == "renamed" else name


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
