"""What the pages of stored content have in common: whose eyes look.

Settles that content is read as the person who is logged in, or as a model in their place. Does not settle how a name
gets into a page (`naming`), nor what a page shows.
INVARIANT: whatever a page says of an item besides its content went through `say`; content as it is comes by `asks`
alone, on a page that a person asked for by its own word.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

from pydantic import ValidationError

from stanch.app.content_preview import as_model, preview
from stanch.app.permissions import Right
from stanch.content.access import Access
from stanch.delivery.admit import ContentRefused
from stanch.delivery.operation import Asked as Arguments
from stanch.delivery.operation import Operation
from stanch.explain import brief
from stanch.surfaces.console.failing import Refused
from stanch.surfaces.console.guard import Asked
from stanch.surfaces.console.naming import Naming
from stanch.values.decision import Effect

PAGE = "/console/content"
RAW = "raw"
A = TypeVar("A", bound=Arguments)
R = TypeVar("R")


class Reach(Naming):
    """Reads content for one request. Raises `Refused` where this login may not."""

    def __init__(self, asked: Asked) -> None:
        if Right.CONTENT not in asked.login.caller.rights:
            raise Refused(403, "You may not see stored content.")
        super().__init__(asked)

    @cached_property
    def access(self) -> Access:
        """The access of the person who is logged in."""
        login = self.asked.login
        return self.asked.service.content.access(login.caller.principal, login.by)

    def asks(self, operation: Operation[Access, A, R], arguments: A) -> R:
        """What an operation gives the person: content as it is."""
        return operation(self.access, arguments)

    def as_model(self, operation: Operation[Access, A, R], arguments: A) -> Any:
        """What it would give a model that acts for this person, as JSON. Raises `ContentRefused`."""
        return preview(self.asked.service.content, self.access, operation, arguments)

    def as_model_with_names(self, operation: Operation[Access, A, R], arguments: A) -> tuple[R, Any]:
        """The same, behind a result that still has the names by which its items are asked for. Only these are used."""
        content = self.asked.service.content
        access = as_model(content, self.access)
        found: R = operation(access, arguments)
        return found, content.leaving(access, found)

    @property
    def raw(self) -> bool:
        """True where the person asked for content as it is."""
        return self.asked.get(RAW) == "1"

    def address(self, below: str = "", **fields: object) -> str:
        """An address below the pages of content."""
        return self.at(f"{PAGE}{below}", **fields)


def made(model: type[A], **fields: Any) -> A:
    """The arguments of an operation, those that are None left out. Raises `Refused` for what they cannot be."""
    try:
        return model(**{name: value for name, value in fields.items() if value is not None})
    except ValidationError:
        raise Refused(404, "There is nothing at this address.") from None


def why_withheld(refused: ContentRefused) -> str:
    """Why a model is given nothing, without naming the item."""
    said = brief(refused.reason, Effect.DENY)
    return f"{said[:1].lower()}{said[1:]}"
