"""PyCasbin: explicit priority means the first match, but an effect is `allow` or `deny` only.

One enforcer per group holds the walk's rules in order; `ask` rides in an extra column that `enforce_ex` hands back with
the rule that decided. The matcher asks for the tool first, since most rules fail there; its one custom function finds
a ready-made test for each pattern (equality, prefix, suffix), which is cheaper than the built-in `keyMatch` family.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bench.rivals.forms import path_form, slashed, tool_form
from bench.workload import GROUPS, BenchCall, BenchRule, walk_order

DISTRIBUTION = "pycasbin"

MODEL = """
[request_definition]
r = agent, source, tool, path
[policy_definition]
p = priority, agent, source, tool, path, eft, action
[policy_effect]
e = priority(p.eft) || deny
[matchers]
m = fits(r.tool, p.tool) && (p.agent == "" || r.agent == p.agent) && (p.source == "" || r.source == p.source) && \
(p.path == "" || fits(r.path, p.path))
"""


class Rival:
    def __init__(self, rules: list[BenchRule]) -> None:
        casbin: Any = import_module("casbin")
        tests = {rule.tool: tool_form(rule.tool).test() for rule in rules}
        tests |= {rule.path: path_form(rule.path).test() for rule in rules if rule.path}

        def fits(text: str, pattern: str) -> bool:
            return tests[pattern](text)

        self._groups: dict[str, Any] = {}
        for group in GROUPS:
            model = casbin.Model()
            model.load_model_from_text(MODEL)
            enforcer = casbin.Enforcer(model)
            enforcer.add_function("fits", fits)
            enforcer.model["p"]["p"].policy.extend(
                [
                    *(str(place), rule.agent or "", rule.source or "", rule.tool, rule.path or ""),
                    *("allow" if rule.action == "allow" else "deny", rule.action),
                ]
                for place, rule in enumerate(walk_order(rules, group))
            )
            self._groups[group] = enforcer

    def decide(self, call: BenchCall) -> str:
        _, rule = self._groups[call.group].enforce_ex(call.agent, call.source, call.tool, slashed(call))
        return str(rule[6]) if rule else "ask"
