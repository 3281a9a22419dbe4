"""Changes of files: written, uploaded, edited, moved, deleted.

Settles what is recorded of what a new version carries, and that of two who change a file at once the later one is told.
Does not settle how a text is edited (`file_edits`), nor whether a model may (that is asked before, as of any call).
"""

from __future__ import annotations

import hashlib
import mimetypes
import secrets
from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO

from pydantic import Field

from stanch.content.access import Access, Knowing, Pieces, item_path
from stanch.content.extraction import Unextractable, is_packed
from stanch.content.extraction_alone import Cause as NoText
from stanch.content.file_edits import Seen, edited, line_of
from stanch.content.file_items import FileGiven, PathText, file_at, holders, new_version, shown, source_of
from stanch.content.file_texts import projected, text_of
from stanch.delivery.admit import (
    Window,
    admit_written_content,
    hidden_in,
    redact_before_cutting,
    require_admitted_content,
)
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.provenance.states import Cause, Provenance, Unknown, Unrecorded, merged
from stanch.storage.blobs import Blob
from stanch.values.fault import BadFields, Conflict
from stanch.values.files import FileRecord

MOST_WRITTEN = 8_000_000
BLOCK = 1 << 20
_AROUND = 200
_SMALL = 4_096
_TYPES, _UNSAID = mimetypes.MimeTypes(), "application/octet-stream"
# WHY: Python 3.11 does not know it, and what this machine's own lists say is not asked, so that all nodes say the same.
_TYPES.add_type("text/markdown", ".md")
_MOST_SHOWN = 20
Text = Annotated[str, Field(max_length=MOST_WRITTEN, repr=False)]
Expected = Annotated[
    int | None,
    Field(ge=0, le=1 << 53, description="The version that it has now, 0 for none; any other is a conflict."),
]
Mine = Annotated[bool, Field(description="A new file is yours alone, and not the workspace's.")]
MediaType = Annotated[str | None, Field(max_length=200, description="Left out: by the name.")]


class WriteFile(Asked):
    """A text, and where it is kept."""

    path: PathText
    content: Text
    version: Expected = None
    mine: Mine = False
    media_type: MediaType = None


class UploadFile(Asked):
    """Bytes, and where they are kept. `digest` and `size` are those of the bytes, which are no argument themselves."""

    path: PathText
    digest: str
    size: int
    version: Expected = None
    mine: Mine = False
    media_type: MediaType = None
    file: Any = Field(default=None, exclude=True, repr=False)


class EditFile(Asked):
    """A change of a file's text."""

    path: PathText
    old: Text = Field(description="The text to replace, letter for letter.")
    new: Text = Field(description="What stands in its place.")
    all: bool = Field(default=False, description="Replace it wherever it is; else it has to be there once.")
    version: Expected = None


class MoveFile(Asked):
    """A file, and where it goes."""

    path: PathText
    to: Annotated[str, Field(min_length=1, max_length=1_024, description="Its new path.")]
    version: Expected = None


class DeleteFile(Asked):
    """A file that goes."""

    path: PathText
    version: Expected = None


class Place(Given):
    """A place that was changed: the line it begins in, and a few words from there."""

    line: int
    text: str = Field(repr=False)


class EditGiven(Given):
    """A file that was edited, how often the text was replaced, and how the first of those places read now."""

    file: FileGiven
    replaced: int
    places: tuple[Place, ...]


@operation("files_write", WriteFile, tool="files_write", content_delivery=ContentDelivery.NONE)
def write_file(access: Access, asked: WriteFile) -> FileGiven:
    """Write a text to a stored file: a new file, or a new version of one that is there."""
    path = item_path(asked.path)
    data = _encoded("content", asked.content)
    blob = access.blobs.put((data,))
    known = access.writing.over(())(asked.content)
    return _saved(access, _kept(access, path, blob, known, asked))


@operation("files_upload", UploadFile, tool="files_write", content_delivery=ContentDelivery.NONE, in_chat=False)
def upload_file(access: Access, asked: UploadFile) -> FileGiven:
    """Keep uploaded bytes as a stored file: a new file, or a new version of one that is there."""
    path = item_path(asked.path)
    blob = access.blobs.put(_blocks(asked.file))
    if (blob.digest, blob.size) != (asked.digest, asked.size):
        raise BadFields(("digest", "'digest' and 'size' are not those of the bytes that were sent"))
    return _saved(access, _kept(access, path, blob, known_of_bytes(access, blob, access.writing.over(())), asked))


