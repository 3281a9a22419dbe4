"""Rules, bypasses and the audit log over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from stanch.app.bypassing import BypassWish
from stanch.app.policy_groups import ListedRule
from stanch.surfaces.console.ordering import placed
from stanch.values.decision import Effect
from stanch.values.records import RuleRecord
from tests.console.visitors import BOB, Visitor, audited
from tests.http.served import BY, World

POLICY = """\
version = 1

[[groups]]
id = "default"

[[groups.rules]]
tool = "*"
action = "ask"

[[groups.rules]]
tool = "Read"
path = "docs"
action = "allow"
"""


def rule(**fields: str) -> dict[str, Any]:
    """The fields of a rule's form."""
    blank = {"group": "default", "priority": "50", "action": "deny", "tool_pattern": "@write"}
    return {**blank, "path_pattern": "", "command_pattern": "", "agent_id": "", "source": "", "note": "", **fields}


def ids(world: World, group: str = "default") -> list[int]:
    """The rules of a group in their order."""
    page = world.service.groups.rules(group_id=group, limit=200)
    return [one.record.id for one in page.items if isinstance(one, ListedRule)]


def seen(world: World, visitor: Visitor, rule_id: int) -> str:
    """What the rule's form holds to show which rule it was made of."""
    text = visitor.get(f"/console/rules?edit={rule_id}")
    return text.split('name="seen" value="')[1].split('"')[0]


def test_a_rule_is_written_changed_and_removed(world: World, visitor: Visitor) -> None:
    visitor.send("/console/rules/write", 303, **rule(path_pattern="keys", note="<i>mine</i>"))
    made = max(ids(world))
    text = visitor.get("/console/rules")
    assert "&lt;i&gt;mine&lt;/i&gt;" in text
    assert "keys" in text
    changed = rule(rule=str(made), seen=seen(world, visitor, made), action="ask", tool_pattern="@read", mandatory="yes")
    visitor.send("/console/rules/write", 303, **changed)
    found = world.service.groups.rule(made).record
    assert (found.action, found.tool_pattern, found.mandatory, found.path_pattern) == (Effect.ASK, "@read", True, None)
    visitor.send("/console/rules/delete", 303, rule=str(made))
    assert made not in ids(world)
    doors = {(actor, surface) for actor, surface, _ in audited(world, str(made))}
    assert doors == {("ada", "console")}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"priority": "soon"}, "has to be a whole number"),
        ({"priority": "9" * 30}, "has to be a whole number"),
        ({"tool_pattern": " "}, "is needed"),
        ({"action": "maybe"}, "is allow, ask or deny"),
        ({"source": "moon"}, "is one of"),
        ({"tool_pattern": "@everything"}, "@everything"),
    ],
)
def test_a_rule_that_means_nothing_is_given_back(
    world: World, visitor: Visitor, fields: dict[str, Any], why: str
) -> None:
    before = ids(world)
    text = visitor.send("/console/rules/write", 422, **rule(**fields, note="keep me"))
    assert why in text
    assert 'value="keep me"' in text
    assert ids(world) == before


def test_nobody_writes_over_what_they_have_not_seen(world: World, visitor: Visitor) -> None:
    made = ids(world)[0]
    mine = rule(rule=str(made), seen=seen(world, visitor, made), note="mine")
    with Visitor(world, BOB) as bob:
        bob.send("/console/rules/write", 303, **rule(rule=str(made), seen=seen(world, bob, made), note="bob's"))
    assert "somebody changed this rule meanwhile" in visitor.send("/console/rules/write", 409, **mine).lower()
    assert world.service.groups.rule(made).record.note == "bob's"


def test_a_rule_moves_up_and_down(world: World, visitor: Visitor) -> None:
    world.group("mine", *({"tool_pattern": f"t{n}", "action": "ask"} for n in range(4)))
    first = ids(world, "mine")
    visitor.send("/console/rules/move", 303, rule=str(first[2]), way="up")
    assert ids(world, "mine") == [first[0], first[2], first[1], first[3]]
    visitor.send("/console/rules/move", 303, rule=str(first[2]), way="down")
    assert ids(world, "mine") == first
    visitor.send("/console/rules/move", 303, rule=str(first[0]), way="up")
    assert ids(world, "mine") == first


@pytest.mark.parametrize("priorities", [(1, 1, 1, 1), (1, 2, 3, 4), (1, 1, 5, 5), (4, 4, 4, 9), (-3, 0, 0, 0)])
@pytest.mark.parametrize("order", [(1, 2, 3, 4), (4, 3, 2, 1), (2, 4, 1, 3)])
@pytest.mark.parametrize("up", [True, False])
def test_a_move_changes_the_order_by_one_place_and_nothing_else(
    priorities: tuple[int, ...], order: tuple[int, ...], up: bool
) -> None:
    rules = [
        RuleRecord(id=number, priority=priority, tool_pattern="*", action=Effect.ASK)
        for number, priority in zip(order, priorities, strict=True)
    ]
    before = [one.id for one in sorted(rules, key=lambda one: (one.priority, one.id))]
    for at, moved in enumerate(before):
        wanted = list(before)
        to = at - 1 if up else at + 1
        if 0 <= to < len(before):
            wanted[at], wanted[to] = wanted[to], wanted[at]
        changed = {one.id: priority for one, priority in placed(rules, moved, up=up)}
        after = sorted(rules, key=lambda one: (changed.get(one.id, one.priority), one.id))
        assert [one.id for one in after] == wanted


