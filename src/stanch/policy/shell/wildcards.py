"""Regular expressions for wildcards that take a time in proportion to the text, however many stars there are.

Settles how pieces between stars are put together. Does not settle what a piece is (`stanch.app.shell_world`), nor what
wildcards are held against (`policy.shell.naming`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

STAR = None
"""Stands for `*` among tokens."""


def expression(tokens: Sequence[str | None], any_one: str) -> str:
    """The expression for tokens that each stand for one character, and stars for any number of `any_one`.

    WHY atomic groups: the first place where a piece fits is as good as any later one, so there is no need to go back.
    """
    pieces: list[list[str]] = [[]]
    for token in tokens:
        if token is STAR:
            pieces.append([])
        else:
            pieces[-1].append(token)
    first, *rest = ["".join(piece) for piece in pieces]
    if not rest:
        return first
    middle = "".join(f"(?>{any_one}*?{piece})" for piece in rest[:-1] if piece)
    return f"{first}{middle}{any_one}*{rest[-1]}"


def plain_tokens(text: str, any_one: str) -> list[str | None]:
    """The tokens of a text in which `*` and `?` count, and nothing else."""
    return [STAR if char == "*" else any_one if char == "?" else re.escape(char) for char in text]
