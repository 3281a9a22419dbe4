"""The values and files of runs as items: how each is written with its provenance, and what is known of it later.

Settles which text a value is kept as, what its provenance is bound to, and which part of it stands for a file. Does not
settle which values are given (`content.runs_shown`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import secrets
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from stanch.content.access import Access, Knowing, item_path
from stanch.content.file_writing import known_of_bytes
from stanch.delivery.source import Batch
from stanch.provenance.states import Cause, Provenance, Unknown
from stanch.secrets.sealing import Place
from stanch.storage.content_run_nouns import value_id
from stanch.storage.content_run_writing import NewFile, NewValue
from stanch.storage.rows import written_json
from stanch.values.fault import BadFields, BadInput
from stanch.values.run import Part, RunFileRecord, RunRecord

MOST_FILE_BYTES = 32 << 20
MOST_VALUE_CHARACTERS = 8 << 20
MOST_PATHS = 500
_VALUES, _FILES, _COLUMN = "run_values", "run_files", "provenance"
_REFERENCE = frozenset({"file", "media_type", "size", "base64"})
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)
_TEXTUAL = re.compile(
    r"text/.+|application/(?:json|xml|yaml|x-yaml|toml|sql|javascript|x-ndjson|x-sh)|.+\+(?:json|xml|yaml)", re.ASCII
)


class FileBytes(NamedTuple):
    """A file that is to be kept with a run."""

    name: str
    media_type: str
    data: bytes


def new_value(  # noqa: PLR0917 - within the package
    access: Access,
    run_id: str,
    place: int,
    part: Part,
    value: Any,
    known: Provenance,
    came_from: Sequence[str] = (),
) -> NewValue:
    """The value as it is kept, its provenance sealed. Raises `BadInput` for one that JSON cannot say, or too long.

    `came_from` are canonical paths that it came from; of more than are kept, nobody can say what it carries.
    """
    text = written_json(value, part.value)
    if len(text) > MOST_VALUE_CHARACTERS:
        raise BadInput(f"'{part.value}' has more than {MOST_VALUE_CHARACTERS:,} characters")
    paths = tuple(dict.fromkeys(came_from))
    if len(paths) > MOST_PATHS:
        paths, known = paths[:MOST_PATHS], Unknown(Cause.OVER_LIMIT)
    return sealed_value(access, run_id, (place, part), text, known, paths)


def sealed_value(  # noqa: PLR0917 - within the package
    access: Access, run_id: str, where: tuple[int, Part], text: str, known: Provenance, came_from: tuple[str, ...]
) -> NewValue:
    """A value whose text is there already, with what is known of it sealed for its place."""
    place_of = Place(_VALUES, value_id(run_id, *where), _COLUMN)
    return NewValue(*where, text, came_from, access.seals.kept(known, place_of, _digest(text, came_from)))


def known_values(access: Access, run: RunRecord, ids: Sequence[str]) -> Batch:
    """What is known of these values of a run, read together when the first is asked about."""

    def read() -> dict[str, Provenance]:
        kept = access.stores.run_values(ids)
        return {
            key: access.seals.known(
                one.provenance, Place(_VALUES, key, _COLUMN), _digest(one.text, one.came_from), owner=run.owner
            )
            for key, one in kept.items()
        }

    return Batch(read)


def read_value(text: str) -> Any:
    """The value that a text stands for."""
    return json.loads(text)


def new_file(access: Access, file: FileBytes, known: Knowing) -> NewFile:
    """The file, its bytes kept, its provenance sealed. Raises `BadFields` and `StoreUnreadable`."""
    kept = access.blobs.put([file.data], most=MOST_FILE_BYTES)
    text = _TEXTUAL.fullmatch(file.media_type) is not None and _is_text(file.data)
    what = kept.size, kept.digest, text
    return sealed_file(access, file.name, file.media_type, what, known_of_bytes(access, kept, known))


def sealed_file(access: Access, name: str, media_type: str, what: tuple[int, str, bool], known: Provenance) -> NewFile:
    """A file whose bytes are kept: their number, their digest, and whether they are text."""
    size, digest, text = what
    key = f"file_{secrets.token_hex(12)}"
    sealed = access.seals.kept(known, Place(_FILES, key, _COLUMN), _version(digest, text))
    return NewFile(key, name, media_type, size, digest, text, sealed)


def known_files(access: Access, run: RunRecord, files: Sequence[RunFileRecord]) -> Batch:
    """What is known of these files of a run. Of one whose bytes are not what they were, nobody knows anything."""

    def read() -> dict[str, Provenance]:
        seals = access.stores.run_file_seals([file.id for file in files])
        found: dict[str, Provenance] = {}
        for file in files:
            if not access.blobs.is_whole(file.digest):
                found[file.id] = Unknown(Cause.VERSION_MISMATCH)
            elif file.id in seals:
                place, version = Place(_FILES, file.id, _COLUMN), _version(file.digest, file.is_text)
                found[file.id] = access.seals.known(seals[file.id], place, version, owner=run.owner)
        return found

    return Batch(read)


def references(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a value that may stand for a file: it has a `file`, and nothing but what describes one."""
    todo = [value]
    while todo:
        here = todo.pop()
        if isinstance(here, dict):
            if isinstance(here.get("file"), str) and here.keys() <= _REFERENCE:
                yield here
            else:
                todo.extend(here.values())
        elif isinstance(here, list):
            todo.extend(here)


def taken_out(value: Any, field: str) -> list[FileBytes]:
    """The files that are written out in a value as base64. What stays in the value only names them.

    Raises `BadFields` for what is no base64, or no name of a file.
    """
    found: list[FileBytes] = []
    for here in references(value):
        if "base64" in here:
            here["file"] = file_name(here["file"])
            media_type = media_of(here.pop("media_type", "application/octet-stream"))
            here.pop("size", None)
            found.append(FileBytes(here["file"], media_type, decoded(here.pop("base64"), field)))
    return found


def file_name(written: str) -> str:
    """The name of a file of a run, as it is kept: the path of an item. Raises `BadFields`."""
    name = item_path(written)
    if len(name) > 500:
        raise BadFields(("name", "'name' of a file has more than 500 characters"))
    return name


def media_of(written: Any) -> str:
    """A media type without its parameters. Raises `BadFields`."""
    found = written.partition(";")[0].strip().lower() if isinstance(written, str) else ""
    if _MEDIA_TYPE.fullmatch(found) is None:
        raise BadFields(("media_type", "'media_type' must be one such as text/plain or image/png"))
    return found


def decoded(written: Any, field: str) -> bytes:
    """The bytes that base64 stands for. Raises `BadFields`."""
    try:
        if isinstance(written, str):
            return base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise BadFields((field, f"'base64' in '{field}' must be the bytes of a file in base64"))


def _digest(text: str, came_from: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps([text, *came_from]).encode("ascii")).hexdigest()


def _version(digest: str, text: bool) -> str:
    # WHY with the kind: what may be projected as a text must not be told by a column that anybody could turn.
    return f"{digest}:{'text' if text else 'binary'}"


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False
