"""Does the oracle say of commands what the specification says? Small examples worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from stanch.values.call import Below, CallEffect, EffectClass, JudgedCall
from stanch.values.command import Command, Weight
from stanch.values.reason import Code
from tests.oracle.oracle import OracleDecision, decide, fits
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
    rule,
)

UNREAD = OracleDecision("ask", Code.COMMAND_UNREAD, mandated=True)
MISSING = OracleDecision("ask", Code.GROUP_MISSING, mandated=True)


def command(text: str, **more: Any) -> Command:
    """A command of plain words; `?` is a word that is not known."""
    program, *words = text.split()
    place, slash, name = program.rpartition("/")
    return Command(text, name, place + slash, tuple(None if word == "?" else word for word in words), **more)


def run(*commands: Command | CallEffect, tool: str = "execute_cmd") -> JudgedCall:
    """A call of simple commands, each followed by the effects that it was found to have."""
    effects: list[CallEffect] = []
    last = Command("")
    for one in commands:
        last = one if isinstance(one, Command) else last
        effects.append(CallEffect(EXECUTE, command=one) if isinstance(one, Command) else one._replace(command=last))
    return call(tool, *effects, builtin=tool == "execute_cmd")


def does(cls: EffectClass, path: str | None, weight: Weight = Weight.SURE, below: Below | None = None) -> CallEffect:
    return on(cls, path)._replace(found=weight, below=below)


@pytest.mark.parametrize(
    ("pattern", "text", "refuses", "allows"),
    [
        ("git", "git push a", True, True),
        ("git push", "git push", True, True),
        ("git push", "git push a", True, False),
        ("git push", "git a push", False, False),
        ("git push *", "git push", True, True),
        ("git push *", "git push a b", True, True),
        ("git * b", "git push a b", True, True),
        ("git * b", "git b a", True, False),
        ("git p*", "git pull", True, True),
        ("git p*", "git", False, False),
        ("git", "/opt/git push", True, False),
        ("git", "gitk push", False, False),
        ("./run", "./run a", True, True),
        ("./run", "/opt/run a", True, False),
        ("./run", "run a", True, True),
        ("*", "./run ?", True, True),
        ("git push", "git ?", False, False),
        ("git *", "git ?", True, True),
    ],
)
def test_a_pattern_refuses_what_it_names_and_allows_what_it_covers(
    pattern: str, text: str, refuses: bool, allows: bool
) -> None:
    assert fits(rule("execute_cmd", "deny", command=pattern), command(text), named=False) is refuses
    assert fits(rule("execute_cmd", "ask", command=pattern), command(text), named=False) is refuses
    assert fits(rule("execute_cmd", "allow", command=pattern), command(text), named=False) is allows


def test_assignments_of_a_pattern_are_held_against_those_of_the_command() -> None:
    allow, deny = (rule("execute_cmd", action, command="A=1 git *") for action in ("allow", "deny"))
    for values, refuses, allows in (("1", True, True), ("2", False, False), ("12", True, False), ("21", True, True)):
        given = command("git push", assignments=tuple(("A", value) for value in values))
        assert (fits(deny, given, named=False), fits(allow, given, named=False)) == (refuses, allows), values
    assert not fits(allow, command("git push"), named=False)


def test_rules_with_a_command_stand_in_the_order_of_all_rules() -> None:
    push, log = run(command("git push")), run(command("git log"))
    policy = default(rule("@execute", "deny", id=1, command="git push"), rule("execute_cmd", "allow", id=2))
    assert decide(policy, context(), push) == denied(1)
    assert decide(policy, context(), log) == allowed(2)
    assert decide(default(rule("execute_cmd", "allow", command="git log")), context(), push) == NO_MATCH
    late = default(rule("execute_cmd", "allow", id=1), rule("execute_cmd", "deny", id=2, command="git push"))
    assert decide(late, context(), push) == allowed(1)
    must = default(
        rule("execute_cmd", "allow", id=1), rule("execute_cmd", "ask", id=2, command="git push", mandatory=True)
    )
    assert decide(must, context(), push) == asked(2, mandated=True)


def test_a_call_is_allowed_only_if_every_command_in_it_is() -> None:
    policy = default(
        rule("execute_cmd", "allow", id=1, command="git *"), rule("execute_cmd", "deny", id=2, command="rm")
    )
    assert decide(policy, context(), run(command("git log"), command("git push"))) == allowed(1)
    assert decide(policy, context(), run(command("git log"), command("cat a"))) == NO_MATCH
    assert decide(policy, context(), run(command("cat a"), command("rm a"))) == denied(2)


def test_what_cannot_be_known_is_a_mandated_ask_unless_a_deny_speaks() -> None:
    unread = run(command("git push", unread="a word"))
    assert decide(default(rule("execute_cmd", "allow")), context(), unread) == UNREAD
    assert decide(default(rule("@execute", "deny")), context(), unread) == denied()
    assert decide(default(rule("execute_cmd", "allow")), context(group="gone"), unread) == UNREAD
    assert decide(default(rule("execute_cmd", "allow")), context(group="gone"), run(command("git push"))) == MISSING
    assert decide(default(), context(writes=("/",)), unread) == UNREAD


def test_a_variable_that_changes_what_runs_is_one_that_the_rule_sets() -> None:
    needing = run(command("git push", assignments=(("A", "1"),), needs=frozenset("A")))
    assert decide(default(rule("execute_cmd", "allow")), context(), needing) == UNREAD
    assert decide(default(rule("execute_cmd", "allow", command="git *")), context(), needing) == UNREAD
    assert decide(default(rule("execute_cmd", "allow", command="A=1 git *")), context(), needing) == allowed()
    assert decide(default(rule("execute_cmd", "ask", command="A=1 git *")), context(), needing) == UNREAD


def test_a_built_in_that_does_nothing_needs_no_rule_beside_another() -> None:
    policy = default(
        rule("execute_cmd", "allow", id=1, command="git *"), rule("execute_cmd", "deny", id=2, command="*")
    )
    echo = command("echo a", inert=True)
    nothing = OracleDecision("allow", Code.NOTHING_BY_ITSELF)
    assert decide(policy, context(), run(echo)) == denied(2)
    assert decide(policy, context(), run(echo, command("git log"))) == nothing
    named = default(rule("execute_cmd", "ask", id=1, command="echo"), rule("execute_cmd", "allow", id=2))
    assert decide(named, context(), run(command("git log"), echo)) == asked(1)


def test_code_that_is_no_command_asks_where_a_rule_about_commands_refuses() -> None:
    code = call("run_code", on(EXECUTE), builtin=True)
    assert decide(default(rule("@execute", "allow", id=1)), context(), code) == allowed()
    for action in ("deny", "ask"):
        strict = default(rule("@execute", "allow", id=1), rule("execute_cmd", action, id=2, command="rm *"))
        assert decide(strict, context(), code) == UNREAD
    other = default(rule("@execute", "allow", id=1), rule("Bash", "deny", id=2, command="rm *"))
    assert decide(other, context(), code) == allowed()
    assert decide(default(rule("@execute", "deny", id=1)), context(), code) == denied()


def test_a_write_that_a_command_was_found_to_do_needs_a_rule_and_a_read_does_not() -> None:
    policy = default(rule("execute_cmd", "allow", id=1), rule("write_file", "allow", id=2, path="/w/build"))
    assert decide(policy, context(), run(command("cat a"), does(READ, "/x"))) == allowed(1)
    assert decide(policy, context(), run(command("cp a b"), does(WRITE, "/x"))) == NO_MATCH
    assert decide(policy, context(), run(command("cp a b"), does(WRITE, "/w/build/b"))) == allowed(1)
    granted = decide(policy, context(writes=("/x",)), run(command("cp a b"), does(WRITE, "/x")))
    assert granted.effect == "allow"
    assert decide(policy, context(group="gone"), run(command("cat a"), does(READ, "/x"))) == MISSING


def test_rules_about_paths_and_the_network_reach_what_commands_do() -> None:
    policy = default(
        rule("@read", "deny", id=1, path="/w/secrets"),
        rule("@network", "ask", id=2),
        rule("Bash", "deny", id=3, path="/w/private"),
        rule("@execute", "allow", id=4),
    )
    assert decide(policy, context(), run(command("cat a"), does(READ, "/w/secrets/a"))) == denied(1)
    assert decide(policy, context(), run(command("curl a"), does(NETWORK, None))) == asked(2)
    assert decide(policy, context(), run(command("cat a"), does(READ, "/w/private/a"), tool="Bash")) == denied(3)
    assert decide(policy, context(), run(command("cat a"), does(READ, "/w/private/a"))) == allowed(4)


def test_a_rule_with_both_speaks_of_what_such_a_command_does_to_that_path() -> None:
    policy = default(
        rule("@write", "allow", id=1, path="/w/src", command="sed *"),
        rule("@write", "deny", id=2, path="/w/src"),
        rule("execute_cmd", "allow", id=3),
    )
    assert decide(policy, context(), run(command("sed a"), does(WRITE, "/w/src/a"))) == allowed(3)
    assert decide(policy, context(), run(command("tee a"), does(WRITE, "/w/src/a"))) == denied(2)
    assert (
        decide(default(rule("execute_cmd", "allow", command="rm *", path="/w")), context(), run(command("rm a")))
        == NO_MATCH
    )


def test_what_lies_below_and_is_closed_is_a_mandated_ask() -> None:
    policy = default(rule("@read", "deny", id=1, path="/w/secrets"), rule("execute_cmd", "allow", id=2))
    refused = OracleDecision("ask", Code.COVERS_REFUSED, True, ("default", 1))
    for keys, complete, wanted in (
        (("/w/a", "/w/secrets"), True, refused),
        (("/w/a",), True, allowed(2)),
        (("/w/a",), False, OracleDecision("ask", Code.COVERS_TOO_MUCH, mandated=True)),
    ):
        reaching = run(command("grep a"), does(READ, "/w", below=Below(keys, complete)))
        assert decide(policy, context(), reaching) == wanted


def test_a_possible_effect_counts_against_the_command_only() -> None:
    policy = default(rule("*", "deny", id=1, path="/w/secrets"), rule("execute_cmd", "allow", id=2))
    may_write = OracleDecision("ask", Code.MAY_WRITE_CLOSED, True, ("default", 1))
    for cls, path, wanted in (
        (READ, "/w/secrets/a", denied(1)),
        (WRITE, "/w/secrets/a", may_write),
        (READ, "/w/a", allowed(2)),
        (WRITE, "/w/a", allowed(2)),
    ):
        assert decide(policy, context(), run(command("tool a"), does(cls, path, Weight.POSSIBLE))) == wanted
