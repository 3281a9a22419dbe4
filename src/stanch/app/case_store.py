"""What a case says that a store keeps: groups with their rules, rows that cannot be read, or nothing that can be.

Settles how a case's words become what `app.stored_policy` reads. They are for cases only: no database is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from stanch.app.engine import Engine
from stanch.app.loading import engine_for, read_document
from stanch.app.stored_policy import Kept, combined
from stanch.policy.rule import ACTIONS, DEFAULT_GROUP, DEFAULT_PRIORITY
from stanch.policy.seeds import DESCRIPTION, NAME, ROWS
from stanch.values.fault import BadInput
from stanch.values.identity import Source
from stanch.values.records import Broken, GroupRecord, RuleRecord, StoredGroup, StoredPolicy

KEYS = ("groups", "unreadable", "session")
_REVISION = 7
_UNREAD = "a column holds what nobody knows"


def engine_of(policy: Path, store: Mapping[str, Any]) -> Engine:
    """The engine of a policy file and of a store as the case describes it. Raises `BadInput`."""
    document, kept = read_document(policy), kept_of(store)
    return engine_for(
        document,
        policy.parent,
        policy,
        completed=lambda made, home, anchor: combined(made, document, kept, home, anchor),
    )


def kept_of(store: Mapping[str, Any]) -> Kept:
    """What the store keeps: `groups` as in a policy, `default` with its seeds unless it is given.

    A group is a list of rules, `broken` for a row that cannot be read, or null for `default` where it is not there. A
    rule that is `broken` cannot be read. With `unreadable`, none of it can. Raises `BadInput`.
    """
    unknown = sorted(store.keys() - set(KEYS))
    if unknown:
        raise BadInput(f"unknown key '{unknown[0]}' in 'store' (known: {', '.join(KEYS)})")
    if "unreadable" in store:
        return Kept(None, None, str(store["unreadable"]))
    numbers = count(1)
    written: dict[str, Any] = {DEFAULT_GROUP: "seeded", **store.get("groups", {})}
    groups = [
        _seeded(numbers) if rows == "seeded" else _group(name, rows, numbers)
        for name, rows in written.items()
        if rows is not None
    ]
    return Kept(_REVISION, StoredPolicy(_REVISION, tuple(groups)))


def _group(name: str, rows: Any, numbers: Iterator[int]) -> StoredGroup:
    if rows == "broken":
        return StoredGroup(name, Broken("permission_groups", name, _UNREAD), ())
    if not isinstance(rows, list):
        raise BadInput(f"a group of 'store' is a list of rules or 'broken', not {type(rows).__name__}")
    rules: list[RuleRecord] = []
    for row in rows:
        number = next(numbers)
        if row == "broken":
            return StoredGroup(name, GroupRecord(id=name, name=name), Broken("rules", str(number), _UNREAD))
        rules.append(_rule(name, number, row))
    rules.sort(key=lambda rule: (rule.priority, rule.id))
    return StoredGroup(name, GroupRecord(id=name, name=name), tuple(rules))


def _rule(group: str, number: int, row: Mapping[str, Any]) -> RuleRecord:
    return RuleRecord(
        id=number,
        group_id=group,
        priority=row.get("priority", DEFAULT_PRIORITY),
        agent_id=row.get("agent"),
        source=Source(row["source"]) if "source" in row else None,
        tool_pattern=row["tool"],
        path_pattern=row.get("path"),
        command_pattern=row.get("command"),
        action=ACTIONS[row["action"]],
        mandatory=row.get("mandatory", False),
        note=row.get("note"),
    )


def _seeded(numbers: Iterator[int]) -> StoredGroup:
    rules = tuple(
        RuleRecord(
            id=next(numbers),
            group_id=DEFAULT_GROUP,
            priority=seed.priority,
            tool_pattern=seed.tool,
            path_pattern=seed.path,
            action=seed.action,
            mandatory=seed.mandatory,
            note=seed.note,
        )
        for seed in ROWS
    )
    return StoredGroup(DEFAULT_GROUP, GroupRecord(id=DEFAULT_GROUP, name=NAME, description=DESCRIPTION), rules)
