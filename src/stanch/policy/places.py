"""Where in a TOML text each key and table stands: line numbers for problems and for rules.

Settles places only. Values come from the standard library's parser, which decides what is TOML at all.
"""

from __future__ import annotations

import re
from typing import Any

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

Place = tuple[str | int, ...]
_RULE_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*groups[ \t]*\.[ \t]*rules[ \t]*\]\]", re.MULTILINE)


def rule_lines(text: str, count: int) -> list[int] | None:
    """The lines of the rules' headers, where the text writes each of its `count` rules as `[[groups.rules]]`.

    None where it does not.

    WHY: a tree of a long policy costs more than all the rest of loading it. Text with multi-line strings is left to the
    tree, since a header could stand inside one.
    """
    if '"""' in text or "'''" in text:
        return None
    lines = []
    line, at = 1, 0
    for found in _RULE_HEADER.finditer(text):
        line += text.count("\n", at, found.start())
        at = found.start()
        lines.append(line)
    return lines if len(lines) == count else None


class Places:
    """The line, from 1, of every key, table and list item of a TOML text that parses."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Place, int] = {(): 1}
        self._nodes: dict[Place, Node] = {}
        self._counts: dict[Place, int] = {}
        tree = Parser(Language(tree_sitter_toml.language())).parse(text.encode())
        for node in tree.root_node.children:
            self._top(node)

    def line(self, where: Place) -> int:
        """The line of the place, or of the nearest thing around it that has one."""
        at = where
        while at not in self._lines:
            at = at[:-1]
        return self._lines[at]

    def node(self, where: Place) -> Node | None:
        """The piece of text at exactly this place: a key with its value, an item of a list, or a table from its header.

        None where there is none.
        """
        return self._nodes.get(where)

    def _top(self, node: Node) -> None:
        if node.type == "pair":
            self._pair(node, ())
        elif node.type in ("table", "table_array_element"):
            keys = next(child for child in node.children if child.type in ("bare_key", "quoted_key", "dotted_key"))
            place = self._resolve(_names(keys), repeated=node.type == "table_array_element")
            for length in range(1, len(place) + 1):
                self._note(place[:length], node)
            for child in node.children:
                if child.type == "pair":
                    self._pair(child, place)

    def _resolve(self, names: list[str], *, repeated: bool) -> Place:
        """The place a table header means: a name that stands for a list means its newest item."""
        place: Place = ()
        for at, name in enumerate(names):
            place = (*place, name)
            last = at == len(names) - 1
            if last and repeated:
                count = self._counts.get(place, 0)
                self._counts[place] = count + 1
                place = (*place, count)
            elif place in self._counts:
                place = (*place, self._counts[place] - 1)
        return place

    def _pair(self, node: Node, inside: Place) -> None:
        key, value = node.children[0], value_of(node)
        place = inside
        for name in _names(key):
            place = (*place, name)
            self._note(place, node)
        self._value(value, place)

    def _value(self, node: Node, place: Place) -> None:
        if node.type == "inline_table":
            for child in node.children:
                if child.type == "pair":
                    self._pair(child, place)
        elif node.type == "array":
            items = [child for child in node.children if child.type not in ("[", "]", ",", "comment")]
            for at, child in enumerate(items):
                self._note((*place, at), child)
                self._value(child, (*place, at))

    def _note(self, place: Place, node: Node) -> None:
        self._lines.setdefault(place, node.start_point[0] + 1)
        self._nodes.setdefault(place, node)


def value_of(pair: Node) -> Node:
    """The value of a key. WHY not the last piece: a comment behind it is one more."""
    return next(child for child in reversed(pair.children) if child.type != "comment")


def _names(node: Node) -> list[str]:
    if node.type == "dotted_key":
        return [name for child in node.children if child.type != "." for name in _names(child)]
    text = (node.text or b"").decode()
    if node.type == "bare_key":
        return [text]
    import tomllib

    parsed: dict[str, Any] = tomllib.loads(f"{text} = 0")
    return list(parsed)
