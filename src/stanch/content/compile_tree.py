"""A document as a tree of harmless elements.

Settles which elements and attributes are kept, twice: by a sanitizer that reads as browsers do, and once more when its
result is taken apart here. Whatever is written is written anew out of the tree. Does not settle what becomes of
addresses (`compile_page`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

import nh3
from markdown_it import MarkdownIt

DEEPEST = 60
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "caption", "center", "dd", "details", "div", "dl", "dt", "figcaption",
    "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre",
    "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})  # fmt: skip
_INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "br", "cite", "code", "del", "dfn", "em", "i", "img", "ins", "kbd", "mark", "q",
    "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr",
})  # fmt: skip
EMPTY = frozenset({"br", "hr", "img", "wbr", "link"})
TAGS = _BLOCKS | _INLINE
_LOADS = frozenset({"link", "style"})
"""Read for the style sheets that they name or hold, and never written."""
_ATTRIBUTES: dict[str, set[str]] = {
    "*": {"class", "id", "lang", "dir", "title"},
    "a": {"href"},
    "img": {"src", "alt", "width", "height"},
    "link": {"rel", "href"},
    "ol": {"start", "type"},
    "td": {"colspan", "rowspan", "align"},
    "th": {"colspan", "rowspan", "align", "scope"},
}
_WITH_CONTENT = {
    "script", "iframe", "noscript", "template", "object", "embed", "svg", "math", "title", "textarea", "select",
    "noembed", "noframes", "xmp", "plaintext", "audio", "video", "canvas", "frameset", "applet", "dialog",
}  # fmt: skip
SCHEMES = {"http", "https", "mailto", "data"}


@dataclass(slots=True)
class Node:
    """An element, or words where it has no tag."""

    tag: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    words: str = ""

    def walk(self) -> Iterator[Node]:
        """This one and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def text(self) -> str:
        """The words in it."""
        return "".join(node.words for node in self.walk())


def tree_of_markdown(text: str) -> Node:
    """The tree of a Markdown text, HTML in which is read as such."""
    reader = _Reader("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return tree_of_html(reader.render(text))


class _Reader(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802, ARG002 - the library's name
        """Every address is kept for now: they are looked at in the tree."""
        return True


def tree_of_html(text: str) -> Node:
    """The tree of an HTML text, with those of its elements and attributes alone that are harmless."""
    cleaned = nh3.clean(
        text,
        tags=set(TAGS | _LOADS),
        clean_content_tags=_WITH_CONTENT,
        attributes=_ATTRIBUTES,
        url_schemes=SCHEMES,
        link_rel=None,
        strip_comments=True,
    )
    builder = _Builder()
    builder.feed(cleaned)
    builder.close()
    return builder.root


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("div")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A new element; one that lies too deep, or is none of those that are kept, is gone through as if not there."""
        if tag not in TAGS | _LOADS or (len(self._open) > DEEPEST and tag not in EMPTY):
            return
        allowed = _ATTRIBUTES["*"] | _ATTRIBUTES.get(tag, set())
        node = Node(tag, {name: value or "" for name, value in attrs if name in allowed})
        self._open[-1].children.append(node)
        if tag not in EMPTY:
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        """The end of the innermost element of that name."""
        for at in range(len(self._open) - 1, 0, -1):
            if self._open[at].tag == tag:
                del self._open[at:]
                return

    def handle_data(self, data: str) -> None:
        """Words."""
        self._open[-1].children.append(Node(words=data))


def written(node: Node) -> Iterator[str]:
    """The tree as HTML, piece by piece. INVARIANT: nothing but known elements, and words that are escaped."""
    if not node.tag:
        yield escape(node.words, quote=False)
        return
    if node.tag not in TAGS:
        return
    said = "".join(f' {name}="{escape(value)}"' for name, value in node.attributes.items())
    yield f"<{node.tag}{said}>"
    if node.tag in EMPTY:
        return
    if node.tag == "pre":
        yield "\n"  # the first line break in it counts for nothing
    for child in node.children:
        yield from written(child)
    yield f"</{node.tag}>"
