"""What a tool's call does: its declared effects, and which of its arguments name the targets.

Settles how a declaration is held against a call's arguments. Does not settle what a path means (`paths.canonical`), nor
which tools are known (`policy.known_tools`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from stanch.paths import uri
from stanch.values.call import Category, EffectClass
from stanch.values.fault import BadCall


class Form(StrEnum):
    """How an argument names its target."""

    PATH = "path"  # a path, or a list of paths
    GLOB = "glob"  # a glob whose literal head is the place that is searched
    PATCH = "patch"  # a patch whose headers name paths
    URI = "uri"  # a URI; `file:` is a path
    URL = "url"  # an address on a network; a `file:` URL is a read
    COMMAND = "command"  # a shell command


@dataclass(frozen=True, slots=True)
class DeclaredEffect:
    """One effect of a tool.

    `argument` is a key, a dotted way to one with `[]` for each item of a list, or several of these with `|` between.
    `optional`: where the argument is missing or empty, the target is the working directory.
    """

    cls: EffectClass
    argument: str = ""
    form: Form = Form.PATH
    optional: bool = False
    within: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that somebody has described. `expands_home`: None where it is not known whether it expands `~` itself."""

    name: str
    effects: tuple[DeclaredEffect, ...]
    category: Category | None = None
    builtin: bool = False
    expands_home: bool | None = None

    @property
    def plain(self) -> tuple[tuple[EffectClass, str], ...] | None:
        """(class, key) for each effect where every target is one plain argument that must be a path; else None."""
        simple = all(e.form is Form.PATH and e.argument.isidentifier() and not e.optional for e in self.effects)
        return tuple((e.cls, e.argument) for e in self.effects) if simple and self.effects else None


class RawTarget(NamedTuple):
    """A target as the call names it. `path` is None for an effect that touches no path; `root` allows an empty path."""

    cls: EffectClass
    argument: str
    path: str | None
    root: bool = False
    command: bool = False
    subject: str = ""
    refused: str = ""


