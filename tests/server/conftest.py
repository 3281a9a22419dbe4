"""What tests of the server share: a workspace with a policy, and servers that end with their test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.server.processes import Command, Forked, Running
from tests.stores.conftest import new_database, postgresql_server

__all__ = ["new_database", "postgresql_server"]

Start = Callable[..., Running]

POLICY = """\
version = 1

[[groups]]
id = "default"

[[groups.rules]]
tool = "@read"
path = "secrets"
action = "deny"
mandatory = true

[[groups.rules]]
tool = "@read"
path = "**"
action = "allow"
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a policy file and a file to read."""
    found = tmp_path.resolve() / "workspace"
    (found / "secrets").mkdir(parents=True)
    (found / "secrets" / "key").write_text("hidden", "utf-8")
    (found / "notes.md").write_text("notes", "utf-8")
    (found / "stanch.toml").write_text(POLICY, "utf-8")
    return found


def starting(kind: type[Running], workspace: Path) -> Iterator[Start]:
    """Starts servers of a kind, and ends them."""
    with ExitStack() as running:

        def begin(*words: str, data: str = "data", **options: Any) -> Running:
            place = workspace.parent / data
            return running.enter_context(kind(place, *words, cwd=workspace, **options))

        yield begin


@pytest.fixture
def command(workspace: Path) -> Iterator[Start]:
    """Starts the command in the workspace, as a user does; it may end at once."""
    yield from starting(Command, workspace)


@pytest.fixture
def begin(workspace: Path) -> Iterator[Start]:
    """Starts a server in the workspace; it may end at once."""
    yield from starting(Forked, workspace)


@pytest.fixture
def start(begin: Start) -> Start:
    """Starts a server in the workspace; it answers."""

    def start(*words: str, **options: Any) -> Running:
        return begin(*words, **options).ready()

    return start
