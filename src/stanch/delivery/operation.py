"""What an operation on stored content is, what it declares, and that it keeps to it.

Settles the declaration, the list of all operations, and the check at their end. Does not settle what any does
(`content`), nor who may ask for it (`surfaces`).
INVARIANT: an operation that a copilot principal may use says, where it is defined, whether its result can carry stored
content; one that says so and returns without having accounted for it returns nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from stanch.delivery.admit import ContentRefused, Delivery
from stanch.values.reason import Code, LayerId, Reason


class ContentDelivery(StrEnum):
    """Whether the result of an operation can carry stored content."""

    SOURCED = "sourced"
    NONE = "none"


class Undeclared(TypeError):
    """An operation was defined that does not say whether it delivers stored content."""


class ContentDeliveryUnaccounted(ContentRefused):
    """A `sourced` operation has returned without saying what its result is made of, so nothing of it is given."""

    def __init__(self, name: str) -> None:
        super().__init__(Reason(Code.CONTENT_UNACCOUNTED, LayerId.DELIVERY, subject=name))


class Asked(BaseModel):
    """The arguments of an operation. What they are called and mean is the same at every door."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Given(BaseModel):
    """What an operation returns, but for streams of bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Delivering(Protocol):
    """What an operation is given to work with; it holds the `Delivery` of this one call."""

    @property
    def delivery(self) -> Delivery:
        """Accounts for what the call returns."""


A = TypeVar("A", bound=Asked)
C = TypeVar("C", bound=Delivering)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Operation(Generic[C, A, R]):
    """One operation. `tool` is the name by which rules and models know it; None where no model may use it.

    `in_chat` is false for one that a chat has no place for, and a command line does: one that takes a stream, or gives
    one that is neither a picture nor a text.
    """

    name: str
    does: str
    arguments: type[A]
    run: Callable[[C, A], R]
    tool: str | None
    content_delivery: ContentDelivery | None
    in_chat: bool = True

    def __call__(self, access: C, asked: A) -> R:
        """The result. Raises `ContentRefused` besides whatever the operation raises."""
        delivery = access.delivery
        delivery.operation = self.name
        if delivery.classified and self.tool is None:
            raise ContentRefused(Reason(Code.CONTENT_UNACCOUNTED, LayerId.DELIVERY, subject=self.name))
        result = self.run(access, asked)
        sourced = self.content_delivery is ContentDelivery.SOURCED
        if delivery.classified and sourced and not delivery.accounted:
            raise ContentDeliveryUnaccounted(self.name)
        if delivery.deferred is not None:
            raise delivery.deferred
        return result


_ALL: dict[str, Operation[Any, Any, Any]] = {}
OPERATIONS: Mapping[str, Operation[Any, Any, Any]] = MappingProxyType(_ALL)
"""Every operation that was defined, by name."""


def operation(
    name: str,
    arguments: type[A],
    *,
    tool: str | None = None,
    content_delivery: ContentDelivery | None = None,
    in_chat: bool = True,
) -> Callable[[Callable[[C, A], R]], Operation[C, A, R]]:
    """Makes an operation of a function, whose docstring says what it does.

    Raises `Undeclared` for one that a model may use and that does not say what it delivers.
    """
    if name in _ALL:
        raise ValueError(f"there already is an operation {name}")

    def made(run: Callable[[C, A], R]) -> Operation[C, A, R]:
        found = made_of(name, arguments, run, tool=tool, content_delivery=content_delivery, in_chat=in_chat)
        _ALL[name] = found
        return found

    return made


def made_of(
    name: str,
    arguments: type[A],
    run: Callable[[C, A], R],
    *,
    tool: str | None = None,
    content_delivery: ContentDelivery | None = None,
    in_chat: bool = True,
) -> Operation[C, A, R]:
    """The operation that a function is, which stands in no list. Raises `Undeclared` as `operation` does."""
    if tool is not None and content_delivery is None:
        raise Undeclared(f"the operation {name} does not declare its content_delivery: 'sourced' or 'none'")
    does = " ".join((run.__doc__ or "").split())
    if not does:
        raise Undeclared(f"the operation {name} does not say what it does")
    return Operation(name, does, arguments, run, tool, content_delivery, in_chat)
