"""Files over REST: names, uploads, downloads, races, whose they are, and links that need no sign-in."""

from __future__ import annotations

import io
import json
import os
import socket
import threading
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
import pytest

from stanch.storage import blobs as blobs_module
from stanch.surfaces.http import content_uploads
from stanch.values.identity import Principal, PrincipalKind
from tests.http.served import AGENT, KEY, PERSON, World, until
from tests.stores.places import together

BRAM = Principal(PrincipalKind.USER, "bram")


def put(world: World, path: str, data: bytes | str, status: int = 200, **query: Any) -> Any:
    raw = data.encode() if isinstance(data, str) else data
    reply = world.client().put(f"/api/files/content/{quote(path)}", content=raw, params=query)
    assert reply.status_code == status, reply.text
    return reply.json()


def blobs_in(world: World) -> list[str]:
    return sorted(path.name for path in (world.root / "blobs").rglob("*") if path.is_file())


def test_a_file_is_what_was_put(world: World) -> None:
    data = os.urandom(3_000_000)
    made = put(world, "a/b c/ä.bin", data)
    assert (made["path"], made["version"], made["size"]) == ("a/b c/ä.bin", 1, len(data))
    reply = world.client().get("/api/files/content/a/b%20c/%C3%A4.bin")
    assert reply.content == data
    assert reply.headers["content-disposition"] == "attachment; filename=\"_.bin\"; filename*=UTF-8''%C3%A4.bin"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["content-length"] == str(len(data))
    assert world.get("/api/files/info/a/b%20c/%C3%A4.bin") == made
    assert world.get("/api/files")["items"] == [made]
    put(world, "a/b c/ä.bin", b"new", version=1)
    assert world.client().get("/api/files/content/a/b c/ä.bin?version=1").content == data
    assert [one["version"] for one in world.get("/api/files/versions/a/b c/ä.bin")["items"]] == [2, 1]


@pytest.mark.parametrize(
    "path",
    ["..", "../x", "a/../../x", "a/./b", "%2e%2e/x", "a%2f..%2fx", "a%00b", "a%0d%0ab", "a%5cb", "%7f", "/", "//"],
)
def test_a_path_that_leads_elsewhere_is_none(world: World, path: str) -> None:
    for method, kind in (("GET", "text"), ("GET", "content"), ("PUT", "content"), ("DELETE", "content")):
        # WHY by hand: a client tidies paths up.
        status = raw(world, method, f"/api/files/{kind}/{path}")
        # A line's end is no part of any address.
        assert status == (404 if "%0d" in path else 422), (method, kind, path, status)
    assert world.get("/api/files")["total"] == 0


def raw(world: World, method: str, target: str, body: bytes = b"") -> int:
    """The status of a request whose target is sent as it is."""
    parts = urlsplit(world.url)
    token = world.client().headers["Authorization"]
    head = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\nContent-Length: {len(body)}\r\n"
    with socket.create_connection((parts.hostname or "", parts.port or 0), 30) as connection:
        connection.sendall(f"{head}Connection: close\r\n\r\n".encode() + body)
        return int(connection.recv(4_096).split(b" ", 2)[1])


@pytest.mark.parametrize(
    "path", ['a";x=".html', "a;b", "-rf", "~", "con", "a'b", "\u202efdp.exe", "%41", "a+b", "a?b#c"]
)
def test_odd_names_stay_names(world: World, path: str) -> None:
    put(world, path, "x")
    reply = world.client().get(f"/api/files/content/{quote(path)}")
    assert reply.content == b"x"
    assert reply.headers["content-disposition"].count('"') == 2
    assert world.get("/api/files")["items"][0]["path"] == path
    with zipfile.ZipFile(io.BytesIO(world.client().get("/api/files/archive").content)) as packed:
        assert set(packed.namelist()) == {path, "stanch-manifest.json"}


