"""Does the oracle say what the specification says? Small examples worked out by hand; the engine plays no part here."""

from __future__ import annotations

import pytest

from stanch.values.call import EffectClass
from stanch.values.reason import Code
from tests.oracle.oracle import OracleDecision, OraclePolicy, decide, glob_matches, is_under, pattern_covers
from tests.oracle.written import (
    EXECUTE,
    NETWORK,
    NO_MATCH,
    READ,
    WRITE,
    allowed,
    asked,
    call,
    context,
    default,
    denied,
    on,
    refused,
    rule,
)

# --- Patterns and paths (ground 1.3) ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("/w/secrets", "/w/secrets/a/b", True),
        ("/w/secrets/*", "/w/secrets/a/b", True),
        ("/w/secrets/**", "/w/secrets/a/b", True),
        ("/w/secrets/**", "/w/secrets", True),
        ("/w/secrets/*", "/w/secrets", False),
        ("/**/secrets", "/secrets", True),
        ("/**/secrets", "/a/b/secrets/c", True),
        ("/**/secrets", "/a/my-secrets", False),
        ("/a/*/c", "/a/b/c", True),
        ("/a/*/c", "/a/b/b/c", False),
        ("/a/**/c", "/a/c", True),
        ("/a/?.txt", "/a/é.txt", True),
        ("/a/?.txt", "/a/.txt", False),
        ("/a/*.txt", "/a/.txt", True),
        ("/app/[slug]/page.tsx", "/app/[slug]/page.tsx", True),
        ("/app/[slug]/page.tsx", "/app/s/page.tsx", False),
        ("/data", "/data-evil", False),
        ("/e\u0301", "/\u00e9/x", True),
        ("/", "/anything", True),
        ("/*", "/", False),
    ],
)
def test_path_pattern(pattern: str, path: str, covered: bool) -> None:
    assert pattern_covers(pattern, path) is covered


def test_a_directory_is_under_itself_and_a_longer_name_is_not() -> None:
    assert is_under("/data", "/data")
    assert is_under("/data/x", "/data")
    assert not is_under("/data-evil", "/data")
    assert not is_under("/", "/data")


@pytest.mark.parametrize(
    ("pattern", "tool", "matches"),
    [
        ("*", "anything", True),
        ("mcp__gmail__*", "mcp__gmail__send", True),
        ("mcp__gmail__*", "mcp__slack__send", False),
        ("*_file", "read_file", True),
        ("read_fil?", "read_file", False),
        ("read_file", "read_files", False),
    ],
)
def test_tool_pattern(pattern: str, tool: str, matches: bool) -> None:
    assert glob_matches(pattern, tool) is matches


# --- Order (gate 2.1) ------------------------------------------------------------------------------------------------


def test_no_match_is_an_ordinary_ask() -> None:
    assert decide(default(), context(), call("ping")) == NO_MATCH


def test_lower_priority_first_then_lower_id() -> None:
    policy = default(rule("*", "deny", id=1, priority=20), rule("*", "allow", id=3, priority=10))
    assert decide(policy, context(), call("ping")) == allowed(3)
    policy = default(rule("*", "deny", id=2), rule("*", "allow", id=1))
    assert decide(policy, context(), call("ping")) == allowed(1)


def test_the_sessions_group_comes_before_default_whatever_the_priorities() -> None:
    policy = OraclePolicy({"default": (rule("*", "deny", priority=1),), "g": (rule("*", "allow", group="g"),)})
    assert decide(policy, context(group="g"), call("ping")) == allowed(1, "g")
    assert decide(policy, context(), call("ping")) == denied()


def test_a_mandatory_deny_of_default_beats_an_allow_of_the_sessions_group() -> None:
    policy = OraclePolicy(
        {"default": (rule("*", "deny", priority=9999, mandatory=True),), "g": (rule("*", "allow", group="g"),)}
    )
    assert decide(policy, context(group="g"), call("ping")) == denied()


def test_of_mandatory_rules_the_strictest_is_read_first() -> None:
    policy = OraclePolicy(
        {
            "default": (rule("*", "deny", mandatory=True),),
            "g": (rule("*", "ask", group="g", priority=1, mandatory=True),),
        }
    )
    assert decide(policy, context(group="g"), call("ping")) == denied()


