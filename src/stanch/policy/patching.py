"""How a change is written into a policy file: the lines of TOML, where they go, and the whole text then.

Settles what a person copies, and where to. Does not settle which change it is (`policy.changes`). All else in the text
stays as it is, comments too. A text in which the change cannot be written without rewriting more gives no patch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tree_sitter import Node

from stanch.policy.changes import CellChange, Change, GrantChange, RuleChange, What, changed, quoted
from stanch.policy.document import Document, Policy, TierSpec, parse
from stanch.policy.places import Place, Places, value_of
from stanch.policy.rule import DEFAULT_PRIORITY, Group, Rule

DATABASE = "database"
RUN_CONTEXT = "run context"
SEEDED, SHIPPED = "seeded", "shipped"


@dataclass(frozen=True, slots=True)
class Patch:
    """A change as a person applies it: the TOML `lines` that are there then, empty where some are taken out.

    `place` is `stanch.toml:36`, `database` or `run context`; `how` says what to do there. `text` is the whole file
    then, None where the change is not made in a file.
    """

    lines: tuple[str, ...]
    place: str
    how: str
    text: str | None = None


def rule_lines(rule: Rule) -> tuple[str, ...]:
    """The rule as a file has it, without its header."""
    return tuple(f"{key} = {value}" for key, value in _fields(rule))


def _fields(rule: Rule) -> list[tuple[str, str]]:
    texts = (
        ("tool", rule.tool),
        ("path", rule.path),
        ("command", rule.command),
        ("action", rule.action.value),
        ("agent", rule.agent),
        ("source", rule.source),
    )
    found = [(key, quoted(text)) for key, text in texts if text is not None]
    if rule.priority != DEFAULT_PRIORITY:
        found.append(("priority", str(rule.priority)))
    if rule.mandatory:
        found.append(("mandatory", "true"))
    return found + ([] if rule.note is None else [("note", quoted(rule.note))])


def _inline(fields: list[tuple[str, str]]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in fields) + " }"


class Patching:
    """One text, and how changes are written into it. Nothing in it may be broken."""

    def __init__(self, document: Document, policy: Policy) -> None:
        """`document` is what the policy was made of."""
        self.document, self.policy = document, policy
        self.text, self.raw = document.text, document.text.encode()
        self.places = Places(document.text)

    def patch(self, change: Change) -> Patch | None:
        """The change as it is made; None where it cannot be written by itself."""
        made = self._made(change)
        if made is None or made.text is None:
            return made
        return made if parse(made.text, self.document.file).syntax is None else None

    def _made(self, change: Change) -> Patch | None:
        if isinstance(change, RuleChange):
            return self._rule(change)
        return self._cell(change) if isinstance(change, CellChange) else self._grant(change)

    # --- rules ------------------------------------------------------------------------------------------------------

    def _rule(self, change: RuleChange) -> Patch | None:
        at = self._group(change.group)
        if at is None:
            group = self.policy.groups[change.group]
            if any(rule.place != SEEDED for rule in group.rules) or not group.rules:
                return self._stored(change)
            whole = changed(self.policy, change).groups[change.group]
            return self._end(_group_lines(whole), "the built-in rules are written down there, with this change")
        if change.after is None or change.before is not None:
            where: Place = ("groups", at, "rules", change.rule.id - 1)
            return self._removed(where, "this rule") if change.after is None else self._edited(where, change.after)
        rules = self._list(at)
        if change.above is not None:
            return self._above(("groups", at, "rules", change.above - 1), change.after)
        return self._last(("groups", at), "rules", rules, _fields(change.after), "groups.rules")

    def _stored(self, change: RuleChange) -> Patch:
        lines = () if change.after is None else rule_lines(change.after)
        how = {What.ADD: "add this rule", What.EDIT: "give the rule this action", What.REMOVE: "take the rule out"}
        number = "" if change.before is None else f" {change.before.id}"
        return Patch(lines, DATABASE, f"{how[change.what]}{number} in group {quoted(change.group)} in the database")

    def _group(self, name: str) -> int | None:
        groups = self.document.values.get("groups", [])
        return next((at for at, one in enumerate(groups) if one.get("id") == name), None)

    def _list(self, group: int) -> int:
        return len(self.document.values["groups"][group].get("rules", ()))

    def _edited(self, where: Place, rule: Rule) -> Patch | None:
        pair = self.places.node((*where, "action"))
        return None if pair is None else self._valued(pair, rule.action.value)

    def _valued(self, pair: Node, word: str) -> Patch:
        """The patch that gives a key another word."""
        value = value_of(pair)
        key = self.raw[pair.start_byte : value.start_byte].decode()
        line = pair.start_point[0] + 1
        text = self._spliced(value.start_byte, value.end_byte, f'"{word}"')
        return Patch((f'{key}"{word}"',), self._place(line), f"in line {line} write", text)

    def _above(self, where: Place, rule: Rule) -> Patch | None:
        node = self.places.node(where)
        if node is None:
            return None
        line = node.start_point[0] + 1
        if node.type != "table_array_element":
            item = _inline(_fields(rule)) + ","
            text = self._spliced(node.start_byte, node.start_byte, f"{item} ")
            return Patch((item,), self._place(line), f"add this item to the list, before the one in line {line}", text)
        row = node.start_point[0]
        written = self.text.split("\n")
        while row and written[row - 1].lstrip().startswith("#"):
            row -= 1
        lines = ("[[groups.rules]]", *rule_lines(rule))
        written[row:row] = [*lines, ""]
        return Patch(lines, self._place(row + 1), f"add these lines above line {row + 1}", "\n".join(written))

    # --- tiers ------------------------------------------------------------------------------------------------------

    def _cell(self, change: CellChange) -> Patch | None:
        where: Place = ("tiers", change.tier)
        if change.tier not in self.document.values.get("tiers", {}):
            whole = changed(self.policy, change).tiers[change.tier]
            return self._end(_tier_lines(whole), "the tier as it ships is written down there, with this change")
        if change.cell is None:
            count = len(self.document.values["tiers"][change.tier].get("cells", ()))
            fields = [("path", quoted(change.path)), (change.cls.value, f'"{change.after.value}"')]
            return self._last(where, "cells", count, fields, f"tiers.{_key(change.tier)}.cells")
        inside: Place = ("otherwise",) if change.cell == 0 else ("cells", change.cell - 1)
        pair = self.places.node((*where, *inside, change.cls.value))
        return None if pair is None else self._valued(pair, change.after.value)

    # --- grants -----------------------------------------------------------------------------------------------------

    def _grant(self, change: GrantChange) -> Patch | None:
        item = quoted(change.path)
        if change.owner is None:
            lines = () if change.removed else (f"{change.key} = [{item}]",)
            how = "take this grant out of" if change.removed else "add this grant to"
            return Patch(lines, RUN_CONTEXT, f"{how} the session's run context: {item}")
        where: Place = ("sessions", "defaults", *change.owner)
        held = self._below(where).get(change.key, [])
        if change.removed:
            return self._removed((*where, change.key, held.index(change.path)), f"the item {item} of {change.key}")
        pair, table = self.places.node((*where, change.key)), self.places.node(where)
        if pair is not None:
            return self._appended(value_of(pair), item)
        line = f"{change.key} = [{item}]"
        if table is None or table.type != "table":
            kind, name = change.owner
            header = f"[sessions.defaults.{kind}.{_key(name)}]"
            return self._end((header, line), "add these lines at the end") if table is None else None
        return self._behind(table, (line,))

    # --- places in the text -----------------------------------------------------------------------------------------

    def _below(self, where: Place) -> Mapping[str, Any]:
        found: Any = self.document.values
        for key in where:
            found = found.get(key, {}) if isinstance(found, dict) else {}
        return found if isinstance(found, dict) else {}

    def _last(self, owner: Place, key: str, count: int, fields: list[tuple[str, str]], name: str) -> Patch | None:
        """One more item of a list of tables, in the form in which the list is written."""
        array = self.places.node((*owner, key))
        if array is not None and array.type == "pair":
            return self._appended(value_of(array), _inline(fields))
        table = self.places.node((*owner, key, count - 1)) if count else self.places.node(owner)
        if table is None or table.type not in ("table", "table_array_element"):
            return None
        lines = (f"[[{name}]]", *(f"{one} = {value}" for one, value in fields))
        return self._behind(table, lines, blank=True)

    def _behind(self, table: Node, lines: tuple[str, ...], *, blank: bool = False) -> Patch:
        """The lines behind the last key of a table."""
        pairs = [child for child in table.children if child.type == "pair"]
        row = (pairs[-1].end_point[0] if pairs else table.start_point[0]) + 1
        written = self.text.split("\n")
        written[row:row] = ["", *lines] if blank else lines
        return Patch(lines, self._place(row), f"add behind line {row}", "\n".join(written))

    def _appended(self, array: Node, item: str) -> Patch | None:
        if array.type != "array":
            return None
        pieces = [child for child in array.children if child.type not in ("[", "]", "comment")]
        line = (pieces[-1].end_point[0] if pieces else array.start_point[0]) + 1
        at = pieces[-1].end_byte if pieces else array.start_byte + 1
        before = ", " if pieces and pieces[-1].type != "," else " " if pieces else ""
        text = self._spliced(at, at, before + item)
        return Patch((item,), self._place(line), f"add this item to the list in line {line}", text)

    def _removed(self, where: Place, what: str) -> Patch | None:
        node = self.places.node(where)
        if node is None:
            return None
        first = node.start_point[0] + 1
        if node.type == "table_array_element":
            pairs = [child for child in node.children if child.type == "pair"]
            last = (pairs[-1].end_point[0] if pairs else node.start_point[0]) + 1
            written = self.text.split("\n")
            del written[first - 1 : last]
            return Patch((), self._place(first), f"take out lines {first} to {last}", "\n".join(written))
        around = node.parent.children if node.parent is not None else []
        at = next((at for at, one in enumerate(around) if one == node), 0)
        commas = [one for one in (*around[at + 1 :], *reversed(around[:at])) if one.type == ","]
        start, end = node.start_byte, node.end_byte
        if commas and commas[0].start_byte >= end:
            end = commas[0].end_byte
        elif commas:
            start = commas[0].start_byte
        return Patch((), self._place(first), f"take out {what} in line {first}", self._spliced(start, end, ""))

    def _end(self, lines: tuple[str, ...], how: str) -> Patch:
        before = self.text.rstrip("\n")
        line = before.count("\n") + 3
        return Patch(lines, self._place(line), how, f"{before}\n\n" + "\n".join(lines) + "\n")

    def _spliced(self, start: int, end: int, text: str) -> str:
        return (self.raw[:start] + text.encode() + self.raw[end:]).decode()

    def _place(self, line: int) -> str:
        return f"{self.document.file}:{line}"


def _group_lines(group: Group) -> tuple[str, ...]:
    lines = ["[[groups]]", f"id = {quoted(group.id)}"]
    for rule in group.rules:
        lines += ["", "[[groups.rules]]", *rule_lines(rule)]
    return tuple(lines)


def _tier_lines(tier: TierSpec) -> tuple[str, ...]:
    words = [(key, f'"{effect.value}"') for key, effect in tier.otherwise.items()]
    lines = [f"[tiers.{_key(tier.id)}]", f"label = {quoted(tier.label)}", f"otherwise = {_inline(words)}"]
    cells = [_inline([(key, quoted(value)) for key, value in cell.items()]) for cell in tier.cells]
    lines += ["cells = [", *(f"  {cell}," for cell in cells), "]"] if cells else []
    return tuple(lines)


def _key(name: str) -> str:
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isascii() and bare.isalnum() else quoted(name)
