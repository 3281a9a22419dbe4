"""A workspace with a policy, and calls in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import stanch
from stanch.app.engine import Engine, Session
from stanch.values.decision import Decision

RULES = """\
version = 1
workspace = "."

[[groups]]
id = "default"
[[groups.rules]]
tool = "@write"
path = "locked"
action = "deny"
[[groups.rules]]
tool = "@write"
path = "asked"
action = "ask"
[[groups.rules]]
tool = "*"
action = "allow"
"""


def opened(root: Path, more: str = "") -> Engine:
    """The engine of a policy with these rules, and more."""
    (root / "stanch.toml").write_text(more + RULES if more.startswith("on_") else RULES + more, "utf-8")
    return stanch.open(root / "stanch.toml")


def write(session: Session, path: str = "a", **more: Any) -> Decision:
    """The answer to a write."""
    return session.check("write_file", {"path": path, "content": "x"}, **more)


def said(decision: Decision) -> tuple[str, str, str]:
    """The effect, the code and the layer of a decision."""
    return decision.effect.value, decision.reason.code.value, decision.reason.layer.value
