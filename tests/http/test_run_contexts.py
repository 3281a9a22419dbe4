"""Run contexts over REST: every field, every source, every scenario that people were promised.

The bodies of the scenarios are kept as they were written for their readers; only places on the disk are below the
test's own directory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.http.served import World

EMPTY: dict[str, Any] = {
    "security_group": None,
    "system_prompt": [],
    "allow_fs_writes": [],
    "allow_fs_reads": [],
    "working_directory": None,
}
DEFAULTS = """\
version = 1

[[groups]]
id = "nightly"

[sessions.defaults.agent.consolidator]
security_group = "nightly"

[sessions.defaults.source.cron]
security_group = "nightly"
allow_fs_writes = ["logs"]
"""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("security_group", "strict"),
        ("system_prompt", ["Always reply in English.", "Use metric units."]),
        ("allow_fs_writes", ["data/output", "logs/*", "tmp/", "all/**"]),
        ("allow_fs_reads", ["/usr/share/doc"]),
        ("working_directory", "/projects/skald"),
    ],
)
def test_each_field_is_stored_and_the_others_take_their_defaults(world: World, field: str, value: Any) -> None:
    world.group("strict")
    session = world.session()
    world.set_context(f"/api/sessions/{session}/run_context", EMPTY | {"system_prompt": ["before"]})
    said = world.set_context(f"/api/sessions/{session}/run_context", {field: value})
    assert said["run_context"] == EMPTY | {field: value} == world.get(f"/api/sessions/{session}")["run_context"]
    assert world.set_context(f"/api/sessions/{session}/run_context", None)["run_context"] is None


def test_the_context_of_the_reference_can_be_sent_as_it_is_written(world: World) -> None:
    world.group("cron_restrictive")
    written = {
        "security_group": "cron_restrictive",
        "system_prompt": ["Always reply in English.", "Use metric units."],
        "allow_fs_writes": ["data/output", "logs/*"],
        "working_directory": "/projects/skald",
    }
    session = world.session()
    said = world.set_context(f"/api/sessions/{session}/run_context", written)
    assert said["run_context"] == EMPTY | written
    turn = world.post(f"/api/sessions/{session}/turns", status=201)
    assert turn["working_directory"] == "/projects/skald"
    assert turn["system_prompt"] == "Always reply in English.\n\nUse metric units."


def test_a_session_without_a_context_is_judged_as_with_an_empty_one(world: World) -> None:
    session = world.session()
    turn = world.post(f"/api/sessions/{session}/turns", status=201)
    assert (turn["run_context"], turn["system_prompt"]) == (None, None)
    assert turn["working_directory"] == str(world.workspace)
    for path in ("a.txt", "docs/a.md", "skills/s.md"):
        assert world.answer("read_file", path, session_id=session) == ("allow", "read_grant")
    assert world.answer("read_file", "/etc/hostname", session_id=session) == ("ask", "rule")
    assert world.answer("write_file", "a.txt", session_id=session) == ("ask", "rule")


def test_the_group_speaks_first_and_default_behind_it(world: World) -> None:
    world.group("strict", {"tool_pattern": "read_file", "path_pattern": "notes", "action": "deny"})
    session = world.session(run_context={"security_group": "strict"})
    said = world.check("read_file", {"path": "notes/a.md"}, session_id=session)
    assert (said["effect"], said["reason"]["rule"]["group"]) == ("deny", "strict")
    said = world.check("read_file", {"path": "secrets/key"}, session_id=session)
    assert (said["effect"], said["reason"]["rule"]["group"]) == ("deny", "default")
    plain = world.session()
    assert world.answer("read_file", "notes/a.md", session_id=plain) == ("allow", "read_grant")


def test_grants_answer_questions_and_no_denies(world: World) -> None:
    session = world.session(
        run_context={"allow_fs_writes": ["out", "secrets", "notes/today.md"], "allow_fs_reads": ["/usr/share/doc"]}
    )
    answers = {
        ("write_file", "out/deep/a.txt"): ("allow", "write_grant"),
        ("write_file", "outside.txt"): ("ask", "rule"),
        ("write_file", "out/../b.txt"): ("ask", "rule"),
        ("write_file", "notes/today.md"): ("allow", "write_grant"),
        ("write_file", "notes/tomorrow.md"): ("ask", "rule"),
        ("write_file", "secrets/key"): ("deny", "rule"),
        ("read_file", "secrets/key"): ("deny", "rule"),
        ("read_file", "/usr/share/doc/a"): ("allow", "read_grant"),
        ("write_file", "/usr/share/doc/a"): ("ask", "rule"),
        ("write_file", "memory/a.md"): ("allow", "memory_exception"),
    }
    assert {call: world.answer(*call, session_id=session) for call in answers} == answers


def test_writing_grants_reading_too_also_outside_of_the_working_directory(world: World) -> None:
    session = world.session(run_context={"allow_fs_writes": [str(world.root / "elsewhere")]})
    assert world.answer("read_file", str(world.root / "elsewhere/a"), session_id=session) == ("allow", "read_grant")


def test_a_restricted_scheduled_job(world: World) -> None:
    """Scenario 1."""
    world.group(
        "cron_restrictive",
        {"tool_pattern": "execute_cmd", "action": "deny", "source": "cron"},
        {"tool_pattern": "@write", "action": "ask"},
    )
    tmp = world.root / "tmp"
    context = {
        "security_group": "cron_restrictive",
        "allow_fs_writes": ["logs/*"],
        "working_directory": str(tmp),
    }
    job = world.post(
        "/api/jobs",
        {
            "name": "Daily digest",
            "cron": "0 9 * * *",
            "prompt": "Sum up.",
            "agent_id": "digest",
            "run_context": context,
        },
        201,
    )
    session = world.post(f"/api/jobs/{job['id']}/session", {}, 201)
    assert (session["source"], session["agent_id"], session["job_id"]) == ("cron", "digest", job["id"])
    assert session["run_context"] == EMPTY | context
    denied = world.check("execute_cmd", {"command": "ls"}, session_id=session["id"])
    assert (denied["effect"], denied["reason"]["rule"]["group"]) == ("deny", "cron_restrictive")
    assert world.answer("write_file", "logs/a.log", session_id=session["id"]) == ("allow", "write_grant")
    assert world.answer("write_file", "a.log", session_id=session["id"]) == ("ask", "rule")
    read = world.check("read_file", {"path": "a.txt"}, session_id=session["id"])
    assert read["effects"][0]["path"] == str(tmp / "a.txt")


def test_a_ticket_with_words_of_its_own(world: World) -> None:
    """Scenario 2."""
    skald = world.root / "projects" / "skald"
    project = world.post("/api/projects", {"name": "Skald", "directory": str(skald)}, 201)
    context = {
        "system_prompt": ["You are fixing ticket #42: DB migration failure. Current logs are in `logs/migration.log`."],
        "working_directory": str(skald),
        "allow_fs_writes": ["data/migrations/", "logs/*"],
    }
    tickets = f"/api/projects/{project['id']}/tickets"
    ticket = world.post(tickets, {"title": "DB migration failure"}, 201)
    assert ticket["run_context"] is None
    said = world.set_context(f"{tickets}/{ticket['id']}/run_context", context)
    assert said["run_context"] == EMPTY | context
    body = {"agent_id": "coder", "ticket_id": ticket["id"]}
    session = world.post(f"/api/projects/{project['id']}/session", body, 201)["id"]
    turn = world.post(f"/api/sessions/{session}/turns", status=201)
    assert turn["working_directory"] == str(skald)
    assert turn["system_prompt"] == f"Skald\n\n{context['system_prompt'][0]}"
    answers = {
        ("write_file", "data/migrations/0042.sql"): ("allow", "write_grant"),
        ("write_file", "logs/migration.log"): ("allow", "write_grant"),
        ("write_file", f"{world.workspace}/data/out.csv"): ("allow", "rule"),
        ("write_file", "src/main.rs"): ("ask", "rule"),
        ("read_file", "src/main.rs"): ("allow", "read_grant"),
    }
    assert {call: world.answer(*call, session_id=session) for call in answers} == answers


def test_an_interactive_session_with_the_defaults_written_out(world: World) -> None:
    """Scenario 3."""
    written: dict[str, Any] = {
        "security_group": None,
        "system_prompt": [],
        "allow_fs_writes": [],
        "working_directory": None,
    }
    session = world.session(source="web", run_context=written)
    assert world.get(f"/api/sessions/{session}")["run_context"] == EMPTY
    answers = {
        ("read_file", "a.txt"): ("allow", "read_grant"),
        ("read_file", "docs/a.md"): ("allow", "read_grant"),
        ("read_file", "skills/a.md"): ("allow", "read_grant"),
        ("read_file", "secrets/key"): ("deny", "rule"),
        ("read_file", "/etc/hostname"): ("ask", "rule"),
        ("write_file", "a.txt"): ("ask", "rule"),
    }
    assert {call: world.answer(*call, session_id=session) for call in answers} == answers


def test_where_a_context_comes_from(serve: Callable[[str], World]) -> None:
    world = serve(DEFAULTS)
    nightly = EMPTY | {"security_group": "nightly"}
    made = {
        "given": (
            {"agent_id": "consolidator", "run_context": {"system_prompt": ["x"]}},
            EMPTY | {"system_prompt": ["x"]},
        ),
        "given as none": ({"agent_id": "consolidator", "source": "cron", "run_context": None}, None),
        "of the agent": ({"agent_id": "consolidator", "source": "cron"}, nightly),
        "of the source": ({"agent_id": "coder", "source": "cron"}, nightly | {"allow_fs_writes": ["logs"]}),
        "of nobody": ({"agent_id": "coder", "source": "web"}, None),
    }
    found = {name: world.post("/api/sessions", body, 201) for name, (body, _) in made.items()}
    assert {name: one["run_context"] for name, one in found.items()} == {name: want for name, (_, want) in made.items()}
    given = {name: one["context_given"] for name, one in found.items()}
    assert given == {name: name.startswith("given") for name in made}


def test_no_default_is_left_out_while_the_policy_file_has_a_mistake(serve: Callable[[str], World]) -> None:
    world = serve(DEFAULTS)
    job = {"name": "n", "cron": "0 * * * *", "prompt": "", "agent_id": "consolidator"}
    plain = world.post("/api/jobs", job, 201)["id"]
    own = world.post("/api/jobs", job | {"run_context": {"system_prompt": ["x"]}}, 201)["id"]
    for mistake in (DEFAULTS + "\nx", DEFAULTS + "\nx = 1\n", ""):
        world.write_policy(mistake)
        world.service.refresh()
        stored = world.dump()
        for path in ("/api/sessions", f"/api/jobs/{plain}/session"):
            said = world.post(path, {"agent_id": "consolidator"} if path == "/api/sessions" else {}, 409)
            assert "stanch.toml:" in said["detail"]
        assert world.dump() == stored
        world.session(run_context=None)
        world.session(run_context={"system_prompt": ["x"]})
        world.post(f"/api/jobs/{own}/session", {}, 201)
    world.write_policy(DEFAULTS)
    world.service.refresh()
    assert world.post(f"/api/jobs/{plain}/session", {}, 201)["run_context"]["security_group"] == "nightly"


def test_a_job_without_a_context_has_the_default_of_its_agent_or_of_cron(serve: Callable[[str], World]) -> None:
    world = serve(DEFAULTS)
    job = {"name": "n", "cron": "@hourly", "prompt": "", "agent_id": "coder"}
    job = world.post("/api/jobs", job | {"cron": "0 * * * *"}, 201)
    session = world.post(f"/api/jobs/{job['id']}/session", {}, 201)
    assert session["run_context"] == EMPTY | {"security_group": "nightly", "allow_fs_writes": ["logs"]}


def test_a_ticket_comes_before_its_project(world: World) -> None:
    world.group("of-project")
    world.group("of-ticket")
    home = world.root / "skald"
    project = world.post(
        "/api/projects",
        {"name": "Skald", "description": "A poet.", "directory": str(home), "grant_tree": True},
        201,
    )
    world.set_context(f"/api/projects/{project['id']}/run_context", {"security_group": "of-project"})
    ticket = world.post(f"/api/projects/{project['id']}/tickets", {"title": "t"}, 201)
    opening = f"/api/projects/{project['id']}/session"
    chat = world.post(opening, {"agent_id": "coder"}, 201)
    on_ticket = world.post(opening, {"agent_id": "coder", "ticket_id": ticket["id"]}, 201)
    grants = [f"{world.workspace}/data", str(home)]
    wanted = EMPTY | {
        "security_group": "of-project",
        "system_prompt": ["Skald\nA poet."],
        "allow_fs_writes": grants,
        "working_directory": str(home),
    }
    assert chat["run_context"] == on_ticket["run_context"] == wanted
    context = {"security_group": "of-ticket", "working_directory": str(world.root)}
    world.set_context(f"/api/projects/{project['id']}/tickets/{ticket['id']}/run_context", context)
    again = world.post(opening, {"agent_id": "coder", "ticket_id": ticket["id"]}, 201)
    assert again["run_context"] == wanted | context
    assert world.get(f"/api/sessions/{chat['id']}")["run_context"] == wanted


@pytest.mark.parametrize("written", ["skald", "skald/", "./skald", "{workspace}/skald"])
def test_a_projects_tree_is_granted_wherever_its_sessions_work(world: World, written: str) -> None:
    directory = written.format(workspace=world.workspace)
    body = {"name": "Skald", "directory": directory, "grant_tree": True}
    project = world.post("/api/projects", body, 201)["id"]
    ticket = {"title": "t", "run_context": {"working_directory": "elsewhere"}}
    ticket_id = world.post(f"/api/projects/{project}/tickets", ticket, 201)["id"]
    for fields, here in (({}, ("allow", "write_grant")), ({"ticket_id": ticket_id}, ("ask", "rule"))):
        session = world.post(f"/api/projects/{project}/session", {"agent_id": "a", **fields}, 201)["id"]
        answers = {
            "a.txt": here,
            f"{world.workspace}/skald/a.txt": ("allow", "write_grant"),
            f"{world.workspace}/a.txt": ("ask", "rule"),
            f"{world.workspace}/elsewhere/skald/a.txt": ("ask", "rule"),
        }
        assert {path: world.answer("write_file", path, session_id=session) for path in answers} == answers


def test_a_context_of_no_use_any_more_leaves_every_deny_as_it_is(world: World) -> None:
    deny = {"tool_pattern": "@write", "action": "deny"}
    world.group("own", deny | {"path_pattern": "work/own"})
    world.group("parents", deny | {"path_pattern": "work/parents"})
    agents = {"path_pattern": "work/agents", "agent_id": "coder", "priority": 1}
    world.post("/api/approval/rules", deny | agents, 201)
    parent = world.session(run_context={"security_group": "parents"})
    context = {"security_group": "own", "working_directory": "work", "allow_fs_writes": ["out"]}
    child = world.session(parent_id=parent, run_context=context)
    paths = ("own/a", "parents/a", "agents/a", "secrets/a")
    before = [world.answer("write_file", path, session_id=child) for path in paths]
    assert before == [("deny", "rule")] * len(paths)
    (world.workspace / "work").mkdir()
    (world.workspace / "work" / "out").symlink_to("out")
    assert [world.answer("write_file", path, session_id=child) for path in paths] == before
    assert world.answer("write_file", "out/a", session_id=child)[0] == "deny", "a loop leads nowhere"
    assert world.answer("read_file", "a", session_id=child) == ("ask", "store_unreadable")
    (world.workspace / "work").rename(world.workspace / "old")
    (world.workspace / "work").symlink_to("work")
    assert world.answer("read_file", f"{world.workspace}/a", session_id=child) == ("ask", "store_unreadable")


def test_a_subagent_is_held_by_its_parents_rules_too(world: World) -> None:
    world.group("strict", {"tool_pattern": "@write", "path_pattern": "out/private", "action": "deny"})
    parent = world.session(run_context={"security_group": "strict", "working_directory": "."})
    child = world.session(
        parent_id=parent, run_context={"allow_fs_writes": ["private", "free"], "working_directory": "out"}
    )
    assert world.answer("write_file", "private/a", session_id=child) == ("deny", "rule")
    assert world.answer("write_file", "free/a", session_id=child) == ("ask", "rule"), "the parent was granted nothing"
    heir = world.post("/api/sessions", {"agent_id": "coder", "parent_id": parent}, 201)
    assert heir["run_context"] == EMPTY | {"security_group": "strict"}
    world.client().delete(f"/api/sessions/{parent}").raise_for_status()
    assert world.answer("write_file", "private/a", session_id=child) == ("deny", "rule"), "whether it goes on or not"
