"""The vault over REST: names go out, values never do, whatever was sent and however it was refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stanch.secrets.text import opened
from tests.canary import EXCEPTION, Canary
from tests.http.served import AGENTS, CLIENT, KEY, WORKFLOW, World

VALUE = "marker-of-the-value-4711"
MARK = "marker"
JSON = {"Content-Type": "application/json"}


def put(world: World, name: str, value: str = VALUE, **fields: Any) -> Any:
    """What setting a secret is answered with."""
    reply = world.client().put(f"/api/vault/{name}", json={"value": value, **fields})
    assert reply.status_code == 200, reply.text
    assert MARK not in reply.text
    return reply.json()


def test_a_secret_is_set_listed_and_revoked(world: World) -> None:
    made = put(world, "STRIPE_KEY", note="of the shop", owner="ada")
    assert made["warnings"] == []
    assert (made["name"], made["note"], made["owner"], made["scope"]) == (
        "STRIPE_KEY", "of the shop", "ada", "workspace",
    )  # fmt: skip
    assert put(world, "SHORT", "1234")["warnings"] == [
        "the value has fewer than 8 characters: it is replaced in no text"
    ]
    listed = world.get("/api/vault")
    assert [one["name"] for one in listed["items"]] == ["SHORT", "STRIPE_KEY"]
    assert "value" not in listed["items"][0]
    reply = world.client().delete("/api/vault/STRIPE_KEY")
    assert reply.status_code == 200
    assert reply.json()["revoked_at"] is not None
    assert world.client().delete("/api/vault/STRIPE_KEY").status_code == 409
    assert [opened(one.value) for one in world.service.vault.entries()] == ["1234", VALUE]
    assert world.post("/api/vault/reseal") == {"resealed": 0, "key": world.service.vault.key}
    assert MARK not in json.dumps(world.get("/api/audit"))


BODIES: list[tuple[bytes, int]] = [
    (json.dumps({"value": 4711, "note": MARK}).encode(), 422),
    (json.dumps({"value": [VALUE]}).encode(), 422),
    (json.dumps({"value": None}).encode(), 422),
    (json.dumps({"value": ""}).encode(), 422),
    (json.dumps({"value": VALUE * 3_000}).encode(), 422),
    (json.dumps({"value": "marker \ud800"}).encode(), 422),
    (json.dumps({VALUE: "x", "value": VALUE}).encode(), 422),
    (json.dumps({VALUE: "x"}).encode(), 422),
    (json.dumps([VALUE]).encode(), 422),
    (json.dumps(VALUE).encode(), 422),
    (json.dumps({"value": VALUE, "note": VALUE}).encode(), 422),
    (json.dumps({"value": VALUE, "note": [VALUE]}).encode(), 422),
    (json.dumps({"value": VALUE, "note": VALUE * 100}).encode(), 422),
    (json.dumps({"value": VALUE, "owner": {VALUE: VALUE}}).encode(), 422),
    (json.dumps({"value": VALUE, "scope": VALUE}).encode(), 422),
    (json.dumps({"value": VALUE, "scope": "user"}).encode(), 422),
    (f'{{"{VALUE}": 1, "{VALUE}": 2}}'.encode(), 400),
    (VALUE.encode(), 400),
    (f'{{"value": "{VALUE}'.encode(), 400),
    (b'"' + VALUE.encode() * 100_000 + b'"', 413),
]


@pytest.mark.parametrize(("body", "status"), BODIES)
def test_a_refusal_repeats_nothing_that_was_sent(world: World, body: bytes, status: int) -> None:
    stored = world.rows("SELECT * FROM vault_secrets")
    reply = world.client().put("/api/vault/STRIPE_KEY", content=body, headers=JSON)
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    assert MARK not in reply.text
    assert world.rows("SELECT * FROM vault_secrets") == stored


def test_a_value_in_the_place_of_a_name_is_not_repeated(world: World) -> None:
    for method, path, status in (
        ("PUT", "/api/vault/marker-of-it", 422),
        ("PUT", "/api/vault/marker%20of%0Ait", 422),
        ("PUT", "/api/vault/" + "marker" * 40, 422),
        ("PUT", "/api/vault/A?marker=marker", 422),
        ("DELETE", "/api/vault/marker_of_it", 404),
        ("DELETE", "/api/vault/marker%00", 404),
        ("GET", "/api/vault?marker=1", 422),
        ("GET", "/api/vault?cursor=marker", 422),
        ("GET", "/api/vault?limit=marker", 422),
        ("GET", "/api/vault/marker_of_it", 405),
    ):
        body = {"value": VALUE} if method == "PUT" else None
        reply = world.client().request(method, path, json=body)
        assert reply.status_code == status, (path, reply.text)
        assert MARK not in reply.text, path
    assert world.rows("SELECT * FROM vault_secrets") == []


def test_who_acts_for_a_model_may_not_see_a_name(world: World) -> None:
    put(world, "STRIPE_KEY")
    ways = [("GET", ""), ("PUT", "/A"), ("DELETE", "/STRIPE_KEY"), ("POST", "/reseal")]
    for who in (*AGENTS, CLIENT, WORKFLOW):
        for method, path in ways:
            body = {"value": VALUE} if method == "PUT" else None
            reply = world.client(who).request(method, f"/api/vault{path}", json=body)
            assert reply.status_code == 403, (who, path)
            assert "STRIPE" not in reply.text
    assert world.client(KEY).put("/api/vault/CI", json={"value": VALUE}).status_code == 200
    assert world.client(KEY).post("/api/vault/reseal").status_code == 200


def test_a_vault_that_cannot_be_opened_is_told_of_without_a_value(world: World) -> None:
    put(world, "A")
    world.rows("UPDATE vault_values SET sealed = 's1.000000000000.AAAA'")
    reply = world.client().post("/api/vault/reseal")
    assert reply.status_code == 500
    assert "its key is gone" in reply.json()["detail"]
    assert [one["name"] for one in world.get("/api/vault")["items"]] == ["A"]


def test_a_value_that_was_set_by_mistake_is_forgotten(world: World) -> None:
    put(world, "WORD", "completely")
    put(world, "WORD", "completely-other")
    put(world, "KEPT")
    path = "/api/vault/WORD/values"
    assert world.client().delete(f"{path}?confirm=WORD").status_code == 409, "it is in use"
    world.client().delete("/api/vault/WORD").raise_for_status()
    assert [one["values"] for one in world.get("/api/vault")["items"]] == [1, 2]
    for query in ("", "?confirm=", "?confirm=KEPT", "?confirm=word"):
        reply = world.client().delete(path + query)
        assert reply.status_code == 422, query
        assert "completely" not in reply.text
    told = world.service.projecting.told
    assert told("it is completely done") == "it is {{WORD}} done"
    reply = world.client().delete(f"{path}?confirm=WORD")
    assert (reply.status_code, reply.json()) == (200, {"name": "WORD", "forgotten": 2})
    assert told("it is completely done") == "it is completely done"
    assert told(VALUE) == "{{KEPT}}"
    assert world.client().delete(f"{path}?confirm=WORD").status_code == 404
    row = world.get("/api/audit?action=vault.forget")["items"][0]
    assert (row["subject"], row["detail"], row["actor"]) == ("WORD", {"values": 2}, "ada")


def test_what_cannot_be_opened_is_forgotten_by_a_person_who_says_how_much(world: World) -> None:
    for name in ("A", "B", "C"):
        put(world, name, f"{VALUE}-{name}")
    assert world.get("/api/vault/unreadable") == {"items": []}
    assert world.client().post("/api/vault/unreadable/forget", json={"count": 1}).status_code == 409
    world.rows("UPDATE vault_values SET sealed = 's1.000000000000.AAAA' WHERE name IN ('A', 'B')")
    world.rows("DELETE FROM vault_values WHERE name = 'A'")
    found = world.get("/api/vault/unreadable")["items"]
    assert [(one["table"], one["id"].partition(".")[0], one["problem"]) for one in found] == [
        ("vault_secrets", "A", "its value is gone"),
        ("vault_values", "B", "its key is gone"),
    ]
    for body, status in (({}, 422), ({"count": 0}, 422), ({"count": MARK}, 422), ({"count": 3}, 409)):
        reply = world.client().post("/api/vault/unreadable/forget", json=body)
        assert reply.status_code == status, body
        assert MARK not in reply.text
    assert world.post("/api/vault/unreadable/forget", {"count": 2})["items"] == found
    assert [one.name for one in world.service.vault.entries()] == ["C"]
    assert world.service.projecting.told(f"{VALUE}-C") == "{{C}}"
    assert world.get("/api/audit?action=vault.forget_unreadable")["items"][0]["detail"] == {"secrets": 1, "values": 1}


def test_a_person_alone_has_something_forgotten(world: World) -> None:
    put(world, "A")
    world.client().delete("/api/vault/A").raise_for_status()
    for who in (KEY, *AGENTS, CLIENT, WORKFLOW):
        assert world.client(who).delete("/api/vault/A/values?confirm=A").status_code == 403, who
        assert world.client(who).post("/api/vault/unreadable/forget", json={"count": 1}).status_code == 403, who
    assert len(world.service.vault.entries()) == 1


def test_the_description_has_no_value_in_an_answer(world: World) -> None:
    described = world.client().get("/openapi.json").json()
    schemas = described["components"]["schemas"]
    assert schemas["SecretBody"]["properties"]["value"]["format"] == "password"
    for name in ("SecretShown", "SecretSetShown", "ResealedShown"):
        assert "value" not in schemas[name]["properties"]


def test_a_problem_that_would_name_a_value_names_its_label(world: World, canary: Canary) -> None:
    canary.expect_in(EXCEPTION)
    put(world, "STRIPE_KEY", "marker_of_it_4711")
    for path in ("/api/sessions/marker_of_it_4711", "/api/sessions/xmarker_of_it_4711x/messages"):
        reply = world.client().get(path)
        assert reply.status_code == 404
        assert "{{STRIPE_KEY}}" in reply.json()["detail"]
        assert MARK not in reply.text
    reply = world.client().post("/api/sessions", json={"agent_id": "a", "marker_of_it_4711": 1})
    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == "{{STRIPE_KEY}}"
    assert MARK not in reply.text
