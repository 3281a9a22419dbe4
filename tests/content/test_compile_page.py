"""Pages that are made of hostile documents: what is left of them."""

from __future__ import annotations

import base64
import io
import re
import struct
import zlib
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from stanch.content.compile_css import safe_css
from stanch.content.compile_page import Laying, Page, stored_path
from stanch.content.compile_pdf import pdf_of
from stanch.content.compile_pictures import picture, type_of
from stanch.content.compile_template import Marks, Problem, Uncompiled
from stanch.content.compile_tree import TAGS

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Stored:
    """Files that a document may name, and those that it does."""

    def __init__(self, **files: str | bytes) -> None:
        self.files = {name.replace("__", "."): value for name, value in files.items()}
        self.read: list[str] = []

    def text(self, _kind: str, path: str) -> str | None:
        self.read.append(path)
        found = self.files.get(path)
        return found if isinstance(found, str) else None

    def data(self, path: str) -> bytes | None:
        self.read.append(path)
        found = self.files.get(path)
        return found if isinstance(found, bytes) else None


def page(text: str, form: str = "html", stored: Stored | None = None) -> Page:
    return Laying(stored or Stored(), Marks()).page(form, text, "a.html")


class Looking(HTMLParser):
    """Every element of a page, with what it says."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html.partition("<body>")[2])
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_harmless(html: str) -> None:
    """Fails where a page could do anything."""
    for tag, attributes in Looking(html).found:
        assert tag in TAGS, tag
        for name, value in attributes.items():
            assert not name.startswith("on"), name
            assert name not in ("style", "srcdoc", "action", "formaction", "background", "srcset", "ping"), name
            if name == "href":
                assert re.match(r"(https?://|mailto:|#)", value or "", re.IGNORECASE), value
            if name == "src":
                assert (value or "").startswith("data:image/"), value


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><a xlink:href=javascript:alert(1)>x</a></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=x onerror=alert(1)&gt;'>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<form action=https://x.example/><input name=a><button formaction=javascript:alert(1)>x</button></form>",
    "<iframe src=javascript:alert(1) srcdoc='<script>alert(1)</script>'></iframe>",
    "<meta http-equiv=refresh content='0;url=https://x.example/'>",
    "<base href=https://x.example/>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href=' &#106;avascript:alert(1)'>x</a>",
    "<a href='java\tscript:alert(1)'>x</a>",
    "<a href=data:text/html,<script>alert(1)</script>>x</a>",
    "<a href=vbscript:x>x</a>",
    "<img src=https://x.example/p.png><img src=//x.example/p.png><img srcset=https://x.example/p.png>",
    "<img src='data:image/svg+xml;base64,PHN2Zy8+'>",
    "<img src='data:text/html;base64,PHN2Zy8+'>",
    "<div style='background:url(https://x.example/)'>x</div>",
    "<style>@import 'https://x.example/';body{background:url(//x)}</style><p>y",
    "<link rel=stylesheet href=https://x.example/s.css><link rel=preload href=/x><link rel=stylesheet href=//x/y>",
    "<object data=x></object><embed src=x><video src=x></video><audio src=x></audio>",
    "<template><img src=x onerror=alert(1)></template>",
    "<title></title><img src=x onerror=alert(1)>",
    "<textarea></textarea><img src=x onerror=alert(1)>",
    "<!--><img src=x onerror=alert(1)>-->",
    '<p title="x"><img alt=\'" onerror="alert(1)\' src=x>',
    "</style></body></html><script>alert(1)</script>",
    "<style></style><script>alert(1)</script>",
    "<a\x00href=javascript:alert(1)>x</a>",
    "<dialog open><p>x</dialog>",
    "<p id=x class='a b' title='<script>'>x</p>",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("form", ["html", "markdown"])
def test_nothing_that_acts_is_left(text: str, form: str) -> None:
    html = page(f"{text}\n\nbehind", form).html()
    assert_harmless(html)
    assert "x.example" not in re.sub(r"\s+", "", html).replace("&lt;", "")
    assert html.count("<style>") == html.count("</style>") == 1
    pdf_of(page(f"{text}\n\nbehind", form), NOW)


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "![x](javascript:alert(1))",
        "[x]: javascript:alert(1)\n[x]",
        "<javascript:alert(1)>",
        "![x](https://x.example/p.png)",
        "![x](file:///etc/passwd)",
        "![x](//x.example/p.png)",
        "![x](\\\\x.example\\p.png)",
        '![x](a.png "\\" onerror=alert(1) x=\\"")',
    ],
)
def test_markdown_leads_nowhere(text: str) -> None:
    html = page(text, "markdown").html()
    assert_harmless(html)
    assert 'src="' not in html.partition("<body>")[2]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from([piece for text in HOSTILE for piece in re.findall(r"<[^>]*>?|[^<]+", text)]),
            st.text(max_size=8),
        ),
        max_size=25,
    )
)
def test_whatever_is_put_together_is_harmless(pieces: list[str]) -> None:
    made = page("".join(pieces))
    assert_harmless(made.html())


ELEMENTS = [
    *(f"<{tag}>" for tag in ("table", "tr", "td", "th", "ul", "li", "ol start=9", "p", "pre", "blockquote", "h1", "b")),
    *(f"</{tag}>" for tag in ("table", "tr", "td", "ul", "pre", "h1", "b")),
    *(
        f"<{tag}>"
        for tag in ("i", "code", "br", "hr", "a href=https://x.y/", "dl", "dt", "dd", "caption", "td colspan=9")
    ),
    "word",
    "שלום",
    "✓",
]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.sampled_from(ELEMENTS),
        max_size=40,
    )
)
def test_a_pdf_is_made_of_whatever_is_on_a_page(pieces: list[str]) -> None:
    assert pdf_of(page(" ".join(pieces)), NOW).startswith(b"%PDF-")


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("a.png", "a.png"),
        ("dir/a%20b.png?x=1#y", "dir/a b.png"),
        ("./a.png", "./a.png"),
        ("../a.png", None),
        ("dir/../a.png", None),
        ("%2e%2e/a.png", None),
        ("dir/%2E%2E/a.png", None),
        ("..%2fa.png", None),
        ("/etc/passwd", None),
        ("%2fetc/passwd", None),
        ("//host/a.png", None),
        ("\\\\host\\a.png", None),
        ("dir\\..\\a.png", None),
        ("%5c%5chost", None),
        ("a%00.png", None),
        ("a\n.png", "a.png"),
        ("file:///etc/passwd", None),
        ("file:a.png", None),
        ("http:a.png", None),
        ("%68ttp://x/", None),
        ("C:/a.png", None),
        ("a%ff.png", None),
        ("#top", None),
        ("", None),
    ],
)
def test_which_stored_file_an_address_means(address: str, path: str | None) -> None:
    assert stored_path(address) == path


@pytest.mark.parametrize(
    "css",
    [
        "p { background: url(https://x.example/?) }",
        "p { background-image: url('x') }",
        "input[value^=a] { color: red }",
        "@import 'https://x.example/';",
        "@import url(x);",
        "@font-face { font-family: x; src: url(x) }",
        "@media screen { p { color: red } }",
        "p { color: expression(alert(1)) }",
        "p { behavior: url(x) }",
        "p { -moz-binding: url(x) }",
        "p { position: fixed }",
        "p { content: 'x' }",
        "p { color: \\75\\72\\6c(x) }",
        "p { background: u\\rl(x) }",
        "p { font-family: '</style><script>' }",
        "</style><script>alert(1)</script>",
        "p { color: image-set('x' 1x) }",
        "p { --x: url(x); color: var(--x) }",
        "p { color: re/**/d;;; width: attr(x) }}} q { x",
        "{}}{{",
    ],
)
def test_a_style_sheet_loads_nothing(css: str) -> None:
    kept, left_out = safe_css(f"{css}\n")
    assert not re.search(r"[<>\\@]|url|expression|attr\(|image-set|script|position|x\.example", kept)
    assert left_out or not kept


def test_what_is_kept_of_a_style_sheet() -> None:
    kept, left_out = safe_css("/* a */ h1, p.b > i { color: #fff; margin: 1em auto !important; width: calc(1em + 2%) }")
    assert kept == "h1, p.b > i { color: #fff; margin: 1em auto !important; width: calc(1em + 2%) }"
    assert left_out == 0
    sheet = Stored(s__css="p { color: red }")
    made = page('<link rel="stylesheet" href="s.css"><p>x</p>', stored=sheet)
    assert "p { color: red }" in made.html()
    assert sheet.read == ["s.css"]


def png(wide: int, high: int) -> bytes:
    """The head of a picture that says it is so large."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(b"\0" * 1_000)), chunk(b"IEND", b""))
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (png(60_000, 60_000), Problem.TOO_LARGE),
        (png(30, 30), Problem.NO_PICTURE),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", Problem.NO_PICTURE),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", Problem.NO_PICTURE),
        (b"<html><script>alert(1)</script>", Problem.NO_PICTURE),
        (b"", Problem.NO_PICTURE),
    ],
)
def test_what_is_no_picture(data: bytes, problem: Problem) -> None:
    with pytest.raises(Uncompiled) as raised:
        picture(data)
    assert raised.value.problem is problem


