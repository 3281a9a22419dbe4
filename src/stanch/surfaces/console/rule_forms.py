"""A rule as a form: its fields, and the rule that a person wrote.

Settles shapes, and that a rule which somebody else changed meanwhile is not written over. Does not settle whether a
rule means something (`app.policy_groups`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from stanch.policy.rule import ACTIONS, DEFAULT_PRIORITY
from stanch.values.fault import BadFields
from stanch.values.identity import Source
from stanch.values.records import RuleFields, RuleRecord

LONGEST = {"agent_id": 512, "tool_pattern": 4096, "path_pattern": 4096, "command_pattern": 4096, "note": 4096}
_WHOLE = re.compile(r"-?[0-9]{1,9}")
ACTION_WORDS = ("allow", "ask", "deny")
SOURCES = tuple(one.value for one in Source)


@dataclass(frozen=True, slots=True)
class RuleForm:
    """A rule's form: what its fields hold, and what is wrong with each. `id` is None for a new rule."""

    id: int | None
    group: str
    values: Mapping[str, str]
    mandatory: bool
    seen: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


def empty_form(group: str) -> RuleForm:
    """The form of a new rule."""
    names = ("agent_id", "source", "tool_pattern", "path_pattern", "command_pattern", "note")
    values = dict.fromkeys(names, "") | {"priority": str(DEFAULT_PRIORITY), "action": "ask"}
    return RuleForm(None, group, values, False)


def form_of(rule: RuleRecord) -> RuleForm:
    """The form of a rule that there is."""
    values = {
        "priority": str(rule.priority),
        "action": rule.action.value,
        "agent_id": rule.agent_id or "",
        "source": "" if rule.source is None else rule.source.value,
        "tool_pattern": rule.tool_pattern,
        "path_pattern": rule.path_pattern or "",
        "command_pattern": rule.command_pattern or "",
        "note": rule.note or "",
    }
    return RuleForm(rule.id, rule.group_id, values, rule.mandatory, seen_of(rule))


def sent_form(rule_id: int | None, group: str, fields: Mapping[str, list[str]]) -> RuleForm:
    """The form as a person sent it."""
    blank = empty_form(group).values
    values = {name: fields.get(name, [otherwise])[-1] for name, otherwise in blank.items()}
    return RuleForm(rule_id, group, values, "mandatory" in fields, fields.get("seen", [""])[-1])


def fields_of(form: RuleForm) -> RuleFields:
    """The rule that a form means. Raises `BadFields`."""
    values = {name: value.strip() for name, value in form.values.items()}
    wrong = [
        (name, f"is longer than {most:,} characters") for name, most in LONGEST.items() if len(values[name]) > most
    ]
    priority = _WHOLE.fullmatch(values["priority"])
    if priority is None:
        wrong.append(("priority", "has to be a whole number; lower is read first"))
    if values["action"] not in ACTION_WORDS:
        wrong.append(("action", "is allow, ask or deny"))
    if values["source"] and values["source"] not in SOURCES:
        wrong.append(("source", f"is one of {', '.join(SOURCES)}, or empty for all"))
    if not values["tool_pattern"]:
        wrong.append(("tool_pattern", "is needed: a tool's name, a glob with *, or @read, @write, @execute, @network"))
    if wrong:
        raise BadFields(*wrong)
    return RuleFields(
        group_id=form.group,
        priority=DEFAULT_PRIORITY if priority is None else int(priority[0]),
        agent_id=values["agent_id"] or None,
        source=Source(values["source"]) if values["source"] else None,
        tool_pattern=values["tool_pattern"],
        path_pattern=values["path_pattern"] or None,
        command_pattern=values["command_pattern"] or None,
        action=ACTIONS[values["action"]],
        mandatory=form.mandatory,
        note=values["note"] or None,
    )


def seen_of(rule: RuleRecord) -> str:
    """A digest of the rule as its form showed it."""
    return hashlib.sha256(repr(rule).encode("utf-8", "backslashreplace")).hexdigest()[:24]
