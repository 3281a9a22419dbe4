"""An evaluator fails, and is well again: the same session, the same judge and the same server then say what it says.

The policy of the application as a callable and as a program, and an organization's rules, in each of the ways in which
they fail. Nothing is opened anew between a failure and the answer after it.
"""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

import stanch
from stanch.app import organization_opening
from stanch.app.engine import Session
from stanch.app.judging import Judge
from stanch.app.organization import Status
from stanch.app.organization_fetching import from_address
from stanch.app.sessions import hands_of
from stanch.judge.question import Probe
from stanch.policies import PolicyRequest, Says
from stanch.values.decision import Effect
from stanch.values.identity import Source
from stanch.values.verdict import Face
from tests.http.served import BY, PERSON, World
from tests.http.served import served as serving
from tests.layers.asked import said
from tests.organization.served import Server, served, whole

ERROR, GARBAGE, SLOW, UNKNOWN_WORD, WELL = "error", "garbage", "too slow", "unknown word", "well"
FAILING = (ERROR, GARBAGE, SLOW, UNKNOWN_WORD)
RULES = 'version = 1\n[[groups]]\nid = "default"\nrules = [{ tool = "@write", action = "allow" }]\n'
SECRET = "hunter2"
ALLOWED, ASKED, DENIED = ("allow", "rule", "persisted_rules"), "ask", "deny"


class Evaluator:
    """A policy that denies what lies in `closed`, while it is well."""

    def __init__(self) -> None:
        self.way, self.go = WELL, threading.Event()

    @property
    def seconds(self) -> float:
        return 0.05 if self.way == SLOW else 30.0

    def __call__(self, request: PolicyRequest) -> Any:
        if self.way == ERROR:
            raise RuntimeError(SECRET)
        if self.way == GARBAGE:
            return f"<html>{SECRET}"
        if self.way == SLOW:
            self.go.wait(30)
        if self.way == UNKNOWN_WORD:
            return Says("maybe")  # type: ignore[arg-type]
        closed = any("/closed/" in str(one.path) for one in request.touches)
        return Says(Effect.DENY, "closed") if closed else None


class Door(Protocol):
    """Where a write is asked about: a call of it, and a question about the file."""

    def check(self, path: str) -> tuple[str, str, str]: ...

    def judge(self, path: str, *, patience: float) -> tuple[str, str | None, str | None]: ...


class OfSession:
    """One session of an engine, and one judge of it."""

    def __init__(self, session: Session) -> None:
        self.session, self.asked = session, Judge([session])

    def check(self, path: str) -> tuple[str, str, str]:
        decision = self.session.check("write_file", {"path": path, "content": "x"})
        assert SECRET not in repr(decision)
        return said(decision)

    def judge(self, path: str, *, patience: float) -> tuple[str, str | None, str | None]:
        got = self.asked(Probe(Face.WRITE, "memory", path), deadline_at=(time.time() + patience) * 1000)
        assert SECRET not in repr(got)
        return got.state.value, None if got.layer is None else got.layer.value, got.cause and got.cause.value


class OfServer:
    """One session of one server, asked over REST."""

    def __init__(self, world: World, session: str) -> None:
        self.world, self.session = world, session

    def check(self, path: str) -> tuple[str, str, str]:
        got = self.world.check("write_file", {"path": path, "content": "x"}, session_id=self.session)
        assert SECRET not in repr(got)
        return got["effect"], got["reason"]["code"], got["reason"]["layer"]

    def judge(self, path: str, *, patience: float) -> tuple[str, str | None, str | None]:
        body = {"face": "memory", "access": "write", "path": path, "session_id": self.session}
        got = self.world.post("/api/judge", {**body, "deadline_at": int((time.time() + patience) * 1000)})
        assert SECRET not in repr(got)
        return got["verdict"], got.get("layer"), got.get("cause")


def goes_well(door: Door, layer: str, code: str) -> None:
    """The evaluator is heard, whichever way it speaks."""
    assert door.check("open/a") == ALLOWED
    assert door.check("closed/a") == (DENIED, code, layer)
    assert door.judge("open/a", patience=30) == ("no_objection", None, None)
    assert door.judge("closed/a", patience=30) == ("deny", layer, None)


def recovers(door: Door, set_to: Callable[[str], None], *, failed: str = ASKED) -> None:
    """Whatever went wrong before, and however often, each answer is that of the moment."""
    for way in FAILING:
        set_to(way)
        for path in ("open/a", "closed/a", "open/a"):
            assert door.check(path) == (failed, "layer_failed", "caller_policy"), way
        cause = "timed_out" if way == SLOW else "threw"
        for path in ("open/a", "closed/a"):
            patience = 0.3 if way == SLOW else 30.0
            assert door.judge(path, patience=patience) == ("unanswerable", "caller_policy", cause), way
        set_to(WELL)
        goes_well(door, "caller_policy", "policy_says")


@contextmanager
def evaluator() -> Iterator[Evaluator]:
    made = Evaluator()
    try:
        yield made
    finally:
        made.go.set()


