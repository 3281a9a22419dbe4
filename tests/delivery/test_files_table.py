"""The rows of the policy table about workspace files, each by U, E and C, through REST as the chat's model asks."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from tests.delivery.stage import CLEAN, LABEL, OTHERS, Stage, State

U, E = State.UNKNOWN, State.ENTRIES
TEXT = "/api/files/text/a.txt"
BYTES = "/api/files/content/a.txt"


def put(stage: Stage, state: State, path: str = "a.txt", **fields: Any) -> str:
    """A file of that state; its text."""
    text = stage.written(state, **fields)
    stage.write(state, "PUT", f"/api/files/text/{path}", json={"content": text})
    return text


def clean(stage: Stage, state: State, **query: Any) -> dict[str, Any]:
    """The text as a model reads it, where the state is one that lets it."""
    reply = stage.ask("GET", TEXT, params=query)
    assert reply.status_code == 200, (state, reply.text)
    stage.assert_clean(reply)
    found: dict[str, Any] = reply.json()
    return found


# file text, version text, `files read`


def test_file_text__unknown(stage: Stage) -> None:
    put(stage, U)
    stage.assert_withheld(stage.ask("GET", TEXT), "content_unknown")


def test_file_text__entries(stage: Stage) -> None:
    text = put(stage, E)
    assert clean(stage, E)["text"] == text.replace(stage.value, LABEL)


@pytest.mark.parametrize("state", CLEAN)
def test_file_text__clean(stage: Stage, state: State) -> None:
    text = put(stage, state)
    assert clean(stage, state)["text"] == text


def test_version_text__unknown(stage: Stage) -> None:
    put(stage, U)
    put(stage, State.UNRECORDED)
    assert clean(stage, State.UNRECORDED)["version"] == 2
    stage.assert_withheld(stage.ask("GET", TEXT, params={"version": 1}), "content_unknown")


def test_version_text__entries(stage: Stage) -> None:
    text = put(stage, E)
    put(stage, State.EMPTY)
    assert clean(stage, E, version=1)["text"] == text.replace(stage.value, LABEL)


@pytest.mark.parametrize("state", CLEAN)
def test_version_text__clean(stage: Stage, state: State) -> None:
    text = put(stage, state)
    put(stage, U)
    assert clean(stage, state, version=1)["text"] == text


def test_files_read__unknown(stage: Stage) -> None:
    put(stage, U)
    told = stage.tool("files_read", path="a.txt")
    stage.assert_clean(told)
    assert "and nothing else" not in told


def test_files_read__entries(stage: Stage) -> None:
    put(stage, E)
    told = stage.tool("files_read", path="a.txt")
    stage.assert_clean(told)
    assert f"the key is {LABEL} and nothing else" in told


@pytest.mark.parametrize("state", CLEAN)
def test_files_read__clean(stage: Stage, state: State) -> None:
    put(stage, state)
    assert "the key is nowhere and nothing else" in stage.tool("files_read", path="a.txt")


# grep


def grep(stage: Stage, pattern: str, path: str = "") -> Any:
    reply = stage.ask("GET", "/api/files/grep", params={"pattern": pattern, "path": path})
    assert reply.status_code == 200, reply.text
    stage.assert_clean(reply)
    return reply.json()


def test_grep__unknown(stage: Stage) -> None:
    put(stage, U)
    found = grep(stage, "key")
    assert (found["items"], found["files"], found["withheld"]) == ([], 0, {"content_unknown": 1})
    reply = stage.ask("GET", "/api/files/grep", params={"pattern": "key", "path": "a.txt"})
    stage.assert_withheld(reply, "content_unknown")


def test_grep__entries(stage: Stage) -> None:
    put(stage, E, after=" behind it\n")
    (line,) = grep(stage, "key")["items"]
    assert line["text"] == f"the key is {LABEL} behind it"
    # Nothing of the value is found, so nobody can spell it out.
    assert grep(stage, stage.value[:6])["items"] == []
    # A line that is clipped in the middle of the value is clipped after it was taken out.
    put(stage, E, "long.txt", before="x" * 490, after="y" * 900)
    for pattern in ("^x", "yyyy", "y$"):
        for one in grep(stage, pattern, "long.txt")["items"]:
            assert stage.value[:8] not in one["text"]
            assert len(one["text"]) <= 502


@pytest.mark.parametrize("state", CLEAN)
def test_grep__clean(stage: Stage, state: State) -> None:
    put(stage, U, "u.txt")
    put(stage, state)
    found = grep(stage, "nowhere and")
    assert [(one["path"], one["line"], one["text"]) for one in found["items"]] == [
        ("a.txt", 1, "the key is nowhere and nothing else")
    ]
    assert found["withheld"] == {"content_unknown": 1}


# bulk download


def archive(stage: Stage) -> tuple[dict[str, bytes], Any]:
    """The files of the archive as the model gets it, and its manifest."""
    reply = stage.ask("GET", "/api/files/archive")
    assert reply.status_code == 200, reply.text
    with zipfile.ZipFile(io.BytesIO(reply.content)) as packed:
        assert packed.testzip() is None
        found = {name: packed.read(name) for name in packed.namelist()}
    for data in found.values():
        stage.assert_clean(data)
    return found, json.loads(found.pop("stanch-manifest.json"))


@pytest.mark.parametrize(("state", "code"), [(U, "content_unknown"), (E, "content_opaque")])
def test_bulk_download__withheld(stage: Stage, state: State, code: str) -> None:
    put(stage, state)
    put(stage, State.UNRECORDED, "clean/b.txt")
    found, manifest = archive(stage)
    assert list(found) == ["clean/b.txt"]
    assert [(one["path"], one["reason"]["code"]) for one in manifest["left_out"]] == [("a.txt", code)]
    assert [one["path"] for one in manifest["files"]] == ["clean/b.txt"]


@pytest.mark.parametrize("state", CLEAN)
def test_bulk_download__clean(stage: Stage, state: State) -> None:
    text = put(stage, state)
    found, manifest = archive(stage)
    assert (found, manifest["left_out"]) == ({"a.txt": text.encode()}, [])


def test_bulk_download__a_name_that_holds_a_secret(stage: Stage) -> None:
    stage.secret("NAMED", "name-of-a-file-1234")
    put(stage, State.UNRECORDED, "name-of-a-file-1234.txt")
    found, manifest = archive(stage)
    assert found == {}
    assert [one["path"] for one in manifest["left_out"]] == ["{{NAMED}}.txt"]


# search


def search(stage: Stage, query: str) -> Any:
    reply = stage.ask("GET", "/api/files/search", params={"query": query})
    assert reply.status_code == 200, reply.text
    stage.assert_clean(reply)
    return reply.json()


@pytest.mark.parametrize(("state", "code"), [(U, "content_unknown"), (E, "content_cut")])
def test_search__withheld(stage: Stage, state: State, code: str) -> None:
    put(stage, state, before="\n\nthe key is ")
    found = search(stage, "KEY nothing")
    (item,) = found["items"]
    assert (item["path"], item["line"], item["preview"], item["withheld"]) == ("a.txt", 3, None, code)
    assert found["total"] == 1


@pytest.mark.parametrize("state", CLEAN)
def test_search__clean(stage: Stage, state: State) -> None:
    put(stage, state)
    (item,) = search(stage, "key nothing")["items"]
    assert (item["line"], item["preview"], item["withheld"]) == (1, "the key is nowhere and nothing else", None)
    assert search(stage, "thing")["items"] == []
    assert [one["line"] for one in search(stage, "txt")["items"]] == [None]


# edit


def edit(stage: Stage, **body: Any) -> Any:
    stage.free()
    return stage.ask("PATCH", TEXT, json=body)


def test_file_edit__unknown(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    text = put(stage, U)

    def unread(*_: Any) -> Any:
        raise AssertionError("it was read")

    with monkeypatch.context() as patch:
        patch.setattr("stanch.content.file_writing.text_of", unread)
        stage.assert_withheld(edit(stage, old="key", new="lock"), "content_unknown")
    assert stage.send("GET", TEXT).json()["text"] == text


def test_file_edit__entries(stage: Stage) -> None:
    text = put(stage, E)
    reply = edit(stage, old="the key", new="the long key")
    assert reply.status_code == 200, reply.text
    stage.assert_clean(reply)
    assert stage.send("GET", TEXT).json()["text"] == text.replace("the key", "the long key")
    # What was edited carries what it carried before.
    assert clean(stage, E)["text"] == f"the long key is {LABEL} and nothing else\n"
    stage.assert_withheld(stage.ask("GET", BYTES), "content_opaque")
    # No guess at the value is confirmed, whether it is right or wrong.
    answers = {
        edit(stage, old=guess, new="x").json()["detail"] for guess in (stage.value[:5], stage.value, "pk-wrong-guess")
    }
    assert answers == {"'old' is not in the file: it has to be there letter for letter, with its spaces and line ends"}
    over = edit(stage, old=f"is {LABEL} and", new="x")
    assert (over.status_code, "secret was taken out" in over.json()["detail"]) == (422, True)
    stage.assert_clean(over)


@pytest.mark.parametrize("state", CLEAN)
def test_file_edit__clean(stage: Stage, state: State) -> None:
    put(stage, state)
    reply = edit(stage, old="nowhere", new="here")
    assert reply.json()["places"] == [{"line": 1, "text": "here"}]
    assert clean(stage, state)["text"] == "the key is here and nothing else\n"
    assert edit(stage, old="e", new="x").json()["detail"].startswith("'old' is in the file 6 times")


# public links


@pytest.mark.parametrize(("state", "code"), [(U, "content_unknown"), (E, "content_opaque")])
def test_public_link__withheld(stage: Stage, state: State, code: str) -> None:
    put(stage, state)
    made = stage.send("POST", "/api/links", json={"path": "a.txt"}).json()
    stage.free()
    stage.assert_withheld(stage.ask("POST", "/api/links", json={"path": "a.txt"}), code)
    seeing = stage.ask("GET", "/api/links", params={"path": "a.txt"})
    stage.assert_withheld(seeing, code)
    assert made["id"] not in seeing.text
    assert made["token"] not in seeing.text


@pytest.mark.parametrize("state", CLEAN)
def test_public_link__clean(stage: Stage, state: State) -> None:
    text = put(stage, state)
    stage.free()
    made = stage.ask("POST", "/api/links", json={"path": "a.txt"})
    assert made.status_code == 201, made.text
    assert made.json()["version"] == 1
    listed = stage.ask("GET", "/api/links", params={"path": "a.txt"}).json()
    assert [one["id"] for one in listed["items"]] == [made.json()["id"]]
    # What a model shared stays what was admitted.
    put(stage, E)
    followed = stage.client().get(made.json()["address"], headers={"Authorization": ""})
    assert followed.text == text


# files get


@pytest.mark.parametrize(("state", "code"), [(U, "content_unknown"), (E, "content_opaque")])
def test_files_get__withheld(stage: Stage, state: State, code: str) -> None:
    put(stage, state)
    stage.assert_withheld(stage.ask("GET", BYTES), code)


@pytest.mark.parametrize("state", CLEAN)
def test_files_get__clean(stage: Stage, state: State) -> None:
    text = put(stage, state)
    reply = stage.ask("GET", BYTES)
    assert (reply.status_code, reply.text) == (200, text)
    assert reply.headers["content-disposition"].startswith("attachment;")


# everybody else


@pytest.mark.parametrize("state", list(State))
def test_nothing_is_read_of_what_is_known_for_anybody_else(stage: Stage, state: State) -> None:
    text = put(stage, state)
    stage.write(state, "PATCH", TEXT, json={"old": "the key", "new": "the KEY"})
    text = text.replace("the key", "the KEY")
    before = stage.reads
    for who in OTHERS:
        assert stage.send("GET", TEXT, who).json()["text"] == text
        assert stage.send("GET", BYTES, who).text == text
        assert stage.send("GET", "/api/files/grep?pattern=KEY", who).json()["items"][0]["text"] == text.rstrip("\n")
        assert stage.send("GET", "/api/files/search?query=key", who).json()["items"][0]["preview"] is not None
        with zipfile.ZipFile(io.BytesIO(stage.send("GET", "/api/files/archive", who).content)) as packed:
            assert packed.read("a.txt") == text.encode()
        edited = stage.send("PATCH", TEXT, who, json={"old": "KEY", "new": "KEY"})
        assert edited.status_code == 422
    assert stage.reads == before


def test_a_persons_edit_of_a_file_keeps_what_is_known(stage: Stage) -> None:
    put(stage, U)
    stage.send("PATCH", TEXT, json={"old": "the key", "new": "a key"})
    stage.send("PATCH", TEXT, json={"old": "a key", "new": "one key"})
    stage.assert_withheld(stage.ask("GET", TEXT), "content_unknown")
    put(stage, E)
    stage.send("PATCH", TEXT, json={"old": "the key", "new": "a key"})
    stage.assert_withheld(stage.ask("GET", BYTES), "content_opaque")
    stage.send("PATCH", TEXT, json={"old": stage.value, "new": "gone"})
    assert stage.ask("GET", BYTES).text == "a key is gone and nothing else\n"
