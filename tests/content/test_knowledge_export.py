"""Documents as an archive, and documents of pages and sheets: what is whole, and what has no end."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from stanch.content import knowledge_export
from stanch.content.access import Access
from stanch.content.file_writing import measured
from stanch.content.knowledge_chunks import ListChunks, SearchKnowledge, list_chunks, search_knowledge
from stanch.content.knowledge_export import ExportKnowledge, export_knowledge
from stanch.content.knowledge_writing import (
    ChangeDocument,
    DeleteDocument,
    UploadDocument,
    change_document,
    delete_document,
    upload_document,
)
from stanch.delivery.admit import ContentRefused
from stanch.values.fault import BadFields, BadInput, BrokenRow, Conflict, Fault, NotFound
from stanch.values.reason import Code
from tests.content.knowledge_world import LABEL, VALUE, Knowledge, knowledge
from tests.stores.places import Place, SqlitePlace

LONG = "\n\n".join(f"paragraph {number} " + "word " * 190 for number in range(6))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return SqlitePlace(str(tmp_path / "store.db"))


@pytest.fixture
def world(place: Place, tmp_path: Path) -> Iterator[Knowledge]:
    with knowledge(place, tmp_path) as made:
        yield made


def taken(access: Access, asked: ExportKnowledge | None = None) -> tuple[bytes, Fault | None]:
    """What came of the archive, and what it ended with."""
    data = b""
    stream = export_knowledge(access, asked or ExportKnowledge())
    try:
        for block in stream.chunks:
            data += block
    except Fault as why:
        return data, why
    return data, None


def uploaded(world: Knowledge, data: bytes, by: Access | None = None, **more: Any) -> str:
    file = io.BytesIO(data)
    sent = measured(file)
    asked = UploadDocument(title="Sent", digest=sent.digest, size=sent.size, file=file, **more)
    return upload_document(by or world.access(), asked).id


def sheets(**texts: str) -> bytes:
    """A workbook with these sheets, each with one cell."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, text in texts.items():
        book.create_sheet(name).append([text])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def is_no_archive(data: bytes) -> bool:
    try:
        zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile:
        return True
    return False


def test_an_archive_holds_what_came_in_and_its_chunks(world: Knowledge) -> None:
    book = sheets(One="first cell", Two="second cell")
    ids = [world.add(LONG, title="../../etc/passwd", tags=("t",)), uploaded(world, book)]
    for access in (world.access(), world.model()):
        data, why = taken(access)
        assert why is None
        archive = zipfile.ZipFile(io.BytesIO(data))
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == sorted(
            f"{one}/{name}"
            for one, original in zip(ids, ("original.txt", "original.bin"), strict=True)
            for name in ("document.json", "chunks.jsonl", original)
        )
        assert archive.read(f"{ids[0]}/original.txt").decode() == LONG
        assert archive.read(f"{ids[1]}/original.bin") == book
        assert json.loads(archive.read(f"{ids[0]}/document.json"))["title"] == "../../etc/passwd"
        lines = [json.loads(line) for line in archive.read(f"{ids[0]}/chunks.jsonl").splitlines()]
        assert "\n\n".join(line["text"] for line in lines) == LONG.replace(" \n", "\n").strip()
    data, why = taken(world.access(), ExportKnowledge(tags=("none",)))
    assert (why, zipfile.ZipFile(io.BytesIO(data)).namelist()) == (None, [])


def test_an_archive_of_documents_that_are_not_seen_is_none(world: Knowledge) -> None:
    seen, hidden = world.add("mine"), world.add("theirs", by=world.access("cleo"), personal=True)
    with pytest.raises(NotFound):
        export_knowledge(world.access(), ExportKnowledge(documents=(seen, hidden)))
    data, _ = taken(world.access())
    assert hidden.encode() not in data


