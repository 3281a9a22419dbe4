"""Does a program that wants out get out of a sandbox, in any of the ways that are known here?"""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from stanch.runtime.sandbox.program import Sandbox
from tests.runtime.sandbox.aims import Aims
from tests.runtime.sandbox.confined import LIMITS, ran
from tests.runtime.sandbox.conftest import usable
from tests.runtime.sandbox.hostile import TRIES
from tests.runtime.sandbox.hostile_run import PARTS

NAMES = ("bubblewrap", "sandlock")


class Outcome:
    """What came of all tries in one sandbox."""

    def __init__(self, sandbox: Sandbox, races: int = 300) -> None:
        with ExitStack() as ends:
            aims = Aims(ends, races)
            directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="stanch-test-")))
            (directory / "planted").symlink_to(aims.marked)
            stdin = json.dumps(aims.given).encode()
            library = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="stanch-test-")))
            words = ("python3", "-m", "tests.runtime.sandbox.hostile_run")
            _copy(library)
            done = ran(sandbox, directory, *words, stdin=stdin, library=library, seconds=LIMITS.seconds * 4)
            self.output = done.fine
            self.tries: dict[str, tuple[bool, str]] = json.loads(self.output.splitlines()[-1])
            self.heard, self.changed = aims.heard(), aims.changed()


def _copy(library: Path) -> None:
    """Puts the hostile program where it is imported from, inside."""
    target = library / "tests" / "runtime" / "sandbox"
    target.mkdir(parents=True)
    for part in PARTS:
        shutil.copy(Path(__file__).parent / f"{part}.py", target)


_CAME: dict[str, Outcome] = {}


@pytest.fixture(params=NAMES)
def outcome(request: pytest.FixtureRequest) -> Outcome:
    """All tries, in one run for each sandbox."""
    sandbox = usable(request.param)
    if request.param not in _CAME:
        _CAME[request.param] = Outcome(sandbox)
    return _CAME[request.param]


@pytest.mark.parametrize("name", TRIES)
def test_a_program_does_not_get_out(outcome: Outcome, name: str) -> None:
    succeeded, what = outcome.tries[name]
    assert not succeeded, what


def test_nothing_of_it_was_heard_or_seen_outside(outcome: Outcome) -> None:
    assert outcome.heard == []
    assert outcome.changed == []


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_it_does_not_get_out_by_being_quick(name: str) -> None:
    outcome = Outcome(usable(name), races=20_000)
    assert [name for name, (succeeded, _) in outcome.tries.items() if succeeded] == []
    assert (outcome.heard, outcome.changed) == ([], [])