def test_a_mandatory_ask_is_mandated_and_no_grant_answers_it() -> None:
    policy = default(rule("@write", "ask", mandatory=True))
    answer = decide(policy, context(writes=("/w",)), call("write_file", on(WRITE, "/w/a"), builtin=True))
    assert answer == asked(mandated=True)


def test_agent_and_source_conditions() -> None:
    policy = default(rule("*", "allow", agent="digest", source="cron"))
    assert decide(policy, context(agent="digest", source="cron"), call("ping")) == allowed()
    assert decide(policy, context(agent="digest", source="web"), call("ping")) == NO_MATCH
    assert decide(policy, context(source="cron"), call("ping")) == NO_MATCH


def test_a_rule_with_a_path_does_not_match_a_call_that_touches_no_path() -> None:
    policy = default(rule("*", "deny", path="/**"))
    assert decide(policy, context(), call("ping")) == NO_MATCH
    assert decide(policy, context(), call("fetch", on(NETWORK))) == NO_MATCH
    assert decide(policy, context(), call("fetch", on(READ, "/x"))) == denied()


# --- Groups that are gone or broken (gate 2.1) -----------------------------------------------------------------------


def test_a_missing_group_leaves_the_denials_of_default_and_asks_for_the_rest() -> None:
    policy = default(rule("read_file", "deny", id=1, path="/w/secrets"), rule("read_file", "allow", id=2))
    gone = context(group="gone")
    assert decide(policy, gone, call("read_file", on(READ, "/w/secrets/a"))) == denied()
    mandated = OracleDecision("ask", Code.GROUP_MISSING, mandated=True)
    assert decide(policy, gone, call("read_file", on(READ, "/w/a"))) == mandated
    assert decide(policy, gone, call("write_file", on(WRITE, "/w/memory/a"), builtin=True)) == mandated


def test_a_broken_group_denies_the_calls_that_depend_on_it() -> None:
    invalid = OracleDecision("deny", Code.POLICY_INVALID)
    broken = OraclePolicy({"default": (rule("*", "allow"),), "g": None})
    assert decide(broken, context(group="g"), call("ping")) == invalid
    assert decide(broken, context(), call("ping")) == allowed()
    assert decide(OraclePolicy({"default": None}), context(group="gone"), call("ping")) == invalid


# --- Effects (gate 2.0) ----------------------------------------------------------------------------------------------


def test_each_effect_is_judged_by_itself_and_the_strictest_answer_counts() -> None:
    policy = default(rule("copy", "allow", id=1, path="/w/a"), rule("@write", "deny", id=2, path="/w/b"))
    assert decide(policy, context(), call("copy", on(READ, "/w/a"), on(WRITE, "/w/b"))) == denied(2)
    assert decide(policy, context(), call("copy", on(READ, "/w/a"), on(WRITE, "/w/a"))) == allowed(1)


def test_a_class_rule_holds_its_path_against_the_targets_of_that_effect_only() -> None:
    policy = default(rule("@write", "deny", id=1, path="/w/a"), rule("*", "allow", id=2))
    assert decide(policy, context(), call("copy", on(READ, "/w/a"), on(WRITE, "/w/b"))) == allowed(2)


@pytest.mark.parametrize(("name", "cls"), [("read_file", READ), ("write_file", WRITE), ("execute_cmd", EXECUTE)])
def test_a_deny_or_ask_that_names_a_file_tool_reaches_every_tool_and_an_allow_does_not(
    name: str, cls: EffectClass
) -> None:
    other = call("other", on(cls, "/x"))
    assert decide(default(rule(name, "deny")), context(), other) == denied()
    assert decide(default(rule(name, "ask")), context(), other) == asked()
    assert decide(default(rule(name, "allow")), context(), other) == NO_MATCH
    assert decide(default(rule(name, "deny")), context(), call("other", on(NETWORK, "/x"))) == NO_MATCH
    assert decide(default(rule(name, "deny")), context(), call("other")) == NO_MATCH


def test_an_undeclared_tool_is_denied_by_class_but_allowed_only_by_name() -> None:
    unknown = call("mystery", *(on(cls, "/x") for cls in EffectClass), declared=False)
    assert decide(default(rule("@network", "deny", path="/x")), context(), unknown) == denied()
    allows = [rule(f"@{cls}", "allow", id=n) for n, cls in enumerate(EffectClass)]
    assert decide(default(*allows), context(), unknown) == NO_MATCH
    assert decide(default(rule("mystery", "allow")), context(), unknown) == allowed()
    assert decide(default(rule("mystery", "allow", path="/y")), context(), unknown) == NO_MATCH


