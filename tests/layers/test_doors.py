"""Skills, rows and hooks at the doors: REST, the console, lint and the policy file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stanch.app.linting import check_file, path_forms
from stanch.policy.building import build
from stanch.policy.document import Policy, parse
from stanch.policy.lint import FindingKind, lint
from stanch.surfaces.cli.main import app
from tests.console.visitors import Visitor
from tests.http.conversing import talking
from tests.http.served import AGENT, AGENTS, World, served
from tests.layers.asked import RULES

POLICY = (
    RULES
    + """
[[skills]]
id = "router"
rules = [{ tool = "web_search" }]
[[hooks]]
command = ["sh", "-c", "cat > /dev/null; cat answer"]
tools = "write_file"
"""
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with served(World(tmp_path, POLICY)) as made:
        (made.workspace / "answer").write_text('{"effect": "allow"}', "utf-8")
        yield made


def test_a_session_has_skills_and_rows_over_rest(world: World) -> None:
    row: dict[str, Any] = {"tool": "@write", "path": "src", "action": "deny", "frozen": True}
    session = world.session(skills=["router"], narrowing=[row])
    shown = world.get(f"/api/sessions/{session}")
    full = {"id": 1, "command": None, "note": None, "real_approval": False, **row}
    assert (shown["skills"], shown["narrowing"], shown["has_policy"]) == (["router"], [full], False)
    assert world.check("web_search", {"query": "x"}, session_id=session)["reason"]["layer"] == "skill_rows"
    assert world.answer("write_file", "src/a", session_id=session) == ("deny", "rule")
    at = f"/api/sessions/{session}"
    assert world.post(f"{at}/skills", {"remove": ["router"]})["skills"] == []
    world.post(f"{at}/skills", {"add": ["other"]}, 422)
    world.post(f"{at}/skills", {"remove": ["router"]}, 409)
    assert [one["id"] for one in world.post(f"{at}/narrowing", {"add": [{**row, "frozen": False}]})["narrowing"]] == [
        1,
        2,
    ]
    world.post(f"{at}/narrowing", {"remove": [1]}, 409)
    assert len(world.post(f"{at}/narrowing", {"remove": [2]})["narrowing"]) == 1
    for odd in ({**row, "action": "allow"}, {**row, "tool": "@wrte"}, {**row, "agent": "coder"}):
        world.post(f"{at}/narrowing", {"add": [odd]}, 422)
        world.post("/api/sessions", {"agent_id": "coder", "narrowing": [odd]}, 422)


@pytest.mark.parametrize("agent", AGENTS)
def test_no_agent_widens_its_session(world: World, agent: Any) -> None:
    session = world.session(narrowing=[{"tool": "@write", "action": "deny"}], principal={
        "kind": AGENT.kind.value, "id": AGENT.id, "service_id": AGENT.service_id,
    })  # fmt: skip
    for path, body in (("narrowing", {"remove": [1]}), ("skills", {"add": ["router"]})):
        assert world.client(agent).post(f"/api/sessions/{session}/{path}", json=body).status_code == 403
    assert len(world.get(f"/api/sessions/{session}")["narrowing"]) == 1


def test_whoever_asks_is_given_the_arguments_that_are_allowed(world: World) -> None:
    assert "arguments" not in world.check("write_file", {"path": "a", "content": "x"})
    answer = '{"effect": "allow", "arguments": {"path": "b", "content": ""}}'
    (world.workspace / "answer").write_text(answer, "utf-8")
    said = world.check("write_file", {"path": "a", "content": "x"})
    assert (said["effect"], said["arguments"]) == ("allow", {"path": "b", "content": ""})
    assert "arguments" not in world.check("write_file", {"content": "", "path": "b"})
    script = (
        "import json, sys; asked = json.load(sys.stdin)['arguments']; kept = dict(asked, path='b')\n"
        "print(json.dumps({'effect': 'allow'} | ({} if kept == asked else {'arguments': kept})))"
    )
    (world.workspace / "keep.py").write_text(script, "utf-8")
    world.write_policy(RULES + '[[hooks]]\ncommand = ["python3", "keep.py"]\n')
    world.service.refresh()
    said = world.check("write_file", {"path": "a", "content": "x"})
    assert (said["effect"], said["arguments"]) == ("allow", {"path": "b", "content": "x"})


def test_the_console_shows_what_narrows_a_session(tmp_path: Path) -> None:
    with talking(tmp_path, []) as world:
        plain = world.session()
        row = {"tool": "@write", "path": "<b>src", "action": "ask", "real_approval": True, "frozen": True}
        narrowed = world.session(narrowing=[row])
        with Visitor(world) as visitor:
            assert "What narrows it" not in visitor.get(f"/console/sessions/{plain}")
            text = visitor.get(f"/console/sessions/{narrowed}")
            assert "What narrows it" in text
            assert "&lt;b&gt;src" in text
            assert "stays until the session ends" in text


def policy_of(text: str) -> Policy:
    return build(parse("version = 1\n" + text, "stanch.toml"), workspace="/w", home="/home/p")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[skills]]\nid = "a"\n[[skills]]\nid = "a"\n', "the skill 'a' stands twice"),
        ('[[skills]]\nid = "a"\nrules = [{tool = "@wrte"}]\n', "did you mean '@write'"),
        ('[[skills]]\nid = "a"\nrules = [{tool = "x", action = "allow"}]\n', "unknown action 'allow' (known: deny)"),
        ('[[skills]]\nid = "a"\nrules = [{tool = "x", paths = "y"}]\n', "unknown key 'paths'; did you mean 'path'"),
        ('[[skills]]\nid = "a"\nallowed-tools = []\n', "unknown key 'allowed-tools'; did you mean 'allowed_tools'"),
        ('[[narrowing]]\ntool = "x"\naction = "allow"\n', "unknown action 'allow' (known: ask, deny)"),
        ('[[narrowing]]\ntool = "x"\naction = "deny"\nreal_approval = true\n', "asks nobody"),
        ('[[narrowing]]\ntool = "x"\naction = "deny"\nfrozen = true\n', "unknown key 'frozen'"),
        ('[narrowing]\ntool = "x"\n', "[[narrowing]] begins each row"),
        ('[[hooks]]\ncommand = "x"\n', "must be a list"),
        ('[[hooks]]\ncommand = []\n', "'command' is empty"),
        ('[caller_policy]\ncommand = ["x"]\ntimeout_ms = 0\n', "'timeout_ms' must be a whole number above 0"),
        ('[caller_policy]\ncommand = ["x"]\ntools = "y"\n', "unknown key 'tools'"),
    ],
)  # fmt: skip
def test_mistakes_are_named_and_break_the_policy(text: str, message: str) -> None:
    policy = policy_of(text)
    assert message in policy.problems[0].message
    assert policy.broken is not None


def test_lint_says_that_a_list_of_tools_is_no_fence() -> None:
    text = '[[skills]]\nid = "a"\nallowed_tools = ["read_file"]\nrules = [{tool = "web_search"}]\n'
    (found,) = lint(policy_of(text))
    assert (found.kind, found.place) == (FindingKind.NO_FENCE, "stanch.toml:2")
    assert "forbids nothing" in found.message
    assert lint(policy_of('[[skills]]\nid = "a"\nallowed_tools = ["read_file"]\nrules = [{tool = "*"}]\n')) == []
    assert lint(policy_of('[[skills]]\nid = "a"\nrules = [{tool = "web_search"}]\n')) == []


def test_lint_and_check_look_at_rows_too(tmp_path: Path) -> None:
    (found,) = lint(policy_of('[[narrowing]]\ntool = "raed_file"\naction = "deny"\n'))
    assert found.kind is FindingKind.UNKNOWN_TOOL
    (tmp_path / "stanch.toml").write_text(
        RULES + '[[narrowing]]\ntool = "@read"\npath = "keys"\naction = "deny"\n', "utf-8"
    )
    assert any(written == "keys" for _, written, _ in path_forms(check_file(tmp_path / "stanch.toml")))


def test_the_command_line_asks_with_skills(tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text(POLICY, "utf-8")
    words = ["--policy", str(tmp_path / "stanch.toml"), "--tool", "web_search", "--args", '{"query": "x"}']
    run = CliRunner().invoke
    for command in ("check", "explain"):
        assert run(app, [command, *words]).exit_code == 0
        denied = run(app, [command, *words, "--skill", "router"])
        assert (denied.exit_code, "skill:router" in denied.output) == (11, True)
        odd = run(app, [command, *words, "--skill", "routr"])
        assert (odd.exit_code, "did you mean 'router'" in odd.output) == (2, True)


def test_the_command_line_explains_without_hooks(tmp_path: Path) -> None:
    text = POLICY + '\n[[hooks]]\ntools = "*"\ncommand = ["/bin/false"]\n'
    (tmp_path / "stanch.toml").write_text(text, "utf-8")
    words = ["--policy", str(tmp_path / "stanch.toml"), "--tool", "web_search", "--args", '{"query": "x"}']
    assert CliRunner().invoke(app, ["check", *words]).exit_code == 10
    assert CliRunner().invoke(app, ["explain", *words]).exit_code == 0


def test_to_explain_asks_no_hook(world: World) -> None:
    (world.workspace / "answer").write_text('{"effect": "deny"}', "utf-8")
    body = {"tool": "write_file", "arguments": {"path": "a", "content": "x"}}
    for session in ({}, {"session_id": world.session()}):
        assert world.post("/api/check", body | session)["reason"]["layer"] == "hooks"
        assert world.post("/api/explain", body | session)["effect"] == "allow"
