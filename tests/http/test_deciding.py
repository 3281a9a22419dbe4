"""`/api/check` and `/api/explain` say what the command line says, word for word, and store nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stanch.surfaces.cli.main import app
from stanch.values.identity import Principal, PrincipalKind
from tests.http.served import World

EXAMPLE = Path(__file__).resolve().parents[1] / "cli" / "example.toml"
CALLS: list[dict[str, Any]] = [
    {"tool": "read_file", "arguments": {"path": "notes/../secrets/key"}},
    {"tool": "write_file", "arguments": {"path": "data/a", "content": "x"}},
    {"tool": "edit_file", "arguments": {"path": "a", "old": "x", "new": "y"}},
    {"tool": "execute_cmd", "arguments": {"command": "git log -1"}, "source": "cron", "agent": "digest"},
    {"tool": "nobody_knows", "arguments": {"a": ["./x", {"b": "/etc/passwd"}]}},
    {"tool": "read_file", "arguments": {"path": "a"}, "group": "gone"},
    {"tool": "read_file", "arguments": {"path": "a"}, "model": "deepseek/r1"},
    {"tool": "write_file", "arguments": {"path": "out/a", "content": ""}, "context": {"allow_fs_writes": ["out"]}},
    {"tool": "write_file", "arguments": {"path": "logs/a", "content": ""}, "source": "cron", "context": None},
    {"tool": "write_file", "arguments": {"path": "logs/a", "content": ""}, "source": "cron"},
    {"tool": "ask_user", "arguments": {"question": "?"}},
    {"tool": "Bash", "arguments": {"command": "cd data && cat ../secrets/key $NOT_SET > b; curl http://example.com"}},
]


def without_times(said: dict[str, Any]) -> dict[str, Any]:
    """The answer without what two runs never share: how long it took, and which policy it was."""
    for step in said["trace"]:
        del step["microseconds"]
    del said["policy"], said["policy_version"]
    return said


@pytest.mark.parametrize("command", ["check", "explain"])
def test_the_command_line_says_the_same(serve: Callable[[str], World], command: str) -> None:
    world = serve(EXAMPLE.read_text("utf-8"))
    stored = world.dump()
    for call in CALLS:
        over_rest = world.post(f"/api/{command}", call)
        words = [command, "--json", "--policy", str(world.policy), "--tool", call["tool"]]
        words += ["--args", json.dumps(call["arguments"])]
        words += ["--context", json.dumps(call["context"])] if "context" in call else []
        for option in ("group", "agent", "source", "model"):
            words += [f"--{option}", call[option]] if option in call else []
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code in (0, 10, 11), done.stderr
        assert without_times(over_rest) == without_times(json.loads(done.stdout)), call
    assert world.dump() == stored


def test_a_directory_is_read_against_the_workspace(world: World) -> None:
    (world.workspace / "sub").mkdir()
    said = world.check("read_file", {"path": "a"}, cwd="sub")
    assert said["effects"][0]["path"] == str(world.workspace / "sub" / "a")
    session = world.session(run_context={"working_directory": "sub"})
    said = world.check("read_file", {"path": "a"}, session_id=session, cwd="deep")
    assert said["effects"][0]["path"] == str(world.workspace / "sub" / "deep" / "a")
    for cwd in ("", "a\0b"):
        assert world.post("/api/check", {"tool": "t", "arguments": {}, "cwd": cwd}, 422)["errors"][0]["field"] == "cwd"


def test_the_servers_own_files_are_out_of_reach(world: World) -> None:
    os.makedirs(world.workspace / ".stanch")
    assert world.answer("read_file", ".stanch/x") == ("deny", "path_protected")
    assert world.answer("write_file", "stanch.toml") == ("deny", "path_protected")


def test_tools_and_tiers_are_shown(serve: Callable[[str], World]) -> None:
    world = serve(EXAMPLE.read_text("utf-8") + '\n[tools.mcp__crm__find]\neffects = [{ class = "network" }]\n')
    tools = world.get("/api/approval/tools")
    builtin = {one["name"]: one for one in tools["builtin"]}
    assert builtin["edit_file"]["category"] == "filesystem"
    assert [(one["class"], one["argument"]) for one in builtin["edit_file"]["effects"]] == [
        ("read", "path|file_path"),
        ("write", "path|file_path"),
    ]
    assert [one["name"] for one in tools["declared"]] == ["deploy"]
    servers = {one["server"]: [tool["name"] for tool in one["tools"]] for one in tools["servers"]}
    assert servers["crm"] == ["mcp__crm__find"]
    assert "mcp__git__git_log" in servers["git"]
    assert {"Read", "Bash"} <= {one["name"] for one in tools["agents"]}
    tiers = world.get("/api/tiers")
    assert tiers["default_tier"] == "unassigned"
    assert tiers["assignments"]["deepseek/*"] == "limited"
    limited = next(one for one in tiers["tiers"] if one["id"] == "limited")
    assert limited["otherwise"] == {"read": "allow", "write": "deny", "execute": "deny", "network": "deny"}
    assert {"path": "/**/secrets", "read": "deny"} in limited["cells"]
    assert (limited["shipped"], tiers["broken"], tiers["model"]) == (False, None, None)


def test_a_model_is_told_its_tier(serve: Callable[[str], World]) -> None:
    world = serve(EXAMPLE.read_text("utf-8"))
    found = [world.get(f"/api/tiers?model={name}")["model"] for name in ("deepseek/chat", "chat")]
    assert found == [
        {"model": "deepseek/chat", "tier": "limited", "pattern": "deepseek/*"},
        {"model": "chat", "tier": "unassigned", "pattern": None},
    ]
    said = world.post("/api/check", {"tool": "write_file", "arguments": {"path": "a"}, "model": "deepseek/chat"})
    assert (said["effect"], said["reason"]["code"], said["reason"]["layer"]) == ("deny", "tier_denies", "tier")


def test_a_command_is_answered_part_by_part(world: World) -> None:
    call = {"tool": "Bash", "arguments": {"command": "cat a && frobnicate ./b"}}
    said = world.post("/api/check", call)
    shown = [(one["part"], one["command"], one["class"], one["found"]) for one in said["effects"]]
    assert shown == [
        (1, "cat a", "execute", None),
        (1, "cat a", "read", "sure"),
        (2, "frobnicate ./b", "execute", None),
        (2, "frobnicate ./b", "read", "possible"),
        (2, "frobnicate ./b", "write", "possible"),
    ]
    assert [one["path"] for one in said["effects"]] == [
        None,
        f"{world.workspace}/a",
        None,
        f"{world.workspace}/b",
        f"{world.workspace}/b",
    ]
    explained = world.post("/api/explain", call)
    assert explained["effects"] == said["effects"]
    assert [one["as_command"] for one in explained["rules"]] == [False, True, False, True, False]


def test_the_description_names_what_a_command_adds(world: World) -> None:
    schemas = world.get("/openapi.json")["components"]["schemas"]
    assert {"part", "command", "found"} <= set(schemas["EffectShown"]["required"])
    assert "as_command" in schemas["ContestShown"]["required"]


def test_what_would_change_it_counts_the_stores_calls_for_those_who_may_read_them(
    serve: Callable[[str], World],
) -> None:
    world = serve(
        'version = 1\n[[groups]]\nid = "default"\n[[groups.rules]]\ntool = "@read"\npath = "a"\naction = "deny"\n'
    )
    one, other = (world.post("/api/sessions", {"agent_id": name}, 201)["id"] for name in ("a1", "a2"))
    for session in (one, other):
        call = {"tool": "read_file", "arguments": {"path": "a/other"}}
        world.post(f"/api/sessions/{session}/calls", call, 201)
    asked = {"session_id": one, "tool": "read_file", "arguments": {"path": "a/x"}}
    change = world.post("/api/explain", asked)["change"]
    assert change["looked_at"] == 2
    first = change["suggested"][0]
    assert (first["what"], first["others"], first["group"]) == ("add", 0, "default")
    edit = next(one for one in change["suggested"] if one["what"] == "edit")
    assert edit["others"] == 2
    assert {one["tool"] for one in edit["first"]} == {"read_file"}
    assert world.post("/api/explain", {**asked, "to": "deny"})["change"]["already"] is True
    world.post("/api/explain", {**asked, "to": "alow"}, 422)
    world.post("/api/check", {**asked, "to": "deny"}, 422)


def test_whoever_may_read_no_other_session_is_told_of_none(serve: Callable[[str], World]) -> None:
    world = serve('version = 1\n[[groups]]\nid = "default"\n[[groups.rules]]\ntool = "*"\naction = "ask"\n')
    session = world.post("/api/sessions", {"agent_id": "a1"}, 201)["id"]
    world.post(f"/api/sessions/{session}/calls", {"tool": "read_file", "arguments": {"path": "/etc/a"}}, 201)
    asked = {"tool": "read_file", "arguments": {"path": "/etc/b"}}
    assert world.post("/api/explain", asked)["change"]["looked_at"] == 1
    executor = world.client(Principal(PrincipalKind.EXECUTOR, "runner"))
    change = executor.post("/api/explain", json=asked).json()["change"]
    assert (change["looked_at"], change["suggested"][0]["first"]) == (0, [])
