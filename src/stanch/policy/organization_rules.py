"""The rules of an organization as somebody sends them: read whole, or not at all.

Settles which texts are rules, and what each of the rules means in a workspace. Does not settle where they come from
(`app.organization`) nor when they may speak (`policy.organization`).
INVARIANT: what is wrong with a text is told by the number of the rule and a word of a closed list; nothing of the text
itself is repeated.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from stanch.policy.building import Anchor, build
from stanch.policy.document import Document
from stanch.policy.rows import ORGANIZATION
from stanch.policy.rule import Rule
from stanch.policy.shapes import RuleShape, violations
from stanch.values.decision import Effect

MOST_BYTES = 4 << 20
MOST_RULES = 20_000
Row = Mapping[str, Any]


@with_config(ConfigDict(extra="forbid", strict=True))
class RulesShape(TypedDict):
    """What an organization sends: its rules, in the form of `[[groups.rules]]`."""

    version: NotRequired[Annotated[int, Field(ge=1, le=1)]]
    rules: list[RuleShape]


_RULES: TypeAdapter[RulesShape] = TypeAdapter(RulesShape)


class Unreadable(ValueError):
    """What came is no set of rules. `rule` is the number of the first that cannot be read, 0 where it is none of
    them."""

    def __init__(self, rule: int = 0) -> None:
        self.rule = rule
        super().__init__(f"rule {rule}" if rule else "no rules")


def rows_of(raw: bytes) -> tuple[Row, ...]:
    """The rules in a text of JSON or TOML: a table with `rules`, or in JSON the list of them alone.

    Raises `Unreadable` where it is neither, and where anything in it is wrong: a key that is not known or stands twice,
    a pattern that is none, a type, a word. An empty list of rules is one; an empty text is not.
    """
    if len(raw) > MOST_BYTES:
        raise Unreadable
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable from None
    return checked(_parsed(text))


def checked(value: Any) -> tuple[Row, ...]:
    """The rules of a value that has been parsed. Raises `Unreadable` as `rows_of` does."""
    table = {"rules": value} if isinstance(value, list) else value
    try:
        wrong = violations(_RULES, table, RulesShape)
    except RecursionError:
        raise Unreadable from None
    if wrong:
        raise Unreadable(min(_number(where) for where, _ in wrong))
    rows = tuple(dict(row) for row in table["rules"])
    if len(rows) > MOST_RULES:
        raise Unreadable
    for number, row in enumerate(rows, 1):
        _is_text(number, row)
    # A pattern that can be read in one workspace can be read in every other.
    rules_of(rows, workspace="/", home="/")
    return rows


def rules_of(rows: Sequence[Row], *, workspace: str, home: str, anchor: Anchor = str) -> tuple[Rule, ...]:
    """The rules as they are meant in a workspace, allows too. `place` is the number of each. Raises `Unreadable`."""
    values = {"version": 1, "groups": [{"id": ORGANIZATION, "rules": [dict(row) for row in rows]}]}
    policy = build(Document(ORGANIZATION, "", values), workspace=workspace, home=home, anchor=anchor)
    group = policy.groups[ORGANIZATION]
    if group.broken is not None or policy.broken is not None:
        found = [_number(tuple(one.where.split("."))[2:]) for one in policy.problems if not one.warning]
        raise Unreadable(min(found, default=0))
    return tuple(replace(rule, place=f"{ORGANIZATION}:{rule.id}") for rule in group.rules)


def meaningless(rows: Sequence[Row]) -> tuple[int, ...]:
    """The numbers of the rules that never say anything: allows, since an organization's rules only narrow."""
    return tuple(number for number, row in enumerate(rows, 1) if row["action"] == Effect.ALLOW.value)


def _is_text(number: int, row: Row) -> None:
    """WHY: JSON can write half of a character, which no text that leaves here may hold."""
    try:
        "".join(value for value in row.values() if isinstance(value, str)).encode()
    except UnicodeEncodeError:
        raise Unreadable(number) from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_table, parse_constant=_no_number)
    except Unreadable:
        raise
    except (ValueError, RecursionError):
        pass
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable from None


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """WHY: of a key that stands twice the parser would take the last, and a reader the first."""
    table = dict(pairs)
    if len(table) != len(pairs):
        raise Unreadable
    return table


def _no_number(_: str) -> Any:
    raise Unreadable


def _number(where: Sequence[str | int]) -> int:
    """The number of the rule that a place is in; 0 for a place outside of all."""
    at = where[1] if len(where) > 1 and where[0] == "rules" else None
    return int(at) + 1 if isinstance(at, int) or (isinstance(at, str) and at.isdigit()) else 0
