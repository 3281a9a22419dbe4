"""New requests are told to whoever the policy names: once, signed, without an argument, and never in a call's way."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stanch.app.notifying import Notifier, signature
from stanch.app.projecting import Projecting
from stanch.app.vault import Vault
from stanch.secrets.sealing import Key, KeyRing
from stanch.secrets.text import Secret
from stanch.values.records import Broken
from tests.app.gates import ADA, POLICY, Gates, until
from tests.canary import AUDIT, Canary

SECRET = "a key that both know"
VALUE = "marker-of-the-value-4711"
KEY = Key(os.urandom(32))


class Received(NamedTuple):
    """One request, as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Receiver:
    """Somebody who is told. `answers` are the statuses that it gives, the last of them from then on."""

    def __init__(self, *answers: int) -> None:
        self.received: list[Received] = []
        self.answers = list(answers) or [200]
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.received.append(Received(self.path, dict(self.headers.items()), body))
                self.send_response(outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0])
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/stanch"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(30)


@pytest.fixture
def receiver() -> Iterator[Callable[..., Receiver]]:
    made: list[Receiver] = []

    def begin(*answers: int) -> Receiver:
        made.append(Receiver(*answers))
        return made[-1]

    yield begin
    for one in made:
        one.close()


@pytest.fixture
def gates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gates]:
    monkeypatch.setenv("STANCH_TEST_SECRET", SECRET)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Gates(tmp_path)
    yield made
    made.close()


def telling(
    gates: Gates, url: str, *, waits: tuple[float, ...] = (0.05, 0.05), secret: str = "STANCH_TEST_SECRET"
) -> Notifier:
    """Has new requests told to this address."""
    webhook = f'[approvals.webhook]\nurl = "{url}"\nsecret_env = "{secret}"\n'
    gates.write_policy(POLICY.replace("[approvals.expires_after]", webhook + "[approvals.expires_after]"))
    notifier = gates.service.notifier
    notifier.waits = waits
    notifier.start("http://127.0.0.1:8137")
    return notifier


def is_genuine(received: Received, secret: str, now: float) -> bool:
    """The check that docs/approvals.md gives to receivers."""
    timestamp = received.headers["Stanch-Timestamp"]
    expected = hmac.new(secret.encode(), timestamp.encode() + b"." + received.body, hashlib.sha256).hexdigest()
    fresh = abs(now - int(timestamp)) < 300
    return fresh and hmac.compare_digest(received.headers["Stanch-Signature"], f"v1={expected}")


def test_a_new_request_is_told_once_signed_and_without_an_argument(
    gates: Gates, receiver: Callable[..., Receiver]
) -> None:
    somebody = receiver()
    telling(gates, somebody.url)
    made = gates.ask(gates.session(), path="a.txt", content="canary-31")
    assert made.approval is not None
    until(lambda: len(somebody.received) == 1, "the telling")
    (told,) = somebody.received
    request = made.approval.request_id
    assert told.path == "/stanch"
    assert told.json == {
        "request_id": request,
        "session_id": made.call.session_id,
        "agent_id": "coder",
        "tool": "write_file",
        "sentence": made.call.reason["sentence"],
        "created_at": made.approval.created_at.isoformat(),
        "expires_at": None,
        "url": f"http://127.0.0.1:8137/api/inbox/approvals/{request}",
    }
    assert b"canary" not in told.body
    assert is_genuine(told, SECRET, time.time())
    assert not is_genuine(told, "another key", time.time())
    assert not is_genuine(told._replace(body=told.body + b" "), SECRET, time.time())
    assert not is_genuine(told, SECRET, time.time() + 3600)
    gates.ask(gates.session())
    until(lambda: len(somebody.received) == 2, "the second telling")
    assert len({one.json["request_id"] for one in somebody.received}) == 2


@pytest.mark.parametrize("form", [VALUE, base64.b64encode(VALUE.encode()).decode()])
def test_what_is_told_holds_no_value_of_the_vault(
    gates: Gates, receiver: Callable[..., Receiver], canary: Canary, form: str
) -> None:
    canary.expect_in(AUDIT)  # the gates have no keys, and so know no value
    vault = Vault(gates.store, KeyRing([KEY]))
    vault.set("STRIPE_KEY", Secret(VALUE), by=ADA)
    somebody = receiver()
    telling(gates, somebody.url)
    gates.service.notifier._tell = Projecting(vault).told
    gates.ask(gates.session(agent_id=f"a-{form}"), path=f"{form}.txt")
    gates.ask(gates.session(), tool=f"tool_{form}")
    until(lambda: len(somebody.received) == 2, "both tellings")
    bodies = [one.body.decode() for one in somebody.received]
    assert [form in one for one in bodies] == [False, False]
    assert ["{{STRIPE_KEY}}" in one for one in bodies] == [True, True]


