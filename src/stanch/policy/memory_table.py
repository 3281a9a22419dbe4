"""What the policy file says of the memory of agents: when it is consolidated, and by which model.

Settles the table `[memory]`. Does not settle what a consolidation does (`app.consolidating`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from cronsim import CronSim, CronSimError
from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

MEMORY_AGENT = "memory-consolidation"
"""The agent that does it, by which a run context can be given to it, and its job."""
Location = tuple[str | int, ...]
_FIELDS = 5
_LONGEST = 256
_SOME_DAY = datetime(2024, 1, 1, tzinfo=UTC)


@with_config(ConfigDict(extra="forbid", strict=True))
class MemoryShape(TypedDict):
    """`[memory]`."""

    consolidate: Annotated[str, Field(min_length=1)]
    model: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Consolidation:
    """When the memory is consolidated, as a cron expression in UTC, and by which model, as `provider/model`."""

    cron: str
    model: str


def consolidation_of(
    values: Mapping[str, Any], bad: Container[Location]
) -> tuple[Consolidation | None, list[tuple[Location, str]]]:
    """What the policy says of it, and what is wrong with that; None where it says nothing that can be used."""
    wrong: list[tuple[Location, str]] = []
    agents = values.get("agents")
    if isinstance(agents, dict) and MEMORY_AGENT in agents:
        wrong.append((("agents", MEMORY_AGENT), f"the agent '{MEMORY_AGENT}' is Stanch's own; [memory] has its model"))
    if "memory" not in values or ("memory",) in bad:
        return None, wrong
    row = values["memory"]
    if not _comes(row["consolidate"]):
        why = "'consolidate' must be a cron expression that comes round, such as '0 4 * * *'"
        wrong.append((("memory", "consolidate"), why))
    if "/" not in row["model"]:
        wrong.append((("memory", "model"), f"the model '{row['model']}' names no provider: write it as provider/model"))
    return (None if wrong else Consolidation(row["consolidate"], row["model"])), wrong


def _comes(cron: str) -> bool:
    if len(cron) > _LONGEST or len(cron.split()) != _FIELDS:
        return False
    try:
        next(CronSim(cron, _SOME_DAY))
    except (CronSimError, StopIteration):
        return False
    return True
