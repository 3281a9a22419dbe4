"""A document, ready to be written: with its pictures and style sheets in it, and nothing that would be fetched.

Settles what becomes of each address that a document names, and what is put in the place of a template's marks. Does not
settle which elements are kept (`compile_tree`), nor who may have a file (whoever answers `Reads`).
"""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from stanch.content.compile_css import safe_css
from stanch.content.compile_pictures import MOST_BYTES, picture
from stanch.content.compile_template import Marks, Problem, Uncompiled
from stanch.content.compile_tree import Node, tree_of_html, tree_of_markdown, written

MOST_ROWS = 20_000
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.55 "DejaVu Sans", system-ui, sans-serif; max-width: 46em; margin: 0 auto; padding: 1em;
  overflow-wrap: break-word; }
img { max-width: 100%; height: auto; }
pre, code, kbd, samp { font-family: "DejaVu Sans Mono", ui-monospace, monospace; font-size: .92em; }
pre { overflow-x: auto; padding: .7em; border: 1px solid #8886; border-radius: 4px; white-space: pre-wrap; }
table { border-collapse: collapse; display: block; overflow-x: auto; max-width: 100%; }
th, td { border: 1px solid #8886; padding: .25em .6em; text-align: left; vertical-align: top; }
blockquote { margin-left: 0; padding-left: 1em; border-left: 3px solid #8886; }
"""


class Reads(Protocol):
    """Has a file read that a document names."""

    def text(self, kind: str, path: str) -> str | None:
        """The text of the file; None where it is not there and need not be."""

    def data(self, path: str) -> bytes | None:
        """The bytes of the file; None where it is not there and need not be."""


@dataclass(slots=True)
class Page:
    """A document that can be written. `removed` counts what was taken out of it: `pictures` and `styles`."""

    root: Node
    title: str
    css: str = ""
    removed: Counter[str] = field(default_factory=Counter)

    def html(self) -> str:
        """The whole page. What it may do is said in itself, and its one style sheet by its digest."""
        css = _STYLE + self.css
        policy = f"default-src 'none'; img-src data:; style-src '{digest_of(css)}'"
        head = (
            '<!doctype html>\n<html><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{css}</style></head>\n<body>\n"
        )
        body = "".join(piece for child in self.root.children for piece in written(child))
        return f"{head}{body}\n</body></html>\n"


def digest_of(css: str) -> str:
    """How a policy of a page names a style sheet."""
    return f"sha256-{base64.b64encode(sha256(css.encode()).digest()).decode()}"


class Laying:
    """Makes one page. `lenient`: what ought to be a picture and is none is left out."""

    def __init__(self, reads: Reads, marks: Marks, *, lenient: bool = False) -> None:
        self._reads, self._marks, self._lenient = reads, marks, lenient
        self._removed: Counter[str] = Counter()
        self._css: list[str] = []
        self._pattern = marks.pattern

    def page(self, form: str, text: str, name: str) -> Page:
        """The page of a text of this form: `markdown`, `html`, `csv`, `json` or `text`. Raises `Uncompiled`."""
        make: Callable[[str], Node] = {
            "markdown": tree_of_markdown,
            "html": tree_of_html,
            "csv": lambda words: Node("div", children=[table_of(words)]),
            "json": lambda words: Node("div", children=[_preformatted(_indented(words))]),
        }.get(form, lambda words: Node("div", children=[_preformatted(words)]))
        try:
            root = make(text)
        except RecursionError:
            raise Uncompiled(Problem.TOO_DEEP) from None
        root.children = list(self._settled(root.children))
        return self._done(root, name)

    def parts(self, parts: Sequence[tuple[str, str, str]], name: str) -> Page:
        """The page of a document's text, part by part: kind, name and text of each."""
        root = Node("div")
        for kind, called, text in parts:
            if len(parts) > 1:
                root.children.append(Node("h2", children=[Node(words=f"{kind.capitalize()} {called}")]))
            sheet = kind == "sheet" and text.strip() != ""
            root.children.append(table_of(text, "\t") if sheet else _preformatted(text))
        return self._done(root, name)

    def picture(self, data: bytes, name: str) -> Page:
        """The page of one picture. Raises `Uncompiled`."""
        kind, made = picture(data)
        return self._done(Node("div", children=[_image(kind, made, name)]), name)

    def _done(self, root: Node, name: str) -> Page:
        heading = next((node for node in root.walk() if node.tag in ("h1", "h2")), None)
        title = " ".join((heading.text() if heading is not None else name).split())[:200]
        return Page(root, title or name, "\n".join(self._css), self._removed)

    def _settled(self, nodes: Sequence[Node]) -> Iterator[Node]:
        for node in nodes:
            if not node.tag:
                yield from self._words(node.words)
            elif node.tag == "style":
                self._style("".join(child.words for child in node.children))
            elif node.tag == "link":
                self._link(node.attributes)
            elif node.tag == "img":
                yield self._picture(node)
            else:
                if node.tag == "a":
                    self._anchor(node)
                for name in ("id", "class", "title", "lang", "dir"):
                    if name in node.attributes:
                        node.attributes[name] = self._pattern.sub("", node.attributes[name])
                node.children = list(self._settled(node.children))
                if node.tag == "p" and any(child.tag in ("pre", "table") for child in node.children):
                    node.tag = "div"  # a browser ends a paragraph in front of these
                yield node

    def _words(self, words: str) -> Iterator[Node]:
        """The words, with what a template asked for in the place of its marks."""
        place = 0
        for found in self._pattern.finditer(words):
            if found.start() > place:
                yield Node(words=words[place : found.start()])
            place = found.end()
            if int(found[1]) < len(self._marks.all):
                yield from self._marked(int(found[1]))
        if place < len(words):
            yield Node(words=words[place:])

    def _marked(self, number: int) -> Iterator[Node]:
        mark = self._marks.all[number]
        if mark.kind == "image":
            data = self._reads.data(mark.path)
            if data is not None:
                yield _image(*_made(data, mark.path), mark.path.rpartition("/")[2])
            return
        text = self._reads.text(mark.kind, mark.path)
        if text is not None:
            several = mark.kind == "text" and "\n" in text.rstrip("\n")
            yield table_of(text) if mark.kind == "table" else _preformatted(text) if several else Node(words=text)

    def _picture(self, node: Node) -> Node:
        """The picture with its bytes in it, or what stands in its place."""
        source, alt = node.attributes.pop("src", ""), self._pattern.sub("", node.attributes.get("alt", ""))
        path = stored_path(source)
        if path is not None:
            data = self._reads.data(path)
        elif (inline := re.fullmatch(r"data:image/[\w.+-]+;base64,([A-Za-z0-9+/=\s]*)", source)) is not None:
            data = _decoded(inline[1])
        else:
            data = None
        try:
            found = None if data is None else picture(data)
        except Uncompiled as why:
            if path is not None and not self._lenient:
                raise Uncompiled(why.problem, path) from None
            found = None
        if found is None:
            self._removed["pictures"] += path is None or data is not None
            return Node("span", children=[Node(words=f"[{alt}]" if alt else "")])
        made = _image(*found, alt)
        made.attributes |= {
            name: value for name, value in node.attributes.items() if name in ("width", "height") and value.isdigit()
        }
        return made

    def _anchor(self, node: Node) -> None:
        """An address on the web, or within the page, is kept; a stored file only by its name."""
        target = node.attributes.pop("href", "")
        if re.match(r"(https?://|mailto:)", target, re.IGNORECASE):
            node.attributes |= {"href": self._pattern.sub("", target), "rel": "noopener noreferrer nofollow"}
        elif target.startswith("#"):
            node.attributes["href"] = self._pattern.sub("", target)
        elif (path := stored_path(target)) is not None:
            node.attributes["title"] = self._pattern.sub("", path)

    def _link(self, attributes: dict[str, str]) -> None:
        if "stylesheet" not in attributes.get("rel", "").lower().split():
            return
        path = stored_path(attributes.get("href", ""))
        text = None if path is None else self._reads.text("style", path)
        if text is None:
            self._removed["styles"] += path is None
        else:
            self._style(text)

    def _style(self, text: str) -> None:
        css, left_out = safe_css(text)
        self._removed["styles"] += left_out
        self._css.append(css)


def stored_path(address: str) -> str | None:
    """The path of a stored file that an address in a document means; None for any other address."""
    address = address.strip()
    if not address or address.startswith(("/", "\\", "#", "?")) or _SCHEME.match(address):
        return None
    try:
        path = unquote(urlsplit(address).path, errors="strict")
    except ValueError:
        return None
    # WHY again: what was written in another way may be an address, or a path from the top, once it is read.
    bad = path.startswith(("/", "\\")) or _SCHEME.match(path) is not None or ".." in path.split("/")
    return None if bad or "\\" in path or any(ord(letter) < 32 for letter in path) else path or None


def table_of(text: str, delimiter: str = ",") -> Node:
    """A table of delimited text, whose first row names the columns. Raises `Uncompiled`."""
    rows: list[Node] = []
    try:
        for cells in csv.reader(io.StringIO(text), delimiter=delimiter):
            if len(rows) >= MOST_ROWS:
                raise Uncompiled(Problem.TOO_LARGE)
            tag = "td" if rows else "th"
            rows.append(Node("tr", children=[Node(tag, children=[Node(words=cell)]) for cell in cells]))
    except csv.Error:
        raise Uncompiled(Problem.DAMAGED) from None
    return Node("table", children=rows)


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text) if len(text) <= 2 * MOST_BYTES else None
    except ValueError:
        return None


def _made(data: bytes, path: str) -> tuple[str, bytes]:
    try:
        return picture(data)
    except Uncompiled as why:
        raise Uncompiled(why.problem, path) from None


def _image(kind: str, data: bytes, alt: str) -> Node:
    return Node("img", {"src": f"data:{kind};base64,{base64.b64encode(data).decode()}", "alt": alt})


def _preformatted(words: str) -> Node:
    return Node("pre", children=[Node(words=words)])


def _indented(text: str) -> str:
    """JSON as it reads best; as it is where it is none."""
    try:
        value: Any = json.loads(text)
        return json.dumps(value, ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text
