"""What leaves over REST about calls, turns, jobs and changes holds no value of the vault; arguments stay."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stanch.runtime.scripted_reply import fail, say, use
from stanch.secrets.text import Secret
from tests.canary import EXCEPTION, REQUEST, Canary
from tests.http.conversing import POLICY, Follower, talking
from tests.http.served import AGENT, BY, World
from tests.http.test_calls import submitted
from tests.http.test_events import Listener

VALUE = "marker-of-the-value-4711"
BASE64 = base64.b64encode(VALUE.encode()).decode()
FORMS = pytest.mark.parametrize("form", [VALUE, BASE64])
NAME = "{{STRIPE_KEY}}"


@pytest.fixture
def planted(world: World, canary: Canary) -> World:
    """A server whose vault holds the value, which faults may name on their way to the door."""
    canary.expect_in(EXCEPTION)
    world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=BY)
    return world


def silent(said: Any, form: str) -> str:
    """What was said, as text, without the value."""
    text = said if isinstance(said, str) else json.dumps(said)
    assert form not in text
    return text


@FORMS
def test_a_reason_that_names_a_path_names_a_label(planted: World, form: str) -> None:
    session = planted.session()
    arguments = {"path": f"secrets/{form}.txt", "content": form}
    denied = submitted(planted, session, arguments=arguments)
    asked = submitted(planted, session, arguments={**arguments, "path": f"{form}.txt"})
    about = asked["call"]["id"]
    seen = [
        (denied["call"]["reason"], denied["call"]["arguments"]),
        (denied["answer"]["reason"], arguments),
        (planted.get(f"/api/calls/{about}")["reason"], asked["call"]["arguments"]),
        (planted.get(f"/api/sessions/{session}/calls")["items"][0]["reason"], asked["call"]["arguments"]),
        (planted.get("/api/inbox")["approvals"][0]["reason"], asked["call"]["arguments"]),
    ]
    for reason, given in seen:
        assert NAME in silent(reason, form)
        assert given["content"] == form, "what a person answers for stays"
    assert denied["call"]["reason"]["code"] == "rule"
    request = asked["call"]["request_id"]
    path = f"/api/inbox/approvals/{request}"
    assert NAME in silent(planted.get(path)["reason"], form)
    done = planted.post(f"{path}/resolve", {"action": "reject", "note": form})
    assert NAME in silent(done["request"]["reason"], form)
    assert NAME in silent(done["call"]["reason"], form)


@FORMS
def test_an_answer_that_is_asked_for_holds_no_value_in_its_reasons(planted: World, form: str) -> None:
    body = {"tool": "write_file", "arguments": {"path": f"secrets/{form}.txt", "content": "x"}}
    for path in ("/api/check", "/api/explain"):
        said = planted.client(AGENT).post(path, json=body).json()
        reasons = [
            said["reason"],
            *(one["reason"] for one in said["effects"]),
            *(one["reason"] for one in said["trace"]),
        ]
        assert NAME in silent(reasons, form)
        assert said["reason"]["code"] == "rule"


@FORMS
def test_no_audit_row_and_no_event_holds_a_value(planted: World, form: str) -> None:
    with _listening(planted) as listener:
        session = planted.session()
        submitted(planted, session, tool=f"tool_{form}", arguments={})
        planted.post(f"/api/sessions/{session}/questions", {"question": form}, 201)
        planted.client().delete(f"/api/sessions/{session}").raise_for_status()
        told = listener.until("session.end")
        assert NAME in silent([one.data for one in told], form)
    rows = planted.rows("SELECT subject, detail FROM audit")
    assert NAME in silent(json.dumps(rows), form), "what is stored holds none either"
    assert NAME in silent(planted.get("/api/audit?limit=500"), form)
    assert planted.get("/api/audit/verify")["holds"]


def test_what_an_audit_row_held_before_is_told_without_it(planted: World) -> None:
    session = planted.session()
    submitted(planted, session, tool="tool_known-later-4711", arguments={})
    assert "known-later-4711" in str(planted.rows("SELECT detail FROM audit"))
    planted.service.vault.set("LATER", Secret("known-later-4711"), by=BY)
    assert "tool_{{LATER}}" in silent(planted.get("/api/audit?limit=500"), "known-later-4711")
    assert planted.get("/api/audit/verify")["holds"], "the log is as it was"


@contextmanager
def _listening(world: World) -> Iterator[Listener]:
    listener = Listener(world)
    yield listener
    listener.close()


@pytest.fixture
def follow() -> Iterator[Callable[..., Follower]]:
    made: list[Follower] = []

    def begin(*given: Any) -> Follower:
        made.append(Follower(*given))
        return made[-1]

    yield begin
    for one in made:
        one.close()


@FORMS
def test_a_session_that_is_followed_tells_no_value_in_a_reason(
    tmp_path: Path, canary: Canary, follow: Callable[..., Follower], form: str
) -> None:
    canary.expect_in(EXCEPTION)
    script = [use("read_file", path=f"secrets/{form}.txt"), say("ok")]
    with talking(tmp_path, script, POLICY) as world:
        world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=BY)
        session = world.session()
        follower = follow(world, session)
        world.say(session)
        told = follower.until("turn", state="completed")
        calls = [one.data for one in told if one.event == "call"]
        assert calls
        for one in calls:
            assert NAME in silent(one["reason"], form)
            assert one["arguments"]["path"] == f"secrets/{form}.txt"
        result = next(part for one in world.messages(session) for part in one["parts"] if part["type"] == "result")
        assert NAME in silent(result, form), "the words of a refusal are a failure's, not a file's"
        turns = world.get(f"/api/sessions/{session}/turns")["items"]
        assert NAME in silent(world.get(f"/api/turns/{turns[0]['id']}/refused")[0]["reason"], form)


@FORMS
def test_a_turn_that_fails_says_why_without_a_value(tmp_path: Path, canary: Canary, form: str) -> None:
    canary.expect_in(EXCEPTION, REQUEST)  # a model has the name that its provider knows it by
    policy = POLICY + f'\n[agents."other"]\nmodel = "fake/{form}"\n'
    with talking(tmp_path, [fail(400, "no")], policy) as world:
        world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=BY)
        session = world.session(agent_id="other")
        turn = world.say(session, wait=30)
        assert turn["state"] == "failed"
        assert NAME in silent(turn["problem"], form)
        assert NAME in silent(world.get(f"/api/turns/{turn['id']}")["problem"], form)
        assert NAME in silent(str(world.rows("SELECT problem FROM turns")), form)


@FORMS
def test_the_outcome_of_a_job_holds_no_value(planted: World, form: str) -> None:
    job = planted.post("/api/jobs", {"name": "j", "cron": "0 0 1 1 *", "prompt": "x", "agent_id": f"a-{form}"}, 201)
    run = planted.post(f"/api/jobs/{job['id']}/run", status=201)
    assert run["state"] == "failed"
    assert NAME in silent(run["outcome"], form)
    assert NAME in silent(planted.get(f"/api/jobs/{job['id']}/runs")["items"][0]["outcome"], form)
