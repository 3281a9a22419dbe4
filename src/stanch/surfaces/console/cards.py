"""A request for approval as a card: what would run, what it touches, why it asks, and what may be answered.

Settles which form of the call a person reads: a command, a diff, or its arguments. Does not settle what any of it means
(`app.approving`), nor how text is made safe to show (`showing`).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from stanch.gate.approval import is_mandated
from stanch.gate.plans import plan_of
from stanch.policy.declared import Form
from stanch.policy.document import Policy
from stanch.policy.known_tools import tool_named
from stanch.surfaces.console.showing import Line, as_json, diff_lines, has_odd, lines
from stanch.values.approval import ApprovalRecord, BypassScope, ClarificationRecord
from stanch.values.call import Category
from stanch.values.records import Broken

LONGEST_EDIT = 200_000
_LONG = 72
_ANSWERS = {"allow": "allowed", "ask": "asks", "deny": "denied", None: "not judged"}
# The arguments that a diff shows already: a text that is replaced and its replacement, else the whole new text.
_OLD = ("old", "old_string", "oldString", "old_str")
_NEW = ("new", "new_string", "newString", "new_str")
_WHOLE = ("content", "file_text", "contents", "text")


class Argument(NamedTuple):
    """One argument of a call: its name, and its value on one line or, where it is longer, in several."""

    name: str
    value: str
    lines: list[Line]


class Touched(NamedTuple):
    """One effect of a call: its class, what it does it to, where that leads, and what the gate says of it."""

    cls: str
    what: str
    leads_to: str
    effect: str
    word: str


class Part(NamedTuple):
    """A simple command of a shell call, with what it was found to do; or a whole call that is no command."""

    text: str
    effect: str
    word: str
    touched: list[Touched]


class Rule(NamedTuple):
    """The rule that speaks: its id, its group, and where it stands."""

    id: int
    group: str
    where: str
    note: str


class Scope(NamedTuple):
    """Which further calls an approval for longer answers for."""

    value: str
    words: str


@dataclass(frozen=True, slots=True)
class Card:
    """A request as its card shows it."""

    id: str
    tool: str
    server: str
    agent: str
    source: str
    label: str
    session: str
    at: datetime
    expires_at: datetime | None
    sentence: str
    rule: Rule | None
    layer: str
    where: str
    command: list[Line]
    diff: list[Line]
    added: int
    removed: int
    arguments: list[Argument]
    parts: list[Part]
    scripts: list[tuple[str, str]]
    odd: bool
    scopes: list[Scope]
    json: str
    editable: bool
    mandated: bool
    fingerprint: str
    plan_id: str
    number: int


def card_of(approval: ApprovalRecord, policy: Policy) -> Card:
    """The card of a request. Its `number` is the place of its call in its plan, from 1; 0 for a call by itself."""
    at = plan_of(approval.call_id)
    arguments = approval.arguments
    commands = _held(approval, policy, (Form.COMMAND, Form.CODE))
    patches = _held(approval, policy, (Form.PATCH, Form.ENVELOPE))
    left_out = {*commands, *patches}
    diff = [line for name in patches for line in diff_lines(_words(arguments[name]), is_patch=True)]
    if approval.diff and not diff:
        diff = diff_lines(approval.diff)
        left_out |= _in_diff(arguments)
    text = as_json(arguments)
    reason = approval.reason
    return Card(
        id=approval.request_id,
        tool=approval.tool_name,
        server=approval.mcp_server or "",
        agent=approval.agent_id,
        source=approval.source.value,
        label=approval.context_label,
        session=approval.session_id,
        at=approval.created_at,
        expires_at=approval.expires_at,
        sentence=str(reason.get("sentence", "")),
        rule=rule_of(reason.get("rule")),
        layer=str(reason.get("layer", "")).replace("_", " "),
        where=approval.cwd or "",
        command=[line for name in commands for line in lines(_words(arguments[name]))],
        diff=diff,
        added=sum(line.kind == "add" for line in diff),
        removed=sum(line.kind == "del" for line in diff),
        arguments=[_argument(name, value) for name, value in arguments.items() if name not in left_out],
        parts=_parts(approval, is_command=bool(commands)),
        scripts=sorted(approval.scripts.items()),
        odd=has_odd(arguments) or has_odd(approval.tool_name),
        scopes=scopes_of(approval),
        json=text,
        editable=len(text) <= LONGEST_EDIT,
        mandated=is_mandated(approval.asked),
        fingerprint=str(approval.fingerprint),
        plan_id="" if at is None else at.plan_id,
        number=0 if at is None else at.place + 1,
    )


def _held(approval: ApprovalRecord, policy: Policy, forms: tuple[Form, ...]) -> list[str]:
    """The names of the call's arguments that name their targets in one of these forms."""
    tool = tool_named(approval.tool_name, policy.tools)
    named = () if tool is None else (effect.argument for effect in tool.effects if effect.form in forms)
    found = (name for names in named for name in names.split("|") if approval.arguments.get(name))
    return list(dict.fromkeys(found))


