"""A batch of 1,000 probes, against as many single decisions of the whole gate on the same real files, in the same run.

Both sides have one session, with the same rules and the same stand-ins for the layers that nothing is configured for.
A decision of the gate is one call from its arguments to its decision and reason, with its line in a buffered audit file
or without one; a probe is made, stamped and judged. Before anything is timed, each probe's verdict is held against the
decision on the same file. The last row has a layer besides that never answers: what counts is how long the batch takes
beyond its deadline.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.gate import QUIET, WHO, Quiet
from bench.pool import progress
from bench.rows import Row, Target, duration, save
from bench.workload import FILE_TOOLS, GROUPS, TREE, BenchRule, make_rules
from stanch.app.engine import Engine, Session
from stanch.app.judging import Judge
from stanch.host.audit import AuditLog
from stanch.judge.question import Probe
from stanch.paths.canonical import Canonicaliser
from stanch.paths.pattern import parse
from stanch.policy.document import Policy
from stanch.policy.known_tools import known
from stanch.policy.layers import NO_OBJECTION, Layer, LayerAnswer
from stanch.policy.rule import Group, Rule
from stanch.values.call import JudgedCall
from stanch.values.context import RunContext
from stanch.values.decision import Effect
from stanch.values.identity import Source
from stanch.values.reason import LayerId
from stanch.values.verdict import Cause, Face, State, Verdict

SIZES = (10, 100, 1000, 10000)
PROBES = 1000
DEADLINE = 1.0
FACES = {Face.READ: "read_file", Face.WRITE: "write_file"}


@dataclass(frozen=True, slots=True)
class Hanging:
    """A policy that answers once the benchmark is over."""

    over: threading.Event = field(default_factory=threading.Event)
    id: LayerId = LayerId.CALLER_POLICY
    immediate: bool = False

    def ask(self, call: JudgedCall) -> LayerAnswer:
        self.over.wait()
        return NO_OBJECTION


def run(quick: bool) -> list[Row]:
    """A row for each face and number of rules, and one for a layer that hangs."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        root = os.path.realpath(name)
        paths = _files(root)
        with AuditLog(Path(root) / "audit", buffered=True) as audit:
            for face in Face:
                for size in SIZES:
                    progress(f"judge: {face.value}, {size} rules")
                    noting, silent = (_session(root, size, face, log) for log in (audit, None))
                    rows += _measured(face, size, noting, silent, paths, 9 if quick else 41)
            progress("judge: a layer that hangs")
            rows.append(_hung(root, paths, 2 if quick else 5))
    save("judge", rows, quick=quick)
    return rows


def _files(root: str) -> list[str]:
    """Absolute paths of real files, of six components each."""
    above = root.count("/")
    folders = [folder for folder in TREE.folders if folder.count("/") + above == 5 and not folder.startswith("/etc")]
    paths = []
    for number in range(PROBES):
        folder = root + folders[number % len(folders)]
        os.makedirs(folder, exist_ok=True)
        paths.append(f"{folder}/f{number}.py")
        Path(paths[-1]).touch()
    return paths


def _session(root: str, size: int, face: Face, audit: AuditLog | None, *more: Layer) -> Session:
    groups: dict[str, list[Rule]] = {group: [] for group in GROUPS}
    for rule in make_rules(size):
        groups[rule.group].append(_rule(root, rule, FACES[face]))
    policy = Policy(
        "bench.toml", "bench", root, {name: Group(name, rules=tuple(rules)) for name, rules in groups.items()}, known()
    )
    group, agent, source = WHO
    quiet = [Quiet(layer) for layer in QUIET if layer not in {one.id for one in more}]
    engine = Engine(policy, Canonicaliser(), audit)
    context = RunContext(group, working_directory="/nowhere")
    return engine.session(context=context, agent=agent, source=Source(source), layers=[*quiet, *more])


def _rule(root: str, rule: BenchRule, tool: str) -> Rule:
    """The rule of the workload; one about some file tool is about the one that is probed."""
    path = None if rule.path is None else root + rule.path
    patterns = () if path is None else (parse(path, "/", "/"),)
    named = tool if rule.tool in FILE_TOOLS else rule.tool
    action = Effect(rule.action)
    return Rule(
        rule.id, rule.group, named, action, rule.priority, path, None, rule.agent, rule.source, patterns=patterns
    )


def _measured(face: Face, size: int, noting: Session, silent: Session, paths: list[str], rounds: int) -> list[Row]:
    judge = Judge([silent])
    tool = FACES[face]

    def batch() -> list[Verdict]:
        return judge.batch([Probe(face, "attachment", path) for path in paths])

    def decided(session: Session) -> Callable[[], None]:
        def all_of_them() -> None:
            for path in paths:
                session.check(tool, {"path": path}).reason  # noqa: B018 - the reason is part of what is timed

        return all_of_them

    for path, verdict in zip(paths, batch(), strict=True):
        wanted = _expected(face, silent, path)
        if verdict.state is not wanted or verdict.judged != os.path.realpath(path):
            raise SystemExit(f"judge: {face.value} {path}: {verdict.state.value}, and the gate says {wanted.value}")
    steps: tuple[Callable[[], object], ...] = (batch, decided(noting), decided(silent))
    timings: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        for step, spent in zip(steps, timings, strict=True):
            start = time.perf_counter()
            step()
            spent.append(time.perf_counter() - start)
    mine, *others = timings
    what = f"judge: a batch of {PROBES:,} probes, {face.value}"
    with_line, without_line = others
    return [
        _row(what, "as many single decisions of the gate", f"{size:,} rules", mine, with_line, Target("at most", 1.0)),
        _row(what, "the same, without an audit line", f"{size:,} rules", mine, without_line, None),
    ]


def _expected(face: Face, session: Session, path: str) -> State:
    """What the gate's own answer means on this face."""
    decision = session.check(FACES[face], {"path": path})
    if decision.effect is Effect.DENY:
        return State.DENY
    if decision.effect is Effect.ASK and face is Face.WRITE:
        return State.ASK
    return State.MANDATED_ASK if decision.mandated else State.NO_OBJECTION


def _hung(root: str, paths: list[str], rounds: int) -> Row:
    hanging = Hanging()
    judge = Judge([_session(root, 100, Face.READ, None, hanging)])
    probes = [Probe(Face.READ, "attachment", path) for path in paths]
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        verdicts = judge.batch(probes, deadline_at=(time.time() + DEADLINE) * 1000)
        taken.append(time.perf_counter() - start)
        if any(one.state is State.UNANSWERABLE and one.cause is not Cause.TIMED_OUT for one in verdicts):
            raise SystemExit("judge: a layer that hangs was not told apart")
    hanging.over.set()
    return _row(
        f"judge: the same batch, one layer hangs, a deadline of {DEADLINE:g} s",
        "the deadline",
        "100 rules",
        taken,
        [DEADLINE] * rounds,
        Target("at most", 1.1),
    )


def _row(what: str, rival: str, sizes: str, spent: list[float], other: list[float], target: Target | None) -> Row:
    ratios = [mine / theirs for mine, theirs in zip(spent, other, strict=True)]
    shown = f"{duration(statistics.median(spent) * 1e6)} to {duration(statistics.median(other) * 1e6)}"
    median = statistics.median(ratios)
    return Row(what, rival, sizes, median, "times its time", target, shown, min(ratios), max(ratios))