def test_the_first_document_that_may_not_be_had_is_an_answer(world: Knowledge) -> None:
    for by, code in ((world.workflow(complete=False), Code.CONTENT_UNKNOWN), (world.workflow(), Code.CONTENT_OPAQUE)):
        document = world.add(f"it is {VALUE}", by=by)
        with pytest.raises(ContentRefused) as refused:
            export_knowledge(world.model(), ExportKnowledge())
        assert refused.value.reason.code is code
        delete_document(world.access(), DeleteDocument(id=document))


@pytest.mark.parametrize("complete", [True, False])
def test_an_archive_ends_before_a_document_that_may_not_be_had(world: Knowledge, complete: bool) -> None:
    hidden = world.add(f"it is {VALUE}", by=world.workflow(complete=complete))
    world.add(LONG)
    data, why = taken(world.model())
    assert isinstance(why, ContentRefused)
    assert data, "what was before it has gone out"
    assert is_no_archive(data)
    assert hidden.encode() not in data
    assert taken(world.access())[1] is None


def test_an_archive_ends_before_a_chunk_that_nobody_can_vouch_for(
    world: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge_export, "PAGE", 1)
    world.add(LONG, by=world.workflow())
    world.place.rows("UPDATE knowledge_chunks SET text = 'marker' WHERE number = 3")
    data, why = taken(world.model())
    assert isinstance(why, ContentRefused)
    assert is_no_archive(data)


@pytest.mark.parametrize("gone", [True, False])
def test_an_archive_of_a_document_that_is_changed_meanwhile_has_no_end(
    world: Knowledge, monkeypatch: pytest.MonkeyPatch, gone: bool
) -> None:
    monkeypatch.setattr(knowledge_export, "PAGE", 1)
    document = world.add(LONG)
    shown = export_knowledge(world.access(), ExportKnowledge()).chunks
    data = next(shown)
    if gone:
        delete_document(world.access(), DeleteDocument(id=document))
    else:
        change_document(world.access(), ChangeDocument(id=document, text="another text"))
    blocks = [data]
    with pytest.raises(Conflict):
        blocks.extend(shown)
    assert is_no_archive(b"".join(blocks))


def test_bytes_that_were_changed_by_hand_do_not_go_out(world: Knowledge) -> None:
    world.add(LONG, by=world.workflow())
    for file in world.blobs._root.rglob("*"):
        if file.is_file():
            file.write_bytes(b"marker")
    with pytest.raises(BrokenRow):
        export_knowledge(world.model(), ExportKnowledge())
    assert isinstance(taken(world.access())[1], BrokenRow)


def test_no_chunk_reaches_over_a_sheet_and_the_sheet_is_named(world: Knowledge) -> None:
    document = uploaded(world, sheets(One="apples", Two="pears"), media_type="application/vnd.ms-excel")
    page = list_chunks(world.access(), ListChunks(id=document))
    assert [(one.sheet, one.text) for one in page.items] == [("One", "apples"), ("Two", "pears")]  # type: ignore[union-attr]
    found = search_knowledge(world.access(), SearchKnowledge(query="pears")).items
    assert [one.sheet for one in found] == ["Two"]  # type: ignore[union-attr]


def test_a_secret_inside_a_packed_document_is_known(world: Knowledge) -> None:
    document = uploaded(world, sheets(One="plain", Two=f"it is {VALUE}"), by=world.workflow())
    given = list_chunks(world.model(), ListChunks(id=document)).items
    assert [one.text for one in given] == ["plain", f"it is {LABEL}"]  # type: ignore[union-attr]
    with pytest.raises(ContentRefused) as refused:
        export_knowledge(world.model(), ExportKnowledge())
    assert refused.value.reason.code is Code.CONTENT_OPAQUE


def test_what_has_no_text_is_no_document(world: Knowledge) -> None:
    for data in (b"\x00\x01\x02", b"PK\x03\x04 nothing", b"%PDF-1.7 nothing", b"  ", b""):
        with pytest.raises(BadInput):
            uploaded(world, data)
    with pytest.raises(BadFields, match="digest"):
        upload_document(world.access(), UploadDocument(title="A", digest="0" * 64, size=1, file=io.BytesIO(b"x")))
    assert world.stores.list_documents("ada").total == 0