PROGRAM = r"""
told=$(cat)
case "$(cat way)" in
  error) echo "hunter2" >&2; exit 3 ;;
  garbage) echo "<html>hunter2" ;;
  "too slow") exec sleep 60 ;;
  "unknown word") echo '{"effect": "maybe"}' ;;
  *) case "$told" in
      */closed/*) echo '{"effect": "deny", "message": "closed"}' ;;
      *) echo '{"effect": "allow"}' ;;
    esac ;;
esac
"""


def program(workspace: Path) -> Callable[[str], None]:
    """Puts the program there; returns what says how it goes on."""
    (workspace / "policy.sh").write_text(PROGRAM, "utf-8")

    def set_to(way: str) -> None:
        (workspace / "way").write_text(way, "utf-8")

    set_to(WELL)
    return set_to


CALLED = '[caller_policy]\ncommand = ["sh", "policy.sh"]\ntimeout_ms = 1500\n'


def _session(root: Path, text: str, **given: Any) -> Session:
    (root / "stanch.toml").write_text(text, "utf-8")
    return stanch.open(root / "stanch.toml").session(**given)


@pytest.mark.parametrize("failed", [ASKED, DENIED])
def test_a_session_hears_its_policy_again(tmp_path: Path, failed: str) -> None:
    with evaluator() as made:
        door = OfSession(_session(tmp_path, f"on_layer_failure = '{failed}'\n{RULES}", policy=made))
        recovers(door, functools.partial(setattr, made, "way"), failed=failed)


def test_a_session_hears_its_program_again(tmp_path: Path) -> None:
    set_to = program(tmp_path)
    recovers(OfSession(_session(tmp_path, RULES + CALLED)), set_to)


def test_a_server_hears_a_sessions_policy_again(tmp_path: Path) -> None:
    with evaluator() as made, serving(World(tmp_path, f"layer_timeout_ms = 1000\n{RULES}")) as world:
        who = hands_of(PERSON)
        session = world.service.sessions.create(
            agent_id="coder", source=Source.WEB, principal=who, policy=made, by=BY
        )  # fmt: skip
        before = world.dump()
        recovers(OfServer(world, session.id), functools.partial(setattr, made, "way"))
        assert world.dump() == before
        assert world.rows("SELECT * FROM calls") == world.rows("SELECT * FROM approvals") == []


def test_a_server_hears_its_program_again(tmp_path: Path) -> None:
    with serving(World(tmp_path, RULES + CALLED)) as world:
        set_to = program(world.workspace)
        session = world.session()
        before = world.dump()
        recovers(OfServer(world, session), set_to)
        assert world.dump() == before
        assert world.rows("SELECT * FROM calls") == world.rows("SELECT * FROM approvals") == []


CLOSED = [{"tool": "@write", "path": "/**/closed", "action": "deny"}]
WORDS = {
    ERROR: "unavailable: HTTP status 500",
    GARBAGE: "unavailable: unreadable answer",
    SLOW: "unavailable: timed out",
    UNKNOWN_WORD: "unavailable: unreadable answer (rule 1)",
}


class RuleServer:
    """A server of rules, in whichever way it goes on."""

    def __init__(self) -> None:
        self.way = ERROR

    def __call__(self, server: Server, raw: bytes) -> Iterable[bytes]:
        if self.way == SLOW:
            server.ended.wait(30)
        said = {
            ERROR: whole(SECRET.encode(), f"500 {SECRET}"),
            GARBAGE: whole(f"<html>{SECRET}".encode()),
            UNKNOWN_WORD: whole([{**CLOSED[0], "action": "maybe"}]),
        }
        return [said.get(self.way, whole(CLOSED))]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits ten seconds for a server that is too slow."""
    monkeypatch.setattr(organization_opening, "from_address", functools.partial(from_address, seconds=1.0))


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("over_rest", [False, True], ids=["session", "server"])
def test_an_organization_is_heard_again(tmp_path: Path, over_rest: bool) -> None:
    source = RuleServer()
    with ExitStack() as stack:
        server = stack.enter_context(served(source))
        text = f"{RULES}[organization]\nsource = {json.dumps(server.url)}\n"
        door: Door
        if over_rest:
            world = stack.enter_context(serving(World(tmp_path, text)))
            door, refresh = OfServer(world, world.session()), world.service.organizations.refresh
            status: Callable[[], Status] = lambda: world.service.organizations.statuses()[0]  # noqa: E731
        else:
            session = _session(tmp_path, text)
            (own,) = session.engine.organizations.all()  # type: ignore[attr-defined]
            stack.callback(own.close)
            door, refresh, status = OfSession(session), own.refresh, own.status
        for way in FAILING:
            source.way = way
            refresh()
            assert status().words == WORDS[way]
            for path in ("open/a", "closed/a"):
                assert door.check(path) == (ASKED, "layer_failed", "org_rules"), way
                assert door.judge(path, patience=30) == ("unanswerable", "org_rules", "org_unavailable"), way
        source.way = WELL
        refresh()
        goes_well(door, "org_rules", "rule")
        for way in FAILING:
            source.way = way
            refresh()
            assert status().words == WORDS[way].replace("unavailable", "stale")
            goes_well(door, "org_rules", "rule")
        source.way = WELL
        refresh()
        assert status().words == "current"
        goes_well(door, "org_rules", "rule")