def targets_of(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[RawTarget]:
    """Every effect of the call with its target. Raises `BadCall` where an argument is missing or of a wrong type."""
    for effect in tool.effects:
        if not effect.argument:
            yield RawTarget(effect.cls, "", None)
            continue
        found = list(_find(tool, effect, arguments))
        if not found and effect.optional:
            yield RawTarget(effect.cls, effect.argument, "", root=True)
        elif not found:
            raise BadCall(f"{tool.name} needs the argument {_said(effect.argument)}: {_wanted(effect.form)}")
        for key, text in found:
            yield from _READERS[effect.form](effect, key, text, arguments)


def _find(tool: Tool, effect: DeclaredEffect, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for way in effect.argument.split("|"):
        for value in _follow(way.split("."), arguments):
            if value is None:
                continue
            if effect.form is Form.COMMAND and isinstance(value, list) and all(isinstance(v, str) for v in value):
                yield way, " ".join(value)
                continue
            for text in value if isinstance(value, list) else [value]:
                if not isinstance(text, str):
                    raise BadCall(
                        f"{tool.name}: the argument {_said(way)} must be {_wanted(effect.form)}, got {_type_name(text)}"
                    )
                yield way, text


def _follow(way: list[str], value: Any) -> Iterator[Any]:
    if not way:
        yield value
        return
    key, *rest = way
    each = key.endswith("[]")
    if not isinstance(value, Mapping) or key.removesuffix("[]") not in value:
        return
    below = value[key.removesuffix("[]")]
    if not each:
        yield from _follow(rest, below)
    elif isinstance(below, list):
        for item in below:
            yield from _follow(rest, item)
    elif below is not None:
        raise BadCall(f"the argument {_said(key)} must be a list, got {_type_name(below)}")


def _path(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    yield RawTarget(effect.cls, key, text, root=effect.optional)


_ESCAPING = re.compile(r"(?:^|[/{,])\.\.(?:[/},]|$)")  # a `..` behind a wildcard or inside braces
_JUMPING = re.compile(r"\{(?:[^}]*,)?[/~]")  # braces at the start that hold an absolute path


def _glob(effect: DeclaredEffect, key: str, text: str, arguments: Mapping[str, Any]) -> Iterator[RawTarget]:
    """The literal head of a glob, read below the argument that the search starts in."""
    head = re.split(r"[*?\[{]", text, maxsplit=1)[0]
    if _ESCAPING.search(text, len(head)) or _JUMPING.match(text):
        yield RawTarget(effect.cls, key, text, refused="a glob that may lead out of the place it starts in")
        return
    place = head.rpartition("/")[0] or ("/" if head.startswith("/") else "")
    if head == text:
        place = text
    start = arguments.get(effect.within) if effect.within else None
    if isinstance(start, str) and start and not place.startswith(("/", "~")):
        place = f"{start}/{place}"
    yield RawTarget(effect.cls, key, place, root=True)


def _uri(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    if not uri.is_file_uri(text):
        yield RawTarget(effect.cls, key, None, subject=_host(text))
        return
    yield _from_uri(effect.cls, key, text)


def _from_uri(cls: EffectClass, key: str, text: str) -> RawTarget:
    try:
        return RawTarget(cls, key, uri.path_of(text))
    except uri.BadUri as why:
        return RawTarget(cls, key, text, refused=str(why))


def _url(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    if uri.is_file_uri(text.strip()):
        yield _from_uri(EffectClass.READ, key, text.strip())
    yield RawTarget(effect.cls, key, None, subject=_host(text))


def _host(text: str) -> str:
    """The scheme and host of an address: the rest may hold what no reason should."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else parts.scheme


def _command(effect: DeclaredEffect, key: str, _text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    yield RawTarget(effect.cls, key, None, command=True)


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


def _patch(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    """Every path in the headers of a patch, wherever such a line stands: rather one too many than one too few."""
    seen: dict[str, None] = {}
    for found in _PATCH_LINE.finditer(text.replace("\r\n", "\n")):
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
    if not seen:
        raise BadCall(f"the argument {_said(key)} is no patch that names a file")
    for name in seen:
        yield RawTarget(effect.cls, key, name)


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


_READERS = {
    Form.PATH: _path,
    Form.GLOB: _glob,
    Form.PATCH: _patch,
    Form.URI: _uri,
    Form.URL: _url,
    Form.COMMAND: _command,
}


def strings_of(value: Any) -> Iterator[str]:
    """Every string in the arguments of a call, at any depth, the keys of objects among them."""
    todo = [value]
    while todo:
        here = todo.pop()
        if isinstance(here, str):
            yield here
        elif isinstance(here, Mapping):
            todo.extend(reversed([part for pair in here.items() for part in pair]))
        elif isinstance(here, (list, tuple)):
            todo.extend(reversed(here))


def looks_like_path(text: str) -> bool:
    """True for a string that an unknown tool may use as a path, by its looks.

    That something of that name exists is for the caller to find out. A string that cannot name any file (a NUL byte,
    over 4,096 bytes) does not look like a path.
    """
    if not text or "\0" in text or len(text) > 4096 or uri.is_web_url(text):
        return False
    return "/" in text or text.startswith(("~", ".")) or uri.is_file_uri(text)


def _wanted(form: Form) -> str:
    return {
        Form.COMMAND: "a command, as a string or a list of strings",
        Form.PATCH: "the text of a patch",
        Form.URL: "an address, as a string",
        Form.URI: "a URI, as a string",
        Form.GLOB: "a glob, as a string",
        Form.PATH: "a path, as a string or a list of strings",
    }[form]


def _said(argument: str) -> str:
    return " or ".join(f"'{way}'" for way in argument.split("|"))


def _type_name(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", dict: "an object", list: "a list"}
    return names.get(type(value), "nothing" if value is None else type(value).__name__)
