"""A command that the gate allows does nothing forbidden when bash runs it: random commands, held against bash itself.

A failure prints its seed, the command made small, and the command as it was drawn.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import SystemRandom

import pytest

from tests.shell import judging
from tests.shell.draws import Draws, smaller
from tests.shell.grammar import Grammar

COMMANDS = 1_000
SOAK_COMMANDS = 100_000
BATCH = 25
SECONDS = 600
FORBIDDEN = {
    "bad1 x": "bad1 ran",
    "false || env bad1": "bad1 ran",
    "cat secrets/token": "the secret is in the output",
    "cat src/way >/dev/null": "the secret was read",
    "cp secrets/token docs/n": "the secret is in box/docs/n",
    'touch "docs/$(cat secrets/token)"': "the secret is in box/docs/",
    "touch secrets/token": "box/secrets/token was changed",
    "touch secrets/new": "box/secrets/new was made",
    "mv secrets docs/n": "box/secrets/token was removed",
    "echo x >../beside/n": "beside/n was made",
    "rm ../beside/keep & wait": "beside/keep was removed",
    "(echo x >>../beside/keep) &": "beside/keep was changed",
}

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to hold it against")


def _pool(folder: Path, guard: str = "", workers: int = 0) -> Executor:
    workers = workers or min(4, os.cpu_count() or 1)
    return ProcessPoolExecutor(workers, get_context("spawn"), judging.start, (str(folder), guard))


def _hold(pool: Executor, seed: str, commands: int, most: int = judging.MOST_FAILURES) -> judging.Batch:
    """What came of the commands; of those behind the first failures, nothing."""
    asked = [pool.submit(judging.work, seed, begin, BATCH, most) for begin in range(0, commands, BATCH)]
    counts: Counter[str] = Counter()
    failures: list[str] = []
    for future in asked:
        batch = future.result(SECONDS)
        counts += batch.counts
        failures += batch.failures
        if counts["broken"] > most:
            for waiting in asked:
                waiting.cancel()
            break
    print(f"seed {seed}: {dict(counts)}")
    return judging.Batch(counts, failures)


def _expect(batch: judging.Batch, commands: int) -> None:
    shown = "\n\n".join(batch.failures[: judging.MOST_FAILURES])
    assert not batch.counts["broken"], f"{batch.counts['broken']} of {commands} commands:\n{shown}"
    assert batch.counts["allowed"] + batch.counts["refused"] == commands
    assert batch.counts["allowed"] > commands * 15 // 100, f"a law over nothing: {batch.counts}"
    assert batch.counts["ended"] < commands // 50, f"commands that do not end: {batch.counts}"


def test_what_is_allowed_does_nothing_forbidden_in_bash(tmp_path: Path) -> None:
    with _pool(tmp_path) as pool:
        for seed in ("20261130", str(SystemRandom().randrange(1 << 32))):
            _expect(_hold(pool, seed, COMMANDS // 2), COMMANDS // 2)


@pytest.mark.soak
def test_what_is_allowed_does_nothing_forbidden_in_bash_for_long(tmp_path: Path) -> None:
    commands = int(os.environ.get("STANCH_SOAK_COMMANDS", SOAK_COMMANDS))
    with _pool(tmp_path) as pool:
        for part in range(10):
            _expect(_hold(pool, str(SystemRandom().randrange(1 << 32)), commands // 10), commands // 10)
            print(f"{(part + 1) * commands // 10:,} commands, nothing forbidden", flush=True)


@pytest.mark.parametrize("guard", ["effects", "unread", "first"])
def test_a_gate_that_misses_something_breaks_the_law(guard: str, tmp_path: Path) -> None:
    with _pool(tmp_path, guard) as pool:
        assert _hold(pool, "20261130", 2_000, most=0).counts["broken"]


def test_every_forbidden_thing_is_noticed_and_put_back(tmp_path: Path) -> None:
    with _pool(tmp_path, workers=1) as pool:
        for command, wrong in FORBIDDEN.items():
            found = pool.submit(judging.run, command).result(SECONDS)
            assert any(said.startswith(wrong) for said in found), f"{command}: {found}"
            assert pool.submit(judging.run, "ok1; cat docs/a; ls secrets").result(SECONDS) == []


def test_a_command_is_drawn_again_from_its_choices() -> None:
    for number in range(200):
        draws = Draws(f"again:{number}")
        text = Grammar(draws, "/r").command()
        assert Grammar(Draws("another", draws.taken), "/r").command() == text
        assert text == Grammar(Draws(f"again:{number}"), "/r").command()


def test_a_failure_is_made_small() -> None:
    assert smaller(list(range(60)), lambda tried: {7, 41} <= set(tried), 500) == [7, 41]
    assert smaller([5, 9, 5], lambda tried: len(tried) > 1 and 9 in tried, 500) == [9, 0]


def test_no_tame_command_leaves_its_directory() -> None:
    leaving = re.compile(r"(?<!ln -s) \.\.|\.\./b|/\.\.(?=[\s;&|)]|$)")
    texts = [Grammar(Draws(f"tame:{number}"), "/r", tame=True).command() for number in range(2_000)]
    assert [text for text in texts if leaving.search(text)] == []
    wild = [Grammar(Draws(f"tame:{number}"), "/r").command() for number in range(2_000)]
    assert len([text for text in wild if leaving.search(text)]) > 20


def test_a_fenced_worker_writes_nothing_outside(tmp_path: Path) -> None:
    with _pool(tmp_path, workers=1) as pool:
        if not pool.submit(judging.is_fenced).result(SECONDS):
            pytest.skip("no Landlock here: only tame commands are run")
        pool.submit(judging.run, "echo x >../../outside; cp docs/a ../../outside; mkdir ../../outside").result(SECONDS)
    assert [one.name.isdecimal() for one in tmp_path.iterdir()] == [True]
