"""Permission groups and their rules, as a person edits them: those of the file to read, those of the store to change.

Settles which group may be changed here, and that a rule means something before it is stored. Every change has taken
effect on this node when it returns. Does not settle what the rules together say (`app.stored_policy`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from stanch.app.live import Live
from stanch.app.stored_policy import PLACE, rule_problems
from stanch.app.two_lists import joined
from stanch.policy.rule import DEFAULT_GROUP, Group, Rule, in_order
from stanch.storage.store import Store
from stanch.values.fault import BadFields, Conflict, NotFound, quoted
from stanch.values.identity import Source
from stanch.values.records import Actor, Broken, GroupRecord, Page, RuleFields, RuleRecord

IN_FILE, IN_DATABASE = "file", PLACE


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group, where it is kept, and what is wrong with it."""

    record: GroupRecord
    origin: str
    broken: str | None = None


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule, where it is kept, and its place there."""

    record: RuleRecord
    origin: str
    place: str


class PolicyGroups:
    """What is done with groups and rules."""

    def __init__(self, store: Store, live: Live) -> None:
        self._store, self._live = store, live

    def groups(self, *, limit: int = 50, cursor: str | None = None) -> Page[ListedGroup | Broken]:
        """A page of groups: those of the file, then those of the store, but for a `default` that the file replaces."""
        known, replaced = self._filed_groups(), self._replaces_default()

        def stored(limit: int, cursor: str | None) -> Page[ListedGroup | Broken]:
            page = self._store.list_groups(limit=limit, cursor=cursor)
            items = tuple(self._kept(one) for one in page.items if not (replaced and one.id == DEFAULT_GROUP))
            return Page(items, page.total - replaced, page.next)

        return joined([_filed(known[name]) for name in sorted(known)], stored, limit=limit, cursor=cursor)

    def group(self, group_id: str) -> ListedGroup:
        """The group; the file's where both have one. Raises `NotFound`, and `BrokenRow`."""
        filed = self._filed_groups().get(group_id)
        return _filed(filed) if filed is not None else self._listed(self._store.get_group(group_id))

    def create_group(self, group_id: str, *, name: str, description: str, by: Actor) -> ListedGroup:
        """The new group, which has no rules. Raises `Conflict` where the id is taken, in the store or the file."""
        self._not_in_file(group_id)
        made = self._store.create_group(group_id, name=name, description=description, by=by)
        self._live.refresh()
        return self._listed(made)

    def update_group(self, group_id: str, *, name: str, description: str, by: Actor) -> ListedGroup:
        """The group as it now is. Raises `NotFound`, and `Conflict` for a group of the file."""
        self._not_in_file(group_id)
        made = self._store.update_group(group_id, name=name, description=description, by=by)
        self._live.refresh()
        return self._listed(made)

    def delete_group(self, group_id: str, *, by: Actor) -> None:
        """Removes the group of the store with its rules.

        Raises `NotFound`, and `Conflict` for `default` and for a group that only the file has. One that both have can
        be removed: that is one way to tell them apart.
        """
        try:
            self._store.delete_group(group_id, by=by)
        except NotFound:
            self._not_in_file(group_id)
            raise
        self._live.refresh()

    def duplicate(self, group_id: str, *, new_id: str | None, new_name: str | None, by: Actor) -> ListedGroup:
        """The copy with every rule, made in one change. Without an id it is called after the original.

        Raises `NotFound`, `BrokenRow`, and `Conflict` where the id is taken or the original stands in the file.
        """
        self._not_in_file(group_id)
        original = self._store.get_group(group_id)
        wanted = self._free_id(group_id) if new_id is None else new_id
        self._not_in_file(wanted)
        name = f"{original.name} (copy)" if new_name is None else new_name
        made = self._store.duplicate_group(group_id, new_id=wanted, new_name=name, by=by)
        self._live.refresh()
        return self._listed(made)

    def rules(
        self, *, group_id: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[ListedRule | Broken]:
        """A page of rules, of one group or of all: those of the file, then those of the store that may speak.

        Raises `NotFound` for a group that there is nowhere.
        """
        known, replaced = self._filed_groups(), self._replaces_default()
        names = sorted(known) if group_id is None else [name for name in known if name == group_id]
        if group_id is not None and not names:
            self._store.rules(group_id)
        silent = self._store.list_rules(group_id=DEFAULT_GROUP, limit=1).total if replaced else 0

        def stored(limit: int, cursor: str | None) -> Page[ListedRule | Broken]:
            if replaced and group_id == DEFAULT_GROUP:
                return Page((), 0)
            page = self._store.list_rules(group_id=group_id, limit=limit, cursor=cursor)
            items = tuple(_kept_rule(one) for one in page.items if not (replaced and _in_default(one)))
            return Page(items, page.total - (silent if group_id is None else 0), page.next)

        filed = [_filed_rule(rule) for name in names for rule in in_order(known[name].rules)]
        return joined(filed, stored, limit=limit, cursor=cursor)

    def rule(self, rule_id: int) -> ListedRule:
        """The rule of the store. Raises `NotFound`, and `BrokenRow`."""
        return _listed_rule(self._store.get_rule(rule_id))

    def create_rule(self, fields: RuleFields, *, by: Actor) -> ListedRule:
        """The new rule. Raises `BadFields` for one that means nothing, `NotFound` for its group, and `Conflict`."""
        self._meaningful(fields)
        made = self._store.create_rule(fields, by=by)
        self._live.refresh()
        return _listed_rule(made)

    def update_rule(self, rule_id: int, fields: RuleFields, *, by: Actor) -> ListedRule:
        """The rule with every field replaced; this mends one that cannot be read. Raises what `create_rule` raises."""
        self._meaningful(fields)
        made = self._store.update_rule(rule_id, fields, by=by)
        self._live.refresh()
        return _listed_rule(made)

    def delete_rule(self, rule_id: int, *, by: Actor) -> None:
        """Removes the rule of the store. Raises `NotFound`."""
        self._store.delete_rule(rule_id, by=by)
        self._live.refresh()

    def _meaningful(self, fields: RuleFields) -> None:
        self._not_in_file(fields.group_id)
        found = rule_problems(fields, self._live.policy.workspace, self._live.home)
        if found:
            raise BadFields(*found)

    def _filed_groups(self) -> dict[str, Group]:
        groups = self._live.policy.groups
        return {name: groups[name] for name in self._live.in_file if name in groups}

    def _replaces_default(self) -> bool:
        return DEFAULT_GROUP in self._live.in_file

    def _not_in_file(self, group_id: str) -> None:
        if group_id in self._live.in_file and self._live.file is not None:
            name = self._live.file.name
            raise Conflict(f"the group {quoted(group_id)} is written in {name}, and is edited there")

    def _free_id(self, group_id: str) -> str:
        taken = self._live.policy.groups
        names = (f"{group_id}-copy{'' if at == 1 else f'-{at}'}" for at in count(1))
        return next(name for name in names if name not in taken)

    def _kept(self, group: GroupRecord | Broken) -> ListedGroup | Broken:
        return group if isinstance(group, Broken) else self._listed(group)

    def _listed(self, group: GroupRecord) -> ListedGroup:
        known = self._live.policy.groups.get(group.id)
        return ListedGroup(group, IN_DATABASE, None if known is None else known.broken)


def _filed(group: Group) -> ListedGroup:
    record = GroupRecord(id=group.id, name=group.name or group.id, description=group.description)
    return ListedGroup(record, IN_FILE, group.broken)


def _in_default(rule: RuleRecord | Broken) -> bool:
    return isinstance(rule, RuleRecord) and rule.group_id == DEFAULT_GROUP


def _kept_rule(rule: RuleRecord | Broken) -> ListedRule | Broken:
    return rule if isinstance(rule, Broken) else _listed_rule(rule)


def _listed_rule(rule: RuleRecord) -> ListedRule:
    return ListedRule(rule, IN_DATABASE, PLACE)


def _filed_rule(rule: Rule) -> ListedRule:
    record = RuleRecord(
        id=rule.id,
        group_id=rule.group,
        priority=rule.priority,
        agent_id=rule.agent,
        source=None if rule.source is None else Source(rule.source),
        tool_pattern=rule.tool,
        path_pattern=rule.path,
        command_pattern=rule.command,
        action=rule.action,
        mandatory=rule.mandatory,
        note=rule.note,
    )
    return ListedRule(record, IN_FILE, rule.place)
