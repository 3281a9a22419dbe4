"""Which addresses of a model provider the proxy knows, and what travels on each.

Settles that an address which is not in this table leads nowhere: providers have far more, each with its own way of
carrying content, and there are new ones every month.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from stanch.tiers.dialects.telling import Shape

PREFIX = "/v1"


class Kind(StrEnum):
    """What is asked for."""

    ANSWER = "answer"
    COUNT = "count"
    MODELS = "models"


class Address(NamedTuple):
    """One address: the shape of what comes there, what it asks for, and where it goes on below a provider's own.

    The shape of a list of models depends on who asks (`shape_of_list`).
    """

    method: str
    shape: Shape
    kind: Kind
    upstream: str


ADDRESSES: Mapping[str, Address] = MappingProxyType(
    {
        "/v1/chat/completions": Address("POST", Shape.CHAT, Kind.ANSWER, "/chat/completions"),
        "/v1/responses": Address("POST", Shape.RESPONSES, Kind.ANSWER, "/responses"),
        "/v1/responses/input_tokens": Address("POST", Shape.RESPONSES, Kind.COUNT, "/responses/input_tokens"),
        "/v1/messages": Address("POST", Shape.ANTHROPIC, Kind.ANSWER, "/v1/messages"),
        "/v1/messages/count_tokens": Address("POST", Shape.ANTHROPIC, Kind.COUNT, "/v1/messages/count_tokens"),
        "/v1/models": Address("GET", Shape.CHAT, Kind.MODELS, "/models"),
    }
)
MODELS_OF_ANTHROPIC = Address("GET", Shape.ANTHROPIC, Kind.MODELS, "/v1/models")
# What may stand behind a question mark, and go on with it.
QUERIES: Mapping[Kind, frozenset[str]] = MappingProxyType(
    {
        Kind.ANSWER: frozenset({"beta"}),
        Kind.COUNT: frozenset({"beta"}),
        Kind.MODELS: frozenset({"limit", "after_id", "before_id"}),
    }
)


def address_of(path: str, headers: Mapping[str, str]) -> Address | None:
    """The address of a path as it was sent, not a character of it resolved; None where the proxy knows none."""
    found = ADDRESSES.get(path)
    if found is not None and found.kind is Kind.MODELS and shape_of(path, headers) is Shape.ANTHROPIC:
        return MODELS_OF_ANTHROPIC
    return found


def shape_of(path: str, headers: Mapping[str, str]) -> Shape:
    """In whose words a refusal is told."""
    found = ADDRESSES.get(path)
    if found is not None and found.kind is not Kind.MODELS:
        return found.shape
    return Shape.ANTHROPIC if path.startswith("/v1/messages") or "anthropic-version" in headers else Shape.CHAT
