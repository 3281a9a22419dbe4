"""What a syntax tree holds that runs inside a word: substitutions, and the names that arithmetic works on.

Settles how the tree is searched. Does not settle what is done with what is found (`policy.shell.expanding`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNING = re.compile(r"(?:[-+*/%&|^]|<<|>>)?=")


def nested(node: Any) -> Iterator[Mapping[str, Any]]:
    """Every outermost substitution of commands below a node."""
    if isinstance(node, Mapping):
        if node.get("Type") in ("CmdSubst", "ProcSubst"):
            yield node
            return
        for value in node.values():
            if isinstance(value, (Mapping, list)):
                yield from nested(value)
    elif isinstance(node, list):
        for item in node:
            yield from nested(item)


def names_in(node: Any) -> Iterator[str]:
    """Every variable that an arithmetic expression names, with `$` or without."""
    if isinstance(node, Mapping):
        kind = node.get("Type")
        if kind == "ParamExp":
            yield node.get("Param", {}).get("Value", "")
        elif kind == "Lit":
            yield from _NAME.findall(re.sub(r"\d\w*", "", node.get("Value", "")))
        for value in node.values():
            if isinstance(value, (Mapping, list)):
                yield from names_in(value)
    elif isinstance(node, list):
        for item in node:
            yield from names_in(item)


def hides_code(node: Any) -> bool:
    """True where quoted text in an arithmetic expression holds a substitution, which is run when it is read."""
    if isinstance(node, Mapping):
        text = node.get("Value")
        if isinstance(text, str) and ("$(" in text or "`" in text):
            return True
        return any(hides_code(value) for value in node.values() if isinstance(value, (Mapping, list)))
    return isinstance(node, list) and any(hides_code(item) for item in node)


def assigned_in(node: Any) -> bool:
    """True where an arithmetic expression sets a variable."""
    if isinstance(node, Mapping):
        if node.get("Op") in ("++", "--") or _ASSIGNING.fullmatch(str(node.get("Op", ""))):
            return True
        return any(assigned_in(value) for value in node.values() if isinstance(value, (Mapping, list)))
    return isinstance(node, list) and any(assigned_in(item) for item in node)
