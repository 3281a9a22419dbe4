"""A changed policy takes effect while the server runs, a broken one denies until it is mended, and a store that cannot
be read allows nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from stanch.app.asking import Described
from stanch.app.engine import Engine
from stanch.app.service import Service
from stanch.policy.document import Policy
from stanch.policy.index import RuleIndex
from stanch.policy.seeds import ROWS
from stanch.storage.store import Store
from stanch.values.decision import Effect
from stanch.values.fault import BadInput, StoreUnreadable
from stanch.values.identity import Source
from stanch.values.reason import Code
from tests.http.served import BY, PERSON, SECONDS, World, served, until

ALLOWS = """\
version = 1

[[groups]]
id = "default"

[[groups.rules]]
tool = "@read"
action = "allow"
"""
DENIES = ALLOWS.replace('"allow"', '"deny"')
NO_DEFAULT = 'version = 1\n[[groups]]\nid = "house"\n[[groups.rules]]\ntool = "@read"\naction = "allow"\n'


def answers(world: World, effect: str, code: str, **fields: str) -> None:
    """Returns once a read is answered so."""
    until(lambda: world.answer("read_file", "a", **fields) == (effect, code), f"{effect} because {code}")


def test_a_changed_file_takes_effect(serve: Callable[[str], World]) -> None:
    world = serve(ALLOWS)
    before = world.check("read_file", {"path": "a"})
    assert (before["effect"], before["policy_version"]) == ("allow", before["policy"]["version"])
    assert before["policy"]["file"] == str(world.policy)
    world.write_policy(DENIES)
    answers(world, "deny", "rule")
    after = world.check("read_file", {"path": "a"})
    assert after["policy_version"] != before["policy_version"]
    assert after["reason"]["rule"]["place"] == "stanch.toml:6"


def test_a_change_of_the_same_length_within_a_moment_takes_effect(serve: Callable[[str], World]) -> None:
    world = serve(ALLOWS.replace('"allow"', '"deny" '))
    times = os.stat(world.policy)
    with world.policy.open("r+", encoding="utf-8") as file:
        file.write(ALLOWS.replace('"allow"', '"allow"'))
    os.utime(world.policy, ns=(times.st_atime_ns, times.st_mtime_ns))
    answers(world, "allow", "rule")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("version = 1\n\n[[groups]\n", 3),
        ("", 1),
        (ALLOWS.replace("tool", "tools"), 6),
        (ALLOWS.replace("version = 1\n", 'version = 1\nworkspace = "a\\u0000b"\n'), 2),
        (ALLOWS.replace("version = 1\n", 'version = 1\nmodes = "x"\n'), 2),
    ],
)
def test_a_broken_file_denies_with_its_place_until_it_is_mended(
    serve: Callable[[str], World], text: str, line: int
) -> None:
    world = serve(ALLOWS)
    session = world.session()
    for _ in range(2):
        world.write_policy(text)
        answers(world, "deny", "policy_invalid")
        answers(world, "deny", "policy_invalid", session_id=session)
        said = world.check("read_file", {"path": "a"})
        assert f"stanch.toml:{line};" in said["reason"]["sentence"]
        assert line in [one["line"] for one in world.get("/api/policy")["problems"]]
        world.write_policy(ALLOWS)
        answers(world, "allow", "rule")
        answers(world, "allow", "rule", session_id=session)
        assert world.get("/api/policy")["problems"] == []


def test_a_file_that_cannot_be_read_moves_no_workspace(serve: Callable[[str], World]) -> None:
    text = ALLOWS.replace("version = 1\n", 'version = 1\nworkspace = "inner"\n')
    world = serve(text)
    inner = f"{world.workspace}/inner"
    project = world.post("/api/projects", {"name": "p"}, 201)["id"]
    session = world.post(f"/api/projects/{project}/session", {"agent_id": "a"}, 201)["id"]
    for broken in (f"{text}x", None):
        world.policy.unlink()
        if broken is not None:
            world.write_policy(broken)
        answers(world, "deny", "policy_invalid")
        assert world.get("/api/policy")["workspace"] == inner
        turn = world.post(f"/api/sessions/{session}/turns", status=201)
        assert (turn["working_directory"], turn["run_context"]["allow_fs_writes"]) == (inner, [f"{inner}/data"])
        world.write_policy(text)
        answers(world, "allow", "rule")


def test_a_file_that_is_gone_or_closed_denies(serve: Callable[[str], World]) -> None:
    world = serve(ALLOWS)
    world.policy.unlink()
    answers(world, "deny", "policy_invalid")
    world.write_policy(ALLOWS)
    answers(world, "allow", "rule")
    world.policy.unlink()
    world.policy.mkdir()
    answers(world, "deny", "policy_invalid")


def test_a_service_opens_over_a_broken_and_over_a_missing_file(tmp_path: Path) -> None:
    world = World(tmp_path, "this is = = no policy")
    with served(world):
        assert world.answer("read_file", "a") == ("deny", "policy_invalid")
        world.write_policy(ALLOWS)
        answers(world, "allow", "rule")
    again = Service.open(store=Store.open(world.store_url), policy=tmp_path / "no.toml", workspace=world.workspace)
    answered = again.check(Described(), "read_file", {"path": "a"}).decision
    again.close()
    assert (answered.effect, answered.answer.code) == (Effect.DENY, Code.POLICY_INVALID)


def test_a_workspace_that_is_of_no_use_is_refused_at_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(BadInput, match="workspace"):
        Service.open(store=world.store, policy=None, workspace=Path("/x\0y"))
    world.close()


def test_groups_of_the_file_and_of_the_database(serve: Callable[[str], World]) -> None:
    world = serve(NO_DEFAULT)
    world.group("night", {"tool_pattern": "@read", "action": "deny"})
    listed = {one["id"]: one["origin"] for one in world.get("/api/tool-permission-groups")["items"]}
    assert listed == {"house": "file", "default": "database", "night": "database"}
    assert world.answer("read_file", "a", group="house") == ("allow", "rule")
    assert world.answer("read_file", "a", group="night") == ("deny", "rule")
    assert world.answer("read_file", "secrets/a", group="house") == ("deny", "rule")
    filed = world.get("/api/approval/rules?group_id=house")["items"]
    assert [(one["id"], one["place"], one["origin"]) for one in filed] == [(1, "stanch.toml:4", "file")]
    assert world.get("/api/approval/rules")["total"] == len(ROWS) + 2


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/tool-permission-groups", {"id": "house"}),
        ("PUT", "/api/tool-permission-groups/house", {"name": "x"}),
        ("DELETE", "/api/tool-permission-groups/house", None),
        ("POST", "/api/tool-permission-groups/house/duplicate", {}),
        ("POST", "/api/tool-permission-groups/default/duplicate", {"id": "house"}),
        ("POST", "/api/approval/rules", {"group_id": "house", "tool_pattern": "x", "action": "ask"}),
        ("PUT", "/api/approval/rules/1", {"group_id": "house", "tool_pattern": "x", "action": "ask"}),
    ],
)
def test_a_group_of_the_file_is_not_changed_here(
    serve: Callable[[str], World], method: str, path: str, body: object
) -> None:
    world = serve(NO_DEFAULT)
    stored = world.dump()
    reply = world.client().request(method, path, json=body)
    assert (reply.status_code, reply.json()["type"]) == (409, "urn:problem-type:stanch:conflict")
    assert "stanch.toml, and is edited there" in reply.json()["detail"]
    assert world.dump() == stored


def test_a_default_in_the_file_takes_the_place_of_the_databases(serve: Callable[[str], World]) -> None:
    world = serve(ALLOWS)
    assert world.answer("read_file", "secrets/a") == ("allow", "rule")
    groups = world.get("/api/tool-permission-groups")
    assert [(one["id"], one["origin"]) for one in groups["items"]] == [("default", "file")]
    assert groups["total"] == 1
    assert [one["place"] for one in world.get("/api/approval/rules")["items"]] == ["stanch.toml:6"]
    assert world.get("/api/approval/rules?group_id=default")["total"] == 1
    world.write_policy("version = 1\n")
    until(lambda: world.answer("read_file", "secrets/a") == ("deny", "rule"), "the database's own default")
    assert world.get("/api/approval/rules?group_id=default")["total"] == len(ROWS)


def test_an_id_in_both_places_is_refused_until_one_of_them_goes(serve: Callable[[str], World]) -> None:
    world = serve(ALLOWS)
    world.group("both", {"tool_pattern": "x", "action": "ask"})
    session = world.session(run_context={"security_group": "both"})
    world.write_policy(ALLOWS + '\n[[groups]]\nid = "both"\n')
    answers(world, "deny", "policy_invalid", session_id=session)
    assert world.answer("read_file", "a") == ("allow", "rule")
    problem = world.get("/api/policy")["problems"][0]
    assert problem["line"] == 10
    assert "stanch.toml and in the database" in problem["message"]
    assert world.get("/api/tool-permission-groups/both")["broken"] == "stanch.toml:10 and in the database"
    assert world.client().delete("/api/tool-permission-groups/both").status_code == 204
    assert world.answer("read_file", "a", session_id=session) == ("allow", "rule")


def test_every_edit_has_taken_effect_when_it_is_answered(world: World) -> None:
    versions = {world.check("read_file", {"path": "a"})["policy_version"]}
    rule = world.post("/api/approval/rules", {"tool_pattern": "@read", "action": "deny", "priority": 1}, 201)
    assert world.answer("read_file", "a") == ("deny", "rule")
    versions.add(world.check("read_file", {"path": "a"})["policy_version"])
    path = f"/api/approval/rules/{rule['id']}"
    changed = world.client().put(path, json={"tool_pattern": "@read", "action": "require", "mandatory": True})
    assert (changed.json()["action"], changed.json()["priority"]) == ("ask", 100)
    assert world.answer("read_file", "a") == ("ask", "rule")
    versions.add(world.check("read_file", {"path": "a"})["policy_version"])
    assert world.client().delete(path).status_code == 204
    assert world.answer("read_file", "a") == ("allow", "read_grant")
    versions.add(world.check("read_file", {"path": "a"})["policy_version"])
    assert len(versions) == 4


def test_a_copy_has_every_rule(world: World) -> None:
    world.group("strict", *({"tool_pattern": f"t{at}", "action": "deny", "priority": -at} for at in range(5)))
    copy = world.post("/api/tool-permission-groups/strict/duplicate", {"id": "copy", "name": "Copy"}, 201)
    assert (copy["id"], copy["name"]) == ("copy", "Copy")
    for kept in ("strict", "copy"):
        rules = world.get(f"/api/approval/rules?group_id={kept}")["items"]
        assert [one["tool_pattern"] for one in rules] == ["t4", "t3", "t2", "t1", "t0"]
    named = [world.post("/api/tool-permission-groups/strict/duplicate", status=201)["id"] for _ in range(3)]
    assert named == ["strict-copy", "strict-copy-2", "strict-copy-3"]
    world.rows("UPDATE rules SET action = 'perhaps' WHERE tool_pattern = 't3' AND group_id = 'strict'")
    stored = world.dump()
    assert world.client().post("/api/tool-permission-groups/strict/duplicate", json={"id": "x"}).status_code == 500
    assert world.dump() == stored


def test_what_another_node_changes_takes_effect(world: World) -> None:
    other = Store.open(world.store_url)
    other.create_group("theirs", name="", by=BY)
    other.close()
    until(lambda: world.answer("read_file", "a", group="theirs") == ("allow", "read_grant"), "the other node's group")
    world.set_context(f"/api/sessions/{world.session()}/run_context", {"security_group": "theirs"})


@pytest.mark.parametrize(
    ("statement", "effect", "code"),
    [
        ("UPDATE rules SET action = 'perhaps' WHERE group_id = 'strict'", "deny", "policy_invalid"),
        ("UPDATE rules SET tool_pattern = '@reed' WHERE group_id = 'strict'", "deny", "policy_invalid"),
        ("UPDATE rules SET path_pattern = '*/../x' WHERE group_id = 'strict'", "deny", "policy_invalid"),
        ("UPDATE rules SET command_pattern = 'ls; rm x' WHERE group_id = 'strict'", "deny", "policy_invalid"),
        ("UPDATE rules SET mandatory = 'yes' WHERE id = 9", "deny", "policy_invalid"),
        ("UPDATE permission_groups SET name = x'ff' WHERE id = 'strict'", "ask", "store_unreadable"),
        ("UPDATE permission_groups SET name = x'ff' WHERE id = 'default'", "deny", "store_unreadable"),
        ("UPDATE sessions SET run_context = '{\"security_group\": 7}'", "ask", "store_unreadable"),
        ("UPDATE sessions SET run_context = 'x'", "ask", "store_unreadable"),
        ("UPDATE sessions SET source = 'fax'", "ask", "store_unreadable"),
        ("DELETE FROM rules WHERE group_id = 'strict'", "allow", "read_grant"),
    ],
)
def test_rows_that_cannot_be_read_never_allow(world: World, statement: str, effect: str, code: str) -> None:
    world.group("strict", {"tool_pattern": "@read", "path_pattern": "vault", "action": "deny"})
    session = world.session(run_context={"security_group": "strict"})
    assert world.answer("read_file", "a", session_id=session) == ("allow", "read_grant")
    world.rows(statement)
    # A person with a database client moves no revision; any change that is made rightly brings the rest along.
    world.store.create_group("unrelated", name="", by=BY)
    until(lambda: world.answer("read_file", "a", session_id=session) == (effect, code), f"{effect} because {code}")
    assert world.answer("read_file", "secrets/a", session_id=session)[0] == "deny"


def test_rows_that_were_edited_by_hand_are_found_in_time(world: World) -> None:
    assert world.answer("read_file", "a") == ("allow", "read_grant")
    world.rows("UPDATE rules SET action = 'perhaps' WHERE id = 9")
    answers(world, "deny", "policy_invalid")


@pytest.mark.parametrize(
    "how", ["DROP TABLE rules", "DROP TABLE store_state", "UPDATE schema_version SET version_num = 'x'"]
)
def test_a_store_that_cannot_be_read_never_allows(serve: Callable[[str], World], how: str) -> None:
    world = serve(
        ALLOWS.replace(
            "[[groups.rules]]",
            '[[groups.rules]]\ntool = "@read"\npath = "vault"\naction = "deny"\n\n[[groups.rules]]',
            1,
        )
    )
    session = world.session()
    world.service.turn(session)
    world.rows(how)
    until(lambda: world.service.policy.unreadable is not None, "an unreadable store")
    assert world.client().get("/healthz").status_code == 503
    for asked in (Described(), Described(group="nobody"), session):
        answered = world.service.check(asked, "read_file", {"path": "a"}).decision
        assert (answered.effect, answered.answer.code) == (Effect.ASK, Code.STORE_UNREADABLE), asked
        assert answered.mandated
        denied = world.service.check(asked, "read_file", {"path": "vault/a"}).decision
        assert (denied.effect, denied.answer.code) == (Effect.DENY, Code.RULE)


def test_a_store_that_went_away_never_allows_and_comes_back(world: World) -> None:
    session = world.session()
    world.service.turn(session)
    world.store.close()
    for asked in (Described(), session):
        until(
            lambda asked=asked: (  # type: ignore[misc]
                world.service.check(asked, "read_file", {"path": "a"}).decision.answer.code is Code.STORE_UNREADABLE
            ),
            "an unreadable store",
        )
        assert world.service.check(asked, "read_file", {"path": "a"}).decision.effect is Effect.DENY
    with pytest.raises(StoreUnreadable):
        world.service.sessions.create(agent_id="a", source=Source.WEB, principal=PERSON, context=None, by=BY)
    reply = world.client().post("/api/check", json={"tool": "read_file", "arguments": {"path": "a"}})
    assert (reply.status_code, reply.json()["code"]) == (503, "store_unreadable")


def test_a_service_opens_over_a_store_that_has_no_tables_and_denies(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/new.db")
    service = Service.open(store=store, policy=None, workspace=tmp_path)
    try:
        answered = service.check(Described(), "read_file", {"path": "a"}).decision
        assert (answered.effect, answered.answer.code) == (Effect.DENY, Code.STORE_UNREADABLE)
        store.migrate()
        until(
            lambda: service.check(Described(), "read_file", {"path": "a"}).decision.effect is Effect.ALLOW,
            "the store's first rules",
        )
    finally:
        service.close()
        store.close()


def test_a_policy_that_no_index_can_be_made_of_denies_until_it_is_mended(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert world.answer("read_file", "a") == ("allow", "read_grant")
    index = Engine.index

    def failing(engine: Engine, policy: Policy, group: str) -> RuleIndex:
        if any(rule.tool == "odd" for rule in policy.groups[group].rules):
            raise ValueError
        return index(engine, policy, group)

    monkeypatch.setattr(Engine, "index", failing)
    rule = world.post("/api/approval/rules", {"tool_pattern": "odd", "action": "deny"}, 201)["id"]
    assert world.answer("read_file", "a") == ("deny", "policy_invalid")
    assert world.client().delete(f"/api/approval/rules/{rule}").status_code == 204
    assert world.answer("read_file", "a") == ("allow", "read_grant")


def test_no_call_waits_while_the_policy_changes(world: World) -> None:
    stop, asked, odd = threading.Event(), [0], list[object]()

    def ask() -> None:
        while not stop.is_set():
            decision = world.service.check(Described(), "read_file", {"path": "secrets/a"}).decision
            asked[0] += 1
            if decision.effect is not Effect.DENY:
                odd.append(decision)

    thread = threading.Thread(target=ask)
    thread.start()
    for at in range(20):
        world.post("/api/approval/rules", {"tool_pattern": f"t{at}", "action": "allow", "priority": 1}, 201)
    stop.set()
    thread.join(SECONDS)
    assert asked[0] > 20
    assert not odd