def test_the_signature_covers_the_time_and_the_body() -> None:
    assert signature("k", "1", b"{}") == "v1=" + hmac.new(b"k", b"1.{}", hashlib.sha256).hexdigest()
    assert len({signature("k", "1", b"{}"), signature("k", "2", b"{}"), signature("k", "1", b"{ }")}) == 3


@pytest.mark.parametrize("status", [500, 404, 302])
def test_what_is_not_taken_is_told_again(gates: Gates, receiver: Callable[..., Receiver], status: int) -> None:
    somebody = receiver(status, status, 204)
    telling(gates, somebody.url)
    gates.ask(gates.session())
    until(lambda: len(somebody.received) == 3, "three tries")
    assert {one.path for one in somebody.received} == {"/stanch"}, "no redirect is followed"
    until(lambda: _told(gates) == ["sent"], "that it was taken")


def test_after_some_tries_it_is_given_up_which_the_log_says(gates: Gates, receiver: Callable[..., Receiver]) -> None:
    somebody = receiver(503)
    telling(gates, somebody.url)
    made = gates.ask(gates.session())
    assert made.approval is not None
    until(lambda: gates.store.list_audit(action="webhook.give_up").total == 1, "the giving up")
    (row,) = gates.store.list_audit(action="webhook.give_up").items
    assert not isinstance(row, Broken)
    assert (row.subject, dict(row.detail)) == (made.approval.request_id, {"why": "status 503", "tries": 3})
    assert len(somebody.received) == 3
    assert gates.service.approving.approve(made.approval.request_id, by=ADA).call.state.value == "pending"


def test_a_dead_address_keeps_nobody_waiting(gates: Gates, receiver: Callable[..., Receiver]) -> None:
    dead = receiver()
    dead.close()
    telling(gates, dead.url, waits=())
    begun = time.monotonic()
    made = [gates.ask(gates.session()) for _ in range(5)]
    assert time.monotonic() - begun < 20
    assert gates.service.inbox.list().total == len(made)
    until(lambda: gates.store.list_audit(action="webhook.give_up").total == len(made), "the giving up")


def test_without_the_secret_nothing_is_sent_and_the_request_waits(
    gates: Gates, receiver: Callable[..., Receiver]
) -> None:
    somebody = receiver()
    telling(gates, somebody.url, secret="STANCH_TEST_ABSENT")
    gates.ask(gates.session())
    until(lambda: gates.store.list_audit(action="webhook.no_secret").total == 1, "the note")
    gates.ask(gates.session())
    assert gates.service.inbox.list().total == 2
    assert somebody.received == []


def test_of_several_nodes_one_tells(gates: Gates, receiver: Callable[..., Receiver]) -> None:
    somebody = receiver()
    telling(gates, somebody.url)
    others = [gates.opened() for _ in range(3)]
    for other in others:
        other.notifier.start()
    session = gates.session()
    made = [gates.ask(session, path=f"{at}.txt", content="x").approval for at in range(20)]
    until(lambda: len(_told(gates)) == len(made) and set(_told(gates)) == {"sent"}, "all of them")
    told = [one.json["request_id"] for one in somebody.received]
    assert sorted(told) == sorted(one.request_id for one in made if one is not None)


def test_a_request_from_before_is_told_after_a_restart(gates: Gates, receiver: Callable[..., Receiver]) -> None:
    made = gates.ask(gates.session())
    answered = gates.ask(gates.session())
    assert answered.approval is not None
    gates.service.approving.reject(answered.approval.request_id, by=ADA)
    somebody = receiver()
    telling(gates, somebody.url)
    until(lambda: bool(somebody.received), "the telling")
    assert made.approval is not None
    assert [one.json["request_id"] for one in somebody.received] == [made.approval.request_id]


def _told(gates: Gates) -> list[Any]:
    from sqlalchemy import select

    from stanch.storage.schema import APPROVALS

    with gates.store._reading() as connection:
        return [row[0] for row in connection.execute(select(APPROVALS.c.told))]
