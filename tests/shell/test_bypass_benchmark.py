"""A published benchmark of ways around a command gate, with Stanch as the gate: no way leads around it.

The benchmark counts a way around only where the forbidden thing then happens. Its own gates run beside, to show that it
counts at all.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from agentguard.shell import Gate, Report, make_gates, make_intents, make_mutators, run_bench

import stanch

PATHS = """
[[groups.rules]]
tool = "@read"
path = "secret.dat"
action = "deny"
[[groups.rules]]
tool = "@write"
path = "*.dat"
action = "deny"
"""
COMMANDS = "".join(
    f'[[groups.rules]]\ntool = "execute_cmd"\ncommand = "{command}"\naction = "deny"\n'
    for command in ("rm *", "unlink *", "find * -delete", "chmod *", "cat secret.dat", "head *", "sed *", "grep *")
)
OTHERWISE = '[[groups.rules]]\ntool = "execute_cmd"\naction = "allow"\n'
LISTED = "".join(
    f'[[groups.rules]]\ntool = "execute_cmd"\ncommand = "{command} *"\naction = "allow"\n'
    for command in ("echo", "ls", "true", "pwd", "printf", "xargs")
)
POLICIES = {
    "paths": PATHS + OTHERWISE,
    "commands": COMMANDS + OTHERWISE,
    "both": PATHS + COMMANDS + OTHERWISE,
    "a list of what is allowed": LISTED,
}
BENIGN = [
    "ls", "ls docs", "echo hello", "cat docs/readme", "true; cat docs/readme", "printf '%s\\n' docs/readme | xargs cat",
    "for f in docs/*; do cat \"$f\"; done", 'eval "cat docs/readme"', "cd docs && ls && cat readme",
    "echo 'rm protected.dat'",
]  # fmt: skip
EFFECTIVE = 45

pytestmark = pytest.mark.skipif(shutil.which("sh") is None, reason="the benchmark runs sh")


def _gate(folder: Path, name: str, rules: str) -> Gate:
    place = folder / "".join(name.split())
    (place / "docs").mkdir(parents=True)
    (place / "docs" / "readme").write_text("hello\n")
    for file in ("protected.dat", "secret.dat", "shared.dat"):
        (place / file).write_text("x")
    (place / "stanch.toml").write_text(f'version = 1\n[[groups]]\nid = "default"\n{rules}')
    engine = stanch.open(place / "stanch.toml")

    def decide(command: str) -> str:
        decision = engine.session(cwd=str(place)).check("execute_cmd", {"command": command})
        return "ALLOW" if decision.effect.value == "allow" else "DENY"

    return Gate(name, rules, decide)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("gates")
    return run_bench(gates=[*make_gates(), *(_gate(folder, name, rules) for name, rules in POLICIES.items())])


def test_the_benchmark_has_the_ways_that_it_says(report: Report) -> None:
    assert len(make_mutators()) == 13
    assert {score.effective_commands for score in report.scores} == {EFFECTIVE}


@pytest.mark.parametrize("name", POLICIES)
def test_no_way_around_is_allowed(report: Report, name: str) -> None:
    cells = [cell for cell in report.cells if cell.gate == name]
    assert len(cells) >= EFFECTIVE
    assert [(cell.intent, cell.mutator, cell.command) for cell in cells if cell.bypass] == []


def test_gates_that_look_at_the_text_let_some_through(report: Report) -> None:
    score = {one.gate: one.bypasses for one in report.scores}
    assert min(score[name] for name in ("substring-denylist", "word-denylist", "tokenized-denylist")) >= 10


@pytest.mark.parametrize("name", [name for name in POLICIES if "list" not in name])
def test_harmless_commands_are_not_refused(name: str, tmp_path: Path) -> None:
    decide: Callable[[str], str] = _gate(tmp_path, name, POLICIES[name]).decide
    assert [command for command in BENIGN if decide(command) != "ALLOW"] == []


@pytest.mark.parametrize("name", [name for name in POLICIES if "list" not in name])
def test_a_harmless_command_in_the_same_styles_is_mostly_allowed(name: str, tmp_path: Path) -> None:
    """The styles themselves are no offence: what can be read is judged by what it does."""
    decide = _gate(tmp_path, name, POLICIES[name]).decide
    refused = {style.id for style in make_mutators() if decide(style.render("ls", ("docs",))) != "ALLOW"}
    assert refused <= {"awk-system", "base64-pipe", "ifs-split"}


def test_what_the_benchmark_does_happens_without_a_gate(report: Report) -> None:
    assert {cell.intent for cell in report.cells if cell.effective} == {intent.id for intent in make_intents()}
