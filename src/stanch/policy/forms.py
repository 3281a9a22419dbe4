"""How an argument names its target: one reader for each form.

Settles what a path, a glob, a patch, a URI, an address, a revision and a command in an argument point at. Does not
settle which argument it is (`policy.tools`), nor what the path means (`paths.canonical`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from stanch.paths import uri
from stanch.policy.declared import DeclaredEffect, Form
from stanch.policy.patches import BadPatch, names_in
from stanch.values.call import EffectClass
from stanch.values.fault import BadCall


class RawTarget(NamedTuple):
    """A target as the call names it. `path` is None for an effect that touches no path; `root` allows an empty path.

    `code` is the text of a shell command that the effect runs, `opaque` says why code is not one that can be read.
    `start` is the directory that the command starts in, where the call names one. `item`: the path is one of a stored
    item, below the workspace, and nothing on the disk is asked about it.
    """

    cls: EffectClass
    argument: str
    path: str | None
    root: bool = False
    code: str | None = None
    subject: str = ""
    refused: str = ""
    recursive: bool = False
    only: str = ""
    opaque: str = ""
    start: str = ""
    item: bool = False


Reader = Callable[[DeclaredEffect, str, str, Mapping[str, Any]], Iterator[RawTarget]]
"""From an effect, the argument's name, its text and all arguments to the targets."""


def _path(effect: DeclaredEffect, key: str, text: str, arguments: Mapping[str, Any]) -> Iterator[RawTarget]:
    only = next((arguments[k] for k in effect.only.split("|") if k and isinstance(arguments.get(k), str)), "")
    yield RawTarget(effect.cls, key, text, effect.optional, recursive=effect.recursive, only=only)


def _item(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    parts = [part for part in text.split("/") if part]
    if any(part in (".", "..") for part in parts) or "\0" in text:
        yield RawTarget(effect.cls, key, text, refused="no path of a stored item")
        return
    yield RawTarget(effect.cls, key, "/".join(parts), root=True, item=True)


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


def _command(effect: DeclaredEffect, key: str, text: str, arguments: Mapping[str, Any]) -> Iterator[RawTarget]:
    if text or not effect.optional:
        starts = (arguments.get(name) for name in effect.within.split("|") if name)
        start = next((value for value in starts if isinstance(value, str)), "")
        yield RawTarget(effect.cls, key, None, code=text, start=start)


def _code(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    if text or not effect.optional:
        yield RawTarget(effect.cls, key, None, code=text, opaque="code that is no shell command")


def _patch(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    try:
        names = names_in(text, envelope=effect.form is Form.ENVELOPE)
    except BadPatch as why:
        raise BadCall(f"the argument {said(key)} is a patch with {why}") from None
    if not names:
        raise BadCall(f"the argument {said(key)} is no patch that names a file")
    for name in names:
        yield RawTarget(effect.cls, key, name)


def _revision(effect: DeclaredEffect, key: str, text: str, _: Mapping[str, Any]) -> Iterator[RawTarget]:
    path = text.partition(":")[2]
    if path:
        yield RawTarget(effect.cls, key, path)


READERS: dict[Form, Reader] = {
    Form.REVISION: _revision,
    Form.ENVELOPE: _patch,
    Form.PATH: _path,
    Form.ITEM: _item,
    Form.GLOB: _glob,
    Form.PATCH: _patch,
    Form.URI: _uri,
    Form.URL: _url,
    Form.COMMAND: _command,
    Form.CODE: _code,
}


def wanted(form: Form) -> str:
    """What an argument of the form must be, in words."""
    return {
        Form.COMMAND: "a command, as a string or a list of strings",
        Form.CODE: "code, as a string",
        Form.PATCH: "the text of a patch",
        Form.ENVELOPE: "the text of a patch",
        Form.REVISION: "a revision, as a string",
        Form.URL: "an address, as a string",
        Form.URI: "a URI, as a string",
        Form.GLOB: "a glob, as a string",
        Form.PATH: "a path, as a string or a list of strings",
        Form.ITEM: "the path of a stored item, as a string or a list of strings",
    }[form]


def said(argument: str) -> str:
    """The names of an argument, in words."""
    return " or ".join(f"'{way}'" for way in argument.split("|"))
