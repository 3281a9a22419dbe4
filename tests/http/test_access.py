"""Who may do what: every route of the description is tried with every kind of token."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stanch.app.permissions import Right, rights_of
from stanch.surfaces.http.access import ASKING, CONTENT, FILTERING, FORGETTING
from stanch.values.identity import Principal
from tests.http.served import AGENTS, BY, CLIENT, COPILOT, KEY, PERSON, WORKFLOW, World

OPEN = {("GET", "/healthz"): 200, ("GET", "/links/{token}"): 404}
"""What needs no token, with what it is answered here."""


def routes(world: World) -> list[tuple[str, str]]:
    """Every route of the description: its method and its path."""
    paths = world.client().get("/openapi.json").json()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


def address(path: str) -> str:
    """A path with something in the place of each parameter."""
    return re.sub(r"\{\w+\}", "default", path.replace("{rule_id}", "1"))


def is_content(path: str) -> bool:
    """True for routes of stored content."""
    return path.endswith("/workbench/files") or any(path == place or path.startswith(f"{place}/") for place in CONTENT)


def test_there_are_routes_for_every_noun(world: World) -> None:
    found = routes(world)
    assert len(found) > 45
    for part in ("sessions", "projects", "tickets", "jobs", "tool-permission-groups", "rules", "tokens", "audit"):
        assert any(part in path for _, path in found), part
    assert {*ASKING, *OPEN} <= set(found)
    assert all(any(path.startswith(place) for _, path in found) for place in CONTENT)


def test_nobody_comes_in_without_a_token(world: World) -> None:
    stored = world.dump()
    for method, path in routes(world):
        for headers in (
            {},
            {"Authorization": "Bearer stanch_wrong"},
            {"Authorization": "Bearer"},
            {"Authorization": "Basic YWRhOng="},
            {"Authorization": world.client().headers["Authorization"].replace("Bearer", "Token")},
        ):
            client = world.client()
            request = client.build_request(method, address(path), json={} if method != "GET" else None)
            del request.headers["Authorization"]
            request.headers.update(headers)
            reply = client.send(request)
            if (method, path) in OPEN:
                assert reply.status_code == OPEN[method, path]
            else:
                assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer"), (method, path)
                assert reply.headers["content-type"] == "application/problem+json"
    assert world.dump() == stored


@pytest.mark.parametrize("principal", [*AGENTS, CLIENT, WORKFLOW], ids=lambda one: f"{one.kind}-{one.service_id}")
def test_an_agent_may_ask_and_do_nothing_else(world: World, principal: Principal) -> None:
    client, tried = world.client(principal), 0
    stored = world.dump()
    uses_content = Right.CONTENT in rights_of(principal)
    for method, path in routes(world):
        if (method, path) in OPEN or (uses_content and is_content(path)):
            continue
        reply = client.request(method, address(path), json={} if method != "GET" else None)
        if (method, path) in ASKING | (FILTERING if principal is WORKFLOW else set()):
            assert reply.status_code in ((404, 422) if "{" in path else (200, 422)), (method, path)
        else:
            tried += 1
            assert reply.status_code == 403, (method, path, reply.text)
            assert reply.json()["type"] == "urn:problem-type:stanch:forbidden"
    assert tried > 40
    assert world.dump() == stored
    said = client.post("/api/check", json={"tool": "read_file", "arguments": {"path": "a.txt"}})
    assert (said.status_code, said.json()["effect"]) == (200, "allow")
    assert client.get("/api/approval/tools").status_code == 200


@pytest.mark.parametrize("principal", [COPILOT, CLIENT, WORKFLOW], ids=lambda one: one.kind.value)
def test_stored_content_is_open_to_whoever_is_held_against_a_gate_or_no_model(
    world: World, principal: Principal
) -> None:
    client, tried = world.client(principal), 0
    for method, path in routes(world):
        if is_content(path):
            reply = client.request(method, address(path), json={"unknown": 1} if method != "GET" else None)
            forbidden = reply.status_code == 403 and reply.json()["type"].endswith(":forbidden")
            assert not forbidden, (method, path, reply.text)
            assert principal is not COPILOT or reply.status_code >= 400, "its session is not named"
            tried += 1
    assert tried > 20


def test_a_key_may_do_all_but_make_tokens_and_forget_secrets(world: World) -> None:
    client = world.client(KEY)
    for method, path in routes(world):
        body: Any = {"unknown": 1} if method in ("POST", "PUT") else None
        if method == "DELETE" or path == "/api/events":  # which does not end
            continue
        reply = client.request(method, address(path), json=body)
        decided = path.startswith("/api/tokens") or (method, path) in FORGETTING
        assert (reply.status_code == 403) is decided, (method, path, reply.text)


def test_tokens_are_made_shown_once_and_revoked(world: World) -> None:
    body = {"name": "laptop", "principal": {"kind": "delegated", "id": "ada", "service_id": "copilot"}}
    made = world.post("/api/tokens", body, 201)
    secret = made.pop("secret")
    assert world.get(f"/api/tokens/{made['id']}") == made
    assert secret not in str(world.get("/api/tokens")) + str(world.get("/api/audit")) + str(world.dump())
    headers = {"Authorization": f"Bearer {secret}"}
    assert world.client().get("/api/approval/tools", headers=headers).status_code == 200
    assert world.client().get("/api/sessions", headers=headers).status_code == 403
    revoked = world.client().delete(f"/api/tokens/{made['id']}")
    assert revoked.json()["revoked_at"] is not None
    assert world.client().get("/api/approval/tools", headers=headers).status_code == 401
    assert world.client().delete(f"/api/tokens/{made['id']}").status_code == 409
    assert [one["id"] for one in world.get("/api/tokens?revoked=true")["items"]] == [made["id"]]


@pytest.mark.parametrize(
    "principal",
    [
        {"kind": "delegated", "id": "ada"},
        {"kind": "user", "id": "ada", "service_id": "copilot"},
        {"kind": "root", "id": "ada"},
        {"kind": "user", "id": ""},
        {"kind": "user"},
    ],
)
def test_a_token_names_a_principal_that_makes_sense(world: World, principal: dict[str, str]) -> None:
    stored = world.dump()
    world.post("/api/tokens", {"name": "x", "principal": principal}, 422)
    assert world.dump() == stored


def test_sessions_are_the_models_hands_and_audit_rows_name_the_person(world: World) -> None:
    session = world.get(f"/api/sessions/{world.session()}")
    assert session["principal"] == {"kind": "delegated", "id": "ada", "service_id": "copilot"}
    row = world.get(f"/api/audit?action=session.create&subject={session['id']}")["items"][0]
    assert (row["actor"], row["surface"]) == (PERSON.id, "http")


def test_the_audit_log_is_read_filtered_and_verified(world: World) -> None:
    for _ in range(3):
        world.session()
    world.store.append_audit(action="noted", subject="x", by=BY)
    assert world.get("/api/audit/verify") == {"holds": True, "intact": 8, "seq": None, "broken": None}
    newest = world.get("/api/audit?order=newest&limit=1")
    assert (newest["items"][0]["action"], newest["total"]) == ("noted", 8)
    assert world.get("/api/audit?action=session.create")["total"] == 3
    world.rows("UPDATE audit SET actor = 'eve' WHERE seq = 5")
    found = world.get("/api/audit/verify")
    assert (found["holds"], found["seq"], found["broken"]) == (False, 5, "changed")
