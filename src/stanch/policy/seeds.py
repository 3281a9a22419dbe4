"""The rules that the group `default` starts with, where nobody has written others.

Settles the seeds only. WHY the operations that only read are allowed: what they give is admitted item by item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stanch.values.decision import Effect

NAME = "Default"
DESCRIPTION = "The rules every store starts with."
_SECRETS = "secrets never reach a model"
READING = (
    "files_list", "files_read", "files_grep", "files_search", "files_versions", "files_get", "files_archive",
    "files_links", "knowledge_list", "knowledge_search", "knowledge_read", "knowledge_chunks", "knowledge_tags",
    "knowledge_export", "tables_list", "tables_read", "tables_rows", "tables_row", "tables_query", "tables_search",
    "tables_selection", "runs_list", "runs_read", "runs_files", "runs_get",
    "files_compile", "files_show",
)  # fmt: skip
"""The operations on stored content that change nothing and let nothing out of the workspace."""


@dataclass(frozen=True, slots=True)
class Seed:
    """One seeded rule."""

    priority: int
    tool: str
    action: Effect
    path: str | None = None
    note: str | None = None
    mandatory: bool = False

    def fields(self) -> dict[str, Any]:
        """The rule's fields by name."""
        return {
            "priority": self.priority,
            "tool": self.tool,
            "action": self.action,
            "path": self.path,
            "note": self.note,
            "mandatory": self.mandatory,
            "place": "seeded",
        }


ROWS = (
    Seed(5, "@read", Effect.DENY, "/**/secrets", _SECRETS, mandatory=True),
    Seed(5, "@write", Effect.DENY, "/**/secrets", _SECRETS, mandatory=True),
    Seed(5, "@write", Effect.ALLOW, "data"),
    Seed(8, "ask_user", Effect.ALLOW),
    Seed(8, "call_agent", Effect.ALLOW),
    Seed(10, "execute_cmd", Effect.ASK),
    Seed(10, "run_code", Effect.ASK),
    Seed(10, "@write", Effect.ASK),
    Seed(9999, "*", Effect.ASK),
    # WHY last: a rule's number is what people know it by, and it is the priority that counts.
    *(Seed(8, tool, Effect.ALLOW) for tool in READING),
)
