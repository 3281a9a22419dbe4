"""vakt: policies have no order, a fitting `deny` always wins, and there are two answers.

Every rule is an allowing policy whose number is its place in the walk. A guard of our own keeps what vakt's guard does
(it lists every policy that fits) and hands out the lowest number instead of a yes: the first match. Tests are vakt's
own rules: `Eq`, `StartsWith`, `EndsWith`, `Contains`, and a `RegexMatch` for a pattern with two fixed ends.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bench.rivals.forms import Form, path_form, slashed, tool_form
from bench.workload import GROUPS, BenchCall, BenchRule, walk_order

DISTRIBUTION = "vakt"


class Rival:
    def __init__(self, rules: list[BenchRule]) -> None:
        vakt: Any = import_module("vakt")
        tests: Any = import_module("vakt.rules")

        def test(form: Form) -> Any:
            if form.kind == "any":
                return tests.Any()
            if form.kind == "ends":
                return tests.RegexMatch(form.expression())
            kinds = {"equal": "Eq", "prefix": "StartsWith", "suffix": "EndsWith", "contains": "Contains"}
            return getattr(tests, kinds[form.kind])(form.start or form.end)

        self._inquiry = vakt.Inquiry
        self._checker = vakt.RulesChecker()
        self._guard = vakt.Guard(vakt.MemoryStorage(), self._checker)
        self._groups: dict[str, tuple[Any, list[str]]] = {}
        for group in GROUPS:
            storage = vakt.MemoryStorage()
            walk = walk_order(rules, group)
            for place, rule in enumerate(walk):
                context = {"source": tests.Eq(rule.source)} if rule.source else {}
                if rule.path:
                    context["path"] = test(path_form(rule.path))
                storage.add(
                    vakt.Policy(
                        place,
                        actions=[test(tool_form(rule.tool))],
                        subjects=[tests.Eq(rule.agent) if rule.agent else tests.Any()],
                        resources=[tests.Any()],
                        effect="allow",
                        context=context,
                    )
                )
            self._groups[group] = (storage, [rule.action for rule in walk])

    def decide(self, call: BenchCall) -> str:
        storage, actions = self._groups[call.group]
        context = {"source": call.source, "path": slashed(call)}
        inquiry = self._inquiry(action=call.tool, subject=call.agent, resource="it", context=context)
        fits = self._checker.fits
        fitting = [
            policy.uid
            for policy in storage.find_for_inquiry(inquiry, self._checker)
            if fits(policy, "actions", inquiry.action, inquiry)
            and fits(policy, "subjects", inquiry.subject, inquiry)
            and fits(policy, "resources", inquiry.resource, inquiry)
            and self._guard.check_context_restriction(policy, inquiry)
        ]
        return actions[min(fitting)] if fitting else "ask"
