"""Lists in pages: every item comes once, in the same order, while others are added; a cursor belongs to its list."""

from __future__ import annotations

from typing import Any

import pytest

from stanch.app.two_lists import joined
from stanch.values.fault import BadInput
from stanch.values.records import Page
from tests.http.served import BY, World


def make(world: World, path: str, at: int) -> None:
    """One more item of a list."""
    bodies: dict[str, dict[str, Any]] = {
        "/api/sessions": {"agent_id": "a"},
        "/api/projects": {"name": f"p{at}"},
        "/api/jobs": {"name": f"j{at}", "cron": "0 9 * * *", "prompt": "", "agent_id": "a"},
        "/api/tool-permission-groups": {"id": f"g{at}"},
        "/api/approval/rules": {"tool_pattern": f"t{at}", "action": "ask"},
        "/api/tokens": {"name": f"t{at}", "principal": {"kind": "user", "id": "ada"}},
    }
    world.post(path, bodies[path], 201)


LISTS = (
    "/api/sessions",
    "/api/projects",
    "/api/jobs",
    "/api/tool-permission-groups",
    "/api/approval/rules",
    "/api/tokens",
)


def pages(world: World, path: str, limit: int, total: int) -> list[Any]:
    """Every item of a list, page by page."""
    found, cursor = [], ""
    while True:
        page = world.get(f"{path}?limit={limit}{cursor}")
        assert len(page["items"]) <= limit
        assert page["total"] == total
        found += page["items"]
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def test_every_item_comes_once(world: World) -> None:
    for path in LISTS:
        for at in range(5):
            make(world, path, at)
        whole = world.get(f"{path}?limit=500")
        assert (whole["next"], whole["total"]) == (None, len(whole["items"]))
        for limit in (1, 2, 3, 500):
            assert pages(world, path, limit, whole["total"]) == whole["items"]


def test_a_page_stays_put_while_items_are_added(world: World) -> None:
    first = [world.session() for _ in range(4)]
    page = world.get("/api/sessions?limit=2")
    world.session()
    rest = world.get(f"/api/sessions?limit=9&cursor={page['next']}")
    assert [one["id"] for one in page["items"] + rest["items"]] == first[::-1]


def test_tickets_are_listed_by_project(world: World) -> None:
    projects = [world.post("/api/projects", {"name": "p"}, 201)["id"] for _ in range(2)]
    made = [world.post(f"/api/projects/{projects[0]}/tickets", {"title": f"t{at}"}, 201) for at in range(3)]
    page = world.get(f"/api/projects/{projects[0]}/tickets?limit=2")
    rest = world.get(f"/api/projects/{projects[0]}/tickets?cursor={page['next']}")
    assert page["items"] + rest["items"] == made
    assert world.get(f"/api/projects/{projects[1]}/tickets") == {"items": [], "total": 0, "next": None}
    assert world.client().get(f"/api/projects/{projects[1]}/tickets/{made[0]['id']}").status_code == 404


def test_filters(world: World) -> None:
    ended = world.session(agent_id="one", source="cli")
    other = world.session(agent_id="two", source="web", parent_id=ended)
    world.client().delete(f"/api/sessions/{ended}").raise_for_status()
    for query, wanted in {
        "agent_id=one": [ended],
        "source=web": [other],
        f"parent_id={ended}": [other],
        "ended=true": [ended],
        "ended=false": [other],
        "agent_id=one&source=web": [],
        "project_id=none": [],
    }.items():
        assert [one["id"] for one in world.get(f"/api/sessions?{query}")["items"]] == wanted, query


def test_a_page_that_there_is_not_is_refused(world: World) -> None:
    wrong = ["limit=0", "limit=501", "limit=x", "limit=-1", "cursor=x", "cursor=a.x", "cursor=b.x", "offset=1", "q="]
    for path in [*LISTS, "/api/audit"]:
        for query in wrong:
            reply = world.client().get(f"{path}?{query}")
            assert reply.status_code == 422, reply.text
            assert reply.json()["errors"][0]["field"] == query.partition("=")[0]