def test_the_workspace_on_disk_is_another_thing(world: World) -> None:
    outside = world.root / "outside"
    outside.write_text("on the disk", "utf-8")
    (world.workspace / "way").symlink_to(outside)
    (world.workspace / "real.txt").write_text("on the disk", "utf-8")
    for path in ("way", "real.txt"):
        assert world.client().get(f"/api/files/text/{path}").status_code == 404
        put(world, path, "kept")
        assert world.get(f"/api/files/text/{path}")["text"] == "kept"
    assert outside.read_text("utf-8") == "on the disk"
    assert "on the disk" not in world.client().get("/api/files/grep?pattern=disk").text


def test_links_among_the_kept_bytes_are_not_followed_to_other_content(world: World) -> None:
    put(world, "a.txt", "kept")
    (path,) = [path for path in (world.root / "blobs").rglob("*") if path.is_file()]
    other = world.root / "other"
    other.write_text("leak", "utf-8")
    path.unlink()
    path.symlink_to(other)
    for address in ("text/a.txt", "content/a.txt"):
        try:
            reply = world.client().get(f"/api/files/{address}")
        except httpx2.RemoteProtocolError:
            continue  # it broke off before the last block
        assert b"leak" not in reply.content
        assert reply.status_code == 500


def test_a_name_of_the_manifest_is_no_lie(world: World) -> None:
    put(world, "stanch-manifest.json", '{"left_out": []}')
    put(world, "Stanch-Manifest-1.json/x", "y")
    with zipfile.ZipFile(io.BytesIO(world.client().get("/api/files/archive").content)) as packed:
        names = packed.namelist()
        assert sorted(names) == ["Stanch-Manifest-1.json/x", "stanch-manifest-2.json", "stanch-manifest.json"]
        assert packed.read("stanch-manifest.json") == b'{"left_out": []}'


def test_of_edits_at_once_one_wins_and_none_is_lost(world: World) -> None:
    put(world, "a.txt", "one two three four")
    words = ("one", "two", "three", "four")
    done = together(
        *(
            lambda word=word: world.client().patch(
                "/api/files/text/a.txt", json={"old": word, "new": word.upper(), "version": 1}
            )
            for word in words
        )
    )
    assert sorted(reply.status_code for reply in done) == [200, 409, 409, 409]
    text = world.get("/api/files/text/a.txt")["text"]
    assert sum(word.isupper() for word in text.split()) == 1
    for word in words:
        while word in world.get("/api/files/text/a.txt")["text"]:
            world.client().patch("/api/files/text/a.txt", json={"old": word, "new": word.upper()})
    assert world.get("/api/files/text/a.txt")["text"] == "ONE TWO THREE FOUR"


def test_an_error_quotes_no_content(world: World) -> None:
    put(world, "a.txt", "innermost thoughts, innermost fears")
    for body in (
        {"old": "innermost", "new": "x"},
        {"old": "innermost wishes", "new": "x"},
        {"old": "", "new": "innermost"},
        {"old": "innermost", "new": "innermost"},
        {"old": "innermost", "new": 5},
        {"old": ["innermost"], "new": "x"},
        {"old": "thoughts", "new": "innermost \ud800"},
    ):
        raw = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        reply = world.client().patch("/api/files/text/a.txt", content=raw, headers=headers)
        assert reply.status_code == 422, reply.text
        assert "innermost" not in reply.text
    put(world, "a.pdf", b"%PDF-1.7 innermost")
    reply = world.client().get("/api/files/text/a.pdf")
    assert (reply.status_code, "damaged" in reply.text, "innermost" in reply.text) == (422, True, False)
    put(world, "a.bin", b"innermost\0")
    assert world.client().patch("/api/files/text/a.bin", json={"old": "i", "new": "x"}).status_code == 422


# uploads


def test_only_uploads_may_be_large(world: World) -> None:
    large = b"x" * ((1 << 20) + 1)
    assert world.client().put("/api/files/text/a", content=large).status_code == 413
    assert world.client().post("/api/files/move", content=large).status_code == 413
    assert world.client().post("/api/files/content/a", content=large).status_code == 413
    put(world, "a", large)


