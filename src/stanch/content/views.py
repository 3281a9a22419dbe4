"""Stored files as a person looks at them: as a page, as a picture, as a part of a chat.

Settles how each kind of file is shown, and that what a page, a picture or an attachment is made of is admitted as bytes
that nothing can be taken out of. Does not settle how a page is laid out (`compile_page`), nor what a browser may do
with one (`surfaces`).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from stanch.content.access import Access
from stanch.content.compile_files import form_of, stream_of
from stanch.content.compile_pictures import MOST_BYTES
from stanch.content.compile_process import Made, made
from stanch.content.compile_reading import Reading
from stanch.content.compile_template import Problem, Uncompiled
from stanch.content.extraction import decoded, is_document
from stanch.content.file_items import PathText, VersionNumber
from stanch.content.file_texts import projected, text_of
from stanch.content.streams import Stream
from stanch.delivery.operation import Asked, ContentDelivery, operation
from stanch.values.fault import BadInput
from stanch.values.files import VersionRecord

MOST_SHOWN_TEXT = 256 << 10
SHOWN_WIDTH = 1_568
"""How wide a picture is that a model is given: those that take pictures make wider ones smaller by themselves."""
_HEAD = 16
_SIGNS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF")
_FORMS = {"csv": "csv", "json": "json"}


class ViewFile(Asked):
    """Which file, and which version of it."""

    path: PathText
    version: VersionNumber | None = Field(default=None, description="Left out: the newest.")


class ImageOf(Asked):
    """Which picture, and how wide at most."""

    path: PathText
    version: VersionNumber | None = Field(default=None, description="Left out: the newest.")
    width: int | None = Field(default=None, ge=16, le=2_000, description="Left out: the bytes as they are stored.")


class ShowFile(Asked):
    """Which file."""

    path: PathText


@operation("files_view", ViewFile, tool="files_show", content_delivery=ContentDelivery.SOURCED, in_chat=False)
def view_file(access: Access, asked: ViewFile) -> Stream:
    """Give a file as a page that a browser can show: texts, Markdown, HTML, tables, documents and pictures."""
    reading = Reading(access, opaque=True, lenient=True)
    file, version = reading.document(asked.path, asked.version)
    try:
        job = {
            "shape": "html",
            "path": file.path,
            "values": {},
            "lenient": True,
            **_shown(access, reading, version, file.path),
        }
        found = made(job, reading.answer, access.cancelled)
    except Uncompiled as why:
        raise reading.refused(why) from None
    return stream_of(found, f"{file.path.rpartition('/')[2]}.html")


@operation("files_image", ImageOf, tool="files_show", content_delivery=ContentDelivery.SOURCED, in_chat=False)
def give_image(access: Access, asked: ImageOf) -> Stream:
    """Give a picture for a browser to show, as it is stored or no wider than asked for. Its type is what it holds."""
    reading = Reading(access, opaque=True)
    file, version = reading.document(asked.path, asked.version)
    try:
        data = reading.data(version)
        found = _picture(access, data, asked.width)
    except Uncompiled as why:
        raise reading.refused(why) from None
    return stream_of(found if asked.width is not None else Made(data, found.told), file.path.rpartition("/")[2])


@operation("files_show", ShowFile, tool="files_show", content_delivery=ContentDelivery.SOURCED)
def show_file(access: Access, asked: ShowFile) -> Stream:
    """Look at a stored picture, or at a small text, as it is. A file that carries secrets is read with files_read."""
    reading = Reading(access, opaque=True)
    file, version = reading.document(asked.path)
    name = file.path.rpartition("/")[2]
    try:
        if _head(access, version).startswith(_SIGNS):
            return stream_of(_picture(access, reading.data(version), SHOWN_WIDTH), name)
    except Uncompiled as why:
        raise reading.refused(why) from None
    if version.size > MOST_SHOWN_TEXT or is_document(_head(access, version)):
        raise BadInput(f"only pictures and texts of up to {MOST_SHOWN_TEXT:,} bytes are shown; read it with files_read")
    text, _ = decoded(access.blobs.whole(version.digest, MOST_SHOWN_TEXT))

    def chunks() -> Iterator[bytes]:
        yield text.encode("utf-8", "replace")

    return Stream(chunks(), name, "text/plain; charset=utf-8", text=True)


def _shown(access: Access, reading: Reading, version: VersionRecord, path: str) -> Mapping[str, Any]:
    """How a version is shown. Raises `Uncompiled`, `Unextractable` and `BrokenRow`."""
    head = _head(access, version)
    if head.startswith(_SIGNS):
        return {"form": "picture", "data": base64.b64encode(reading.data(version)).decode()}
    if is_document(head):
        parts = text_of(access, version.digest).parts
        return {
            "form": "parts",
            "parts": [(one.kind, projected(access, one.name), projected(access, one.text)) for one in parts],
        }
    form, template = form_of(path)
    kind = path.lower().rpartition(".")[2]
    # WHY as a text: a template is filled in where somebody compiles it, and here nobody has said with what.
    form = "text" if template else form or _FORMS.get(kind, "text")
    return {"form": form, "text": reading.text(version), "template": False}


def _picture(access: Access, data: bytes, width: int | None) -> Made:
    """The picture made anew, or its type alone. Raises `Uncompiled`."""
    if len(data) > MOST_BYTES:
        raise Uncompiled(Problem.TOO_LARGE)

    def none(_kind: str, _path: str) -> Mapping[str, Any]:
        return {}

    job = {"shape": "picture", "data": base64.b64encode(data).decode(), "width": width}
    return made(job, none, access.cancelled)


def _head(access: Access, version: VersionRecord) -> bytes:
    with access.blobs.open(version.digest) as file:
        return file.read(_HEAD)
