"""From a parsed policy file to a policy, with every problem and its line.

Settles what a policy file means. Does not read the file, nor ask the disk about paths: the caller hands over the
document, the canonical workspace, and a function that says where a path really lies.
INVARIANT: a document that cannot be read whole is never read as an emptier one: what depends on the broken piece is
refused with `policy_invalid`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from stanch.paths import pattern
from stanch.policy import shapes
from stanch.policy.approval_shapes import is_address
from stanch.policy.context_tables import context_of, grant_problems
from stanch.policy.declared import DeclaredEffect, Form, Tool
from stanch.policy.document import Document, Policy, TierSpec, Webhook
from stanch.policy.known_tools import known
from stanch.policy.layer_tables import tables_of
from stanch.policy.memory_table import consolidation_of
from stanch.policy.organization_source import organization_of
from stanch.policy.places import Places, rule_lines
from stanch.policy.policies import SECONDS
from stanch.policy.providers import agents_of, providers_of
from stanch.policy.routing import proxying_of, working_problems
from stanch.policy.rule import ACTIONS, CLASSES, DEFAULT_GROUP, DEFAULT_PRIORITY, Group, Rule, no_class
from stanch.policy.seeds import DESCRIPTION, NAME, ROWS
from stanch.policy.shell.matching import command_pattern
from stanch.policy.tier_building import assignment_problems, tiers_of
from stanch.values.call import Category, EffectClass
from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.fault import Problem

Anchor = Callable[[str], str]
"""Where a canonical-looking path really lies, links followed; the same path where that cannot be told."""
SCOPES = {
    "tiers": "tiers",
    "models": "tiers",
    "organization": "organization",
    "agents": "runtime",
    "providers": "runtime",
    "proxy": "runtime",
    "memory": "runtime",
}


def build(document: Document, *, workspace: str, home: str, anchor: Anchor = str) -> Policy:
    """The policy of a document. Problems are in the policy; nothing is raised for them."""
    return _Builder(document, workspace, home, anchor).build()


class _Builder:
    """Turns one document into a policy, gathering problems as it goes."""

    def __init__(self, document: Document, workspace: str, home: str, anchor: Anchor) -> None:
        self.document, self.workspace, self.home, self.anchor = document, workspace, home, anchor
        self.problems: list[Problem] = [document.syntax] if document.syntax else []
        self._places: Places | None = None
        self._anchored: dict[str, str] = {}
        self.bad: set[shapes.Location] = set()

    @property
    def places(self) -> Places:
        if self._places is None:
            self._places = Places(self.document.text)
        return self._places

    def build(self) -> Policy:
        values = self.document.values
        if self.document.syntax is None:
            for where, message in shapes.violations(shapes.POLICY, values, shapes.PolicyShape):
                self.problem(where, message)
                self.bad.update(where[:n] for n in range(1, len(where) + 1))
        groups = self.groups()
        tools = self.tools()
        agents, sources = self.defaults()
        tiers = self.tiers()
        models = self.models()
        webhook = self.webhook()
        runtime = self.below("agents"), self.below("providers"), self.below("proxy")
        tables = tables_of(
            values, self.bad, self.parsed, lambda at: f"{self.document.file}:{self.places.line(at)}", self.problem
        )
        organization, wrong_source = organization_of(values, self.bad)
        memory, wrong_memory = consolidation_of(values, self.bad)
        for where, message in (*working_problems(*runtime, self.bad), *wrong_source, *wrong_memory):
            self.problem(where, message)
        problems = sorted(self.problems, key=lambda p: p.line)
        wrong = {p.scope: f"{self.document.file}:{p.line}" for p in reversed(problems) if not p.warning}
        wrong_patience = ("layer_timeout_ms",) in self.bad
        return Policy(
            file=self.document.file,
            version=hashlib.sha256(self.document.text.encode()).hexdigest()[:12],
            workspace=self.workspace,
            groups=MappingProxyType(groups),
            tools=MappingProxyType(tools),
            agent_defaults=MappingProxyType(agents),
            source_defaults=MappingProxyType(sources),
            default_tier=models.get("default_tier"),
            assignments=MappingProxyType(dict(models.get("assignments", {}))),
            tiers=MappingProxyType(tiers),
            broken_tiers=wrong.get("policy", wrong.get("tiers")),
            organization=organization,
            expires_after=self.below("approvals", "expires_after") if ("approvals",) not in self.bad else {},
            webhook=webhook,
            tables=tables,
            layer_seconds=SECONDS if wrong_patience else values.get("layer_timeout_ms", SECONDS * 1000) / 1000,
            on_layer_failure=ACTIONS.get(str(values.get("on_layer_failure", "ask")), Effect.ASK),
            agents=MappingProxyType(agents_of(runtime[0], self.bad)),
            providers=MappingProxyType(providers_of(runtime[1], self.bad)),
            proxying=proxying_of(runtime[2], runtime[1], self.bad),
            memory=memory,
            problems=tuple(problems),
            broken_runtime=wrong.get("policy", wrong.get("runtime")),
            broken=wrong.get("policy"),
        )

    def problem(self, where: shapes.Location, message: str, *, warning: bool = False) -> None:
        said = ".".join(str(part) for part in where)
        self.problems.append(Problem(self.places.line(where), said, message, self.scope(where), warning))

    def scope(self, where: shapes.Location) -> str:
        """What depends on a place: one group, the tiers, the agents, the organization's rules, or the whole file."""
        if where[:1] == ("groups",) and len(where) > 1 and isinstance(where[1], int):
            found = self.document.values["groups"][where[1]]
            name = found.get("id") if isinstance(found, dict) else None
            return f"group:{name}" if isinstance(name, str) and name else "policy"
        return SCOPES.get(str(where[0]) if where else "", "policy")

    def groups(self) -> dict[str, Group]:
        written = self.document.values.get("groups", [])
        found: dict[str, Group] = {}
        written = written if isinstance(written, list) else []
        lines = self.lines(written)
        for at, group in enumerate(written):
            name = group.get("id") if isinstance(group, dict) else None
            if not isinstance(name, str) or not name:
                continue
            if name in found:
                self.problem(("groups", at, "id"), f"the group '{name}' stands twice; give one of them another id")
            rules = self.rules(name, at, group, lines)
            broken = next((p for p in self.problems if p.scope == f"group:{name}" and not p.warning), None)
            place = f"{self.document.file}:{broken.line}" if broken else None
            text = {key: v for key in ("name", "description") if isinstance(v := group.get(key, ""), str)}
            found[name] = Group(name, rules=() if broken else rules, broken=place, **text)
        found.setdefault(DEFAULT_GROUP, self.seeded())
        return found

    def lines(self, written: list[Any]) -> Callable[[int, int], int]:
        """The line of a rule by the places of its group and of itself."""
        counts = [len(g["rules"]) if isinstance(g, dict) and isinstance(g.get("rules"), list) else 0 for g in written]
        quick = rule_lines(self.document.text, sum(counts))
        if quick is None:
            return lambda group, rule: self.places.line(("groups", group, "rules", rule))
        starts = [sum(counts[:at]) for at in range(len(counts))]
        return lambda group, rule: quick[starts[group] + rule]

    def rules(self, name: str, at: int, group: Any, line: Callable[[int, int], int]) -> tuple[Rule, ...]:
        made = []
        if not isinstance(group.get("rules", ()), (list, tuple)):
            return ()
        for number, row in enumerate(group.get("rules", ())):
            where = ("groups", at, "rules", number)
            if where in self.bad:
                continue
            made.append(self.rule(name, number + 1, row, where, line(at, number)))
        return tuple(made)

    def rule(self, group: str, number: int, row: Mapping[str, Any], where: shapes.Location, line: int) -> Rule:
        action, tool, path = ACTIONS[row["action"]], row["tool"], row.get("path")
        if tool.startswith("@") and tool not in CLASSES:
            self.problem((*where, "tool"), no_class(tool))
        mandatory = row.get("mandatory", False)
        if mandatory and action is Effect.ALLOW:
            self.problem((*where, "mandatory"), "an allow rule cannot be mandatory; take 'mandatory' out")
        patterns = self.patterns(path, where) if path is not None else ()
        if row.get("command") is not None:
            try:
                command_pattern(row["command"])
            except ValueError as why:
                self.problem((*where, "command"), f"'command' is no pattern: {why}")
        return Rule(
            number, group, tool, action, row.get("priority", DEFAULT_PRIORITY), path, row.get("command"),
            row.get("agent"), row.get("source"), mandatory, row.get("note"), f"{self.document.file}:{line}", patterns,
        )  # fmt: skip

    def patterns(self, path: str, where: shapes.Location) -> tuple[pattern.PathPattern, ...]:
        try:
            return self.parsed(path)
        except pattern.BadPattern as why:
            self.problem((*where, "path"), f"'path' is {why}" if str(why).startswith(("an ", "a ")) else str(why))
            return ()

    def parsed(self, path: str) -> tuple[pattern.PathPattern, ...]:
        """The patterns of a path. Raises `BadPattern`."""
        written = pattern.parse(path, self.workspace, self.home)
        head = written.literal
        if head and head not in self._anchored:
            self._anchored[head] = self.anchor(head)
        return anchored(written, self._anchored.get)

    def tools(self) -> dict[str, Tool]:
        declared = self.document.values.get("tools", {})
        found = dict(known())
        for name, row in declared.items() if isinstance(declared, dict) else ():
            if ("tools", name) in self.bad:
                continue
            if name in found and found[name].builtin:
                self.problem(("tools", name), f"'{name}' is Stanch's own tool and declared already; take this out")
                continue
            effects = tuple(self.effect(row) for row in row["effects"])
            category = Category(row["category"]) if "category" in row else None
            found[name] = Tool(name, effects, category, False, row.get("expands_home"))
        return found

    def effect(self, row: Mapping[str, Any]) -> DeclaredEffect:
        cls = EffectClass(row["class"])
        usual = {EffectClass.EXECUTE: Form.COMMAND, EffectClass.NETWORK: Form.URL}.get(cls, Form.PATH)
        argument, form, optional = row.get("argument", ""), Form(row.get("form", usual)), row.get("optional", False)
        return DeclaredEffect(cls, argument, form, optional, "", row.get("recursive", False), row.get("only", ""))

    def defaults(self) -> tuple[dict[str, RunContext], dict[str, RunContext]]:
        found: tuple[dict[str, RunContext], dict[str, RunContext]] = ({}, {})
        written = self.document.values.get("groups", ())
        groups = written if isinstance(written, list) else ()
        known_groups = {g.get("id") for g in groups if isinstance(g, dict)} | {DEFAULT_GROUP}
        for kind, into in zip(("agent", "source"), found, strict=True):
            for name, row in self.below("sessions", "defaults", kind).items():
                where = ("sessions", "defaults", kind, name)
                if where in self.bad:
                    continue
                for key, message in grant_problems(row):
                    self.problem((*where, *key), message)
                group = row.get("security_group")
                if group is not None and group not in known_groups:
                    message = f"there is no group '{group}' in this file"
                    self.problem((*where, "security_group"), message, warning=True)
                into[name] = context_of(row)
        return found

    def webhook(self) -> Webhook | None:
        """Where new requests for approval are told; None where the file does not say."""
        row = self.below("approvals", "webhook")
        if not row or ("approvals",) in self.bad:
            return None
        if not is_address(row["url"]):
            self.problem(
                ("approvals", "webhook", "url"), "'url' must be an address that begins with http:// or https://"
            )
        return Webhook(row["url"], row["secret_env"])

    def below(self, *keys: str) -> Mapping[str, Any]:
        """The table at a place in the document; an empty one where there is none."""
        at: Any = self.document.values
        for key in keys:
            at = at.get(key) if isinstance(at, dict) else None
        return at if isinstance(at, dict) else {}

    def tiers(self) -> dict[str, TierSpec]:
        """The tiers that can be read, and the shipped ones."""
        return tiers_of(
            self.below("tiers"),
            self.bad,
            self.patterns,
            lambda where: f"{self.document.file}:{self.places.line(where)}",
        )

    def models(self) -> Mapping[str, Any]:
        """The `[models]` table, every tier that it names known."""
        if ("models",) in self.bad:
            return {}
        written = self.below("models")
        for where, message, warning in assignment_problems(written, self.below("tiers"), self.places.line):
            self.problem(where, message, warning=warning)
        return dict(written)

    def seeded(self) -> Group:
        rules = tuple(
            Rule(at, DEFAULT_GROUP, patterns=self.patterns(row.path, ("groups",)) if row.path else (), **row.fields())
            for at, row in enumerate(ROWS, 1)
        )
        return Group(DEFAULT_GROUP, NAME, DESCRIPTION, rules)


def anchored(written: pattern.PathPattern, anchor: Callable[[str], str | None]) -> tuple[pattern.PathPattern, ...]:
    """The pattern, and where its head leads through a link, the same pattern behind that link."""
    real = anchor(written.literal) if written.literal else None
    return (written,) if real in (None, written.literal) else (written, written.rebased(str(real)))
