"""What a tool's call does: its declared effects, and which of its arguments name the targets.

Settles how a declaration is held against a call's arguments. Does not settle what a path means (`paths.canonical`), nor
which tools are known (`policy.known_tools`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from stanch.paths import uri
from stanch.policy.declared import DeclaredEffect, Form, Tool
from stanch.policy.patches import BadPatch, names_in
from stanch.policy.undeclared import looks_like_path, strings_of
from stanch.values.call import EffectClass
from stanch.values.fault import BadCall


class RawTarget(NamedTuple):
    """A target as the call names it. `path` is None for an effect that touches no path; `root` allows an empty path."""

    cls: EffectClass
    argument: str
    path: str | None
    root: bool = False
    command: bool = False
    subject: str = ""
    refused: str = ""
    recursive: bool = False
    only: str = ""


def targets_of(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[RawTarget]:
    """Every effect of the call with its target. Raises `BadCall` where an argument is missing or of a wrong type."""
    for effect in tool.effects:
        if not effect.argument:
            yield RawTarget(effect.cls, "", None)
            continue
        found = list(_find(tool, effect, arguments))
        if not found and effect.optional:
            if effect.form is Form.PATH:
                yield from _path(effect, effect.argument, "", arguments)
        elif not found:
            raise BadCall(f"{tool.name} needs the argument {_said(effect.argument)}: {_wanted(effect.form)}")
        for key, text in found:
            yield from _READERS[effect.form](effect, key, text, arguments)
    if any(effect.optional and effect.form is Form.PATH for effect in tool.effects):
        yield from _unexpected(tool, arguments)


def _unexpected(tool: Tool, arguments: Mapping[str, Any]) -> Iterator[RawTarget]:
    """What a tool whose target may be left out is given under a name that its declaration does not know."""
    for key in arguments.keys() - tool.arguments:
        for text in strings_of(arguments[key]):
            if looks_like_path(text):
                for cls in {effect.cls for effect in tool.effects}:
                    yield RawTarget(cls, key, text)


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
            if rest and not (isinstance(item, Mapping) and item.get(rest[0].removesuffix("[]")) is not None):
                raise BadCall(f"every item of the argument {_said(key)} needs {_said(rest[0])}")
            yield from _follow(rest, item)
    elif below is not None:
        raise BadCall(f"the argument {_said(key)} must be a list, got {_type_name(below)}")


def _path(effect: DeclaredEffect, key: str, text: str, arguments: Mapping[str, Any]) -> Iterator[RawTarget]:
    only = next((arguments[k] for k in effect.only.split("|") if k and isinstance(arguments.get(k), str)), "")
    yield RawTarget(effect.cls, key, text, effect.optional, recursive=effect.recursive, only=only)


_DOT = r"(?:\\?\.|\[\.\])"  # a dot as globs may write it
_ESCAPING = re.compile(rf"(?:^|[/{{,(|]){_DOT}{_DOT}(?:[/}},)|]|$)")  # a `..` behind a wildcard or inside braces
_JUMPING = re.compile(r"\{(?:[^}]*,)?[/~]")  # braces at the start that hold an absolute path


def _glob(effect: DeclaredEffect, key: str, text: str, arguments: Mapping[str, Any]) -> Iterator[RawTarget]:
    """The literal head of a glob, read below the argument that the search starts in."""
    head = re.split(r"[*?\[{\\(!+@]", text, maxsplit=1)[0]
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
    if uri.is_file_uri(text):
        yield _from_uri(effect.cls, key, text)
    elif not uri.has_scheme(text):
        yield RawTarget(effect.cls, key, text)
    elif uri.hides_file(text):
        yield RawTarget(effect.cls, key, text, refused="an address that wraps a file URI")
    else:
        yield RawTarget(effect.cls, key, None, subject=_host(text))


def _from_uri(cls: EffectClass, key: str, text: str) -> RawTarget:
    try:
        return RawTarget(cls, key, uri.path_of(text))
    except uri.BadUri as why:
        return RawTarget(cls, key, text, refused=str(why))


def _url(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    if uri.is_file_uri(text):
        yield _from_uri(EffectClass.READ, key, text)
    elif uri.hides_file(text):
        yield RawTarget(EffectClass.READ, key, text, refused="an address that wraps a file URI")
    yield RawTarget(effect.cls, key, None, subject=_host(text))


def _host(text: str) -> str:
    """The scheme and host of an address: the rest may hold what no reason should."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else ""


def _command(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    if text or not effect.optional:
        yield RawTarget(effect.cls, key, None, command=True)


def _patch(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    try:
        names = names_in(text, envelope=effect.form is Form.ENVELOPE)
    except BadPatch as why:
        raise BadCall(f"the argument {_said(key)} is a patch with {why}") from None
    if not names:
        raise BadCall(f"the argument {_said(key)} is no patch that names a file")
    for name in names:
        yield RawTarget(effect.cls, key, name)


def _revision(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    path = text.partition(":")[2]
    if path:
        yield RawTarget(effect.cls, key, path)


_READERS = {
    Form.REVISION: _revision,
    Form.ENVELOPE: _patch,
    Form.PATH: _path,
    Form.GLOB: _glob,
    Form.PATCH: _patch,
    Form.URI: _uri,
    Form.URL: _url,
    Form.COMMAND: _command,
}


def _wanted(form: Form) -> str:
    return {
        Form.COMMAND: "a command, as a string or a list of strings",
        Form.PATCH: "the text of a patch",
        Form.ENVELOPE: "the text of a patch",
        Form.REVISION: "a revision, as a string",
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
