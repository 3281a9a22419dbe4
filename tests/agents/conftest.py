"""What the tests of the real agents share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.clients import ClaudeCode, Client, Codex, OpenCode
from tests.agents.lane import Dialects, Lane, providers, served
from tests.agents.programs import needed

SPOKEN: dict[type[Client], Dialects] = {
    ClaudeCode: Dialects("anthropic", "anthropic", ("claude-sonnet-*",)),
    Codex: Dialects("openai-responses", "openai", ("gpt-5.5",)),
    OpenCode: Dialects("openai", "openai"),
}


@pytest.fixture
def lane(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lane]:
    """A lane for the kind of client that the test module names as `CLIENT`."""
    needed()
    client: type[Client] = request.module.CLIENT
    with providers() as (house, cloud):
        yield Lane(tmp_path.resolve(), client, SPOKEN[client], house, cloud)


@pytest.fixture
def client(lane: Lane) -> Iterator[Client]:
    """The agent of the lane, with a running server."""
    with served(lane) as server:
        yield lane.opened(server)
