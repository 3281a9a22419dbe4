"""A scripted model server that keeps every request, for as long as a test runs.

with model_server([use("read_file", path="a.txt"), say("done")]) as models:
    ... models.url, models.openai_url, models.requests, models.bodies()
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from stanch.runtime.scripted import Answers, Script, scripted_models
from stanch.runtime.scripted_asked import Asked, Dialect, Received
from stanch.runtime.scripted_reply import Reply
from stanch.runtime.scripted_serving import served
from tests.canary import CANARY, REQUEST

SECONDS = 30.0
_SEEDS = itertools.count(1)
_MODEL_PATHS = frozenset(dialect.value for dialect in Dialect)


class ModelServer:
    """What a server was asked so far. `url` is what Anthropic's client takes for its base, `openai_url` OpenAI's."""

    def __init__(self) -> None:
        self.url = ""
        self._requests: list[Received] = []
        self._changed = threading.Condition()

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def requests(self) -> tuple[Received, ...]:
        """Every request so far, those for lists and counts too."""
        with self._changed:
            return tuple(self._requests)

    @property
    def asked(self) -> tuple[Received, ...]:
        """The requests for an answer of a model."""
        return tuple(one for one in self.requests if one.path in _MODEL_PATHS)

    def bodies(self) -> list[dict[str, Any]]:
        """The parsed bodies of the requests for an answer."""
        return [one.json() for one in self.asked]

    def raw(self) -> bytes:
        """All that was ever sent here, to look for what must not be in it."""
        return b"\n".join(one.raw for one in self.requests)

    def wait_for(self, count: int) -> None:
        """Returns once so many requests for an answer have come; fails where that takes too long."""
        with self._changed:
            came = self._changed.wait_for(
                lambda: sum(one.path in _MODEL_PATHS for one in self._requests) >= count, SECONDS
            )
        assert came, f"only {len(self.asked)} of {count} requests came"

    def _keep(self, received: Received) -> None:
        CANARY.look(REQUEST, received.raw)
        with self._changed:
            self._requests.append(received)
            self._changed.notify_all()


@contextmanager
def model_server(
    script: Iterable[Reply | Answers] | Answers, *, models: Iterable[str] = ("scripted",)
) -> Iterator[ModelServer]:
    """A running server for the script; ids of its answers differ from those of every other server of this process.

    What a callable of the script raises, a failed assertion for instance, is raised at the end.
    """
    server = ModelServer()
    answers = script if callable(script) else Script(script)
    faults: list[BaseException] = []

    def watched(asked: Asked) -> Reply:
        try:
            return answers(asked)
        except BaseException as fault:
            faults.append(fault)
            raise

    application = scripted_models(watched, models=models, seed=f"{next(_SEEDS)}x", seen=server._keep)
    with served(application) as server.url:
        yield server
    if faults:
        raise faults[0]
