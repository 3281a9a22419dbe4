"""The console of a server that a user started."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from tests.server.processes import Forked, Running


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    """A server."""
    with ExitStack() as stack:
        yield stack.enter_context(Forked(tmp_path / "data", cwd=tmp_path)).ready()


def test_up_says_where_the_console_is_and_stops_at_once_while_somebody_looks(running: Running) -> None:
    assert f"{running.url}/console" in running.said
    heard, ended = threading.Event(), threading.Event()

    def listen() -> None:
        with httpx2.Client(base_url=running.url, headers={"Origin": running.url}, timeout=60) as client:
            assert client.post("/login", data={"token": running.token}).status_code == 303
            with client.stream("GET", "/console/stream") as stream:
                for line in stream.iter_lines():
                    if line == "event: inbox":
                        heard.set()
        ended.set()

    listening = threading.Thread(target=listen, daemon=True)
    listening.start()
    assert heard.wait(30)
    assert running.stop() == 0
    assert ended.wait(30), "the stream was cut off, and not ended"
    listening.join(10)
    assert running.token not in running.complained


@pytest.mark.parametrize(("given", "said"), [((), "24 hours"), (("--workbench-hours", "1"), "1 hour,"), ("0", "until")])
def test_up_says_how_long_workbenches_stay(given: tuple[str, ...] | str, said: str, tmp_path: Path) -> None:
    words = ("--workbench-hours", given) if isinstance(given, str) else given
    with Forked(tmp_path / "data", *words, cwd=tmp_path) as running:
        running.ready()
        with httpx2.Client(base_url=running.url, headers={"Origin": running.url}, timeout=60) as client:
            assert client.post("/login", data={"token": running.token}).status_code == 303
            assert said in client.get("/console/workbenches").text