def _in_diff(arguments: Mapping[str, Any]) -> set[str]:
    old = next((name for name in _OLD if isinstance(arguments.get(name), str)), None)
    new = next((name for name in _NEW if isinstance(arguments.get(name), str)), None)
    if old is not None and new is not None:
        return {old, new}
    whole = [name for name in _WHOLE if isinstance(arguments.get(name), str)]
    return set(whole[:1])


def _words(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return shlex.join(value)
    return value if isinstance(value, str) else as_json(value)


def _argument(name: str, value: Any) -> Argument:
    text = value if isinstance(value, str) else as_json(value, indent=None)
    if "\n" not in text and len(text) <= _LONG:
        return Argument(name, text, [])
    return Argument(name, "", lines(text if isinstance(value, str) else as_json(value)))


def rule_of(rule: Any) -> Rule | None:
    """The rule of a reason, as a person reads it."""
    if not isinstance(rule, Mapping):
        return None
    place = {"seeded": "built in", "database": "in the database"}.get(str(rule["place"]), str(rule["place"]))
    where = f"Rule {rule['id']} of {rule['group']}, {place}"
    return Rule(int(rule["id"]), str(rule["group"]), where, str(rule["note"] or ""))


def _parts(approval: ApprovalRecord, *, is_command: bool) -> list[Part]:
    """The simple commands, each with the effects that follow it; or one part without a name."""
    targets = [dict(target) for target in approval.targets]
    return parts_of(targets, approval.cwd or "", is_command=is_command)


def parts_of(targets: list[dict[str, Any]], where: str, *, is_command: bool) -> list[Part]:
    """The effects of a call that starts in this directory, laid out by the simple command that has them."""
    parts: list[Part] = []
    for target in targets:
        word = _ANSWERS.get(target["effect"], "asks")
        effect = target["effect"] or "none"
        if is_command and target["class"] == "execute" and target["subject"]:
            parts.append(Part(target["subject"], effect, word, []))
            continue
        if not parts:
            parts.append(Part("", effect, word, []))
        if target.get("found") == "possible" and effect in (parts[-1].effect, "none"):
            continue  # nobody knows that it happens, and no rule says anything against it
        requested, path = target["requested"], target["path"]
        what = requested or path or target["subject"]
        plain = not path or what in ("", path) or path == f"{where.rstrip('/')}/{what.rstrip('/')}"
        touched = Touched(target["class"] or "call", what, "" if plain else path, effect, word)
        if touched not in parts[-1].touched:
            parts[-1].touched.append(touched)
    return parts


def scopes_of(approval: ApprovalRecord) -> list[Scope]:
    """What an approval for longer may answer for, the narrowest first."""
    found, category = [], approval.tool_category
    if approval.mcp_server is not None:
        found.append(Scope(BypassScope.MCP_SERVER.value, f"calls of the MCP server {approval.mcp_server}"))
    if category is Category.MCP:
        found.append(Scope(BypassScope.CATEGORY.value, "calls of any MCP server"))
    elif category is not None:
        found.insert(0, Scope(BypassScope.CATEGORY.value, f"{category.value} calls"))
    found.append(Scope(BypassScope.ALL.value, "calls of any kind"))
    return found


@dataclass(frozen=True, slots=True)
class QuestionCard:
    """A question of an agent as its card shows it."""

    id: str
    agent: str
    session: str
    at: datetime
    expires_at: datetime | None
    question: list[Line]
    choices: tuple[str, ...]
    odd: bool


def question_card(asked: ClarificationRecord) -> QuestionCard:
    """The card of a question."""
    return QuestionCard(
        id=asked.request_id,
        agent=asked.agent_id,
        session=asked.session_id,
        at=asked.created_at,
        expires_at=asked.expires_at,
        question=lines(asked.question),
        choices=asked.choices,
        odd=has_odd(asked.question) or has_odd(asked.choices),
    )


def broken_words(broken: Broken) -> str:
    """What is said of a row that cannot be read."""
    return f"The row {broken.id} of {broken.table} cannot be read: {broken.problem}. It cannot be answered."
