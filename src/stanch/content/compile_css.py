"""A style sheet without whatever could load something, run something, or cover the page.

Settles which declarations are kept. Does not settle where a style sheet comes from (`compile_page`).
"""

from __future__ import annotations

import re

MOST_CHARACTERS = 200_000
_PROPERTIES = re.compile(
    r"color|background-color|font(-family|-size|-style|-weight|-variant)?|text-(align|decoration|indent|transform)|"
    r"line-height|letter-spacing|word-spacing|white-space|vertical-align|list-style-type|"
    r"(margin|padding)(-(top|right|bottom|left))?|border(-(top|right|bottom|left))?(-(color|style|width))?|"
    r"border-(collapse|spacing|radius)|(max-|min-)?(width|height)|display|float|clear|"
    r"columns|column-(count|gap)|page-break-(before|after|inside)|break-(before|after|inside)|caption-side"
)
_SELECTOR = re.compile(r"[\w .#,>+~*:()-]{1,500}")
_VALUE = re.compile(r"""[\w\s.,#%"'()!/+*-]{1,500}""")
_FUNCTION = re.compile(r"([\w-]*)\s*\(")
_FUNCTIONS = frozenset({"rgb", "rgba", "hsl", "hsla", "calc"})
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)


def safe_css(text: str) -> tuple[str, int]:
    """The rules that are kept, and how many rules and declarations were left out.

    INVARIANT: no `<`, `\\`, `@` or `url(` is in what is kept, so that it neither ends its element nor loads anything.
    """
    kept: list[str] = []
    left_out = 0
    text = _COMMENT.sub(" ", text[:MOST_CHARACTERS])
    place = 0
    while place < len(text):
        opening, ending = text.find("{", place), text.find(";", place)
        if ending != -1 and (opening == -1 or ending < opening):
            left_out += bool(text[place:ending].strip())
            place = ending + 1
            continue
        if opening == -1:
            left_out += bool(text[place:].strip())
            break
        selector = " ".join(text[place:opening].split())
        closing = _closing(text, opening)
        declarations, dropped = _declarations(text[opening + 1 : closing])
        place = closing + 1
        if not _SELECTOR.fullmatch(selector):
            left_out += 1
            continue
        left_out += dropped
        if declarations:
            kept.append(f"{selector} {{ {'; '.join(declarations)} }}")
    return "\n".join(kept), left_out


def _closing(text: str, opening: int) -> int:
    """Where the block ends that begins there; the end of the text where it does not."""
    depth = 0
    for found in re.finditer(r"[{}]", text[opening:]):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return opening + found.start()
    return len(text)


def _declarations(block: str) -> tuple[list[str], int]:
    kept: list[str] = []
    dropped = 0
    for one in block.split(";"):
        name, _, value = (part.strip() for part in one.partition(":"))
        if not one.strip():
            continue
        functions = {found.lower() for found in _FUNCTION.findall(value)}
        if _PROPERTIES.fullmatch(name.lower()) and _VALUE.fullmatch(value) and functions <= _FUNCTIONS:
            kept.append(f"{name.lower()}: {' '.join(value.split())}")
        else:
            dropped += 1
    return kept, dropped
