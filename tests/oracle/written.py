"""Rules, effects and answers, written down in few words for the tests of the oracle."""

from __future__ import annotations

from stanch.values.call import CallEffect, EffectClass, JudgedCall, Stamp, ToolCall
from stanch.values.reason import Code
from tests.oracle.oracle import EffectWord, OracleContext, OracleDecision, OraclePolicy, OracleRule

READ, WRITE, EXECUTE, NETWORK = EffectClass.READ, EffectClass.WRITE, EffectClass.EXECUTE, EffectClass.NETWORK


def rule(
    tool: str,
    action: EffectWord,
    *,
    id: int = 1,  # noqa: A002
    group: str = "default",
    priority: int = 100,
    path: str | None = None,
    command: str | None = None,
    agent: str | None = None,
    source: str | None = None,
    mandatory: bool = False,
) -> OracleRule:
    return OracleRule(id, group, tool, action, priority, path, command, agent, source, mandatory)


def on(cls: EffectClass, path: str | None = None, *, links: int = 1) -> CallEffect:
    stamp = None if path is None else Stamp(requested=path, path=path, key=path, links=links)
    return CallEffect(cls, argument="path", stamp=stamp)


def refused(cls: EffectClass, code: Code) -> CallEffect:
    return CallEffect(cls, argument="path", stamp=Stamp(requested="x", refusal=code))


def call(tool: str, *effects: CallEffect, declared: bool = True, builtin: bool = False) -> JudgedCall:
    return JudgedCall(ToolCall(tool, {}), effects, declared=declared, builtin=builtin)


def context(
    *,
    group: str | None = None,
    agent: str | None = None,
    source: str | None = None,
    reads: tuple[str, ...] = (),
    writes: tuple[str, ...] = (),
) -> OracleContext:
    return OracleContext(group, agent, source, reads, writes, working_directory="/w", workspace="/w")


def default(*rules: OracleRule) -> OraclePolicy:
    return OraclePolicy({"default": rules})


def denied(rule_id: int = 1, group: str = "default") -> OracleDecision:
    return OracleDecision("deny", Code.RULE, False, (group, rule_id))


def asked(rule_id: int = 1, group: str = "default", *, mandated: bool = False) -> OracleDecision:
    return OracleDecision("ask", Code.RULE, mandated, (group, rule_id))


def allowed(rule_id: int = 1, group: str = "default") -> OracleDecision:
    return OracleDecision("allow", Code.RULE, False, (group, rule_id))


NO_MATCH = OracleDecision("ask", Code.NO_MATCH)
