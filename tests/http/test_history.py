"""`POST /api/history/redact`: what goes in comes back filtered, for those who may, and nothing of it is kept."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from stanch.surfaces.cli.main import app
from stanch.values.identity import Principal
from tests.cli.test_redact import CHAT, PAY, POLICY, REQUESTS
from tests.http.served import AGENTS, CLIENT, KEY, PERSON, WORKFLOW, World

PATH = "/api/history/redact"


@pytest.fixture
def filtering(serve: Callable[[str], World]) -> World:
    return serve(POLICY)


@pytest.mark.parametrize("name", REQUESTS)
def test_the_command_line_says_the_same(filtering: World, name: str) -> None:
    given, stored = REQUESTS[name], filtering.dump()
    key = "body" if isinstance(given, dict) else "messages"
    for model in ("ext/m", "local/m", "ask/m", "new/m"):
        body = {key: given, "model": model, "cwd": str(filtering.workspace), "answers": {"send": ["hr/pay.csv"]}}
        said = filtering.post(PATH, body)
        words = ["redact", "--report", "--model", model, "--policy", str(filtering.policy)]
        words += ["--cwd", body["cwd"], "--answers", json.dumps(body["answers"])]
        done = CliRunner().invoke(app, words, input=json.dumps(given), catch_exceptions=False)
        assert said == json.loads(done.stdout)
        assert list(said) == [key, "withheld", "report"]
        assert (PAY in json.dumps(said)) is (model == "local/m" or (model != "ext/m" and "ours" not in name))
    assert filtering.dump() == stored


def test_a_relative_directory_starts_at_the_workspace(filtering: World) -> None:
    said = filtering.post(PATH, {"messages": CHAT, "model": "ext/m", "cwd": "."})
    assert [row["path"] for row in said["withheld"]] == [str(filtering.workspace / "hr/pay.csv")]
    said = filtering.post(PATH, {"messages": CHAT, "model": "ext/m"})
    assert [row["path"] for row in said["withheld"]] == ["hr/pay.csv"]


def test_quotes_can_be_left(filtering: World) -> None:
    said = filtering.post(PATH, {"messages": CHAT, "model": "ext/m", "cwd": ".", "quotes": False})
    assert PAY in said["messages"][3]["content"]


@pytest.mark.parametrize("principal", [*AGENTS, CLIENT], ids=lambda one: f"{one.kind}-{one.service_id}")
def test_no_agent_may(filtering: World, principal: Principal) -> None:
    reply = filtering.client(principal).post(PATH, json={"messages": CHAT, "model": "ext/m"})
    assert reply.status_code == 403
    assert PAY not in reply.text


@pytest.mark.parametrize("principal", [PERSON, KEY, WORKFLOW], ids=lambda one: str(one.kind))
def test_persons_keys_and_workflows_may(filtering: World, principal: Principal) -> None:
    reply = filtering.client(principal).post(PATH, json={"messages": CHAT, "model": "ext/m"})
    assert reply.status_code == 200


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"model": "ext/m"}, "and not both"),
        ({"messages": [], "body": {}, "model": "ext/m"}, "and not both"),
        ({"messages": []}, "model"),
        ({"messages": [], "model": ""}, "model"),
        ({"messages": [], "model": "ext/m", "cwd": ""}, "'cwd' cannot be used"),
        ({"messages": [], "model": "ext/m", "cwd": "a\0b"}, "'cwd' cannot be used"),
        ({"messages": [{"role": "robot", "content": PAY}], "model": "ext/m"}, "messages[0].role"),
        ({"messages": [], "model": "ext/m", "answers": {"sent": []}}, "answers"),
        ({"messages": [], "model": "ext/m", "more": 1}, "more"),
        ({"body": {"input": PAY, "conversation": "c"}, "model": "ext/m"}, "'conversation'"),
    ],
)
def test_a_mistake_is_named_and_nothing_of_it_repeated(filtering: World, body: object, says: str) -> None:
    reply = filtering.client().post(PATH, json=body)
    assert reply.status_code == 422, reply.text
    assert says in json.dumps(reply.json(), ensure_ascii=False)
    assert PAY not in reply.text


def test_numbers_that_json_cannot_say_are_refused(filtering: World) -> None:
    raw = '{"model": "local/m", "messages": [{"role": "user", "content": "x", "n": 1e999}]}'
    reply = filtering.client().post(PATH, content=raw, headers={"Content-Type": "application/json"})
    assert reply.status_code == 422


def test_a_policy_with_a_mistake_in_its_tiers_filters_nothing(serve: Callable[[str], World]) -> None:
    world = serve(POLICY.replace('read = "ask"', 'read = "perhaps"'))
    reply = world.client().post(PATH, json={"messages": CHAT, "model": "local/m"})
    assert reply.status_code == 409
    assert "cannot be relied on" in reply.json()["detail"]


def test_the_policy_of_the_moment_counts(filtering: World) -> None:
    assert PAY not in json.dumps(filtering.post(PATH, {"messages": CHAT, "model": "ext/m", "cwd": "."}))
    filtering.write_policy(POLICY.replace('"ext/*" = "external"', '"ext/*" = "trusted"'))
    filtering.service.refresh()
    assert filtering.post(PATH, {"messages": CHAT, "model": "ext/m", "cwd": "."})["messages"] == CHAT
