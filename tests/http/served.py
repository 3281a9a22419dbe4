"""A server of one's own in a thread of this process, on a free port of loopback, and its clients."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from stanch.app.service import Service
from stanch.app.vault import Vault
from stanch.secrets.sealing import Key, KeyRing
from stanch.storage.blobs import Blobs
from stanch.surfaces.http.application import application
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.records import Actor
from tests.stores.template import new_store

SECONDS = 30.0
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""WHY: to read all certificates takes as long as a server needs to start, and nothing here is encrypted."""
BY = Actor("ada", "test")
PERSON = Principal(PrincipalKind.USER, "ada")
KEY = Principal(PrincipalKind.API_KEY, "ci")
AGENT = Principal(PrincipalKind.DELEGATED, "ada", "coder")
COPILOT = Principal(PrincipalKind.DELEGATED, "ada", "copilot")
ORGANIZATION_AGENT = Principal(PrincipalKind.ORGANIZATION_DELEGATED, "acme", "digest")
CLIENT = Principal(PrincipalKind.MCP, "editor")
WORKFLOW = Principal(PrincipalKind.EXECUTOR, "nightly")
AGENTS = (AGENT, COPILOT, ORGANIZATION_AGENT)
TABLES = ("permission_groups", "rules", "sessions", "projects", "tickets", "scheduled_jobs", "tokens", "audit")


def until(holds: Callable[[], bool], what: str) -> None:
    """Returns once it holds; fails where that takes too long."""
    pause, end = threading.Event(), time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, f"this did not come: {what}"
        pause.wait(0.02)


class World:
    """A workspace, a store, perhaps a policy file, and a service over them, which a server serves."""

    def __init__(self, root: Path, policy: str | None = None) -> None:
        self.root = Path(os.path.realpath(root))
        self.workspace = self.root / "repo"
        self.workspace.mkdir()
        self.policy = self.workspace / "stanch.toml"
        if policy is not None:
            self.write_policy(policy)
        self.database = self.root / "stanch.db"
        self.store_url = f"sqlite:///{self.database}"
        self.store = new_store(self.database)
        self.service = Service.open(
            store=self.store,
            policy=None if policy is None else self.policy,
            workspace=self.workspace,
            vault=Vault(self.store, KeyRing([Key(os.urandom(32))])),
            blobs=Blobs(self.root / "blobs"),
            private=[self.root / "workbenches"],
            workbenches=self.root / "workbenches",
        )
        self.url = ""
        self._clients: dict[Principal, httpx2.Client] = {}

    def write_policy(self, text: str) -> None:
        """Puts a policy file in the place of the one that is there, as an editor does."""
        draft = self.policy.with_suffix(".draft")
        draft.write_text(text, "utf-8")
        draft.replace(self.policy)

    def client(self, principal: Principal = PERSON) -> httpx2.Client:
        """A client with a token of this principal."""
        if principal not in self._clients:
            token = self.store.create_token(name="test", principal=principal, by=BY).secret
            headers = {"Authorization": f"Bearer {token}"}
            self._clients[principal] = httpx2.Client(base_url=self.url, headers=headers, timeout=SECONDS, verify=PLAIN)
        return self._clients[principal]

    def post(self, path: str, body: Any = None, status: int = 200) -> Any:
        """What a person's POST is answered with."""
        reply = self.client().post(path, json={} if body is None else body)
        assert reply.status_code == status, reply.text
        return reply.json()

    def get(self, path: str) -> Any:
        """What a person reads."""
        reply = self.client().get(path)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def set_context(self, path: str, context: Any, status: int = 200) -> Any:
        """Sends a run context, null too."""
        headers = {"Content-Type": "application/json"}
        reply = self.client().post(path, content=json.dumps(context), headers=headers)
        assert reply.status_code == status, reply.text
        return reply.json()

    def session(self, **fields: Any) -> str:
        """A new session's id."""
        made = self.post("/api/sessions", {"agent_id": "coder", **fields}, 201)
        return str(made["id"])

    def check(self, tool: str, arguments: dict[str, Any], **fields: Any) -> Any:
        """The gate's answer to a call."""
        return self.post("/api/check", {"tool": tool, "arguments": arguments, **fields})

    def answer(self, tool: str, path: str, **fields: Any) -> tuple[str, str]:
        """The effect and the reason's code for a call with a path."""
        said = self.check(tool, {"path": path, "content": "x"} if tool == "write_file" else {"path": path}, **fields)
        return said["effect"], said["reason"]["code"]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Runs a statement past the store, as a person with a database client does."""
        with closing(sqlite3.connect(self.database, timeout=SECONDS, isolation_level=None)) as connection:
            return connection.execute(statement).fetchall()

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything that is stored."""
        return {table: self.rows(f"SELECT * FROM {table} ORDER BY 1") for table in TABLES}

    def group(self, group_id: str, *rules: dict[str, Any]) -> None:
        """A group of the database with these rules."""
        self.post("/api/tool-permission-groups", {"id": group_id}, 201)
        for rule in rules:
            self.post("/api/approval/rules", {"group_id": group_id, **rule}, 201)

    def close(self) -> None:
        """Ends all of it."""
        for client in self._clients.values():
            client.close()
        self.service.close()
        self.store.close()


@contextmanager
def served(world: World) -> Iterator[World]:
    """The world, with a server in front of it for as long as the block lasts."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(application(world.service), log_level="critical", lifespan="on", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    world.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        until(lambda: server.started, "the server")
        world.client()
        yield world
    finally:
        server.should_exit = True
        world.close()
        thread.join(SECONDS)
        listener.close()
        assert not thread.is_alive()
