"""Stanch: one gate for AI agents.

    decision = stanch.open("stanch.toml").check("read_file", {"path": "docs/../secrets/api.key"})
    decision.effect is stanch.Effect.DENY
    stanch.sentence(decision.reason, decision.effect)

Settles the public names. Each is imported when it is first used, so that importing one part costs one part.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stanch.app.embedding import Embedded, embed
    from stanch.app.engine import Engine, Session
    from stanch.app.judging import Judge
    from stanch.app.loading import open_engine as open  # noqa: A004
    from stanch.app.redacting_once import Redaction, redact_history
    from stanch.app.running import Ran
    from stanch.explain import sentence
    from stanch.host.audit import AuditLog
    from stanch.judge.question import Facts, Probe
    from stanch.values.approval import CallState
    from stanch.values.context import RunContext
    from stanch.values.decision import Decision, Effect
    from stanch.values.fault import BadCall, BadContext, BadInput, Conflict, Fault, NotFound
    from stanch.values.identity import Source
    from stanch.values.reason import Code, Reason
    from stanch.values.verdict import Cause, Face, State, Verdict

__all__ = ["AuditLog", "BadCall", "BadContext", "BadInput", "CallState", "Code", "Conflict", "Decision", "Effect"]
__all__ += ["Embedded", "Engine", "Fault", "NotFound", "Ran", "Reason", "RunContext", "Session", "Source", "embed"]
__all__ += ["Cause", "Face", "Facts", "Judge", "Probe", "State", "Verdict"]
__all__ += ["Redaction", "open", "redact_history", "sentence"]

_WHERE = {
    "stanch.app.embedding": ("Embedded", "embed"),
    "stanch.app.engine": ("Engine", "Session"),
    "stanch.app.redacting_once": ("Redaction", "redact_history"),
    "stanch.app.judging": ("Judge",),
    "stanch.app.running": ("Ran",),
    "stanch.explain": ("sentence",),
    "stanch.host.audit": ("AuditLog",),
    "stanch.judge.question": ("Facts", "Probe"),
    "stanch.values.approval": ("CallState",),
    "stanch.values.context": ("RunContext",),
    "stanch.values.decision": ("Decision", "Effect"),
    "stanch.values.fault": ("BadCall", "BadContext", "BadInput", "Conflict", "Fault", "NotFound"),
    "stanch.values.identity": ("Source",),
    "stanch.values.reason": ("Code", "Reason"),
    "stanch.values.verdict": ("Cause", "Face", "State", "Verdict"),
}


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def __getattr__(name: str) -> object:
    if name == "open":
        return importlib.import_module("stanch.app.loading").open_engine
    for module, names in _WHERE.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'stanch' has no attribute {name!r}")