def test_a_cursor_of_another_list_is_refused(world: World) -> None:
    for _ in range(3):
        world.session()
        world.post("/api/projects", {"name": "p"}, 201)
    cursor = world.get("/api/sessions?limit=1")["next"]
    assert world.client().get(f"/api/projects?cursor={cursor}").status_code == 422
    assert world.client().get(f"/api/sessions?agent_id=coder&cursor={cursor}").status_code == 422


def test_a_row_that_cannot_be_read_is_listed_as_such_and_can_be_mended(world: World) -> None:
    world.group("strict", {"tool_pattern": "x", "action": "deny"})
    rule = world.get("/api/approval/rules?group_id=strict")["items"][0]["id"]
    world.rows(f"UPDATE rules SET action = 'perhaps' WHERE id = {rule}")
    page = world.get("/api/approval/rules?group_id=strict")
    assert page["items"][0]["id"] == str(rule)
    assert "'action' is none of allow, ask, deny" in page["items"][0]["problem"]
    assert world.client().get(f"/api/approval/rules/{rule}").status_code == 500
    world.store.create_group("unrelated", name="", by=BY)
    world.service.refresh()
    assert world.get("/api/tool-permission-groups/strict")["broken"] == f"rule {rule} in the database"
    mended = world.client().put(
        f"/api/approval/rules/{rule}", json={"group_id": "strict", "tool_pattern": "x", "action": "deny"}
    )
    assert mended.status_code == 200
    assert world.get("/api/tool-permission-groups/strict")["broken"] is None


def test_text_that_no_answer_can_hold_breaks_its_row_alone(world: World) -> None:
    session = world.session()
    world.rows(f"""UPDATE sessions SET run_context = '{{"system_prompt": ["\\ud800"]}}' WHERE id = '{session}'""")
    world.rows("""UPDATE audit SET detail = '{"a": "\\ud800"}' WHERE seq = 2""")
    world.rows("INSERT INTO permission_groups VALUES (CAST(x'61ff' AS TEXT), 'n', 'd')")
    for path, broken in (
        ("/api/sessions", (0, session, "sessions")),
        ("/api/audit", (1, "2", "audit")),
        ("/api/tool-permission-groups", (0, r"a\udcff", "permission_groups")),
    ):
        items = world.get(path)["items"]
        found = [(at, one["id"], one["table"]) for at, one in enumerate(items) if "problem" in one]
        assert found == [broken]
    world.group("strict")
    (problem,) = world.get("/api/policy")["problems"]
    assert (r"a\\udcff" in problem["message"], problem["scope"]) == (True, r"group:a\udcff")
    assert world.answer("read_file", "secrets/a", group="strict") == ("deny", "rule")


@pytest.mark.parametrize("first", range(5))
@pytest.mark.parametrize("second", range(5))
@pytest.mark.parametrize("limit", range(1, 6))
def test_two_lists_are_paged_as_one(first: int, second: int, limit: int) -> None:
    def store_pages(limit: int, cursor: str | None) -> Page[str]:
        start = int(cursor or 0)
        rest = [f"b{at}" for at in range(second)][start:]
        return Page(tuple(rest[:limit]), second, str(start + limit) if len(rest) > limit else None)

    front = [f"a{at}" for at in range(first)]
    found: list[str] = []
    cursor, count = None, 0
    while True:
        page = joined(front, store_pages, limit=limit, cursor=cursor)
        assert page.total == first + second
        found += page.items
        cursor, count = page.next, count + 1
        if cursor is None:
            break
        assert count < 20
    assert found == front + [f"b{at}" for at in range(second)]
    assert count <= max(1, -(-(first + second) // limit))


@pytest.mark.parametrize("cursor", ["", "x", "a.", "a.-1", "a.x", "a.1e3", "a." + "9" * 99])
def test_a_cursor_of_no_list_is_refused(cursor: str) -> None:
    with pytest.raises(BadInput, match="cursor"):
        joined([1], lambda _, __: Page((), 0), limit=1, cursor=cursor)
