"""Who may do what to a running server.

Settles which kinds of principals may ask, read, change and administer. Does not settle what the gate says to a call,
nor which route needs what. INVARIANT: a principal that acts for a model may ask, and use stored content as a
model may, and do nothing else: it can change neither the policy, nor a context, a tier, a model, a session, a token,
nor see who is asked what. A workflow, which sends conversations on, may have them filtered, too.
"""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

from stanch.values.identity import Principal, PrincipalKind


class Right(StrEnum):
    """What a request may be about."""

    ASK = "ask"  # what the gate answers to a call, and which tools there are
    READ = "read"  # what is stored: the policy, sessions, projects, the audit log
    CHANGE = "change"  # what is stored, but for tokens; secrets are set, and neither read nor forgotten
    FILTER = "filter"  # nothing stored: a conversation that is handed in, for a model
    CONTENT = "content"  # stored content, through operations; a model's are judged, and what it gets is admitted
    ADMINISTER = "administer"  # tokens, and what a person alone decides: that a secret is forgotten


_ASKING = frozenset({Right.ASK})
_USING = _ASKING | {Right.CONTENT}


def rights_of(principal: Principal) -> frozenset[Right]:
    """What the principal may do. A person may do everything; a key everything but make keys and forget secrets."""
    match principal.kind:
        case PrincipalKind.USER:
            return frozenset(Right)
        case PrincipalKind.API_KEY:
            return frozenset({Right.ASK, Right.READ, Right.CHANGE, Right.FILTER, Right.CONTENT})
        case PrincipalKind.EXECUTOR:
            return _USING | {Right.FILTER}
        case PrincipalKind.MCP:
            return _USING
        case PrincipalKind.DELEGATED | PrincipalKind.ORGANIZATION_DELEGATED:
            # WHY not every service: content is held against no gate for whoever is no copilot principal.
            return _USING if principal.is_copilot else _ASKING
        case _:
            assert_never(principal.kind)


def problem_with(principal: Principal) -> tuple[str, str] | None:
    """What is wrong with a principal that a token is to be bound to: the field, and what to write; None if nothing."""
    acts_for = principal.kind in (PrincipalKind.DELEGATED, PrincipalKind.ORGANIZATION_DELEGATED)
    if acts_for and not principal.service_id:
        return "service_id", "is needed: it names the service that acts for somebody, such as an agent"
    if not acts_for and principal.service_id is not None:
        return "service_id", "is for delegated principals only; take it out"
    return None
