"""A page as a PDF.

Settles how each element is set on paper, in letters that are with Stanch itself. Does not settle what is on the page
(`compile_page`). ABSENT: style sheets, right-to-left setting, and tables within tables, whose words are kept.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from fpdf import FPDF
from fpdf.enums import XPos, YPos

from stanch.content.compile_page import Page
from stanch.content.compile_template import Problem, Uncompiled
from stanch.content.compile_tree import Node

FONTS = Path(__file__).parent / "fonts"
MOST_PAGES = 2_000
_FACES = {"": "DejaVuSans.ttf", "B": "DejaVuSans-Bold.ttf", "I": "DejaVuSans-Oblique.ttf"}
_HEADINGS = {"h1": 20.0, "h2": 16.0, "h3": 13.5, "h4": 12.0, "h5": 11.0, "h6": 11.0}
_BOLD, _ITALIC, _MONO = (
    {"b", "strong", "th", "dt", *_HEADINGS},
    {"i", "em", "cite", "dfn", "var"},
    {"code", "kbd", "samp"},
)
_FLOWS = {"span", "a", "abbr", "bdi", "bdo", "del", "ins", "mark", "q", "s", "small", "sub", "sup", "time", "u"}
_INK, _LINK = (0, 0, 0), (20, 70, 150)
_SIZE, _LINE, _GAP, _STEP = 10.5, 1.45, 2.2, 7.0


def pdf_of(page: Page, made_at: datetime) -> bytes:
    """The bytes of the PDF, the same for the same page. Raises `Uncompiled`."""
    setting = _Setting(page.title, made_at)
    setting.block(page.root)
    return setting.done()


class _Setting:
    def __init__(self, title: str, made_at: datetime) -> None:
        self.pdf = pdf = FPDF()
        for style, name in _FACES.items():
            pdf.add_font("text", style, FONTS / name)
        pdf.add_font("mono", "", FONTS / "DejaVuSansMono.ttf")
        pdf.set_creation_date(made_at)
        pdf.set_title(title)
        pdf.set_producer("Stanch")
        pdf.set_margins(20, 18)
        pdf.set_auto_page_break(True, 18)
        pdf.add_page()
        self._size = _SIZE
        self._fresh = True
        self._bulleted = False
        self._font(frozenset())

    def done(self) -> bytes:
        """The bytes."""
        return bytes(self.pdf.output())

    def block(self, node: Node, styles: frozenset[str] = frozenset(), bullet: str = "") -> None:
        """Sets the element with all that is in it."""
        if self.pdf.page_no() > MOST_PAGES:
            raise Uncompiled(Problem.TOO_LARGE)
        styles = _styled(node.tag, styles)
        match node.tag:
            case "table":
                self._table(node)
            case "pre":
                self._pre(node)
            case "hr":
                self._break()
                self.pdf.line(self.pdf.l_margin, self.pdf.y + 1, self.pdf.w - self.pdf.r_margin, self.pdf.y + 1)
                self.pdf.ln(3)
            case "ul" | "ol":
                self._list(node, styles)
            case "blockquote" | "dd":
                self._within(lambda: self._children(node, styles))
            case _:
                size, self._size = self._size, _HEADINGS.get(node.tag, self._size)
                self._break(_GAP if node.tag in _HEADINGS or node.tag == "p" else 0)
                if bullet:
                    self._bullet(bullet)
                self._children(node, styles)
                self._break()
                self._size = size

    def _children(self, node: Node, styles: frozenset[str]) -> None:
        for child in node.children:
            if not child.tag or child.tag in _FLOWS or child.tag in _MONO | _ITALIC | {"b", "strong", "br", "wbr"}:
                self._inline(child, styles)
            elif child.tag == "img":
                self._image(child)
            else:
                self.block(child, styles)

    def _inline(self, node: Node, styles: frozenset[str], address: str = "") -> None:
        if not node.tag:
            words = re.sub(r"\s+", " ", node.words)
            words = words.lstrip() if self._fresh else words
            if words:
                self._font(styles)
                self.pdf.set_text_color(*(_LINK if address else _INK))
                self.pdf.write(self._size * _LINE / self.pdf.k, words, address)
                self.pdf.set_text_color(*_INK)
                self._fresh = self._bulleted = False
            return
        if node.tag == "br":
            self.pdf.ln(self._size * _LINE / self.pdf.k)
            self._fresh = True
            return
        styles = _styled(node.tag, styles)
        target = node.attributes.get("href", "")
        address = target if target.startswith(("http", "mailto:")) else address
        for child in node.children:
            if child.tag == "img":
                self._image(child)
            elif child.tag in ("table", "pre", "ul", "ol", "p", "div", "blockquote"):
                self.block(child, styles)
            else:
                self._inline(child, styles, address)

    def _list(self, node: Node, styles: frozenset[str]) -> None:
        start = node.attributes.get("start", "1")
        number = int(start) if re.fullmatch(r"\d{1,6}", start) else 1
        for child in node.children:
            if child.tag == "li":
                sign = f"{number}." if node.tag == "ol" else "•"
                number += 1
                self._within(lambda child=child, sign=sign: self.block(child, styles, sign))

    def _bullet(self, sign: str) -> None:
        pdf = self.pdf
        self._font(frozenset())
        pdf.set_x(max(0, pdf.l_margin - _STEP))
        pdf.cell(_STEP - 1, self._size * _LINE / pdf.k, sign, align="R")
        pdf.set_x(pdf.l_margin)
        self._fresh = self._bulleted = True

    def _within(self, inside: object) -> None:
        """Sets something farther to the right, as long as there is room for it."""
        assert callable(inside)
        pdf = self.pdf
        self._break()
        before = pdf.l_margin
        pdf.set_left_margin(min(before + _STEP, pdf.w / 2))
        pdf.set_x(pdf.l_margin)
        inside()
        self._break()
        pdf.set_left_margin(before)
        pdf.set_x(before)

    def _pre(self, node: Node) -> None:
        self._break(_GAP / 2)
        self.pdf.set_font("mono", size=self._size - 1.5)
        self.pdf.set_fill_color(244, 244, 244)
        words = node.text().expandtabs(4).strip("\n")
        self.pdf.multi_cell(
            0, self._size * 1.25 / self.pdf.k, words, fill=True, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT
        )
        self.pdf.ln(_GAP / 2)
        self._fresh = True

    def _table(self, node: Node) -> None:
        rows = [[cell.text().strip() for cell in row.children if cell.tag in ("td", "th")] for row in _rows(node)]
        wide = max(map(len, rows), default=0)
        if not wide or wide > 40:
            self._pre(Node(words="\n".join("\t".join(row) for row in rows)))
            return
        self._break(_GAP / 2)
        self._font(frozenset())
        self.pdf.set_font_size(self._size - 1)
        named = any(cell.tag == "th" for row in _rows(node) for cell in row.children[:2])
        with self.pdf.table(first_row_as_headings=named and len(rows) > 1, line_height=5.5, text_align="LEFT") as table:
            for row in rows:
                table.row([*row, *[""] * (wide - len(row))])
        self.pdf.ln(_GAP)
        self._fresh = True

    def _image(self, node: Node) -> None:
        data = base64.b64decode(node.attributes["src"].partition(",")[2])
        pdf = self.pdf
        self._break()
        pdf.image(io.BytesIO(data), w=self._wide(data), keep_aspect_ratio=True)
        pdf.ln(_GAP)
        self._fresh = True

    def _wide(self, data: bytes) -> float:
        """How wide a picture is set: as on a screen, and no wider or higher than a page."""
        from PIL import Image

        with Image.open(io.BytesIO(data)) as image:
            wide, high = image.width * 25.4 / 96, image.height * 25.4 / 96
        most = self.pdf.epw if self.pdf.l_margin < self.pdf.w / 2 else self.pdf.w - self.pdf.l_margin - 20
        room = min(1.0, most / wide, (self.pdf.eph - 5) / high)
        return wide * room

    def _break(self, gap: float = 0) -> None:
        if not self._fresh:
            self.pdf.ln(self._size * _LINE / self.pdf.k)
        # What stands first behind a bullet stands on its line.
        if gap and self.pdf.y > self.pdf.t_margin and not self._bulleted:
            self.pdf.ln(gap)
        self._fresh, self._bulleted = True, False

    def _font(self, styles: frozenset[str]) -> None:
        if "mono" in styles:
            self.pdf.set_font("mono", size=self._size - 1)
        else:
            self.pdf.set_font("text", "B" if "B" in styles else "I" if "I" in styles else "", self._size)


def _styled(tag: str, styles: frozenset[str]) -> frozenset[str]:
    more = {"B"} if tag in _BOLD else {"I"} if tag in _ITALIC else {"mono"} if tag in _MONO else set[str]()
    return styles | more


def _rows(node: Node) -> Iterator[Node]:
    """The rows of a table, not those of one within it."""
    for child in node.children:
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot", "div"):
            yield from _rows(child)