def test_groups_are_made_copied_renamed_and_removed(world: World, visitor: Visitor) -> None:
    visitor.send("/console/rules/groups", 303, action="create", name="reviewer")
    visitor.send("/console/rules/write", 303, **rule(group="reviewer"))
    visitor.send("/console/rules/groups", 303, action="duplicate", group="reviewer", name="")
    assert len(ids(world, "reviewer-copy")) == 1
    visitor.send("/console/rules/groups", 303, action="rename", group="reviewer", name="Who reads", description="x")
    assert "Who reads" in visitor.get("/console/rules?group=reviewer")
    visitor.send("/console/rules/groups", 303, action="delete", group="reviewer-copy", name="")
    visitor.get("/console/rules?group=reviewer-copy", 404)
    assert "already" in visitor.send("/console/rules/groups", 409, action="create", name="reviewer")
    visitor.send("/console/rules/groups", 422, action="create", name="<b>")
    visitor.send("/console/rules/groups", 409, action="delete", group="default", name="")
    visitor.send("/console/rules/groups", 422, action="burn", group="reviewer", name="")


def test_a_group_of_the_file_is_shown_with_its_places_and_cannot_be_edited(serve: Any) -> None:
    world = serve(POLICY)
    with Visitor(world) as visitor:
        text = visitor.get("/console/rules")
        assert "stanch.toml:6" in text
        assert "edited there" in text
        assert "/console/rules/delete" not in text
        assert "never fires" in text
        assert "can never fire: rule 1" in text
        visitor.send("/console/rules/write", 409, **rule())


def test_lint_reads_the_rules_of_the_database_too(world: World, visitor: Visitor) -> None:
    visitor.send("/console/rules/write", 303, **rule(tool_pattern="Raed"))
    text = visitor.get("/console/rules")
    assert "did you mean &#39;Read&#39;" in text


def test_a_broken_policy_says_so(serve: Any) -> None:
    world = serve(POLICY)
    with Visitor(world) as visitor:
        world.write_policy(POLICY.replace('"allow"', '"alow"'))
        world.service.refresh()
        text = visitor.get("/console/rules")
    assert "alow" in text


def test_the_matrix_says_what_the_first_rule_by_name_says(world: World, visitor: Visitor) -> None:
    world.group("reader", {"tool_pattern": "@write", "action": "deny"})
    text = visitor.get("/console/rules?group=reader")
    row = text.split('<code dir="ltr">write_file</code>')[1].split("</tr>")[0]
    assert row.index("deny") < row.index("ask")
    assert "MCP server filesystem" in text


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"command": "ls docs && rm -rf data"}, ("rm -rf data", "asks a person", "Rule 6 of default")),
        (
            {"tool": "read_file", "arguments": '{"path": "secrets/key"}'},
            ("denied", "Rule 1 of default", "is mandatory"),
        ),
        (
            {"tool": "read_file", "arguments": '{"path": "/etc/hosts"}'},
            ("The smallest change that would allow it", "/console/rules?group=default", "path = &#34;/etc/hosts&#34;"),
        ),
        ({"tool": "read_file", "arguments": '{"path": "notes.md"}'}, ("allowed", "read grant")),
    ],
)
def test_a_call_is_tried(world: World, visitor: Visitor, fields: dict[str, Any], shown: tuple[str, ...]) -> None:
    before = world.dump()
    text = visitor.send("/console/rules/try", in_page=True, group="default", **fields)
    for one in shown:
        assert one in text, one
    assert "<!doctype html>" in visitor.send("/console/rules/try", group="default", **fields)
    assert world.dump() == before


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tool": "read_file", "arguments": "{"},
        {"tool": "read_file", "arguments": "[]"},
        {"tool": "read_file", "arguments": "{}"},
        {"tool": "read_file", "arguments": "[" * 100_000},
        {"command": "ls", "source": "moon"},
    ],
)
def test_a_call_that_cannot_be_tried_says_why(visitor: Visitor, fields: dict[str, Any]) -> None:
    text = visitor.client.post("/console/rules/try", data={"key": visitor.key, "group": "default", **fields}).text
    assert 'class="problem"' in text or "denied" in text


def test_bypasses_are_shown_and_ended(world: World, visitor: Visitor) -> None:
    session = world.session()
    made = world.service.bypasses.give(session, BypassWish(600), category=None, server=None, by=BY)
    text = visitor.get("/console/bypasses")
    assert "calls of any kind" in text
    assert session in text
    visitor.send("/console/bypasses/end", 303, session=session, bypass=made.id)
    assert "None holds" in visitor.get("/console/bypasses")
    assert audited(world, made.id)[-1] == ("ada", "console", "bypass.end")
    visitor.send("/console/bypasses/end", 409, session=session, bypass=made.id)


def test_the_audit_log_is_shown_and_verified(world: World, visitor: Visitor) -> None:
    world.post("/api/approval/rules", {"tool_pattern": "Read", "action": "allow", "note": "SECRETNOTE"}, 201)
    text = visitor.get("/console/audit")
    assert "rule.create" in text
    assert "SECRETNOTE" not in text
    assert "The log is whole" in visitor.send("/console/audit/verify", in_page=True)
    world.rows("UPDATE audit SET actor = 'eve' WHERE seq = 2")
    assert "is not whole" in visitor.send("/console/audit/verify")