def test_nothing_but_its_points_is_kept_of_a_picture() -> None:
    for form, kind in (("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/png"), ("WEBP", "image/png")):
        out, head = io.BytesIO(), PngImagePlugin.PngInfo()
        head.add_text("Comment", "hidden-words")
        exif = Image.Exif()
        exif[0x010E] = "hidden-words"
        image = Image.new("RGB", (30, 20), "blue")
        more: dict[str, Any] = {} if form == "GIF" else {"exif": exif}
        image.save(out, form, pnginfo=head, comment=b"hidden-words", **more)
        data = out.getvalue() + b"<script>hidden-words</script>"
        assert type_of(data) == f"image/{form.lower()}"
        told, again = picture(data)
        assert told == kind
        assert b"hidden-words" not in again
        assert Image.open(io.BytesIO(again)).size == (30, 20)


def test_pictures_are_put_in_and_foreign_ones_counted() -> None:
    out = io.BytesIO()
    Image.new("RGB", (3, 3)).save(out, "PNG")
    stored = Stored(p__png=out.getvalue())
    inline = base64.b64encode(out.getvalue()).decode()
    text = f'![a](p.png) ![b](http://x/p.png) ![c](../p.png) <img src="data:image/png;base64,{inline}" alt=d>'
    made = page(text, "markdown", stored)
    assert [one["alt"] for tag, one in Looking(made.html()).found if tag == "img"] == ["a", "d"]
    assert (dict(made.removed), stored.read) == ({"pictures": 2}, ["p.png"])
    assert "[b]" in made.html()


