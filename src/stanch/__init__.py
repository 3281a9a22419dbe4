"""Stanch: one gate for AI agents.

    engine = stanch.open("stanch.toml")
    decision = engine.check("read_file", {"path": "docs/../secrets/api.key"})
    decision.effect is stanch.Effect.DENY
    stanch.sentence(decision.reason, decision.effect)

Settles the public names. Each is imported when it is first used, so that importing one part costs one part.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stanch.app.engine import Engine, Session
    from stanch.app.loading import open_engine as open  # noqa: A004
    from stanch.explain import sentence
    from stanch.host.audit import AuditLog
    from stanch.values.context import RunContext
    from stanch.values.decision import Decision, Effect
    from stanch.values.fault import BadCall, BadContext, BadInput, Fault
    from stanch.values.identity import Source
    from stanch.values.reason import Code, Reason

__all__ = [
    "AuditLog",
    "BadCall",
    "BadContext",
    "BadInput",
    "Code",
    "Decision",
    "Effect",
    "Engine",
    "Fault",
    "Reason",
    "RunContext",
    "Session",
    "Source",
    "open",
    "sentence",
]

_WHERE = {
    "AuditLog": "stanch.host.audit",
    "BadCall": "stanch.values.fault",
    "BadContext": "stanch.values.fault",
    "BadInput": "stanch.values.fault",
    "Code": "stanch.values.reason",
    "Decision": "stanch.values.decision",
    "Effect": "stanch.values.decision",
    "Engine": "stanch.app.engine",
    "Fault": "stanch.values.fault",
    "Reason": "stanch.values.reason",
    "RunContext": "stanch.values.context",
    "Session": "stanch.app.engine",
    "Source": "stanch.values.identity",
    "sentence": "stanch.explain",
}


def __getattr__(name: str) -> object:
    """The public name, from where it lives."""
    if name == "open":
        return importlib.import_module("stanch.app.loading").open_engine
    if name in _WHERE:
        found: object = getattr(importlib.import_module(_WHERE[name]), name)
        return found
    raise AttributeError(f"module 'stanch' has no attribute {name!r}")
