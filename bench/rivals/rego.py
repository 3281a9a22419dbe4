"""Rego in Rust: regorus, as it is republished on the package index.

Rego has one ordered form, the chain of `else`: each group is one generated module whose rule yields the place of the
first match. Rows in `data` with the least place taken, which people write first, are several times slower. Tests are
`==`, `startswith`, `endswith` and `contains`; only `/d/*.py` needs a regular expression, after both ends have fitted.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from bench.rivals.forms import Form, path_form, slashed, tool_form
from bench.workload import GROUPS, BenchCall, BenchRule, walk_order

DISTRIBUTION = "celine-regorus"
KNOWN_AS = "regorus"


def _tests(name: str, form: Form) -> list[str]:
    start, end = json.dumps(form.start), json.dumps(form.end)
    first, last = f"startswith({name}, {start})", f"endswith({name}, {end})"
    exact = f"regex.match({json.dumps('^' + form.expression())}, {name})"
    return {
        "any": [],
        "equal": [f"{name} == {start}"],
        "prefix": [first],
        "suffix": [last],
        "contains": [f"contains({name}, {start})"],
        "ends": [first, last, exact] if form.flat else [first, last],
    }[form.kind]


def module_text(rules: list[BenchRule], group: str) -> str:
    written = [f"package {group}_rules", "import rego.v1"]
    walk = walk_order(rules, group)
    for place, rule in enumerate(walk):
        tests = _tests("input.tool", tool_form(rule.tool))
        tests += [f'input.agent == "{rule.agent}"'] if rule.agent else []
        tests += [f'input.source == "{rule.source}"'] if rule.source else []
        tests += _tests("input.path", path_form(rule.path)) if rule.path else []
        written.append(f"{'else' if place else 'place'} := {place} if {{ {'; '.join(tests) or 'true'} }}")
    return "\n".join([*written, f"else := {len(walk)} if true"])


class Rival:
    def __init__(self, rules: list[BenchRule]) -> None:
        regorus: Any = import_module("regorus")
        self._groups: dict[str, tuple[Any, str, list[str]]] = {}
        for group in GROUPS:
            engine = regorus.Engine()
            engine.add_policy(f"{group}.rego", module_text(rules, group))
            actions = [rule.action for rule in walk_order(rules, group)]
            self._groups[group] = (engine, f"data.{group}_rules.place", [*actions, "ask"])

    def decide(self, call: BenchCall) -> str:
        engine, query, actions = self._groups[call.group]
        engine.set_input({"agent": call.agent, "source": call.source, "tool": call.tool, "path": slashed(call)})
        return actions[int(engine.eval_rule(query))]
