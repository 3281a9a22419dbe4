"""Documents made for tests: real ones of each kind, and some that lie."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

import docx
import openpyxl
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(*pages: str, password: str | None = None) -> bytes:
    """A PDF whose pages have these lines of ASCII."""
    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(300, 300)
        font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
        named = DictionaryObject({NameObject(key): NameObject(value) for key, value in font.items()})
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(named)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 10 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def xlsx(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    """A workbook with these sheets."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def word(*paragraphs: str, cells: Sequence[str] = (), header: str = "") -> bytes:
    """A DOCX with these paragraphs, a table of one row, and a header."""
    document = docx.Document()
    for text in paragraphs:
        document.add_paragraph(text)
    if cells:
        table = document.add_table(1, len(cells))
        for cell, text in zip(table.rows[0].cells, cells, strict=True):
            cell.text = text
    if header:
        document.sections[0].header.paragraphs[0].text = header
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def repacked(data: bytes, **changed: bytes) -> bytes:
    """A zip with the bytes of some members replaced; `__` stands for `/` in a name, and the ending is left out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            key = name.rpartition(".")[0].replace("/", "__")
            new.writestr(name, changed.get(key, old.read(name)))
    return out.getvalue()
