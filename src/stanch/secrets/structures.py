"""JSON-like values, walked: every string, key and number in them is projected, at any depth.

Settles what becomes of a value as a whole: its shape stays, what did not change is the same object, and what was given
is never changed. Does not settle what becomes of a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from stanch.secrets.budget import Cause, Withheld

Project = Callable[[str], str]


def projected(value: Any, project: Project) -> Any:
    """The value with every text in it projected; the same object where none changed. Raises `Withheld`.

    A number becomes a text where its digits hold a secret.
    """
    if not isinstance(value, dict | list | tuple):
        return _leaf(value, project)
    made: dict[int, Any] = {}
    for node in _inside_out(value):
        if isinstance(node, dict):
            made[id(node)] = _table(node, made, project)
        else:
            items = [_item(one, made, project) for one in node]
            same = all(new is old for new, old in zip(items, node, strict=True))
            made[id(node)] = node if same else tuple(items) if isinstance(node, tuple) else items
    return made[id(value)]


def _inside_out(root: Any) -> Iterator[Any]:
    """Every container once, each after those in it. Raises `Withheld` for one that holds itself."""
    left: list[tuple[Any, bool]] = [(root, False)]
    around: set[int] = set()
    done: set[int] = set()
    while left:
        node, leaving = left.pop()
        if leaving:
            around.remove(id(node))
            done.add(id(node))
            yield node
            continue
        if id(node) in around:
            raise Withheld(Cause.NOT_JSON)
        if id(node) in done:
            continue
        around.add(id(node))
        left.append((node, True))
        inner = node.values() if isinstance(node, dict) else node
        left += [(one, False) for one in inner if isinstance(one, dict | list | tuple)]


def _table(node: dict[Any, Any], made: dict[int, Any], project: Project) -> dict[Any, Any]:
    new: dict[Any, Any] = {}
    changed = False
    for key, old in node.items():
        told, item = _leaf(key, project), _item(old, made, project)
        changed |= told is not key or item is not old
        new[told] = item
    if len(new) < len(node):
        raise Withheld(Cause.KEYS_COLLIDE)
    return new if changed else node


def _item(old: Any, made: dict[int, Any], project: Project) -> Any:
    return made[id(old)] if isinstance(old, dict | list | tuple) else _leaf(old, project)


def _leaf(leaf: Any, project: Project) -> Any:
    if isinstance(leaf, str):
        return project(leaf)
    if leaf is None or isinstance(leaf, bool):
        return leaf
    if isinstance(leaf, int | float):
        for text in _digits(leaf):
            if (told := project(text)) != text:
                return told
        return leaf
    raise Withheld(Cause.NOT_JSON)


def _digits(number: Any) -> Iterator[str]:
    """The number as JSON writes it, and as other programs write a whole one."""
    try:
        yield int.__repr__(number) if isinstance(number, int) else float.__repr__(number)
    except ValueError:
        # Python refuses to write so many digits.
        raise Withheld(Cause.TOO_LARGE) from None
    if isinstance(number, float) and number.is_integer():
        yield f"{number:.0f}"
