"""The text of documents: all of it, with its borders, in bounded time; and of those that lie, nothing but a reason."""

from __future__ import annotations

import io
import struct
import tempfile
import threading
import zipfile
from collections.abc import Sequence
from contextlib import suppress

import pytest

from stanch.content import extraction
from stanch.content.extraction import Part, Unextractable, decoded, document_parts, is_document, is_packed
from stanch.content.extraction_alone import Cause
from tests.content.documents import pdf, repacked, word, xlsx


def parts(data: bytes, **more: object) -> tuple[Part, ...]:
    assert is_document(data[:8])
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        file.read(8)  # which reads ahead
        return document_parts(file, **more)  # type: ignore[arg-type]


def told(found: Sequence[Part]) -> list[tuple[str, str, str]]:
    return [(one.kind, one.name, one.text) for one in found]


def cause(data: bytes, **more: object) -> Cause:
    with pytest.raises(Unextractable) as why:
        parts(data, **more)
    assert str(why.value).startswith("the file cannot be read as text: ")
    assert "hidden" not in str(why.value)
    return why.value.cause


def test_a_pdf_has_pages() -> None:
    assert told(parts(pdf("first page", "second page"))) == [("page", "1", "first page"), ("page", "2", "second page")]


def test_a_workbook_has_sheets() -> None:
    data = xlsx({"Plan": [["a", 1, None, 2.5], [None, "b"]], "Öde & leer": [], "Mehr": [["c\td"]]})
    assert told(parts(data)) == [
        ("sheet", "Plan", "a\t1\t\t2.5\n\tb"),
        ("sheet", "Öde & leer", ""),
        ("sheet", "Mehr", "c\td"),
    ]


def test_a_word_document_has_paragraphs_tables_and_headers() -> None:
    (found,) = parts(word("one", "zwei ä", cells=("x", "y"), header="on top"))
    assert [line for line in found.text.split("\n") if line] == ["one", "zwei ä", "x\ty", "on top"]


def test_what_is_encrypted_is_said_to_be() -> None:
    assert cause(pdf("hidden", password="x")) is Cause.ENCRYPTED
    assert told(parts(pdf("open to all", password=""))) == [("page", "1", "open to all")]


@pytest.mark.parametrize("data", [b"%PDF-1.7\nhidden", b"PK\x03\x04hidden", pdf("hidden")[:-600]])
def test_what_is_damaged_is_said_to_be(data: bytes) -> None:
    assert cause(data) is Cause.DAMAGED


def test_a_zip_that_is_no_document() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("hidden.txt", "hidden")
    assert cause(out.getvalue()) is Cause.NO_TEXT


def test_a_bomb_does_not_go_off(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = repacked(word("x"), word__document=b" " * (600 << 20))
    assert len(bomb) < 1 << 20
    assert cause(bomb) is Cause.TOO_MUCH
    many = xlsx({"s": [["x"]]})
    out = io.BytesIO(many)
    with zipfile.ZipFile(out, "a") as packed:
        for number in range(10_001):
            packed.writestr(f"m{number}", "")
    assert cause(out.getvalue()) is Cause.TOO_MUCH


def test_a_zip_that_lies_about_its_sizes() -> None:
    data = bytearray(repacked(word("x"), word__document=b"<w>" + b" " * (600 << 20)))
    # The directory at the end says that the large member is a small one.
    at = data.index(b"PK\x01\x02")
    while data[at : at + 4] == b"PK\x01\x02":
        size, name, extra, comment = struct.unpack_from("<IHHH", data, at + 24)
        if size > 1 << 20:
            struct.pack_into("<I", data, at + 24, 100)
        at += 46 + name + extra + comment
    assert cause(bytes(data)) is Cause.DAMAGED


def test_entities_are_not_expanded() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    dtd = f'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY l0 "hidden">{laughs}]>'
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f'{dtd}<w:document xmlns:w="{space}"><w:body><w:p><w:r><w:t>&l11;</w:t></w:r></w:p></w:body></w:document>'
    with suppress(Unextractable):
        found = parts(repacked(word("x"), word__document=body.encode()))
        assert sum(len(one.text) for one in found) < 1_000
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    cell = '<row r="1"><c r="A1" t="inlineStr"><is><t>&l11;</t></is></c></row>'
    sheet = f"{dtd}<worksheet {main}><sheetData>{cell}</sheetData></worksheet>"
    assert cause(repacked(xlsx({"s": [["x"]]}), xl__worksheets__sheet1=sheet.encode())) is Cause.DAMAGED


def test_a_file_outside_is_not_read() -> None:
    dtd = '<?xml version="1.0"?><!DOCTYPE w [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = f'{dtd}<w:document xmlns:w="{space}"><w:body><w:p><w:r><w:t>&e;</w:t></w:r></w:p></w:body></w:document>'
    try:
        found = parts(repacked(word("x"), word__document=body.encode()))
    except Unextractable:
        return
    assert "root:" not in "".join(one.text for one in found)


def test_a_sheet_that_says_it_is_huge_is_as_large_as_it_is() -> None:
    data = xlsx({"s": [["only"]]})
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        sheet = packed.read("xl/worksheets/sheet1.xml").replace(b'ref="A1"', b'ref="A1:XFD1048576"')
    assert told(parts(repacked(data, xl__worksheets__sheet1=sheet))) == [("sheet", "s", "only")]


def test_it_ends_when_the_time_is_up_or_nobody_waits() -> None:
    slow = xlsx({"s": [["x" * 20] * 50 for _ in range(6_000)]})
    assert cause(slow, seconds=0.1) is Cause.TOO_LONG
    gone = threading.Event()
    gone.set()
    assert cause(slow, cancelled=gone) is Cause.CANCELLED


def test_too_many_bytes_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "MOST_DOCUMENT_BYTES", 100)
    assert cause(pdf("hidden")) is Cause.TOO_MUCH


@pytest.mark.parametrize(
    ("data", "text", "exact"),
    [
        (b"", "", True),
        ("ä\n".encode(), "ä\n", True),
        ("\ufeffä".encode(), "\ufeffä", True),
        (b"\xff\xfea\x00", "a", False),
        ("a".encode("utf-16"), "a", False),
        (b"a\xe4b", "a\ufffdb", False),
    ],
)
def test_texts_are_read_as_they_are(data: bytes, text: str, exact: bool) -> None:
    assert decoded(data) == (text, exact)


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(Unextractable):
        decoded(b"a\0b")
    assert is_packed("a".encode("utf-16"))
    assert not is_packed(b"PKzip")
