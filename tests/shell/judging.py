"""One worker: judges random commands, runs the ones that are allowed, and makes small what went wrong.

Settles the law and how many commands it was held against. WHY a process of its own: it is fenced in for good, and its
home is the throw-away directory.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import stanch
from stanch.app import command_stamping
from stanch.policy.shell import running
from tests.shell.box import Box, fence
from tests.shell.draws import Draws, smaller
from tests.shell.grammar import Grammar

SECONDS_TO_JUDGE = 30
MOST_TRIALS = 400
MOST_FAILURES = 3


class Batch(NamedTuple):
    """What came of some commands: how many of each kind, and what broke the law."""

    counts: Counter[str]
    failures: list[str]


class Worker:
    """A box with a gate in front. `guard` says what of the gate is switched off: nothing, for the law itself."""

    def __init__(self, folder: str, guard: str) -> None:
        root = Path(os.path.realpath(folder), str(os.getpid()))
        root.mkdir()
        self.tame = not fence(root)
        self.box = Box(root)
        os.environ["HOME"] = str(self.box.box)
        self.engine = stanch.open(root / "conf" / "stanch.toml")
        _switch_off(guard)
        signal.signal(signal.SIGALRM, _too_late)

    def text(self, seed: str, given: Sequence[int] | None = None) -> tuple[str, list[int]]:
        """The command of a seed, or of choices made before, with its choices."""
        draws = Draws(seed, given)
        return Grammar(draws, str(self.box.root), tame=self.tame).command(), draws.taken

    def allows(self, text: str, times: int) -> bool:
        """The gate's answer, the same so many times from sessions that know nothing of each other."""
        signal.alarm(SECONDS_TO_JUDGE)
        try:
            said = {self._answer(text) for _ in range(times)}
        finally:
            signal.alarm(0)
        assert len(said) == 1, f"several answers: {said}"
        return said.pop()[0] == "allow"

    def _answer(self, text: str) -> tuple[str, str, str]:
        decision = self.engine.session(cwd=str(self.box.box)).check("execute_cmd", {"command": text})
        return decision.effect.value, decision.reason.code.value, decision.reason.subject

    def wrong(self, text: str, counts: Counter[str], times: int = 2) -> list[str]:
        """What the command did that it may not, though it was allowed."""
        try:
            allowed = self.allows(text, times)
        except Exception as fault:
            return [f"the gate failed: {type(fault).__name__}: {fault}"]
        counts["allowed" if allowed else "refused"] += 1
        if not allowed:
            return []
        found = self.box.run(text)
        counts["ended"] += self.box.late
        return found

    def batch(self, seed: str, start: int, count: int, most: int) -> Batch:
        """Judges so many commands of a seed, and runs the ones that are allowed; shows `most` that break the law."""
        done = Batch(Counter(), [])
        for number in range(start, start + count):
            text, choices = self.text(f"{seed}:{number}")
            wrong = self.wrong(text, done.counts, 1 if number % 4 else 2)
            if wrong and len(done.failures) < most:
                done.failures.append(self._small(f"{seed}:{number}", choices, wrong))
            done.counts["broken"] += bool(wrong)
        return done

    def _small(self, seed: str, choices: list[int], wrong: list[str]) -> str:
        kind = wrong[0].split(":")[0]

        def fails(tried: Sequence[int]) -> bool:
            again = self.wrong(self.text(seed, tried)[0], Counter())
            return bool(again) and again[0].split(":")[0] == kind

        text = self.text(seed, smaller(choices, fails, MOST_TRIALS))[0]
        return f"seed {seed}: {self.wrong(text, Counter()) or wrong}\n{text}\nas drawn:\n{self.text(seed)[0]}"


def _too_late(*_: object) -> None:
    raise TimeoutError("no answer in time")


def _switch_off(guard: str) -> None:
    """Takes something out of what is found in a command: proof that the law can be broken at all."""

    def without(*asked: Any) -> list[Any]:
        parts = running.read(*asked)
        if guard == "effects":
            return [part._replace(found=(), scripts=()) for part in parts]
        if guard == "unread":
            return [part._replace(command=part.command._replace(unread="")) for part in parts]
        return parts[:1]

    if guard:
        vars(command_stamping)["read"] = without


_worker: list[Worker] = []


def start(folder: str, guard: str = "") -> None:
    """Makes the worker of this process, with a box of its own in the folder."""
    _worker[:] = [Worker(folder, guard)]


def work(seed: str, begin: int, count: int, most: int = MOST_FAILURES) -> Batch:
    """One batch, by the worker of this process."""
    return _worker[0].batch(seed, begin, count, most)


def run(text: str) -> list[str]:
    """What a command does that is forbidden, run without asking the gate."""
    return _worker[0].box.run(text)


def is_fenced() -> bool:
    """True where nothing that this process starts can write outside its folder."""
    return not _worker[0].tame
