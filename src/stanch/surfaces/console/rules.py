"""`/console/rules`: groups and their rules, what lint says of them, and what they say of each tool.

Settles what a person sees and which form changes what. Does not settle which group may be changed nor what a rule means
(`app.policy_groups`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.responses import Response

from stanch.app.policy_groups import IN_FILE, ListedGroup, ListedRule
from stanch.app.service import Service
from stanch.policy.lint import Finding
from stanch.policy.rule import DEFAULT_GROUP
from stanch.surfaces.console.guard import Asked, goes_to
from stanch.surfaces.console.matrix import matrix_of
from stanch.surfaces.console.ordering import placed
from stanch.surfaces.console.rule_forms import (
    ACTION_WORDS,
    SOURCES,
    RuleForm,
    empty_form,
    fields_of,
    form_of,
    seen_of,
    sent_form,
)
from stanch.surfaces.console.trying import answer_to
from stanch.values.fault import BadCall, BadContext, BadFields, BadInput, Conflict, NotFound
from stanch.values.records import Broken, Page, RuleRecord

PAGE = "/console/rules"
MOST = 2_000
LONGEST_NAME = 512
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class RuleRow(NamedTuple):
    """A rule as its row shows it."""

    rule: RuleRecord
    place: str
    findings: list[Finding]


def page(asked: Asked) -> Response:
    """The rules of a group; with one of them, or a new one, as a form."""
    group, wanted = asked.get("group", DEFAULT_GROUP), asked.get("edit")
    form = None
    if wanted == "new":
        form = empty_form(group)
    elif wanted:
        form = form_of(asked.service.groups.rule(_number(wanted)).record)
        group = form.group
    return page_of_group(asked, group, form=form)


def page_of_group(
    asked: Asked,
    group: str,
    *,
    status: int = 200,
    form: RuleForm | None = None,
    problem: str = "",
    tried: dict[str, Any] | None = None,
) -> Response:
    """The page of a group, perhaps with a form, with what went wrong, and with the answer to a call that was tried."""
    service = asked.service
    kept = every(service.groups.groups)
    groups = [one for one in kept if isinstance(one, ListedGroup)]
    broken = [one for one in kept if isinstance(one, Broken)]
    listed = next((one for one in groups if one.record.id == group), None)
    if listed is None:
        raise NotFound("group", group)
    rows = every(lambda **at: service.groups.rules(group_id=group, **at))
    return asked.page(
        "rules.html.j2",
        status=status,
        at="rules",
        wide=True,
        groups=groups,
        group=listed.record,
        is_file=listed.origin == IN_FILE,
        group_problem=listed.broken or "",
        rows=_rows(service, group, rows),
        broken=[*broken, *(one for one in rows if isinstance(one, Broken))],
        problems=[one for one in service.policy.problems if not one.warning],
        organizations=service.organizations.statuses(),
        matrix=matrix_of(service.policy, group),
        form=form,
        problem=problem,
        tried=tried or {"problem": "", "answer": None},
        sent={name: asked.get(name) for name in ("tool", "arguments", "command", "agent", "source")},
        actions=ACTION_WORDS,
        sources=SOURCES,
        is_default=group == DEFAULT_GROUP,
    )


def _rows(service: Service, group: str, rows: list[ListedRule | Broken]) -> list[RuleRow]:
    findings = service.overview.findings()
    rules = sorted(
        (one for one in rows if isinstance(one, ListedRule)),
        key=lambda one: (not one.record.mandatory, one.record.priority, one.record.id),
    )
    return [
        RuleRow(one.record, one.place, [two for two in findings if (two.group, two.rule) == (group, one.record.id)])
        for one in rules
    ]


def every(pages: Callable[..., Page[Any]]) -> list[Any]:
    """The items of every page of a list, up to a bound."""
    found: list[Any] = []
    cursor: str | None = None
    while True:
        one = pages(limit=200, cursor=cursor)
        found += one.items
        cursor = one.next
        if cursor is None or len(found) >= MOST:
            return found


def try_call(asked: Asked) -> Response:
    """What the gate answers to the call that a person wrote."""
    values: dict[str, Any] = {"problem": "", "answer": None}
    status = 200
    try:
        values["answer"] = answer_to(asked)
    except (BadCall, BadInput, BadContext) as why:
        status, values["problem"] = asked.failing.said_of(why)
    if asked.in_page:
        return asked.page("tried.html.j2", status=status, tried=values)
    return page_of_group(asked, asked.get("group", DEFAULT_GROUP), status=status, tried=values)


# --- forms -----------------------------------------------------------------------------------------------------------


def write_rule(asked: Asked) -> Response:
    """Writes a rule, a new one or one that there is."""
    wanted = asked.get("rule")
    form = sent_form(_number(wanted) if wanted else None, asked.get("group"), asked.fields)
    groups, by = asked.service.groups, asked.login.by
    try:
        fields = fields_of(form)
        if form.id is None:
            made = groups.create_rule(fields, by=by)
        elif seen_of(groups.rule(form.id).record) != form.seen:
            changed = "Somebody changed this rule meanwhile. Look at it again before you write over it."
            return page_of_group(asked, form.group, status=409, form=replace(form, problem=changed))
        else:
            made = groups.update_rule(form.id, fields, by=by)
    except BadFields as why:
        problem = "" if why.fields else asked.failing.sentence(why)
        again = replace(form, errors=asked.failing.fields(why), problem=problem)
        return page_of_group(asked, form.group, status=422, form=again)
    except Conflict as why:
        return page_of_group(asked, form.group, status=409, form=replace(form, problem=asked.failing.sentence(why)))
    return _back(form.group, f"#rule-{made.record.id}")


def delete_rule(asked: Asked) -> Response:
    """Removes a rule."""
    rule = asked.service.groups.rule(_number(asked.get("rule"))).record
    asked.service.groups.delete_rule(rule.id, by=asked.login.by)
    return _back(rule.group_id)


def move_rule(asked: Asked) -> Response:
    """Moves a rule one place up or down, by changing as few priorities as that takes."""
    groups = asked.service.groups
    moved = groups.rule(_number(asked.get("rule"))).record
    listed = every(lambda **at: groups.rules(group_id=moved.group_id, **at))
    rules = [one.record for one in listed if isinstance(one, ListedRule) and one.record.mandatory == moved.mandatory]
    for rule, priority in placed(rules, moved.id, up=asked.get("way") == "up"):
        fields = fields_of(replace(form_of(rule), values={**form_of(rule).values, "priority": str(priority)}))
        groups.update_rule(rule.id, fields, by=asked.login.by)
    return _back(moved.group_id, f"#rule-{moved.id}")


def write_group(asked: Asked) -> Response:
    """Makes, copies, renames or removes a group."""
    action, group = asked.get("action"), asked.get("group")
    try:
        return _back(_written(asked, action, group))
    except (Conflict, BadInput) as why:
        shown = asked.get("from", DEFAULT_GROUP) if action == "create" else group
        status = 409 if isinstance(why, Conflict) else 422
        return page_of_group(asked, shown, status=status, problem=asked.failing.sentence(why))


def _written(asked: Asked, action: str, group: str) -> str:
    """The group to show after what was done."""
    groups, by, name = asked.service.groups, asked.login.by, asked.get("name").strip()
    match action:
        case "create" if not _ID.fullmatch(name):
            raise BadInput("a group's id begins with a letter or a digit, and goes on with those, '.', '_' and '-'")
        case "create":
            return groups.create_group(name, name=name, description="", by=by).record.id
        case "duplicate":
            return groups.duplicate(group, new_id=None, new_name=None, by=by).record.id
        case "rename" if not 0 < len(name) <= LONGEST_NAME:
            raise BadInput(f"a group's name has 1 to {LONGEST_NAME} characters")
        case "rename":
            return groups.update_group(group, name=name, description=asked.get("description").strip(), by=by).record.id
        case "delete":
            groups.delete_group(group, by=by)
            return DEFAULT_GROUP
        case _:
            raise BadInput("this is nothing that can be done with a group")


def _back(group: str, anchor: str = "") -> Response:
    return goes_to(f"{PAGE}?group={quote(group, safe='')}{anchor}")


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise NotFound("rule", text)
    return int(text)
