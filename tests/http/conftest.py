"""Servers for the tests of the REST door."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.http.served import World, served


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A server without a policy file: the groups of a new store speak."""
    with served(World(tmp_path)) as running:
        yield running


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[str], World]]:
    """Makes a server over a policy file with this text."""
    with ExitStack() as stack:
        yield lambda policy: stack.enter_context(served(World(tmp_path, policy)))
