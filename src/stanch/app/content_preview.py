"""What a model would get of stored content, shown to a person.

Settles that it is made by the very gate and projection that a model's own answer passes. Does not settle what an
operation gives (`content`). ABSENT: rules, and tiers, which are a session's: they may withhold more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from stanch.app.content import Content
from stanch.content.access import Access
from stanch.delivery.admit import Delivery
from stanch.delivery.gates import RegistryGate
from stanch.delivery.operation import Asked, Operation
from stanch.provenance.registry import Registry
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind

A = TypeVar("A", bound=Asked)
R = TypeVar("R")


def preview(content: Content, access: Access, operation: Operation[Access, A, R], asked: A) -> R:
    """The result of a reading operation as a model would be given it that acts for the caller of this access.

    It is JSON-like, and nobody but the person gets it. Raises `ContentRefused`, and whatever the operation does.
    """
    of_a_model = as_model(content, access)
    found: R = content.leaving(of_a_model, operation(of_a_model, asked))
    return found


def as_model(content: Content, access: Access) -> Access:
    """The access that a model would have in the place of this one's caller, with a registry of its own.

    WHY it runs nothing: whatever is read for a preview is read once more for a person, and is no call of a session.
    """
    whose = access.person or access.delivery.principal.id
    kind = PrincipalKind.ORGANIZATION_DELEGATED if access.person is None else PrincipalKind.DELEGATED
    gate = RegistryGate(Registry(), content.secrets.projector)
    return replace(access, delivery=Delivery(Principal(kind, whose, COPILOT_SERVICE), gate), acting=None)
