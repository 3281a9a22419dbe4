"""Values of variables: their text, their elements, and what an operator makes of one.

Settles what follows from a value alone. Does not settle what is put into words (`policy.shell.expanding`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from stanch.policy.shell.pieces import QUOTED, Break, Hole, Lit, Piece, Under, Value, Word
from stanch.policy.shell.state import UNSET, Node, State
from stanch.policy.shell.wildcards import expression, plain_tokens

_LONGEST = 1_000
_NUMBER = re.compile(r"-?\d+")


def text_of(value: Value) -> str | None:
    """The text of a value that is wholly known; else None."""
    if all(isinstance(piece, Lit) for piece in value):
        return "".join(piece.text for piece in value if isinstance(piece, Lit))
    return None


def value_of(word: Word) -> Value:
    """A word as the value of a variable."""
    if word.text is not None:
        return (Lit(word.text, QUOTED),)
    if word.under:
        return (Under(word.under),)
    return (*((Lit(word.head, QUOTED),) if word.head else ()), Hole(word.why, quoted=True, plain=word.plain))


def with_arguments(state: State, words: Sequence[Word] | None) -> State:
    """The state with `$1` and so on set to these words; None where nobody knows them."""
    if words is None or any(word.many for word in words):
        return replace(state, arguments=None)
    return replace(state, arguments=tuple(value_of(word) for word in words))


def joined(value: Value, state: State) -> Value:
    """A list as one word, as `"$*"` gives it."""
    if not any(isinstance(piece, Break) for piece in value):
        return value
    if state.split:
        return (Hole("a list that is joined by something else than a blank", quoted=True),)
    return tuple(Lit(" ", QUOTED) if isinstance(piece, Break) else piece for piece in value)


def is_number(piece: Piece) -> bool:
    """True for a piece in which arithmetic finds no name."""
    if isinstance(piece, Lit):
        return not piece.text.strip() or _NUMBER.fullmatch(piece.text.strip()) is not None
    return isinstance(piece, Hole) and (piece.plain or piece == UNSET[0])


def argument(name: str, state: State) -> Value:
    """What `$1`, `$@` and so on hold."""
    if state.arguments is None:
        return (Hole("an argument that is not known"),)
    if name.isdigit():
        at = int(name) - 1
        if at < 0:
            return (Hole("the name of the script"),)
        return state.arguments[at] if at < len(state.arguments) else (Lit("", QUOTED),)
    found: list[Piece] = []
    for value in state.arguments:
        if found:
            found.append(Break())
        found.extend(value)
    return tuple(found)


def index_of(index: Any) -> str:
    """The index of an element as it is written; "?" stands for what is not known of it."""
    return "".join(part.get("Value", "?") for part in index.get("Parts", ())) if isinstance(index, Mapping) else ""


def element(held: tuple[Value, ...], index: Any) -> tuple[Value, ...]:
    """An element of what may be a list, or all of it."""
    wanted = index_of(index)
    if wanted in ("@", "*"):
        return held
    found: list[Value] = []
    for value in held:
        items = elements(value)
        if wanted in ("", "0"):
            found.append(items[0])
        elif wanted.isdigit():
            found.append(items[int(wanted)] if len(wanted) < 6 and int(wanted) < len(items) else ())
        else:
            found.append((Hole("an element of a list"),))
    return tuple(found)


def elements(value: Value) -> list[Value]:
    """The elements of a list, or the one value that it is."""
    items: list[list[Piece]] = [[]]
    for piece in value:
        if isinstance(piece, Break):
            items.append([])
        else:
            items[-1].append(piece)
    return [tuple(item) for item in items]


def operated(name: str, held: Sequence[Value], op: str, options: Sequence[Value]) -> list[Value]:
    """What an operator in `${name...}` makes of the values; `options` is what its word may come to."""
    if op in (":-", "-", ":=", "="):
        texts = [text_of(value) for value in held]
        if all(texts):
            return list(held)
        return [*(value for value, text in zip(held, texts, strict=True) if text != ""), *options]
    if op in (":+", "+"):
        return [*options, ()]
    if op in (":?", "?"):
        return list(held)
    if op in ("^^", ",,", "^", ","):
        return [_cased(value, op) for value in held]
    if op in ("%", "%%", "#", "##") and len(options) == 1:
        return [_trimmed(value, op, options[0]) for value in held]
    return [(Hole(f"what is made of the variable {name}"),)]


def _cased(value: Value, op: str) -> Value:
    text = text_of(value)
    if text is None:
        return (Hole("a name in other letters"),)
    change = str.upper if op[0] == "^" else str.lower
    return (Lit(change(text) if len(op) == 2 else change(text[:1]) + text[1:], QUOTED),)


def _trimmed(value: Value, op: str, pattern: Value) -> Value:
    wanted = "".join(piece.text if isinstance(piece, Lit) else "" for piece in pattern)
    if any(not isinstance(piece, Lit) for piece in pattern) or "[" in wanted or "\\" in wanted:
        return (Hole("what is left of a variable"),)
    text = text_of(value)
    if text is None:
        ends = op in ("%", "%%") and "/" not in wanted
        if ends and len(value) == 1 and isinstance(value[0], Under):
            return value
        return (Hole("what is left of a variable"),)
    if len(text) > _LONGEST or len(wanted) > _LONGEST:
        return (Hole("what is left of a variable"),)
    tokens: list[str | None] = []
    for piece in pattern:
        if isinstance(piece, Lit):
            quoted = piece.kind == QUOTED
            tokens += [re.escape(char) for char in piece.text] if quoted else plain_tokens(piece.text, ".")
    test = re.compile(expression(tokens, "."), re.DOTALL)
    sizes = range(len(text) + 1) if len(op) == 1 else range(len(text), -1, -1)
    for size in sizes:
        at = len(text) - size if op[0] == "%" else size
        gone, left = (text[at:], text[:at]) if op[0] == "%" else (text[:at], text[at:])
        if test.fullmatch(gone):
            return (Lit(left, QUOTED),)
    return (Lit(text, QUOTED),)


def sliced(value: Value, part: Node) -> Value:
    """A piece of a value, `${name:offset:length}`."""
    text = text_of(value)
    bounds = []
    for key in ("Offset", "Length"):
        node = part.get(key)
        said = "".join(piece.get("Value", "?") for piece in node.get("Parts", [{}])) if node else ""
        bounds.append(int(said) if said.isdigit() else (None if not node else -1))
    start, length = bounds
    if text is None or start is None or start < 0 or (length is not None and length < 0):
        return (Hole("a piece of a variable"),)
    return (Lit(text[start : None if length is None else start + length], QUOTED),)


def replaced(value: Value, old: Sequence[Value], new: Sequence[Value], *, every: bool) -> Value:
    """A value with one text put in the place of another, `${name/old/new}`."""
    text = text_of(value)
    wanted = text_of(old[0]) if len(old) == 1 else None
    given = text_of(new[0]) if len(new) == 1 else None
    if text is None or not wanted or given is None or set(wanted) & set("*?[\\#%&") or "&" in given:
        return (Hole("a variable with something replaced"),)
    return (Lit(text.replace(wanted, given, -1 if every else 1), QUOTED),)