# --- The memory exception (gate 2.1) ---------------------------------------------------------------------------------


def test_the_memory_exception_stands_between_mandatory_and_ordered_rules() -> None:
    write = call("write_file", on(WRITE, "/w/memory/a"), builtin=True)
    exempt = OracleDecision("allow", Code.MEMORY_EXCEPTION)
    assert decide(default(rule("@write", "deny")), context(), write) == exempt
    assert decide(default(rule("@write", "deny", mandatory=True)), context(), write) == denied()


def test_the_memory_exception_needs_a_built_in_write_tool_and_every_target() -> None:
    policy = default(rule("*", "deny"))
    inside, outside = on(WRITE, "/w/memory/a"), on(WRITE, "/w/memory-evil/a")
    assert decide(policy, context(), call("write_file", inside)) == denied()
    assert decide(policy, context(), call("move", inside, outside, builtin=True)) == denied()
    assert decide(policy, context(), call("read_file", on(READ, "/w/memory/a"), builtin=True)) == denied()


# --- Integrity and relaxation (gate 2.3) -----------------------------------------------------------------------------


@pytest.mark.parametrize("code", [Code.PATH_UNREADABLE, Code.PATH_PROTECTED])
def test_a_refused_path_is_denied_whatever_the_rules_say(code: Code) -> None:
    policy = default(rule("*", "allow", id=1), rule("@read", "deny", id=2, path="/w/a", priority=1))
    answer = decide(policy, context(), call("diff", on(READ, "/w/a"), refused(READ, code)))
    assert answer == OracleDecision("deny", code)


def test_read_grants_hold_for_the_working_directory_read_grants_and_write_grants() -> None:
    granted = context(reads=("/r",), writes=("/g",))
    for path in ("/w", "/w/docs/a", "/r/a", "/g/a"):
        answer = decide(default(rule("*", "ask")), granted, call("read_file", on(READ, path)))
        assert answer == OracleDecision("allow", Code.READ_GRANT)
    assert decide(default(), granted, call("read_file", on(READ, "/r-evil"))) == NO_MATCH


def test_a_write_needs_a_write_grant_and_a_tool_that_does_both_needs_both() -> None:
    granted = context(reads=("/r",), writes=("/g",))
    assert decide(default(), granted, call("t", on(WRITE, "/g/a"))) == OracleDecision("allow", Code.WRITE_GRANT)
    assert decide(default(), granted, call("t", on(WRITE, "/w/a"))) == NO_MATCH
    assert decide(default(), granted, call("t", on(WRITE, "/r/a"))) == NO_MATCH
    assert decide(default(), granted, call("t", on(READ, "/r/a"), on(WRITE, "/r/a"))) == NO_MATCH
    assert decide(default(), granted, call("t", on(READ, "/r/a"), on(WRITE, "/g/a"))).effect == "allow"


def test_a_grant_does_not_relax_a_deny_nor_an_effect_that_is_no_read_or_write() -> None:
    granted = context(writes=("/g",))
    assert decide(default(rule("@write", "deny")), granted, call("t", on(WRITE, "/g/a"))) == denied()
    assert decide(default(), granted, call("t", on(EXECUTE, "/g/a"))) == NO_MATCH


def test_a_write_to_a_file_with_more_than_one_link_keeps_its_ask() -> None:
    linked = call("t", on(WRITE, "/g/a", links=2))
    assert decide(default(), context(writes=("/g",)), linked) == OracleDecision("ask", Code.FILE_HAS_LINKS)
    assert decide(default(), context(), linked) == NO_MATCH
    assert decide(default(rule("t", "allow")), context(), linked) == allowed()


def test_a_deny_is_reported_before_an_earlier_ask_and_of_equals_the_earliest() -> None:
    policy = default(rule("t", "ask", id=1, path="/a"), rule("t", "deny", id=2, path="/b"), rule("t", "deny", id=3))
    assert decide(policy, context(), call("t", on(READ, "/a"), on(READ, "/c"), on(READ, "/b"))) == denied(3)
