"""What every test shares: how random input is drawn, and that no secret gets out.

No test asserts a time, so a slow machine never fails a drawn example; what fails is printed, to be run again.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Iterator
from typing import Any

import pytest
import typer.testing
import uvicorn.server
from hypothesis import HealthCheck, settings

# What these assert is explained only if pytest hears of them before anybody imports them; they are no test files.
pytest.register_assert_rewrite("tests.http.served", "tests.console.visitors", "tests.agents.lane")
pytest.register_assert_rewrite("tests.delivery.stage")
_PARTS = ("nouns", "changes", "audit", "broken", "calls", "start", "watch", "messages", "turns", "job_runs", "vault")
for _part in (*_PARTS, "vault_values"):
    pytest.register_assert_rewrite(f"tests.stores.suite_{_part}")

from tests.canary import CANARY, Canary, watching  # noqa: E402 - after what has to be said before any import

# WHY: else the whole tree of commands is made anew for every command that a test gives, which is most of its time.
_typed = vars(typer.testing)
_typed["_get_command"] = functools.cache(_typed["_get_command"])


class _Asyncio:
    """As the servers of tests have it: they look ten times as often whether they are to stop.

    WHY: nearly every test has a server or two of its own, and to stop one takes longer than to start it.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


vars(uvicorn.server)["asyncio"] = _Asyncio()
settings.register_profile("usual", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", settings.get_profile("usual"), max_examples=20_000)
# WHY the same examples in every run of CI: a change is judged by what it changed. Others, and the soak, draw new ones.
settings.register_profile("ci", settings.get_profile("usual"), derandomize=True)
settings.load_profile("soak" if os.environ.get("STANCH_SOAK") else "ci" if os.environ.get("CI") else "usual")


@pytest.fixture(scope="session", autouse=True)
def _watched() -> Iterator[None]:
    """Everything that leaves is looked at."""
    with watching():
        yield


@pytest.fixture(autouse=True)
def canary(_watched: None) -> Iterator[Canary]:
    """Fails the test that let a mark out."""
    yield CANARY
    seen = CANARY.end()
    assert not seen, f"a secret got out: {'; '.join(seen)}"
