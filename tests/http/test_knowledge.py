"""`/api/knowledge` for everybody: what it takes, what it refuses, and that uploads do not end in the memory."""

from __future__ import annotations

from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.http.served import AGENT, COPILOT, KEY, PERSON, SECONDS, World

DOCUMENTS, UPLOADS = "/api/knowledge/documents", "/api/knowledge/uploads"


def add(world: World, text: str = "about apples", **more: Any) -> str:
    return str(world.post(DOCUMENTS, {"title": "Apples", "text": text, **more}, 201)["id"])


def test_a_document_is_added_read_changed_and_deleted(world: World) -> None:
    one = add(world, tags=["b", "a", "b"])
    about = world.get(f"{DOCUMENTS}/{one}")
    assert (about["document"]["tags"], about["text"]) == (["a", "b"], None)
    assert world.get(f"{DOCUMENTS}/{one}/text?start=6&end=9")["text"] == "app"
    assert world.get(f"{DOCUMENTS}?tag=a&tag=b")["total"] == 1
    assert world.get(f"{DOCUMENTS}?tag=c")["total"] == 0
    reply = world.client().patch(f"{DOCUMENTS}/{one}", json={"text": "about pears", "tags": []})
    assert (reply.status_code, reply.json()["tags"]) == (200, [])
    assert world.post("/api/knowledge/search", {"query": "pears"})["items"][0]["document"] == one
    assert world.get("/api/knowledge/tags")["items"] == []
    assert world.client().delete(f"{DOCUMENTS}/{one}").json() == {"id": one}
    for path in ("", "/text", "/chunks"):
        assert world.client().get(f"{DOCUMENTS}/{one}{path}").status_code == 404
    assert world.client().delete(f"{DOCUMENTS}/{one}").status_code == 404


def test_a_file_is_uploaded_as_it_is(world: World) -> None:
    body = "zwei Wörter\n".encode() * 200_000
    reply = world.client().post(UPLOADS, params={"title": "Größe", "tag": ["x", "y"]}, content=body)
    assert reply.status_code == 201, reply.text
    made = reply.json()
    assert (made["size"], made["tags"], made["title"]) == (len(body), ["x", "y"], "Größe")
    assert made["chunks"] > 2_000
    assert world.get(f"{DOCUMENTS}/{made['id']}/chunks?limit=1")["total"] == made["chunks"]


@pytest.mark.parametrize(
    ("params", "body", "status"),
    [
        ({}, b"text", 422),
        ({"title": ""}, b"text", 422),
        ({"title": "a", "more": "b"}, b"text", 422),
        ({"title": "a", "media_type": "nothing"}, b"text", 422),
        ({"title": "a"}, b"", 422),
        ({"title": "a"}, b"\x00\x01", 422),
        ({"title": "a\x07"}, b"text", 422),
    ],
)
def test_an_upload_that_cannot_be_used_keeps_nothing(
    world: World, params: dict[str, str], body: bytes, status: int
) -> None:
    reply = world.client().post(UPLOADS, params=params, content=body)
    assert reply.status_code == status, reply.text
    assert world.get(DOCUMENTS)["total"] == 0


def test_an_upload_that_is_too_long_is_refused(world: World) -> None:
    connection = HTTPConnection("127.0.0.1", int(world.url.rpartition(":")[2]), timeout=SECONDS)
    with closing(connection):
        connection.putrequest("POST", f"{UPLOADS}?title=a")
        connection.putheader("Authorization", world.client().headers["Authorization"])
        connection.putheader("Content-Length", str((64 << 20) + 1))
        connection.endheaders()
        assert connection.getresponse().status == 413
    body = {"title": "a", "text": "x" * (2 << 20)}
    assert world.client().post(DOCUMENTS, json=body).status_code == 413, "no other body is longer than any body may be"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", DOCUMENTS, {"title": "marker"}),
        ("POST", DOCUMENTS, {"title": "marker", "text": ""}),
        ("POST", DOCUMENTS, {"title": "marker", "text": 7}),
        ("POST", DOCUMENTS, {"title": "a", "text": "a", "tags": ["marker" * 30]}),
        ("POST", DOCUMENTS, {"title": "a", "text": "a", "owner": "marker"}),
        ("POST", "/api/knowledge/search", {"query": "?!"}),
        ("POST", "/api/knowledge/search", {"query": " ".join(f"marker{n}" for n in range(17))}),
        ("POST", "/api/knowledge/search", {"query": "a", "limit": 0}),
        ("POST", "/api/knowledge/search", {"query": "a", "cursor": "marker"}),
        ("POST", "/api/knowledge/imports", {"path": "../marker"}),
        ("GET", f"{DOCUMENTS}?cursor=marker", None),
        ("GET", "/api/knowledge/tags?cursor=marker", None),
    ],
)
def test_what_cannot_be_used_is_refused_without_a_word_of_it(world: World, method: str, path: str, body: Any) -> None:
    given = {} if body is None else {"json": body}
    reply = world.client().request(method, path, **given)
    assert reply.status_code == 422, reply.text
    assert "marker" not in reply.text
    assert world.get(DOCUMENTS)["total"] == 0


def test_a_change_of_nothing_is_refused(world: World) -> None:
    one = add(world)
    assert world.client().patch(f"{DOCUMENTS}/{one}", json={}).status_code == 422
    assert world.client().patch(f"{DOCUMENTS}/none", json={"title": "a"}).status_code == 404


def test_a_document_of_ones_own_is_nobody_elses(world: World) -> None:
    one = add(world, personal=True)
    reply = world.client(KEY).get(f"{DOCUMENTS}/{one}")
    assert reply.status_code == 404
    assert world.client(KEY).get(DOCUMENTS).json()["total"] == 0
    assert world.client(PERSON).get(DOCUMENTS).json()["total"] == 1


def test_an_agent_that_only_asks_has_no_knowledge(world: World) -> None:
    add(world)
    assert world.client(AGENT).get(DOCUMENTS).status_code == 403
    reply = world.client(COPILOT).get(DOCUMENTS)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, "session")
