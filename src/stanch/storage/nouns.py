"""The kinds of records that a store keeps, and how a row of each is read.

Settles which column becomes which field. Does not settle what a column may hold (`rows`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from stanch.storage.rows import LARGEST_ID, Fields, Noun, Unread
from stanch.storage.schema import AUDIT, GROUPS, JOBS, PROJECTS, RULES, SESSIONS, TICKETS, TOKENS
from stanch.storage.session_columns import narrowing_in, skills_in
from stanch.values.decision import Effect
from stanch.values.identity import Source
from stanch.values.records import (
    AuditRecord,
    GroupRecord,
    JobRecord,
    ProjectRecord,
    RuleFields,
    RuleRecord,
    SessionRecord,
    TicketRecord,
    TokenRecord,
)


def _group(row: Fields) -> GroupRecord:
    return GroupRecord(
        id=row.key("id"), name=row.text("name", empty=True), description=row.text("description", empty=True)
    )


def _rule(row: Fields) -> RuleRecord:
    return RuleRecord(
        id=row.whole("id", -LARGEST_ID, LARGEST_ID),
        group_id=row.key("group_id"),
        priority=row.whole("priority"),
        agent_id=row.maybe_key("agent_id"),
        source=row.maybe_word("source", Source),
        tool_pattern=row.text("tool_pattern"),
        path_pattern=row.maybe("path_pattern"),
        command_pattern=row.maybe("command_pattern"),
        action=row.word("action", Effect),
        mandatory=row.flag("mandatory"),
        note=row.maybe("note", empty=True),
    )


def _session(row: Fields) -> SessionRecord:
    return SessionRecord(
        id=row.key("id"),
        agent_id=row.key("agent_id"),
        source=row.word("source", Source),
        principal=row.principal(),
        parent_id=row.maybe_key("parent_id"),
        project_id=row.maybe_key("project_id"),
        ticket_id=row.maybe_key("ticket_id"),
        job_id=row.maybe_key("job_id"),
        model=row.maybe("model"),
        run_context=row.context(),
        context_given=row.flag("context_given"),
        approver=row.flag("approver"),
        skills=skills_in(row),
        narrowing=narrowing_in(row),
        has_policy=row.flag("has_policy"),
        created_at=row.moment("created_at"),
        ended_at=row.maybe_moment("ended_at"),
    )


def _project(row: Fields) -> ProjectRecord:
    return ProjectRecord(
        id=row.key("id"),
        name=row.text("name", empty=True),
        description=row.text("description", empty=True),
        directory=row.maybe("directory", empty=True),
        grant_tree=row.flag("grant_tree"),
        run_context=row.context(),
        created_at=row.moment("created_at"),
    )


def _ticket(row: Fields) -> TicketRecord:
    return TicketRecord(
        id=row.key("id"),
        project_id=row.key("project_id"),
        title=row.text("title", empty=True),
        body=row.text("body", empty=True),
        run_context=row.context(),
        created_at=row.moment("created_at"),
    )


def _job(row: Fields) -> JobRecord:
    return JobRecord(
        id=row.key("id"),
        name=row.text("name", empty=True),
        cron=row.text("cron"),
        prompt=row.text("prompt", empty=True),
        agent_id=row.key("agent_id"),
        enabled=row.flag("enabled"),
        run_context=row.context(),
        created_at=row.moment("created_at"),
    )


def _token(row: Fields) -> TokenRecord:
    return TokenRecord(
        id=row.key("id"),
        name=row.text("name", empty=True),
        principal=row.principal(),
        created_at=row.moment("created_at"),
        revoked_at=row.maybe_moment("revoked_at"),
    )


def _audit(row: Fields) -> AuditRecord:
    detail = row.json("detail")
    if not isinstance(detail, dict):
        raise Unread("detail", "is no JSON object")
    return AuditRecord(
        seq=row.whole("seq", 0, LARGEST_ID),
        at=row.moment("at"),
        actor=row.key("actor"),
        surface=row.key("surface"),
        action=row.key("action"),
        subject=row.key("subject"),
        detail=MappingProxyType(detail),
        previous=row.text("previous"),
        digest=row.text("digest"),
    )


GROUP = Noun("group", GROUPS, _group)
RULE = Noun("rule", RULES, _rule)
SESSION = Noun("session", SESSIONS, _session)
PROJECT = Noun("project", PROJECTS, _project)
TICKET = Noun("ticket", TICKETS, _ticket)
JOB = Noun("job", JOBS, _job)
TOKEN = Noun("token", TOKENS, _token)
AUDIT_ROW = Noun("audit row", AUDIT, _audit)


def rule_columns(rule: RuleFields) -> dict[str, Any]:
    """A rule as the columns that keep it, without its id."""
    return {
        "group_id": rule.group_id,
        "priority": rule.priority,
        "agent_id": rule.agent_id,
        "source": None if rule.source is None else rule.source.value,
        "tool_pattern": rule.tool_pattern,
        "path_pattern": rule.path_pattern,
        "command_pattern": rule.command_pattern,
        "action": rule.action.value,
        "mandatory": int(rule.mandatory),
        "note": rule.note,
    }
