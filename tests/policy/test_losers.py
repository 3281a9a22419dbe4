"""Is every rule that lost named, with the one reason why it lost?"""

from __future__ import annotations

from stanch.policy.index import RuleIndex
from stanch.policy.losers import Contest, contest
from stanch.policy.rule import Rule
from stanch.values.call import CallEffect, EffectClass, Stamp
from stanch.values.decision import Effect
from stanch.values.reason import Code
from tests.policy.test_lint import policy_of, rule, rules


def held(*rows: dict[str, object], path: str | None = "/w/docs/a", folded: bool = False) -> Contest:
    """The contest of the rules for a call of `read_file`, or of `run_code` where there is no path."""
    index = RuleIndex(policy_of(rules(*rows)).groups["default"].rules)
    if path is None:
        effect = CallEffect(EffectClass.EXECUTE)
        return contest(index, "run_code", effect, declared=True, agent="x", source=None)
    effect = CallEffect(EffectClass.READ, "path", Stamp(path, path, path, folded))
    return contest(index, "read_file", effect, declared=True, agent="x", source="cli")


def reasons(found: Contest) -> list[tuple[int, str]]:
    return [(loser.rule.id, loser.why) for loser in found.behind]


def test_rules_behind_the_first_say_what_put_it_first() -> None:
    found = held(
        rule("read_file", "allow", "docs"),
        rule("@read", "ask"),
        rule("*", "ask", mandatory=True),
        rule("@read", "deny", "docs", mandatory=True),
        rule("read_file", "deny", "docs/a", mandatory=True),
    )
    assert found.first is not None
    assert found.first.id == 4
    assert reasons(found) == [
        (5, "stands after mandatory rule 4"),
        (3, "a mandatory deny, rule 4, is read before every mandatory ask"),
        (1, "mandatory rule 4 is read first"),
        (2, "mandatory rule 4 is read first"),
    ]
    found = held(rule("read_file", "allow"), rule("@read", "deny"))
    assert reasons(found) == [(2, "a later rule than 1, with the same priority 100")]


def test_a_near_rule_names_the_one_condition_that_failed() -> None:
    found = held(
        rule("read_file", "deny", "secrets"),
        rule("read_file", "deny", agent="y"),
        rule("read_file", "deny", source="cron"),
        rule("read_file", "deny", "secrets", agent="y"),
        rule("write_file", "deny", "docs"),
        rule("read_file", "ask", "docs"),
    )
    assert found.first is not None
    assert found.first.id == 6
    assert [(one.rule.id, one.condition, one.why) for one in found.nearly] == [
        (1, "path", "its path /w/secrets does not cover /w/docs/a"),
        (2, "agent", "holds for the agent y only; here it is x"),
        (3, "source", "holds for the source cron only; here it is cli"),
    ]


def test_the_nearest_paths_are_kept_where_there_are_many() -> None:
    far = [rule("read_file", "deny", f"/far/{n}") for n in range(12)]
    found = held(*far, rule("read_file", "deny", "docs/b"))
    assert found.first is None
    assert found.further == 3
    assert found.nearly[-1].rule.path == "docs/b"


def test_effects_without_a_path_or_a_command() -> None:
    rows = [rule("@execute", "allow", command="git *"), rule("@execute", "deny", "docs"), rule("@execute", "ask")]
    found = held(*rows, path=None)
    assert found.first is not None
    assert [(one.rule.id, one.condition, one.why) for one in found.nearly] == [
        (2, "path", "has a path condition, and this effect touches no path"),
        (1, "command", "holds for the command git * only, and this effect runs no command"),
    ]
    assert held(*rows).nearly == ()


def test_letter_case_is_ignored_where_the_file_system_ignores_it() -> None:
    first = held(rule("read_file", "deny", "DOCS"), folded=True).first
    assert isinstance(first, Rule)
    assert first.action is Effect.DENY
    assert held(rule("read_file", "deny", "DOCS")).first is None


def test_a_refused_path_has_no_contest() -> None:
    index = RuleIndex(policy_of(rules(rule("read_file", "deny"))).groups["default"].rules)
    effect = CallEffect(EffectClass.READ, "path", Stamp("a\0b", refusal=Code.PATH_UNREADABLE))
    assert contest(index, "read_file", effect, declared=True, agent=None, source=None) == Contest(None, (), (), 0)
