"""`/api/tool-permission-groups` and `/api/approval/rules`: the policy, as a person edits it.

Settles the routes and what they show. Does not settle which group may be changed (`app.policy_groups`).
"""

from __future__ import annotations

from typing import Literal

from stanch.app.policy_groups import ListedGroup, ListedRule
from stanch.surfaces.http.access import By, Served
from stanch.surfaces.http.bodies import DuplicateBody, GroupBody, GroupChangeBody, RuleBody
from stanch.surfaces.http.documented import problems
from stanch.surfaces.http.paging import Cursor, Limit, page_shown
from stanch.surfaces.http.routers import BODY, guarded
from stanch.surfaces.http.shown import BrokenShown, PageShown, Shown, Word

GROUPS = guarded("/api/tool-permission-groups", "policy")
RULES = guarded("/api/approval/rules", "policy")
Origin = Literal["file", "database"]


class GroupShown(Shown):
    """A permission group. One of the file is edited there; `broken` says where a mistake in it is."""

    id: str
    name: str
    description: str
    origin: Origin
    broken: str | None


class RuleShown(Shown):
    """A rule. In a file, `id` is its position in its group, and `place` its line."""

    id: int
    group_id: str
    priority: int
    agent_id: str | None
    source: str | None
    tool_pattern: str
    path_pattern: str | None
    command_pattern: str | None
    action: Word
    mandatory: bool
    note: str | None
    origin: Origin
    place: str


@GROUPS.post("", status_code=201, responses=problems(409, *BODY))
def create_group(body: GroupBody, service: Served, by: By) -> GroupShown:
    """Make a group, which has no rules yet."""
    name = body.id if body.name is None else body.name
    return _group(service.groups.create_group(body.id, name=name, description=body.description, by=by))


@GROUPS.get("")
def list_groups(service: Served, limit: Limit = 50, cursor: Cursor = None) -> PageShown[GroupShown | BrokenShown]:
    """List the groups: those of the policy file, then those of the database."""
    return page_shown(service.groups.groups(limit=limit, cursor=cursor), _group)


@GROUPS.get("/{group_id}", responses=problems(404))
def read_group(group_id: str, service: Served) -> GroupShown:
    """Read a group."""
    return _group(service.groups.group(group_id))


@GROUPS.put("/{group_id}", responses=problems(404, 409, *BODY))
def change_group(group_id: str, body: GroupChangeBody, service: Served, by: By) -> GroupShown:
    """Change the name and the description of a group."""
    return _group(service.groups.update_group(group_id, name=body.name, description=body.description, by=by))


@GROUPS.delete("/{group_id}", status_code=204, responses=problems(404, 409))
def delete_group(group_id: str, service: Served, by: By) -> None:
    """Remove a group with its rules. `default` stays."""
    service.groups.delete_group(group_id, by=by)


@GROUPS.post("/{group_id}/duplicate", status_code=201, responses=problems(404, 409, *BODY))
def duplicate_group(group_id: str, service: Served, by: By, body: DuplicateBody | None = None) -> GroupShown:
    """Copy a group with all its rules, in one change."""
    wanted = body or DuplicateBody()
    return _group(service.groups.duplicate(group_id, new_id=wanted.id, new_name=wanted.name, by=by))


@RULES.post("", status_code=201, responses=problems(404, 409, *BODY))
def create_rule(body: RuleBody, service: Served, by: By) -> RuleShown:
    """Write a rule."""
    return _rule(service.groups.create_rule(body.fields(), by=by))


@RULES.get("", responses=problems(404))
def list_rules(
    service: Served, limit: Limit = 50, cursor: Cursor = None, group_id: str | None = None
) -> PageShown[RuleShown | BrokenShown]:
    """List the rules of a group, or all: those of the policy file, then those of the database, by priority and id."""
    return page_shown(service.groups.rules(group_id=group_id, limit=limit, cursor=cursor), _rule)


@RULES.get("/{rule_id}", responses=problems(404))
def read_rule(rule_id: int, service: Served) -> RuleShown:
    """Read a rule of the database."""
    return _rule(service.groups.rule(rule_id))


@RULES.put("/{rule_id}", responses=problems(404, 409, *BODY))
def change_rule(rule_id: int, body: RuleBody, service: Served, by: By) -> RuleShown:
    """Write a rule anew; fields that are left out take their defaults."""
    return _rule(service.groups.update_rule(rule_id, body.fields(), by=by))


@RULES.delete("/{rule_id}", status_code=204, responses=problems(404))
def delete_rule(rule_id: int, service: Served, by: By) -> None:
    """Remove a rule."""
    service.groups.delete_rule(rule_id, by=by)


def _group(group: ListedGroup) -> GroupShown:
    record = group.record
    return GroupShown(
        id=record.id,
        name=record.name,
        description=record.description,
        origin="file" if group.origin == "file" else "database",
        broken=group.broken,
    )


def _rule(rule: ListedRule) -> RuleShown:
    record = rule.record
    return RuleShown(
        id=record.id,
        group_id=record.group_id,
        priority=record.priority,
        agent_id=record.agent_id,
        source=None if record.source is None else record.source.value,
        tool_pattern=record.tool_pattern,
        path_pattern=record.path_pattern,
        command_pattern=record.command_pattern,
        action=record.action.value,
        mandatory=record.mandatory,
        note=record.note,
        origin="file" if rule.origin == "file" else "database",
        place=rule.place,
    )
