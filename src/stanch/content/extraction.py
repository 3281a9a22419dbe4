"""The text of a file's bytes: of texts, and of PDF, XLSX and DOCX documents.

Settles what counts as a text, that a document is read in a process of its own with limits on its time, memory and
output, and that a failure says nothing of what is inside. Does not settle how a document is taken apart
(`extraction_alone`), nor who may have the text.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import BinaryIO

from stanch.content.extraction_alone import EXIT_WORDS, Cause
from stanch.values.fault import BadInput

SECONDS = 30.0
MOST_DOCUMENT_BYTES = 256 << 20
_LOOK = 0.02
_AT_ONCE = threading.BoundedSemaphore(2)
_SAID = {
    Cause.DAMAGED: "it is damaged, or no document of its kind",
    Cause.ENCRYPTED: "it is encrypted",
    Cause.TOO_MUCH: "it holds more than may be read at once",
    Cause.TOO_LONG: "reading it took too long or too much memory",
    Cause.NO_TEXT: "it is neither a text nor a PDF, XLSX or DOCX document",
    Cause.CANCELLED: "nobody waits for it any more",
}


class Unextractable(BadInput):
    """A file's bytes cannot be read as text; `cause` says why, in a word."""

    def __init__(self, cause: Cause) -> None:
        self.cause = cause
        super().__init__(f"the file cannot be read as text: {_SAID[cause]}")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a document: a page, a sheet, or all of it. `name` is its number or its own name."""

    kind: str
    name: str
    text: str = field(repr=False)


def is_document(head: bytes) -> bool:
    """True where bytes that begin so are taken apart as a document, and not read as they are."""
    return head.startswith((b"%PDF-", b"PK\x03\x04"))


def is_packed(head: bytes) -> bool:
    """True where the text of bytes that begin so is written otherwise than in UTF-8."""
    return is_document(head) or head.startswith((BOM_UTF16_LE, BOM_UTF16_BE))


def decoded(data: bytes) -> tuple[str, bool]:
    """The text of bytes that are one, and whether they are exactly its form in UTF-8. Raises `Unextractable`."""
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), False
    if b"\0" in data:
        raise Unextractable(Cause.NO_TEXT)
    try:
        return data.decode(), True
    except UnicodeDecodeError:
        return data.decode(errors="replace"), False


def document_parts(
    file: BinaryIO, *, seconds: float = SECONDS, cancelled: threading.Event | None = None
) -> tuple[Part, ...]:
    """The parts of a document, in order. `file` is one on the disk, all of it there. Raises `Unextractable`."""
    file.seek(0)
    if os.fstat(file.fileno()).st_size > MOST_DOCUMENT_BYTES:
        raise Unextractable(Cause.TOO_MUCH)
    place = os.lseek(file.fileno(), 0, os.SEEK_CUR)
    waited = threading.Event() if cancelled is None else cancelled
    with _AT_ONCE, tempfile.TemporaryFile() as out:
        # WHY no environment: whatever the document makes of the process, there is nothing in it to be had.
        command = [sys.executable, "-I", "-m", "stanch.content.extraction_alone"]
        child = subprocess.Popen(  # noqa: S603 - this very program
            command, stdin=file, stdout=out, stderr=subprocess.DEVNULL, env={"LANG": "C.UTF-8"}, cwd="/"
        )
        try:
            _end_of(child, time.monotonic() + seconds, waited)
        finally:
            child.kill()
            child.wait()
            # The place in the file is shared with the process, and whoever goes on reading reckons with the old one.
            os.lseek(file.fileno(), place, os.SEEK_SET)
        out.seek(0)
        return tuple(_parts(out))


def _end_of(child: subprocess.Popen[bytes], end: float, cancelled: threading.Event) -> None:
    """Waits for a good end. Raises `Unextractable`."""
    while child.poll() is None:
        if cancelled.wait(_LOOK):
            raise Unextractable(Cause.CANCELLED)
        if time.monotonic() > end:
            raise Unextractable(Cause.TOO_LONG)
    code = child.returncode
    if code:
        raise Unextractable(EXIT_WORDS.get(code, Cause.TOO_LONG if code < 0 else Cause.DAMAGED))


def _parts(lines: Iterable[bytes]) -> Iterable[Part]:
    for line in lines:
        kind, name, text = json.loads(line)
        # Half a character, as broken documents have them, has no form in UTF-8.
        yield Part(kind, *(some.encode("utf-8", "replace").decode() for some in (name, text)))
