"""Run contexts as a policy file or a door writes them.

Settles how a table of the right shape becomes a run context, and which grants are a mistake in one. Does not settle the
shape (`policy.shapes`), nor which context a session has (`gate.context`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stanch.paths import grants
from stanch.values.context import RunContext


def context_of(row: Mapping[str, Any]) -> RunContext:
    """The run context of a table that has the right shape."""
    return RunContext(
        row.get("security_group"),
        tuple(row.get("system_prompt", ())),
        tuple(row.get("allow_fs_writes", ())),
        tuple(row.get("allow_fs_reads", ())),
        row.get("working_directory"),
    )


def grant_problems(row: Mapping[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    """What is wrong with the grants of a run context, each with its place in it."""
    found: list[tuple[tuple[str | int, ...], str]] = []
    for key in ("allow_fs_writes", "allow_fs_reads"):
        for at, text in enumerate(row.get(key, ())):
            try:
                grants.directory_of(text)
            except grants.BadGrant as why:
                found.append(((key, at), f"'{key}': {why}"))
    return found
