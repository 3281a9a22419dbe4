"""Random policies, contexts and calls, for the oracle and the engine alike.

Settles what is drawn: few names, so that rules, grants and targets meet often. Paths are stamped by hand and commands
read by hand, since what a path means and what a command does are other questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from stanch.paths.pattern import parse
from stanch.policy.rule import Group, Rule
from stanch.values.call import Below, CallEffect, EffectClass, JudgedCall, Stamp, ToolCall
from stanch.values.command import Command, Weight
from stanch.values.decision import Effect
from stanch.values.reason import Code
from tests.oracle.oracle import OracleContext, OraclePolicy, OracleRule

NAMES = ["a", "b", "secrets", "data", "memory", "a.py", ".env", "x.tar.py", "é", "ab"]
GLOBS = ["*", "**", "a*", "*.py", "?", "*a", "a*b", "*e*", ".*", "**", "**x", "???*", "*.tar.py"]
TOOLS = ["read_file", "write_file", "edit_file", "execute_cmd", "ask_user", "mcp__fs__get", "mcp__fs__put", "vendor"]
TOOL_PATTERNS = [
    *TOOLS, "*", "**", "mcp__*", "*_file", "read_*", "mcp__fs__*", "v*r", "@read", "@write", "@execute", "@network",
]  # fmt: skip
COMMAND_TOOLS = ["execute_cmd", "execute_cmd", "*", "mcp__*", "@read", "@write", "@execute", "vendor"]
BUILTIN = {"read_file", "write_file", "edit_file", "execute_cmd", "ask_user"}
SHAPES: dict[str, tuple[EffectClass, ...]] = {
    "read_file": (EffectClass.READ,),
    "write_file": (EffectClass.WRITE,),
    "edit_file": (EffectClass.READ, EffectClass.WRITE),
    "execute_cmd": (EffectClass.EXECUTE,),
    "ask_user": (),
}
WORKSPACE = "/w"
PROGRAMS = ["git", "git", "gitk", "rm", "cat", "run"]
PROGRAM_PATTERNS = ["git", "git", "rm", "cat", "run", "./run", "*", "g*", "*t"]
WORDS = ["push", "push", "pull", "a", "ab", "b"]
WORD_PATTERNS = ["push", "a", "*", "*", "p*", "*b"]
FOUND = (EffectClass.READ, EffectClass.READ, EffectClass.WRITE, EffectClass.WRITE, EffectClass.NETWORK)


@dataclass(frozen=True, slots=True)
class World:
    """One policy for both engines, and who asks under it."""

    groups: dict[str, Group]
    policy: OraclePolicy
    context: OracleContext


def path(random: Random) -> str:
    """A canonical path, often inside the workspace."""
    depth = random.randrange(0, 5)
    parts = [random.choice(NAMES) for _ in range(depth)]
    return "/" + "/".join((["w"] if random.random() < 0.7 else []) + parts)


def pattern(random: Random) -> str:
    """An absolute path pattern."""
    parts = [random.choice(NAMES if random.random() < 0.6 else GLOBS) for _ in range(random.randrange(0, 5))]
    return "/" + "/".join((["w"] if random.random() < 0.5 else []) + parts)


def world(random: Random) -> World:
    """A policy of up to three groups, some broken, with a context that may name one that is not there."""
    names = ["default", *random.sample(["g", "h"], random.randrange(0, 3))]
    groups: dict[str, Group] = {}
    oracle: dict[str, tuple[OracleRule, ...] | None] = {}
    for name in names:
        drawn = [_rule(random, name, number) for number in range(1, random.choice([1, 2, 4, 8, 20]))]
        broken = random.random() < 0.02
        groups[name] = Group(name, rules=tuple(_engine_rule(r) for r in drawn), broken="policy:1" if broken else None)
        oracle[name] = None if broken else tuple(drawn)
    grants = [path(random) for _ in range(random.randrange(0, 3))]
    context = OracleContext(
        random.choice([None, "default", "g", "h", "gone"]),
        random.choice([None, "bot", "other"]),
        random.choice([None, "cron", "cli"]),
        tuple(grants[:1]),
        tuple(grants[1:]),
        random.choice([WORKSPACE, "/w/a", "/b"]),
        WORKSPACE,
    )
    return World(groups, OraclePolicy(oracle), context)


def call(random: Random) -> JudgedCall:
    """A stamped call of a declared, a built-in or an undeclared tool."""
    tool = random.choice(TOOLS)
    declared = tool in BUILTIN or random.random() < 0.5
    classes: Any = SHAPES.get(tool)
    if not declared:
        classes = tuple(EffectClass)
    elif classes is None:
        classes = tuple(random.sample(list(EffectClass), random.randrange(0, 4)))
    stamps = [_stamp(random) for _ in range(random.choice([1, 1, 1, 2, 3]))]
    effects: list[CallEffect] = []
    for stamp in stamps:
        for cls in classes:
            bare = cls in (EffectClass.EXECUTE, EffectClass.NETWORK) and declared
            if cls is EffectClass.EXECUTE and declared and random.random() < 0.8:
                effects.extend(_commands(random))
            else:
                effects.append(CallEffect(cls, "", None if bare else stamp))
    return JudgedCall(ToolCall(tool, {}), tuple(effects), declared, tool in BUILTIN)


def _commands(random: Random) -> list[CallEffect]:
    """What one command line does: each simple command, and behind it the effects that it was found to have."""
    effects = []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        command = _command(random)
        effects.append(CallEffect(EffectClass.EXECUTE, command=command))
        for _ in range(random.choice([0, 1, 1, 2])):
            cls, weight = random.choice(FOUND), random.choice([Weight.SURE, Weight.SURE, Weight.POSSIBLE])
            stamp = None if cls is EffectClass.NETWORK else _stamp(random)
            below = None
            if stamp is not None and random.random() < 0.2:
                inside = (stamp.key.rstrip("/") + "/" + random.choice(NAMES) for _ in range(random.randrange(0, 4)))
                below = Below(tuple(inside), random.random() < 0.8)
            effects.append(CallEffect(cls, stamp=stamp, command=command, below=below, found=weight))
    return effects


def _command(random: Random) -> Command:
    """One simple command in plain words, of a program of whose options nothing is known."""
    words = [None if random.random() < 0.05 else random.choice(WORDS) for _ in range(random.randrange(0, 4))]
    values = ["1", "1", "2", None]
    assignments = [(random.choice("AB"), random.choice(values)) for _ in range(random.choice([0, 0, 1, 2]))]
    return Command(
        "a command",
        "" if random.random() < 0.03 else random.choice(PROGRAMS),
        random.choice(["", "", "", "./", "/opt/"]),
        tuple(words),
        assignments=tuple(assignments),
        needs=frozenset(name for name, _ in assignments if random.random() < 0.4),
        inert=random.random() < 0.2,
        unread="a word" if random.random() < 0.05 else "",
    )


def _command_pattern(random: Random) -> str:
    assigned = [f"{random.choice('AB')}={random.choice('12')}" for _ in range(random.choice([0, 0, 1]))]
    words = [random.choice(WORD_PATTERNS) for _ in range(random.choice([0, 1, 1, 2]))]
    return " ".join([*assigned, random.choice(PROGRAM_PATTERNS), *words])


def _stamp(random: Random) -> Stamp:
    where = path(random)
    refused = random.choice([Code.PATH_UNREADABLE, Code.PATH_PROTECTED]) if random.random() < 0.03 else None
    return Stamp(where, where, where, False, random.choice([0, 1, 1, 2]), refused)


def _rule(random: Random, group: str, number: int) -> OracleRule:
    action: Any = random.choices(["allow", "ask", "deny"], [5, 3, 3])[0]
    command = _command_pattern(random) if random.random() < 0.3 else None
    where = pattern(random) if random.random() < (0.6 if command is None else 0.4) else None
    if command is not None and where is not None:
        where = random.choice(["/", "/w", "/w/a", where])
    return OracleRule(
        number,
        group,
        random.choice(TOOL_PATTERNS if command is None else COMMAND_TOOLS),
        action,
        random.choice([100, 100, 5, 10, 999]),
        where,
        command,
        random.choice([None, None, None, "bot"]),
        random.choice([None, None, None, "cron"]),
        action != "allow" and random.random() < 0.2,
    )


def _engine_rule(rule: OracleRule) -> Rule:
    return Rule(
        rule.id, rule.group, rule.tool, Effect(rule.action), rule.priority, rule.path, rule.command, rule.agent,
        rule.source, rule.mandatory, None, "", () if rule.path is None else (parse(rule.path, "/", "/h"),),
    )  # fmt: skip