def test_a_body_that_says_it_is_too_long_is_not_read(world: World) -> None:
    parts = urlsplit(world.url)
    token = world.client().headers["Authorization"]
    head = f"PUT /api/files/content/a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\n"
    with socket.create_connection((parts.hostname or "", parts.port or 0), 30) as connection:
        connection.sendall(f"{head}Content-Length: {(2 << 30) + 1}\r\n\r\n".encode())
        assert connection.recv(4_096).startswith(b"HTTP/1.1 413 ")
    assert blobs_in(world) == []


def test_a_body_that_grows_too_long_leaves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = tuple((method, pattern, 100_000) for method, pattern, _ in content_uploads._PATTERNS)
    monkeypatch.setattr(content_uploads, "_PATTERNS", patterns)

    def pieces() -> Iterator[bytes]:
        for _ in range(40):
            yield b"x" * 10_000

    reply = world.client().put("/api/files/content/a", content=pieces())
    assert (reply.status_code, reply.json()["detail"]) == (413, "the body is larger than 100,000 bytes")
    assert blobs_in(world) == []


def test_an_upload_that_breaks_off_leaves_nothing(world: World) -> None:
    parts = urlsplit(world.url)
    token = world.client().headers["Authorization"]
    head = (
        f"PUT /api/files/content/a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\nContent-Length: 100000\r\n"
    )
    with socket.create_connection((parts.hostname or "", parts.port or 0), 30) as connection:
        connection.sendall(f"{head}\r\n".encode() + b"x" * 50_000)
    put(world, "b", "after it")
    until(lambda: world.get("/api/files")["total"] == 1, "the other file alone")
    assert len(blobs_in(world)) == 1


def test_whoever_may_not_is_told_before_the_bytes_come(world: World) -> None:
    parts = urlsplit(world.url)
    agent = world.client(AGENT).headers["Authorization"]
    for token, status in (("Bearer none", 401), (agent, 403)):
        head = f"PUT /api/files/content/a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {token}\r\n"
        with socket.create_connection((parts.hostname or "", parts.port or 0), 30) as connection:
            connection.sendall(f"{head}Content-Length: 1000000\r\n\r\n".encode())
            assert int(connection.recv(4_096).split(b" ", 2)[1]) == status
    assert blobs_in(world) == []


