"""Each test against each sandbox."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stanch.runtime.sandbox.program import Sandbox
from stanch.runtime.sandbox.proving import why_not
from stanch.runtime.sandbox.removing import remove_tree
from tests.runtime.sandbox.confined import NAMES, sandbox_named

_HOLDS: dict[str, str | None] = {}


def usable(name: str) -> Sandbox:
    """The sandbox; skips the test where this machine cannot have it (`test_choosing` fails for that in CI)."""
    sandbox = sandbox_named(name)
    if isinstance(sandbox, str):
        pytest.skip(sandbox)
    if name not in _HOLDS:
        _HOLDS[name] = why_not(sandbox)
    if (why := _HOLDS[name]) is not None:
        assert "does not hold" not in why, why
        pytest.skip(why)
    return sandbox


@pytest.fixture(params=NAMES, scope="module")
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """One sandbox after the other."""
    return usable(request.param)


@pytest.fixture(scope="module")
def bubblewrap() -> Sandbox:
    """Bubblewrap, for what only it can do."""
    return usable("bubblewrap")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory for a program, away from those that tests look into."""
    path = Path(os.path.realpath(tempfile.mkdtemp(prefix="stanch-test-")))
    yield path
    remove_tree(path)
