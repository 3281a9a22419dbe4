"""The whole gate on real files of depth 6, against one `os.path.realpath` of the same path in the same run.

What is timed is one call from its arguments to its decision: the path made canonical by the kernel, the tool's effects,
all nine layers asked (the rules in earnest, the seven that nothing is configured for by a stand-in in this process
that has no objection), relaxation, the decision, its reason, and its line in a buffered audit file. The second row has
the full trace on top. Every answer is checked against the reference walk first.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.pool import progress
from bench.reference import Reference
from bench.rows import Row, Target, duration, save
from bench.workload import FILE_TOOLS, GROUPS, TREE, BenchCall, BenchRule, make_rules
from stanch.app.engine import Engine, Session
from stanch.host.audit import AuditLog
from stanch.paths.canonical import Canonicaliser
from stanch.paths.pattern import parse
from stanch.policy.declared import DeclaredEffect, Tool
from stanch.policy.document import Policy
from stanch.policy.layers import NO_OBJECTION, ORDER, LayerAnswer
from stanch.policy.rule import Group, Rule
from stanch.values.call import EffectClass, JudgedCall
from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.identity import Source
from stanch.values.reason import LayerId

SIZES = (10, 100, 1000, 10000)
FILES = 600
WHO = ("dev", "agent3", "web")
QUIET = frozenset(ORDER) - {LayerId.INTEGRITY, LayerId.PERSISTED_RULES}


@dataclass(frozen=True, slots=True)
class Quiet:
    """A layer that is there, is asked, and has no objection."""

    id: LayerId
    immediate: bool = True

    def ask(self, call: JudgedCall) -> LayerAnswer:
        return NO_OBJECTION


def run(quick: bool) -> list[Row]:
    """Both rows at every size."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        root = os.path.realpath(name)
        calls = _files(root)
        for size in SIZES:
            progress(f"gate: {size} rules")
            with AuditLog(Path(root) / "audit", buffered=True) as audit:
                rows += _measured(size, _session(root, size, audit), root, calls, 5 if quick else 25)
    save("gate", rows, quick=quick)
    return rows


def _files(root: str) -> list[tuple[str, str]]:
    """(tool, absolute path) of real files whose paths have six components."""
    above = root.count("/")
    folders = [folder for folder in TREE.folders if folder.count("/") + above == 5 and not folder.startswith("/etc")]
    calls = []
    for number in range(FILES):
        folder = root + folders[number % len(folders)]
        os.makedirs(folder, exist_ok=True)
        path = f"{folder}/f{number}.py"
        Path(path).touch()
        calls.append((FILE_TOOLS[number % len(FILE_TOOLS)], path))
    return calls


def _session(root: str, size: int, audit: AuditLog) -> Session:
    groups: dict[str, list[Rule]] = {group: [] for group in GROUPS}
    for rule in make_rules(size):
        groups[rule.group].append(_rule(root, rule))
    reads = (DeclaredEffect(EffectClass.READ, "path"),)
    policy = Policy(
        "bench.toml",
        "bench",
        root,
        {name: Group(name, rules=tuple(rules)) for name, rules in groups.items()},
        {name: Tool(name, reads) for name in FILE_TOOLS},
    )
    engine = Engine(policy, Canonicaliser(), audit)
    group, agent, source = WHO
    layers = [Quiet(layer) for layer in QUIET]
    elsewhere = RunContext(group, working_directory="/nowhere")
    return engine.session(context=elsewhere, agent=agent, source=Source(source), layers=layers)


def _rule(root: str, rule: BenchRule) -> Rule:
    path = _below(root, rule.path)
    patterns = () if path is None else (parse(path, "/", "/"),)
    action = Effect(rule.action)
    return Rule(
        rule.id, rule.group, rule.tool, action, rule.priority, path, None, rule.agent, rule.source, patterns=patterns
    )


def _below(root: str, path: str | None) -> str | None:
    return None if path is None else root + path


def _measured(size: int, session: Session, root: str, calls: list[tuple[str, str]], rounds: int) -> list[Row]:
    reference = Reference([rule._replace(path=_below(root, rule.path)) for rule in make_rules(size)])

    def plain(tool: str, path: str) -> None:
        session.check(tool, {"path": path}).reason  # noqa: B018 - the reason is part of what is timed

    def traced(tool: str, path: str) -> None:
        session.check(tool, {"path": path}, trace=True).reason  # noqa: B018

    def rival(_: str, path: str) -> None:
        os.path.realpath(path)

    for tool, path in calls:
        decision = session.check(tool, {"path": path}, trace=True)
        wanted = reference.decide(BenchCall(*WHO, tool, os.path.realpath(path)))
        if decision.effect.value != wanted or len(decision.trace) != len(ORDER):
            raise SystemExit(f"gate: {tool} {path}: {decision.effect.value}, and the reference says {wanted}")
    timings: dict[Callable[[str, str], None], list[float]] = {plain: [], traced: [], rival: []}
    for _ in range(rounds):
        for step, spent in timings.items():
            start = time.perf_counter()
            for tool, path in calls:
                step(tool, path)
            spent.append((time.perf_counter() - start) / len(calls) * 1e6)
    return [
        _row("the whole gate, tracing off", size, timings[plain], timings[rival], 0.4),
        _row("the whole gate with full trace", size, timings[traced], timings[rival], 0.8),
    ]


def _row(what: str, size: int, spent: list[float], rival: list[float], limit: float) -> Row:
    ratios = [mine / other for mine, other in zip(spent, rival, strict=True)]
    shown = f"{duration(statistics.median(spent))} to {duration(statistics.median(rival))}"
    return Row(
        what,
        "one os.path.realpath",
        f"{size:,} rules",
        statistics.median(ratios),
        "times its time",
        Target("at most", limit),
        shown,
        min(ratios),
        max(ratios),
    )