def test_large_bytes_are_never_whole_in_memory(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    largest = 0
    plain = blobs_module._written

    def noted(file: Any, chunk: bytes) -> None:
        nonlocal largest
        largest = max(largest, len(chunk))
        plain(file, chunk)

    monkeypatch.setattr(blobs_module, "_written", noted)
    piece = os.urandom(1 << 20)
    digest = put_pieces(world, "big", (piece for _ in range(64)))["digest"]
    assert largest <= 1 << 20
    with world.client().stream("GET", "/api/files/content/big") as reply:
        sizes = [len(chunk) for chunk in reply.iter_raw()]
    assert sum(sizes) == 64 << 20
    assert world.get("/api/files/info/big")["digest"] == digest
    # Of a writer that says which secrets it had, the bytes are looked through as they pass.
    reply = world.client().put(
        "/api/files/content/big2",
        content=(piece for _ in range(8)),
        headers={"Stanch-Secrets-Complete": "yes"},
    )
    assert reply.status_code == 200


def put_pieces(world: World, path: str, pieces: Iterator[bytes]) -> Any:
    reply = world.client().put(f"/api/files/content/{path}", content=pieces)
    assert reply.status_code == 200, reply.text
    return reply.json()


# whose they are


def test_a_file_of_ones_own_is_not_there_for_others(world: World) -> None:
    put(world, "mine.txt", "my own words", mine=True)
    assert world.get("/api/files/info/mine.txt")["owner"] == PERSON.id
    for who in (BRAM, KEY):
        client = world.client(who)
        for method, address in (
            ("GET", "/api/files/text/mine.txt"),
            ("GET", "/api/files/content/mine.txt"),
            ("GET", "/api/files/versions/mine.txt"),
            ("GET", "/api/files/info/mine.txt"),
            ("DELETE", "/api/files/content/mine.txt"),
            ("GET", "/api/links?path=mine.txt"),
            ("DELETE", "/api/links?path=mine.txt"),
            ("GET", "/api/files/archive?path=mine.txt"),
        ):
            other = client.request(method, address.replace("mine.txt", "none.txt"))
            reply = client.request(method, address)
            assert (reply.status_code, other.status_code) == (404, 404), (method, address)
            assert reply.text.replace("mine.txt", "none.txt") == other.text
        assert client.get("/api/files").json() == {"items": [], "total": 0, "next": None, "withheld": 0}
        assert client.get("/api/files/grep?pattern=words").json()["items"] == []
        assert client.get("/api/files/search?query=words").json()["total"] == 0
    # The path is free, as far as they can tell.
    assert world.client(BRAM).put("/api/files/content/mine.txt", content=b"shared").status_code == 200
    assert world.get("/api/files/text/mine.txt")["text"] == "my own words"
    assert len(world.get("/api/files/grep?pattern=.")["items"]) == 1


# links


def shared(world: World, path: str) -> Any:
    return world.post("/api/links", {"path": path}, 201)


def test_whoever_has_a_link_has_the_file(world: World) -> None:
    put(world, "page.html", "<script>alert(1)</script>")
    link = shared(world, "page.html")
    with httpx2.Client(base_url=world.url, timeout=30) as nobody:
        reply = nobody.get(link["address"])
        assert (reply.status_code, reply.text) == (200, "<script>alert(1)</script>")
        assert reply.headers["content-disposition"].startswith("attachment;")
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        put(world, "page.html", "newer")
        assert nobody.get(link["address"]).text == "newer"
        # One that is unknown, one that is revoked, and one whose file is gone read the same.
        gone = shared(world, "page.html")
        world.client().delete(f"/api/links?path=page.html&link={gone['id']}")
        none = nobody.get("/links/never-made")
        assert none.status_code == 404
        assert nobody.get(gone["address"]).text == none.text
        assert nobody.get(f"/links/{link['id']}").text == none.text
        world.client().delete("/api/files/content/page.html")
        assert nobody.get(link["address"]).text == none.text
        for odd in ("%00", "a" * 201, "%F0%9F%99%82", "x/y"):
            assert nobody.get(f"/links/{odd}").status_code in (404, 422), odd


def test_a_token_is_told_once_and_kept_nowhere(world: World) -> None:
    put(world, "a.txt", "x")
    link = shared(world, "a.txt")
    assert len(link["token"]) >= 43
    said = world.client().get("/api/links?path=a.txt").text + world.client().get("/api/audit?limit=500").text
    assert link["token"] not in said
    rows = str(world.rows("SELECT * FROM file_links") + world.rows("SELECT * FROM audit"))
    assert link["token"] not in rows
    assert link["id"] in rows


def test_lists_are_paged_by_path(world: World) -> None:
    for name in ("c", "a/1", "a/2", "b"):
        put(world, name, name)
    first = world.get("/api/files?limit=2")
    assert ([one["path"] for one in first["items"]], first["total"]) == (["a/1", "a/2"], 4)
    second = world.get(f"/api/files?limit=2&cursor={first['next']}")
    assert ([one["path"] for one in second["items"]], second["next"]) == (["b", "c"], None)
    assert world.get("/api/files?path=a")["total"] == 2
    assert world.client().get("/api/files?cursor=none").status_code == 422


def test_downloads_do_not_wait_for_one_another(world: World) -> None:
    put(world, "a", os.urandom(2_000_000))
    ended = together(*(lambda: len(world.client().get("/api/files/content/a").content) for _ in range(12)))
    assert ended == [2_000_000] * 12
    assert threading.active_count() < 200
