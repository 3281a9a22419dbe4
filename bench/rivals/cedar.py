"""Cedar, through cedarpy: policies have no order, `forbid` always wins, and there are two answers.

So every rule becomes a `permit` of one policy set per group, parsed once and reused, and the host takes the lowest
policy number among the reasons that Cedar gives: that is the first match, and its action is the answer. Agent and exact
tool go into the policy's scope (`principal ==`, `action ==`), globs into `like`, whose `*` crosses slashes, so that
`/d/*.py` needs a second `like` that rules deeper paths out.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bench.rivals.forms import Form, path_form, slashed, tool_form
from bench.workload import GROUPS, BenchCall, BenchRule, walk_order

DISTRIBUTION = "cedarpy"


def _test(name: str, form: Form) -> str:
    if form.kind == "any":
        return ""
    if form.kind == "equal":
        return f'{name} == "{form.start}"'
    pattern = {
        "prefix": f"{form.start}*",
        "suffix": f"*{form.end}",
        "contains": f"*{form.start}*",
        "ends": f"{form.start}*{form.end}",
    }[form.kind]
    deeper = f' && !({name} like "{form.start}*/*/")' if form.flat else ""
    return f'{name} like "{pattern}"{deeper}'


def _policy(rule: BenchRule) -> str:
    tool = tool_form(rule.tool)
    principal = f' == Agent::"{rule.agent}"' if rule.agent else ""
    action = f' == Action::"{rule.tool}"' if tool.kind == "equal" else ""
    tests = [
        f'context.source == "{rule.source}"' if rule.source else "",
        "" if action else _test("context.tool", tool),
        _test("context.path", path_form(rule.path)) if rule.path else "",
    ]
    when = " && ".join(test for test in tests if test)
    return f"permit(principal{principal}, action{action}, resource)" + (f" when {{ {when} }};" if when else ";")


class Rival:
    def __init__(self, rules: list[BenchRule]) -> None:
        cedarpy: Any = import_module("cedarpy")
        self._is_authorized = cedarpy.is_authorized
        self._entities = cedarpy.Entities.from_json_str("[]")
        self._groups: dict[str, tuple[Any, list[str]]] = {}
        for group in GROUPS:
            walk = walk_order(rules, group)
            parsed = cedarpy.PolicySet.from_str("\n".join(_policy(rule) for rule in walk))
            self._groups[group] = (parsed, [rule.action for rule in walk])

    def decide(self, call: BenchCall) -> str:
        policies, actions = self._groups[call.group]
        request = {
            "principal": {"type": "Agent", "id": call.agent},
            "action": {"type": "Action", "id": call.tool},
            "resource": {"type": "Thing", "id": "it"},
            "context": {"source": call.source, "tool": call.tool, "path": slashed(call)},
        }
        reasons = self._is_authorized(request, policies, self._entities).diagnostics.reasons
        return actions[min(int(name.removeprefix("policy")) for name in reasons)] if reasons else "ask"
