"""Workloads with their right answers, kept in `bench/.cache` so that every worker process reads the same file."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from bench import reference, workload
from bench.reference import Proposer, Reference, tool_matcher
from bench.workload import MIXES, BenchCall, BenchRule

CACHE = Path(__file__).parent / ".cache"


@dataclass(frozen=True, slots=True)
class Stored:
    """Rules, and for each mix the calls and what the reference answers."""

    rules: list[BenchRule]
    calls: dict[str, list[BenchCall]]
    answers: dict[str, list[str]]


def prepare(rule_count: int, call_count: int) -> Path:
    """The file of the workload of that size; makes it if there is none for the present code."""
    code = b"".join(Path(str(module.__file__)).read_bytes() for module in (workload, reference))
    version = hashlib.sha256(code).hexdigest()[:12]
    path = CACHE / f"rules-{rule_count}-{call_count}-{version}.json"
    if not path.exists():
        rules = workload.make_rules(rule_count)
        plain = Reference(rules)
        proposer = Proposer(plain)
        matcher = functools.cache(tool_matcher)
        calls: dict[str, list[BenchCall]] = {}
        answers: dict[str, list[str]] = {}
        for mix in MIXES:
            calls[mix] = workload.make_calls(
                rules, mix, call_count, proposer.first_match, lambda pattern, tool: matcher(pattern)(tool) is not None
            )
            answers[mix] = [plain.answer(call)[1] for call in calls[mix]]
        CACHE.mkdir(exist_ok=True)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps({"rules": rules, "calls": calls, "answers": answers}), encoding="utf-8")
        draft.replace(path)
    return path


def load(path: Path) -> Stored:
    """Read a workload. Names are interned, as those of a live session are; every path is a string of its own."""
    data = json.loads(path.read_text(encoding="utf-8"))
    name = sys.intern
    calls = {
        mix: [
            BenchCall(name(group), name(agent), name(source), name(tool), file)
            for group, agent, source, tool, file in rows
        ]
        for mix, rows in data["calls"].items()
    }
    return Stored([BenchRule(*row) for row in data["rules"]], calls, data["answers"])