def test_a_link_to_a_stored_file_is_its_name() -> None:
    html = page("[x](b%20c.md) [y](https://a.example/) [z](#t) [w](javascript:1)", "markdown").html()
    assert '<a title="b c.md">x</a>' in html
    assert '<a href="https://a.example/" rel="noopener noreferrer nofollow">y</a>' in html
    assert '<a href="#t">z</a>' in html
    assert "<a>w</a>" in html


def test_a_pdf_has_its_words_and_its_title() -> None:
    text = "# Ünïcode ✓ Привет\n\nwords **bold** `code`\n\n- one\n  - two\n\n"
    text += "| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nraw\n```\n"
    made = page(text, "markdown")
    reader = pypdf.PdfReader(io.BytesIO(pdf_of(made, NOW)))
    words = reader.pages[0].extract_text()
    assert all(word in words for word in ("Ünïcode ✓ Привет", "bold", "code", "one", "two", "1", "raw"))
    assert reader.metadata is not None
    assert reader.metadata.title == "Ünïcode ✓ Привет"
    assert pdf_of(made, NOW) == pdf_of(made, NOW)


def test_depth_has_an_end() -> None:
    deep = "<div>" * 5_000 + "inside" + "</div>" * 5_000
    assert "inside" in page(deep).html()
    assert page(">" * 5_000 + " inside", "markdown").html()
    pdf_of(page("<ul><li>" * 500 + "inside"), NOW)
    assert page('{"a": ' * 50_000, "json").html()