@operation("files_edit", EditFile, tool="files_edit", content_delivery=ContentDelivery.SOURCED)
def edit_file(access: Access, asked: EditFile) -> EditGiven:
    """Change a stored text file: replace a piece of its text, which is to be there exactly once unless `all` is set."""
    file = file_at(access, asked.path)
    source = source_of(access, file)
    require_admitted_content(access.delivery, source)
    if asked.version is not None and asked.version != file.version:
        raise Conflict(f"the file has the version {file.version} by now")
    before = text_of(access, file.digest)
    if not before.exact:
        raise BadFields(("path", "'path' names a file that is no text in UTF-8, which cannot be edited"))
    _encoded("new", asked.new)
    seen = Seen(projected(access, before.text), hidden_in(access.delivery, before.text))
    done = edited(before.text, seen, asked.old, asked.new, everywhere=asked.all)
    blob = access.blobs.put((_encoded("old", done.text),))
    known = access.writing.over(())(done.text)
    number = file.version
    new = new_version(
        access,
        _version_id(),
        digest=blob.digest,
        size=blob.size,
        media_type=file.media_type,
        known=known,
        made_of=_made_of(access, file),
    )
    file = access.stores.write_file(file.path, new, (file.owner,), expected=number, by=access.by)
    given = EditGiven(file=shown(access, file), replaced=len(done.places), places=())
    if not admit_written_content(access.delivery, (source_of(access, file),)):
        return given
    ends = [place + len(asked.new) for place in done.places]
    places = tuple(
        Place(
            # Counted in what the caller may see, as every other line is.
            line=line_of(redact_before_cutting(access.delivery, done.text, Window(0, place))),
            text=redact_before_cutting(access.delivery, done.text, Window(place, min(end, place + _AROUND))),
        )
        for place, end in list(zip(done.places, ends, strict=True))[:_MOST_SHOWN]
    )
    return given.model_copy(update={"places": places})


@operation("files_move", MoveFile, tool="files_move", content_delivery=ContentDelivery.NONE)
def move_file(access: Access, asked: MoveFile) -> FileGiven:
    """Give a stored file another path. Its versions and the links to it stay."""
    path, to = item_path(asked.path), item_path(asked.to)
    if path == to:
        raise BadFields(("to", "'to' is the path that it has"))
    found = access.stores.move_file(path, to, holders(access), expected=asked.version, by=access.by)
    return _saved(access, found)


@operation("files_delete", DeleteFile, tool="files_delete", content_delivery=ContentDelivery.NONE)
def delete_file(access: Access, asked: DeleteFile) -> FileGiven:
    """Delete a stored file. Its versions can still be read by their numbers."""
    found = access.stores.delete_file(item_path(asked.path), holders(access), expected=asked.version, by=access.by)
    return _saved(access, found)


def _saved(access: Access, file: FileRecord) -> FileGiven:
    """What is told of a change that stands: nothing of any content."""
    admit_written_content(access.delivery, ())
    return shown(access, file)


def measured(file: BinaryIO) -> Blob:
    """The digest and size of all bytes of a file, which is at its beginning before and after."""
    digest, size = hashlib.sha256(), 0
    for block in _blocks(file):
        digest.update(block)
        size += len(block)
    file.seek(0)
    return Blob(digest.hexdigest(), size)


def _kept(access: Access, path: str, blob: Blob, known: Provenance, asked: WriteFile | UploadFile) -> FileRecord:
    new = new_version(
        access,
        _version_id(),
        digest=blob.digest,
        size=blob.size,
        media_type=asked.media_type or _media_type(path),
        known=known,
        made_of=None,
    )
    holder = access.person if asked.mine else None
    return access.stores.write_file(path, new, holders(access), holder=holder, expected=asked.version, by=access.by)


def _media_type(path: str) -> str:
    """The media type that a name tells, the same on every machine."""
    found, packing = _TYPES.guess_type(path)
    return _UNSAID if found is None or packing is not None else found


def known_of_bytes(access: Access, blob: Blob, knows: Knowing) -> Provenance:
    """What is known of uploaded bytes. Of a document, its text counts, too; one that has none is not known at all."""
    known = knows(Pieces(access.blobs.chunks(blob.digest)))
    with access.blobs.open(blob.digest) as file:
        packed = is_packed(file.read(8))
    # WHY a small one, too: of a secret that is too short to be looked for, it can be told that it is all of a text.
    if isinstance(known, Unrecorded | Unknown) or (not packed and blob.size > _SMALL):
        return known
    try:
        text = text_of(access, blob.digest).text
    except Unextractable as why:
        # WHY not for bytes that are no document we read: nobody is told their text.
        return known if why.cause is NoText.NO_TEXT or not packed else Unknown(Cause.REWRITTEN)
    return merged((known, knows(text)))


def _made_of(access: Access, file: FileRecord) -> int | None:
    """The version that has to be asked for what the next one carries.

    WHY not looked up here: what is known of a version is read for a model alone, and anybody may edit.
    """
    version, kept = access.stores.file_provenance(file.id, file.version)
    return version.made_of if kept is None else file.version


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        yield block


def _encoded(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadFields((name, f"'{name}' is no Unicode text: it holds half a character")) from None


def _version_id() -> str:
    return f"version_{secrets.token_hex(12)}"
