"""Cases about documents that are made of stored files, which lie in the case itself.

Settles the keys of such a row, and what came of it. Does not settle what is made of a document (`content`), nor what is
known of a file (`app.case_admission`).
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, BinaryIO

from stanch.app.case_yaml import Reading, Table
from stanch.app.content_writing import Unsaid
from stanch.content.access import Access
from stanch.content.compile_files import CompileFile, compile_file, compile_pdf
from stanch.content.file_items import place_of
from stanch.content.streams import Stream
from stanch.content.views import ViewFile, view_file
from stanch.delivery.admit import ContentRefused, Delivery
from stanch.provenance.seals import Seals
from stanch.provenance.states import Provenance
from stanch.values.fault import Fault, NotFound
from stanch.values.files import FileRecord, VersionRecord
from stanch.values.records import Actor

DOCUMENT = ("path", "shape", "values", "files", "is", "holds", "lacks", "read", "removed", "says")
SHAPES = ("page", "pdf", "view")
FAILED = "failed"
_AT = datetime(2026, 1, 1, tzinfo=UTC)
States = Callable[[Any], Provenance]


def read_documents(reading: Reading, rows: list[Table], verdicts: list[str]) -> None:
    """Raises `BadInput` for what is wrong with the form of a row."""
    for row in rows:
        reading.text(row, "path")
        if row.get("shape", "page") not in SHAPES or row.get("is") not in [*verdicts, FAILED]:
            raise reading.wrong(row, f"'shape' is one of {', '.join(SHAPES)}, 'is' a verdict or {FAILED}", "is")
        files = reading.take(row, "files", dict, "a table of files")
        if not files or any(not isinstance(one, Mapping) or {*one} != {"text", "state"} for one in files.values()):
            raise reading.wrong(row, "each of 'files' has a 'text' and a 'state'", "files")
        for key in ("holds", "lacks", "read"):
            reading.texts(row, key)


def document_of(row: Mapping[str, Any], delivery: Delivery, seals: Seals, state: States) -> dict[str, Any]:
    """What came of a row: what it `is`, the `text` of what was made, which files were `read`, what was `removed`."""
    files = _Files(row["files"], seals, state)
    store: Any = files
    access = Access(
        delivery=delivery,
        stores=store,
        blobs=store,
        seals=seals,
        writing=Unsaid(),
        by=Actor("case", "case"),
        root="/repo",
    )
    found: dict[str, Any] = {"is": "given", "text": "", "removed": {}, "says": ""}
    asked = CompileFile(path=row["path"], values=row.get("values", {}))
    try:
        match row.get("shape", "page"):
            case "page":
                page = compile_file(access, asked)
                found |= {"text": _leaving(delivery, page.html), "removed": page.removed}
            case "pdf":
                found["text"] = _bytes(compile_pdf(access, asked)).decode("latin-1")
            case _:
                found["text"] = _bytes(view_file(access, ViewFile(path=row["path"]))).decode()
    except ContentRefused as why:
        found |= {"is": why.reason.code.value, "says": why.reason.subject}
    except Fault as why:
        found |= {"is": FAILED, "says": str(why)}
    return {**found, "read": [one.path for one in files.all.values() if one.digest in files.read]}


def differences(row: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What came out otherwise than the row says: of what, as it ought to be, and as it is."""
    for key in ("is", "read", "removed", "says"):
        wanted = sorted(row.get(key, ())) if key == "read" else row.get(key)
        got = sorted(found[key]) if key == "read" else found[key]
        if key in row and wanted != got:
            yield key, wanted, got
    for text in row.get("holds", ()):
        if text not in found["text"]:
            yield "holds", text, found["text"]
    for text in row.get("lacks", ()):
        if text in found["text"]:
            yield "lacks", text, found["text"]


def _leaving(delivery: Delivery, text: str) -> str:
    return delivery.gate.projector().text(text) if delivery.classified and delivery.gate is not None else text


def _bytes(stream: Stream) -> bytes:
    return b"".join(stream.chunks)


class _Files:
    """The files of a row, as the store and their bytes as the disk have them."""

    def __init__(self, files: Mapping[str, Mapping[str, Any]], seals: Seals, state: States) -> None:
        self.all: dict[str, FileRecord] = {}
        self._data: dict[str, bytes] = {}
        self._kept: dict[str, tuple[VersionRecord, str | None]] = {}
        self.read: set[str] = set()
        for path, one in files.items():
            data = str(one["text"]).encode()
            digest = hashlib.sha256(path.encode() + data).hexdigest()
            self._data[digest] = data
            version = VersionRecord(path, path, 1, path, digest, len(data), "text/plain", _AT, "case", None)
            self._kept[path] = version, seals.kept(state(one["state"]), place_of(path), digest)
            self.all[path] = FileRecord(path, path, None, 1, digest, len(data), "text/plain", _AT, _AT, "case", None)

    def file_at(self, path: str, _holders: object, *, deleted: bool = False) -> FileRecord:  # noqa: ARG002 - a store's
        """The file at the path. Raises `NotFound`."""
        if path not in self.all:
            raise NotFound("file", path)
        return self.all[path]

    def file_version(self, file_id: str, _number: int) -> VersionRecord:
        """Its one version."""
        return self._kept[file_id][0]

    def file_provenance(self, file_id: str, _number: int) -> tuple[VersionRecord, str | None]:
        """The same, and what is kept of what it carries."""
        return self._kept[file_id]

    def is_whole(self, digest: str) -> bool:
        """True where the bytes are there."""
        return digest in self._data

    def has(self, digest: str, _size: int) -> bool:
        """True where the bytes are there."""
        return digest in self._data

    @contextmanager
    def open(self, digest: str) -> Iterator[BinaryIO]:
        """The bytes."""
        self.read.add(digest)
        yield io.BytesIO(self._data[digest])

    def whole(self, digest: str, _most: int) -> bytes:
        """The bytes."""
        self.read.add(digest)
        return self._data[digest]
