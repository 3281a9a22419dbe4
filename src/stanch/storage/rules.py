"""Rules in the store, one by one and as the policy that they make together.

Settles how rules are kept and in which order they come. Does not settle which one wins (`policy.index`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import insert, select

from stanch.storage.nouns import GROUP, RULE, rule_columns
from stanch.storage.pages import page_of
from stanch.storage.schema import GROUPS, RULES
from stanch.storage.transactions import Transactions, find, state_of
from stanch.values.records import Actor, Broken, Page, RuleFields, RuleRecord, StoredGroup, StoredPolicy

_ORDER = (RULES.c.group_id, RULES.c.priority, RULES.c.id)


class Rules(Transactions):
    """The part of a store that keeps rules."""

    def policy(self) -> StoredPolicy:
        """Every group with its rules, read together, with the revision that they belong to."""
        with self._reading() as connection:
            revision = state_of(connection)["revision"]
            groups = connection.execute(select(GROUPS).order_by(GROUPS.c.id)).mappings().all()
            rules = connection.execute(select(RULES).order_by(*_ORDER)).mappings().all()
        rows: dict[Any, list[Mapping[Any, Any]]] = {row["id"]: [] for row in groups}
        orphans = []
        for rule in rules:
            if rule["group_id"] in rows:
                rows[rule["group_id"]].append(rule)
            else:
                orphans.append(Broken(RULES.name, str(rule["id"]), "its group does not exist"))
        read = [(GROUP.read(row), _read(rows[row["id"]])) for row in groups]
        found = tuple(StoredGroup(group.id, group, its_rules) for group, its_rules in read)
        return StoredPolicy(revision, found, tuple(orphans))

    def rules(self, group_id: str) -> tuple[RuleRecord, ...] | Broken:
        """The rules of a group by (priority, id), or the first of them that cannot be read. Raises `NotFound`."""
        with self._reading() as connection:
            find(connection, GROUP, group_id)
            return _read(
                connection.execute(select(RULES).where(RULES.c.group_id == group_id).order_by(*_ORDER)).mappings()
            )

    def list_rules(
        self, *, group_id: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[RuleRecord | Broken]:
        """A page of rules by (group, priority, id), broken ones among them. Raises `BadInput` as `list_groups` does."""
        filters = {RULES.c.group_id: group_id}
        with self._reading() as connection:
            return page_of(connection, RULE, _ORDER, limit=limit, cursor=cursor, filters=filters)

    def get_rule(self, rule_id: int) -> RuleRecord:
        """The rule. Raises `NotFound`, and `BrokenRow` where it cannot be read."""
        with self._reading() as connection:
            return RULE.readable(find(connection, RULE, rule_id))

    def create_rule(self, fields: RuleFields, *, by: Actor) -> RuleRecord:
        """The new rule with its id. Raises `NotFound` for its group, and `BadInput` for a field nobody could read."""
        row = rule_columns(fields)
        RULE.written({**row, "id": 0})
        with self._changing(by, "rule.create", "a new rule", policy=True) as change:
            change.find(GROUP, fields.group_id)
            (rule_id,) = change.connection.execute(insert(RULES).values(**row).returning(RULES.c.id)).one()
            change.subject = str(rule_id)
            change.detail.update(_places(fields))
            return RULE.readable({**row, "id": rule_id})

    def update_rule(
        self, rule_id: int, fields: RuleFields, *, by: Actor, expected: RuleRecord | None = None
    ) -> RuleRecord:
        """The rule as it now is, every field replaced; this mends a broken one.

        Raises `NotFound` for the rule or its group, `Conflict` where the rule is no longer as `expected`, and
        `BadInput` for a field nobody could read.
        """
        with self._changing(by, "rule.update", str(rule_id), policy=True) as change:
            change.expect(RULE, rule_id, expected)
            change.find(GROUP, fields.group_id)
            change.detail.update(_places(fields))
            return change.replace(RULE, rule_id, rule_columns(fields))

    def delete_rule(self, rule_id: int, *, by: Actor) -> None:
        """Removes the rule, broken or not. Raises `NotFound`."""
        with self._changing(by, "rule.delete", str(rule_id), policy=True) as change:
            change.detail["group"] = str(change.find(RULE, rule_id)["group_id"])
            change.remove(RULE, RULES.c.id == rule_id)


def _read(rows: Iterable[Mapping[Any, Any]]) -> tuple[RuleRecord, ...] | Broken:
    found = []
    for row in rows:
        rule = RULE.read(row)
        if isinstance(rule, Broken):
            return rule
        found.append(rule)
    return tuple(found)


def _places(rule: RuleFields) -> dict[str, Any]:
    """What an audit row says of a rule: all but its note, which is a person's own text."""
    return {name: value for name, value in rule_columns(rule).items() if name != "note" and value is not None}
