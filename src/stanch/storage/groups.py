"""Permission groups in the store.

Settles how groups are kept, copied and removed. Does not settle what their rules mean (`policy`).
"""

from __future__ import annotations

from sqlalchemy import insert, select

from stanch.policy.rule import DEFAULT_GROUP
from stanch.storage.nouns import GROUP, RULE, rule_columns
from stanch.storage.pages import page_of
from stanch.storage.schema import GROUPS, RULES
from stanch.storage.transactions import Transactions, find
from stanch.values.fault import Conflict
from stanch.values.records import Actor, Broken, GroupRecord, Page


class Groups(Transactions):
    """The part of a store that keeps groups."""

    def list_groups(self, *, limit: int = 50, cursor: str | None = None) -> Page[GroupRecord | Broken]:
        """A page of groups, by id. Raises `BadInput` for a cursor of another list or a limit not in 1 to 500."""
        with self._reading() as connection:
            return page_of(connection, GROUP, [GROUPS.c.id], limit=limit, cursor=cursor)

    def get_group(self, group_id: str) -> GroupRecord:
        """The group. Raises `NotFound`, and `BrokenRow` where it cannot be read."""
        with self._reading() as connection:
            return GROUP.readable(find(connection, GROUP, group_id))

    def create_group(self, group_id: str, *, name: str, description: str = "", by: Actor) -> GroupRecord:
        """The new group, which has no rules. Raises `Conflict` where the id is taken."""
        row = {"id": group_id, "name": name, "description": description}
        record = GROUP.written(row)
        with self._changing(by, "group.create", group_id, policy=True) as change:
            change.vacant(GROUP, group_id)
            change.add(GROUP, row)
        return record

    def update_group(
        self, group_id: str, *, name: str, description: str, by: Actor, expected: GroupRecord | None = None
    ) -> GroupRecord:
        """The group as it now is. Raises `NotFound`, and `Conflict` where it is no longer as `expected`."""
        with self._changing(by, "group.update", group_id, policy=True) as change:
            change.expect(GROUP, group_id, expected)
            return change.replace(GROUP, group_id, {"name": name, "description": description})

    def delete_group(self, group_id: str, *, by: Actor) -> None:
        """Removes the group with its rules. Raises `NotFound`, and `Conflict` for `default`, which always exists.

        Contexts may go on naming it: their calls are then answered with `group_missing`.
        """
        if group_id == DEFAULT_GROUP:
            raise Conflict(f"the group '{DEFAULT_GROUP}' cannot be deleted: every store has it")
        with self._changing(by, "group.delete", group_id, policy=True) as change:
            change.find(GROUP, group_id)
            change.detail["rules"] = change.remove(RULE, RULES.c.group_id == group_id)
            change.remove(GROUP, GROUPS.c.id == group_id)

    def duplicate_group(self, group_id: str, *, new_id: str, new_name: str, by: Actor) -> GroupRecord:
        """The copy, with every rule and the description of the original.

        Raises `NotFound`, `Conflict` where the new id is taken, and `BrokenRow` where a rule cannot be read.
        """
        with self._changing(by, "group.duplicate", new_id, policy=True) as change:
            original = GROUP.readable(change.find(GROUP, group_id))
            row = {"id": new_id, "name": new_name, "description": original.description}
            record = GROUP.written(row)
            change.vacant(GROUP, new_id)
            change.add(GROUP, row)
            in_order = select(RULES).where(RULES.c.group_id == group_id).order_by(RULES.c.id)
            rules = [RULE.readable(rule) for rule in change.connection.execute(in_order).mappings()]
            for rule in rules:
                change.connection.execute(insert(RULES).values(**{**rule_columns(rule), "group_id": new_id}))
            change.detail.update({"original": group_id, "rules": len(rules)})
        return record
