"""Conversations drawn from the types that the providers' own libraries publish, and checked against these.

The types are turned to JSON schemas, and values are drawn from the schemas: so whatever kind of block or item a new
version of a library brings is drawn too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jsonschema_rs
from anthropic.types import MessageParam, TextBlockParam
from anthropic.types.beta import BetaMessageParam
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

TYPES: dict[str, Any] = {
    "chat": ChatCompletionMessageParam,
    "responses": ResponseInputItemParam,
    "anthropic": MessageParam,
    "anthropic beta": BetaMessageParam,
    "system": TextBlockParam,
}
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_DEEPEST = 6


@cache
def schema(name: str) -> dict[str, Any]:
    """The JSON schema of a library's type."""
    return TypeAdapter(TYPES[name]).json_schema()


@cache
def _validator(name: str) -> Callable[[Any], None]:
    found = jsonschema_rs.validator_for(schema(name))
    return found.validate


def check(name: str, messages: list[Any]) -> None:
    """Raises where one of the messages is not of the library's type."""
    for one in messages:
        _validator(name)(one)


@cache
def drawn(name: str) -> st.SearchStrategy[list[Any]]:
    """Lists of values of a library's type."""
    whole = schema(name)
    return st.lists(_of(whole, whole.get("$defs", {}), 0), min_size=1, max_size=4)


def _of(node: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> st.SearchStrategy[Any]:
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[1]
        return st.deferred(lambda: _of(definitions[name], definitions, depth))
    if "const" in node:
        return st.just(node["const"])
    if "enum" in node:
        return st.sampled_from(node["enum"])
    for key in ("anyOf", "oneOf"):
        if key in node:
            return st.one_of([_of(one, definitions, depth) for one in node[key]])
    match node.get("type"):
        case "object":
            return _table(node, definitions, depth)
        case "array":
            size = 2 if depth < _DEEPEST else 0
            return st.lists(
                _of(node.get("items", {}), definitions, depth + 1), max_size=max(size, node.get("minItems", 0))
            )
        case "string":
            return WORDS
        case "integer":
            return st.integers(0, 99)
        case "number":
            return st.integers(0, 99) | st.floats(0, 1)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case _:
            return WORDS | st.integers() | st.none() | st.dictionaries(WORDS, WORDS, max_size=2)


def _table(node: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> st.SearchStrategy[dict[str, Any]]:
    properties = node.get("properties", {})
    needed = set(node.get("required", ()))
    if not properties:
        further = node.get("additionalProperties", True)
        values = _of(further, definitions, depth + 1) if isinstance(further, dict) else WORDS | st.integers(0, 9)
        return st.dictionaries(WORDS, values, max_size=2)
    fields = {key: _of(inner, definitions, depth + 1) for key, inner in properties.items()}
    optional = sorted(set(fields) - needed)

    @st.composite
    def table(draw: st.DrawFn) -> dict[str, Any]:
        chosen = set(draw(st.lists(st.sampled_from(optional), max_size=3))) if optional else set()
        keys = draw(st.permutations([key for key in fields if key in needed or key in chosen]))
        return {key: draw(fields[key]) for key in keys}

    return table()
