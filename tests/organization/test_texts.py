"""Which texts are an organization's rules? Whatever is wrong with one of them, none of it is taken."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.policy.organization_rules import MOST_BYTES, MOST_RULES, Unreadable, meaningless, rows_of, rules_of
from stanch.values.decision import Effect

GOOD = {"tool": "@write", "action": "deny"}


@pytest.mark.parametrize(
    "text",
    [
        '{"rules": [{"tool": "@write", "action": "deny"}]}',
        '{"version": 1, "rules": [{"tool": "@write", "action": "deny"}]}',
        '[{"tool": "@write", "action": "deny"}]',
        '\ufeff[{"tool": "@write", "action": "deny"}]',
        "[[rules]]\ntool = '@write'\naction = 'deny'\n",
        "version = 1\nrules = [{ tool = '@write', action = 'deny' }]\n",
    ],
)
def test_rules_are_read_in_each_form(text: str) -> None:
    assert rows_of(text.encode()) == (GOOD,)


@pytest.mark.parametrize("text", ["[]", '{"rules": []}', "rules = []"])
def test_no_rules_are_rules_too(text: str) -> None:
    assert rows_of(text.encode()) == ()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", 0),
        (" ", 0),
        ("{}", 0),
        ("null", 0),
        ("5", 0),
        ('"rules"', 0),
        ("NaN", 0),
        ("<html><body>502 Bad Gateway</body></html>", 0),
        ('{"rules": {}}', 0),
        ('{"rules": null}', 0),
        ('{"rules": [], "version": 2}', 0),
        ('{"rules": [], "colour": 1}', 0),
        ('{"rules": [], "rules": []}', 0),
        ('{"rules": [{"tool": "a", "action": "deny"}', 0),
        ("[" * 200_000, 0),
        ('{"a":' * 100_000, 0),
        ('{"rules": [5]}', 1),
        ('[{"tool": "a", "action": "deny"}, {"tool": "a"}]', 2),
        ('[{"tool": "a", "action": "deny"}, {"tool": "a", "action": "maybe"}]', 2),
        ('[{"tool": "a", "action": "deny"}, {"tool": "a", "action": "deny", "colour": 1}]', 2),
        ('[{"tool": "a", "action": "deny", "id": 7}, {"tool": "b", "action": "deny", "id": 7}]', 1),
        ('[{"tool": "a", "action": "deny", "action": "allow"}]', 0),
        ('[{"tool": "a", "action": "deny", "path": "*/../x"}]', 1),
        ('[{"tool": "@raed", "action": "deny"}]', 1),
        ('[{"tool": "a", "action": "allow", "mandatory": true}]', 1),
        ('[{"tool": "a", "action": "deny", "priority": "5"}]', 1),
        ('[{"tool": "a", "action": "deny", "priority": 1e400}]', 1),
        ('[{"tool": "a", "action": "deny", "source": "crom"}]', 1),
        ('[{"tool": "", "action": "deny"}]', 1),
        ('[{"tool": "a", "action": "deny", "note": "\\ud800"}]', 1),
        (f'[{{"tool": "a", "action": "deny", "priority": 1{"0" * 6000}}}]', 0),
    ],
)  # fmt: skip
def test_one_mistake_takes_all_rules_away(text: str, rule: int) -> None:
    with pytest.raises(Unreadable) as found:
        rows_of(text.encode())
    assert found.value.rule == rule


def test_a_bad_rule_among_many_is_named_by_its_number() -> None:
    rows = [GOOD] * 400 + [{"tool": "x", "acton": "deny"}] + [GOOD] * 10
    with pytest.raises(Unreadable) as found:
        rows_of(json.dumps(rows).encode())
    assert found.value.rule == 401


def test_no_more_is_taken_than_there_is_room_for() -> None:
    with pytest.raises(Unreadable):
        rows_of(b" " * MOST_BYTES + b"[]")
    with pytest.raises(Unreadable):
        rows_of(json.dumps([{"tool": "a", "action": "deny"}] * (MOST_RULES + 1)).encode())
    with pytest.raises(Unreadable):
        rows_of(b"\xff\xfe[]")


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_whatever_comes_is_rules_or_unreadable(raw: bytes) -> None:
    with contextlib.suppress(Unreadable):
        rows_of(raw)


@given(st.integers(min_value=1, max_value=200))
def test_no_beginning_of_a_text_is_taken_for_the_whole(cut: int) -> None:
    raw = json.dumps({"rules": [GOOD, {**GOOD, "path": "/**/keys"}, {"tool": "@network", "action": "ask"}]}).encode()
    with pytest.raises(Unreadable):
        rows_of(raw[: min(cut, len(raw) - 1)])


def test_rules_are_meant_in_the_workspace_and_numbered() -> None:
    (rule,) = rules_of(({**GOOD, "path": "src"},), workspace="/repo", home="/home/dev")
    assert [str(one) for one in rule.patterns] == ["/repo/src"]
    assert (rule.place, rule.group, rule.action) == ("organization:1", "organization", Effect.DENY)


def test_an_allow_is_one_that_says_nothing() -> None:
    assert meaningless((GOOD, {"tool": "a", "action": "allow"}, {"tool": "a", "action": "require"})) == (2,)
