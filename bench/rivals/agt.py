"""Microsoft's agent-governance-toolkit-core: first match by priority, but one condition to a rule.

A rule may ask for agent, source, tool and path at once, so the call's parts are handed over joined. A rule with an
exact tool and no path is one equality (`eq`) on just the parts that it names; every other rule is one regular
expression (`matches`) over all four. The context holds only the joined fields that the group's rules use. `ask` is
its `audit`. Above 512 patterns it slows down by itself: it leaves compiling to `re`, which keeps no more than that.
"""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from typing import Any

from bench.rivals.forms import path_form, slashed, tool_form
from bench.workload import GROUPS, BenchCall, BenchRule, walk_order

DISTRIBUTION = "agent-governance-toolkit-core"

SEPARATOR = "\x1f"
ANY = f"[^{SEPARATOR}]*"
ANSWERS = {"allow": "allow", "deny": "deny", "audit": "ask"}
ACTIONS = {answer: action for action, answer in ANSWERS.items()}


def _condition(rule: BenchRule) -> tuple[str, str, str]:
    tool = tool_form(rule.tool)
    if tool.kind == "equal" and rule.path is None:
        named = {"agent": rule.agent, "source": rule.source, "tool": rule.tool}
        return (
            "+".join(key for key in named if named[key]),
            "eq",
            SEPARATOR.join(value for value in named.values() if value),
        )
    glob = ANY.join(re.escape(part) for part in rule.tool.split("*"))
    head = SEPARATOR.join((rule.agent or ANY, rule.source or ANY, glob, ""))
    return "call", "matches", "^" + head + (path_form(rule.path).expression() if rule.path else "")


class Rival:
    def __init__(self, rules: list[BenchRule]) -> None:
        warnings.simplefilter("ignore", DeprecationWarning)
        policies: Any = import_module("agent_os.policies")
        self._groups: dict[str, tuple[Any, list[str]]] = {}
        for group in GROUPS:
            walk = walk_order(rules, group)
            written = []
            for place, rule in enumerate(walk):
                field, operator, value = _condition(rule)
                condition = {"field": field, "operator": operator, "value": value}
                action = ACTIONS[rule.action]
                written.append(
                    {"name": str(place), "priority": len(walk) - place, "action": action, "condition": condition}
                )
            document = policies.PolicyDocument(name=group, defaults={"action": "audit"}, rules=written)
            fields = sorted({_condition(rule)[0] for rule in walk} - {"call"})
            self._groups[group] = (policies.PolicyEvaluator(policies=[document]), fields)

    def decide(self, call: BenchCall) -> str:
        evaluator, fields = self._groups[call.group]
        context = {"call": SEPARATOR.join((call.agent, call.source, call.tool, slashed(call)))}
        for field in fields:
            context[field] = SEPARATOR.join([getattr(call, part) for part in field.split("+")])
        return ANSWERS[evaluator.evaluate(context).action]
