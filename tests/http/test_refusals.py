"""What is refused is refused whole: with the field, the type that came and what to write. Nothing stored changes."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.http.served import AGENT, World

CANARY = "hunter2hunter2"
BAD_CONTEXTS: dict[str, tuple[Any, str, str]] = {
    "an unknown group": ({"security_group": "nobody"}, "security_group", "there is no permission group 'nobody'"),
    "an empty group": ({"security_group": ""}, "security_group", "is empty"),
    "a number for a group": ({"security_group": 7}, "security_group", "must be a string, got a number"),
    "an unknown field": ({"allow_fs_write": ["a"]}, "allow_fs_write", "did you mean 'allow_fs_writes'?"),
    "a string for a list": ({"allow_fs_writes": CANARY}, "allow_fs_writes", "must be a list, got a string"),
    "null for a list": ({"system_prompt": None}, "system_prompt", "must be a list, got null"),
    "a number in a list": ({"allow_fs_reads": ["a", 1]}, "allow_fs_reads[1]", "must be a string, got a number"),
    "an object for a directory": ({"working_directory": {}}, "working_directory", "must be a string, got an object"),
    "a glob": ({"allow_fs_writes": ["a", "src/*.py"]}, "allow_fs_writes[1]", 'write "src", not "src/*.py"'),
    "a glob to read": ({"allow_fs_reads": ["lo?s"]}, "allow_fs_reads[0]", "without wildcards"),
    "an empty grant": ({"allow_fs_writes": [""]}, "allow_fs_writes[0]", 'write the directory, for instance "."'),
    "a NUL": ({"working_directory": "a\0b"}, "working_directory", "a NUL byte"),
    "a list": ([CANARY], "", "must be an object, got a list"),
    "a string": (CANARY, "", "must be an object, got a string"),
}
OWNERS = ("session", "project", "ticket", "job")


def owners(world: World) -> dict[str, str]:
    """Where the context of each kind of owner is set."""
    project = world.post("/api/projects", {"name": "p"}, 201)["id"]
    ticket = world.post(f"/api/projects/{project}/tickets", {"title": "t"}, 201)["id"]
    job = {"name": "j", "cron": "0 9 * * *", "prompt": "p", "agent_id": "a"}
    return {
        "session": f"/api/sessions/{world.session()}",
        "project": f"/api/projects/{project}",
        "ticket": f"/api/projects/{project}/tickets/{ticket}",
        "job": f"/api/jobs/{world.post('/api/jobs', job, 201)['id']}",
    }


def test_a_bad_context_changes_nothing(world: World) -> None:
    before = {"system_prompt": ["as it was"], "allow_fs_writes": ["out"]}
    places = owners(world)
    for place in places.values():
        world.set_context(f"{place}/run_context", before)
    stored = world.dump()
    for owner, place in places.items():
        for name, (context, field, words) in BAD_CONTEXTS.items():
            said = world.set_context(f"{place}/run_context", context, 422)
            found = [one for one in said["errors"] if one["field"] == field]
            assert found, f"{owner}, {name}: {said}"
            assert words in found[0]["message"], f"{owner}, {name}: {said}"
            assert CANARY not in str(said)
    assert world.dump() == stored


@pytest.mark.parametrize("path", ["/api/sessions", "/api/projects", "/api/jobs"])
def test_nothing_is_made_with_a_bad_context(world: World, path: str) -> None:
    wanted: dict[str, dict[str, Any]] = {
        "/api/sessions": {"agent_id": "a"},
        "/api/projects": {"name": "p"},
        "/api/jobs": {"name": "j", "cron": "0 9 * * *", "prompt": "p", "agent_id": "a"},
    }
    stored = world.dump()
    for context, field, _ in BAD_CONTEXTS.values():
        said = world.post(path, wanted[path] | {"run_context": context}, 422)
        inside = f"run_context.{field}" if field else "run_context"
        assert inside in [one["field"] for one in said["errors"]], said
    assert world.dump() == stored


def test_no_body_is_no_null(world: World) -> None:
    place = owners(world)["session"]
    world.set_context(f"{place}/run_context", {"system_prompt": ["kept"]})
    reply = world.client().post(f"{place}/run_context")
    assert reply.status_code == 422
    assert "null for none" in reply.json()["detail"]
    assert world.get(place)["run_context"]["system_prompt"] == ["kept"]


RULE = {"tool_pattern": "@read", "action": "deny"}
BAD_RULES: dict[str, tuple[dict[str, Any], str]] = {
    "no effect class": (RULE | {"tool_pattern": "@reed"}, "tool_pattern"),
    "an empty tool": (RULE | {"tool_pattern": ""}, "tool_pattern"),
    "no tool": ({"action": "deny"}, "tool_pattern"),
    "no action": ({"tool_pattern": "x"}, "action"),
    "an unknown action": (RULE | {"action": CANARY}, "action"),
    "a mandatory allow": (RULE | {"action": "allow", "mandatory": True}, "mandatory"),
    "somebody's home": (RULE | {"path_pattern": "~root/x"}, "path_pattern"),
    "up behind a wildcard": (RULE | {"path_pattern": "*/../x"}, "path_pattern"),
    "two commands": (RULE | {"command_pattern": "ls; rm x"}, "command_pattern"),
    "blanks for a command": (RULE | {"command_pattern": "  "}, "command_pattern"),
    "assignments without a command": (RULE | {"command_pattern": "A=1"}, "command_pattern"),
    "a text for a priority": (RULE | {"priority": CANARY}, "priority"),
    "a fraction": (RULE | {"priority": 1.5}, "priority"),
    "a boolean": (RULE | {"priority": True}, "priority"),
    "too large a number": (RULE | {"priority": 1 << 40}, "priority"),
    "an unknown source": (RULE | {"source": "fax"}, "source"),
    "an unknown field": (RULE | {"path": "x"}, "path"),
    "an id": (RULE | {"id": 7}, "id"),
}


def test_a_bad_rule_changes_nothing(world: World) -> None:
    made = world.post("/api/approval/rules", RULE, 201)
    stored = world.dump()
    for name, (rule, field) in BAD_RULES.items():
        for method, path in (("POST", "/api/approval/rules"), ("PUT", f"/api/approval/rules/{made['id']}")):
            reply = world.client().request(method, path, json=rule)
            assert reply.status_code == 422, name
            assert field in [one["field"] for one in reply.json()["errors"]], f"{name}: {reply.text}"
            assert CANARY not in reply.text
    assert world.client().post("/api/approval/rules", json=RULE | {"group_id": "nobody"}).status_code == 404
    assert world.dump() == stored


@pytest.mark.parametrize(
    "cron", ["", "daily", "@daily", "* * * *", "* * * * * *", "61 * * * *", "0 9 * * FOO", "0 0 30 2 *", "x" * 300]
)
def test_a_job_needs_a_cron_expression_that_comes_round(world: World, cron: str) -> None:
    job = {"name": "j", "cron": "*/5 8-18 * * MON-FRI", "prompt": "p", "agent_id": "a"}
    made = world.post("/api/jobs", job, 201)
    assert made["next_at"] > made["created_at"]
    stored = world.dump()
    for method, path in (("POST", "/api/jobs"), ("PUT", f"/api/jobs/{made['id']}")):
        reply = world.client().request(method, path, json=job | {"cron": cron})
        assert reply.status_code == 422
        assert [one["field"] for one in reply.json()["errors"]] == ["cron"]
    assert world.dump() == stored


@pytest.mark.parametrize(
    "wrong",
    [
        {"directory": ""},
        {"directory": "a\0b"},
        {"directory": "a*b", "grant_tree": True},
        {"directory": "src/*", "grant_tree": True},
        {"directory": "src/**", "grant_tree": True},
    ],
)
def test_a_project_needs_a_directory_that_can_be_used(world: World, wrong: dict[str, Any]) -> None:
    made = world.post("/api/projects", {"name": "p", "directory": "a*b"}, 201)["id"]
    stored = world.dump()
    for method, path in (("POST", "/api/projects"), ("PUT", f"/api/projects/{made}")):
        reply = world.client().request(method, path, json={"name": "p"} | wrong)
        assert reply.status_code == 422
        assert [one["field"] for one in reply.json()["errors"]] == ["directory"]
    assert world.dump() == stored


def test_the_group_default_stays(world: World) -> None:
    stored = world.dump()
    reply = world.client().delete("/api/tool-permission-groups/default")
    assert reply.status_code == 409
    assert world.dump() == stored
    renamed = world.client().put("/api/tool-permission-groups/default", json={"name": "House rules"})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "House rules")


def test_what_is_in_the_way_is_a_conflict_and_changes_nothing(world: World) -> None:
    world.group("strict")
    project = world.post("/api/projects", {"name": "p"}, 201)["id"]
    world.post(f"/api/projects/{project}/session", {"agent_id": "a"}, 201)
    ended = world.session(session_id="mine")
    world.client().delete(f"/api/sessions/{ended}").raise_for_status()
    stored = world.dump()
    ask = world.client().request
    replies = [
        ask("POST", "/api/tool-permission-groups", json={"id": "strict"}),
        ask("POST", "/api/tool-permission-groups/default/duplicate", json={"id": "strict"}),
        ask("DELETE", f"/api/projects/{project}"),
        ask("DELETE", f"/api/sessions/{ended}"),
        ask("POST", f"/api/sessions/{ended}/model", json={"model": "m"}),
        ask("POST", f"/api/sessions/{ended}/run_context", json={}),
        ask("POST", f"/api/sessions/{ended}/turns"),
        ask("POST", "/api/sessions", json={"agent_id": "a", "session_id": "mine"}),
        ask("POST", "/api/sessions", json={"agent_id": "a", "parent_id": "mine"}),
        ask("POST", "/api/check", json={"tool": "read_file", "arguments": {"path": "a"}, "session_id": "mine"}),
    ]
    assert [reply.status_code for reply in replies] == [409] * len(replies)
    assert world.dump() == stored


def test_a_call_that_cannot_be_read_is_no_answer(world: World) -> None:
    for arguments in ({}, {"path": 7}, {"path": {CANARY: CANARY}}, {"path": [1]}):
        said = world.post("/api/check", {"tool": "read_file", "arguments": arguments}, 422)
        assert (said["type"], said["code"]) == ("urn:problem-type:stanch:call-unreadable", "call_unreadable")
        assert CANARY not in str(said)
    session = world.session()
    said = world.post("/api/check", {"tool": "x", "arguments": {}, "session_id": session, "group": "g"}, 422)
    assert [one["field"] for one in said["errors"]] == ["group"]
    deep = '{"tool": "t", "arguments": {"a": ' + "[" * 20_000 + "]" * 20_000 + "}}"
    twice = '{"tool": "read_file", "arguments": {"path": "a", "path": "secrets/key"}}'
    for text in (deep, twice, "{", "", '{"tool": "t", "arguments": NaN}'):
        reply = world.client().post("/api/check", content=text, headers={"Content-Type": "application/json"})
        assert reply.status_code == 400, text[:60]


def test_a_key_that_stands_twice_among_many_is_found_at_once(world: World) -> None:
    keys = [f"k{at}" for at in range(60_000)]
    text = '{"tool": "t", "arguments": {' + ", ".join(f'"{key}":1' for key in [*keys, keys[-1]]) + "}}"
    began = time.process_time()
    headers = {"Content-Type": "application/json"}
    reply = world.client(AGENT).post("/api/check", content=text, headers=headers)
    assert (reply.status_code, "names 'k59999' twice" in reply.text) == (400, True)
    assert time.process_time() - began < 5
