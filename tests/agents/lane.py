"""Where a real agent is tried: a workspace, a server with its policy, and two scripted providers behind the server.

`house` has the model that may read everything, `cloud` the one that may not read `private`. Each keeps every byte that
it gets, whatever the request was for.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stanch.runtime.scripted_asked import Asked, Received
from stanch.runtime.scripted_reply import Reply, fail, say
from tests.agents.clients import Client, Ended
from tests.fakes.model_server import ModelServer, model_server
from tests.server.processes import Forked, Running

LABEL = "In the cloud"
BESIDE = "A few words beside"
POLICY = """\
version = 1

[models]
default_tier = "cloud"

[models.assignments]
"house/*" = "trusted"

[tiers.cloud]
label = "{label}"
otherwise = {{ read = "allow", write = "allow", execute = "allow", network = "allow" }}

[[tiers.cloud.cells]]
path = "private"
read = "deny"

[providers.house]
dialect = "{dialect}"
base_url = "{house}"

[providers.{cloud_id}]
dialect = "{dialect}"
base_url = "{cloud}"

[proxy.models]
{models}
"""


class Part:
    """What a model says, in its order; a request without tools, for a title or the like, is told something else."""

    def __init__(self) -> None:
        self._steps: deque[Reply] = deque()
        self._lock = threading.Lock()
        self.beside: list[Asked] = []

    def learn(self, *steps: Reply) -> None:
        """Adds what is said next."""
        self._steps.extend(steps)

    @property
    def left(self) -> int:
        """How much was not said yet."""
        return len(self._steps)

    def __call__(self, asked: Asked) -> Reply:
        """What is said to this request."""
        with self._lock:
            if not asked.tools:
                self.beside.append(asked)
                return say(BESIDE)
            return self._steps.popleft() if self._steps else fail(400, "the script is at its end")


@dataclass
class Provider:
    """A provider behind the server, and what its model says."""

    part: Part
    models: ModelServer

    @property
    def requests(self) -> tuple[Received, ...]:
        """Everything that it was sent."""
        return self.models.requests

    def bytes(self, start: int = 0) -> str:
        """Every byte of its requests from that one on: addresses, headers and bodies, read as text."""
        told = []
        for one in self.requests[start:]:
            heads = "\n".join(f"{name}: {value}" for name, value in one.headers.items())
            told.append(f"{one.method} {one.path}\n{heads}\n\n{one.raw.decode('utf-8', 'replace')}")
        return "\n".join(told)


@dataclass(frozen=True)
class Dialects:
    """How a test's providers are spoken to, and which models of the agent's lead to the first of them."""

    dialect: str
    cloud_id: str
    house_models: tuple[str, ...] = ()


class Lane:
    """A server between an agent and two providers, in a workspace with a file that one of them may not see."""

    def __init__(self, root: Path, client: type[Client], spoken: Dialects, house: Provider, cloud: Provider) -> None:
        self.house, self.cloud, self._spoken = house, cloud, spoken
        self.workspace, self.home = root / "workspace", root / "home"
        (self.workspace / "private").mkdir(parents=True)
        self.home.mkdir()
        self.markers = [f"mark-{secrets.token_hex(12)}" for _ in range(3)]
        self.private = self.workspace / "private" / "pay.csv"
        self.private.write_text("".join(f"{marker},{at}\n" for at, marker in enumerate(self.markers)), "utf-8")
        self.open = self.workspace / "notes.md"
        self.open.write_text("The notes are for everybody.\n", "utf-8")
        self._client = client
        self.write_policy(spoken.house_models)

    def write_policy(self, house_models: tuple[str, ...]) -> None:
        """Writes the policy, by which these models of the agent's are the house's and all others the cloud's."""
        tail = "" if self._spoken.dialect == "anthropic" else "/v1"
        policy = POLICY.format(
            label=LABEL,
            dialect=self._spoken.dialect,
            house=self.house.models.url + tail,
            cloud=self.cloud.models.url + tail,
            cloud_id=self._spoken.cloud_id,
            models="\n".join(f'"{model}" = "house"' for model in house_models),
        )
        (self.workspace / "stanch.toml").write_text(policy, "utf-8")

    def opened(self, server: Running) -> Client:
        """The agent, with a token of its own."""
        body = {"name": "agent", "principal": {"kind": "delegated", "id": "ada", "service_id": "coder"}}
        reply = server.ask("POST", "/api/tokens", body)
        assert reply.status == 201, reply
        self.server = server
        self.token = reply.json["secret"]
        return self._client(self.workspace, self.home, server.url, self.token)

    def is_one_session(self) -> None:
        """Fails unless all that the agent asked so far was of one session, which is told what was withheld of it."""
        (session,) = self.server.get("/api/sessions")["items"]
        actions = {row["action"] for row in self.server.get("/api/audit")["items"] if row["subject"] == session["id"]}
        assert "session.withheld" in actions

    @property
    def placeholder(self) -> str:
        """What stands where the content of the private file was."""
        return f'[Content from {self.private} filtered — trust tier "{LABEL}" does not have read access]'

    def shown(self, text: str) -> list[str]:
        """The marks of the private file that are in a text."""
        return [marker for marker in self.markers if marker in text]

    def ends_well(self, ended: Ended, words: str) -> None:
        """Fails unless the agent's run ended well, with these words and nothing left to say."""
        told = f"{ended.said}\n---\n{ended.complained}"
        assert ended.code == 0, told
        assert words in ended.said, told
        assert (self.house.part.left, self.cloud.part.left) == (0, 0), told

    def is_kept_from_cloud(self, start: int = 0) -> None:
        """Fails where the cloud got anything of the private file, or the agent's token, in any request from that on."""
        told = self.cloud.bytes(start)
        assert not self.shown(told), _around(told, self.shown(told)[0])
        assert self.token not in told + self.house.bytes()


def _around(text: str, word: str) -> str:
    at = text.index(word)
    return f"this was sent: ...{text[max(0, at - 1500) : at + 300]}..."


@contextmanager
def providers() -> Iterator[tuple[Provider, Provider]]:
    """Two providers with nothing to say yet."""
    house, cloud = Part(), Part()
    with model_server(house) as first, model_server(cloud) as second:
        yield Provider(house, first), Provider(cloud, second)


@contextmanager
def served(lane: Lane) -> Iterator[Running]:
    """The server of the lane, as a process of its own."""
    with Forked(lane.workspace.parent / "data", "--policy", "stanch.toml", cwd=lane.workspace) as running:
        yield running.ready()
