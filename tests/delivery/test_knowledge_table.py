"""The rows of the policy table about knowledge, each cell through every door that a chat's model has."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.conftest import Ended, Stanch, stanch
from tests.delivery.stage import BRAM, CLEAN, LABEL, MODEL, OTHERS, Stage, State, gate_off
from tests.http.served import BY, COPILOT

__all__ = ["stanch"]

DOCUMENTS = "/api/knowledge/documents"
WORD = "needle"
ENTRIES = pytest.mark.parametrize("state", [State.ENTRIES])
CLEAR = pytest.mark.parametrize("state", CLEAN)


def document(stage: Stage, state: State, **more: Any) -> str:
    """A document of this state, whose text, title and tags are all of it."""
    text = stage.written(state, before=f"{WORD}: ")
    body = {"title": f"title {text.strip()}"[:400], "text": text, "tags": [f"tag {text.strip()}"[:90]], **more}
    return str(stage.write(state, "POST", DOCUMENTS, json=body).json()["id"])


class Door:
    """One of the doors by which a chat's model asks. Each answer is a status, and JSON where there is some."""

    def __init__(self, stage: Stage, run: Stanch) -> None:
        self.stage, self._run = stage, run

    def read(self, one: str) -> tuple[bool, Any]:
        raise NotImplementedError

    def chunks(self, one: str) -> Any:
        raise NotImplementedError

    def search(self) -> Any:
        raise NotImplementedError

    def documents(self) -> Any:
        raise NotImplementedError

    def tags(self) -> Any:
        raise NotImplementedError


class Rest(Door):
    def read(self, one: str) -> tuple[bool, Any]:
        reply = self.stage.ask("GET", f"{DOCUMENTS}/{one}/text")
        if reply.status_code == 403:
            self.stage.assert_withheld(reply, "content_unknown")
        return reply.status_code == 200, self.clean(reply).json()

    def chunks(self, one: str) -> Any:
        return self.clean(self.stage.ask("GET", f"{DOCUMENTS}/{one}/chunks")).json()

    def search(self) -> Any:
        return self.clean(self.stage.ask("POST", "/api/knowledge/search", json={"query": WORD})).json()

    def documents(self) -> Any:
        return self.clean(self.stage.ask("GET", DOCUMENTS)).json()

    def tags(self) -> Any:
        return self.clean(self.stage.ask("GET", "/api/knowledge/tags")).json()

    def clean(self, reply: httpx2.Response) -> httpx2.Response:
        self.stage.assert_clean(reply)
        return reply


class CommandLine(Door):
    def _asked(self, *words: str) -> Ended:
        token = self.stage.store.create_token(name="cli", principal=COPILOT, by=BY).secret
        ended = self._run(
            "knowledge", *words, "--json", "--url", self.stage.url, "--token", token, "--session", self.stage.chat
        )
        self.stage.assert_clean(ended.out + ended.err)
        return ended

    def read(self, one: str) -> tuple[bool, Any]:
        ended = self._asked("read", one)
        return ended.code == 0, ended.json if ended.code == 0 else None

    def chunks(self, one: str) -> Any:
        return self._asked("chunks", one).json

    def search(self) -> Any:
        return self._asked("search", WORD).json

    def documents(self) -> Any:
        return self._asked("list").json

    def tags(self) -> Any:
        return self._asked("tags").json


class Chat(Door):
    def _told(self, tool: str, **arguments: Any) -> str:
        told = self.stage.tool(tool, **arguments)
        self.stage.assert_clean(told)
        return told

    def read(self, one: str) -> tuple[bool, Any]:
        told = self._told("knowledge_read", id=one)
        read = json.loads(told)
        return "document" in read, read

    def chunks(self, one: str) -> Any:
        return json.loads(self._told("knowledge_chunks", id=one))

    def search(self) -> Any:
        return json.loads(self._told("knowledge_search", query=WORD))

    def documents(self) -> Any:
        return json.loads(self._told("knowledge_list"))

    def tags(self) -> Any:
        return json.loads(self._told("knowledge_tags"))


@pytest.fixture(params=[Rest, CommandLine, Chat])
def door(request: pytest.FixtureRequest, stage: Stage, stanch: Stanch) -> Door:
    """Each door."""
    made: Door = request.param(stage, stanch)
    return made


# Knowledge chunks, search, documents, tags.


def test_knowledge__unknown(stage: Stage, door: Door) -> None:
    one = document(stage, State.UNKNOWN)
    admitted, _ = door.read(one)
    assert not admitted
    for page in (door.chunks(one), door.search(), door.documents(), door.tags()):
        assert (page["items"], page["total"], page["withheld"]) == ([], 1, 1)
        assert page["reasons"] == {"content_unknown": 1}


@ENTRIES
def test_knowledge__entries(stage: Stage, door: Door, state: State) -> None:
    one = document(stage, state)
    admitted, read = door.read(one)
    assert admitted
    assert LABEL in read["text"]
    assert LABEL in read["document"]["title"]
    (chunk,) = door.chunks(one)["items"]
    assert LABEL in chunk["text"]
    (found,) = door.search()["items"]
    assert LABEL in found["text"]
    assert LABEL in found["title"]
    (listed,) = door.documents()["items"]
    assert LABEL in listed["title"]
    (tag,) = door.tags()["items"]
    assert LABEL in tag["tag"]


@CLEAR
def test_knowledge__clean(stage: Stage, door: Door, state: State) -> None:
    one = document(stage, state)
    text = stage.written(state, before=f"{WORD}: ")
    _, read = door.read(one)
    assert read["text"] == text
    assert door.chunks(one)["items"][0]["text"] == text.strip()
    assert door.search()["items"][0]["text"] == text.strip()
    assert door.documents()["items"][0]["title"] == f"title {text.strip()}"
    assert door.tags()["items"] == [{"tag": f"tag {text.strip()}", "count": 1}]


def test_each_item_is_decided_by_itself(stage: Stage, door: Door) -> None:
    for state in State:
        document(stage, state)
    for page in (door.search(), door.documents()):
        assert (len(page["items"]), page["total"], page["withheld"]) == (3, 4, 1)


def test_documents_of_somebody_else_are_not_there(stage: Stage, door: Door) -> None:
    body = {"title": "of bram", "text": WORD, "tags": ["bram"], "personal": True}
    theirs = str(stage.send("POST", DOCUMENTS, BRAM, json=body).json()["id"])
    for page in (door.search(), door.documents(), door.tags()):
        assert (page["items"], page["total"], page["withheld"], page["next"]) == ([], 0, 0, None)
    assert not door.read(theirs)[0]
    page = stage.ask("POST", "/api/knowledge/search", json={"query": WORD, "documents": [theirs], "tags": ["bram"]})
    assert page.json() == {"items": [], "total": 0, "next": None, "withheld": 0, "reasons": {}}
    assert stage.ask("GET", f"{DOCUMENTS}/{theirs}/chunks").status_code == 404
    assert stage.ask("GET", "/api/knowledge/export", params={"document": theirs}).status_code == 404


def test_a_file_name_with_a_secret_is_projected(stage: Stage) -> None:
    name = f"{stage.value.rstrip('+/=')}.txt"
    stage.secret("FILE_KEY", stage.value.rstrip("+/="))
    headers = {"Stanch-Secrets": "FILE_KEY"}
    stage.write(State.EMPTY, "PUT", f"/api/files/text/{name}", json={"content": "x"}, headers=headers)
    stage.write(State.EMPTY, "POST", "/api/knowledge/imports", json={"path": name}, headers=headers)
    (listed,) = stage.ask("GET", DOCUMENTS).json()["items"]
    assert listed["title"] == listed["path"] == "{{FILE_KEY}}.txt"


# Knowledge export.


def exported(stage: Stage, **more: Any) -> tuple[int, bytes, bool]:
    """The status of an archive asked for over REST, its bytes, and whether it came to its end."""
    headers = {"Stanch-Session": stage.chat}
    data, whole = b"", True
    with stage.client(COPILOT).stream("GET", "/api/knowledge/export", headers=headers, **more) as reply:
        try:
            for block in reply.iter_raw():
                data += block
        except httpx2.RemoteProtocolError:
            whole = False
        return reply.status_code, data, whole


def is_archive(data: bytes) -> bool:
    return zipfile.is_zipfile(io.BytesIO(data))


@pytest.mark.parametrize("state", [State.UNKNOWN, State.ENTRIES])
def test_knowledge_export__unknown_and_entries(stage: Stage, state: State) -> None:
    hidden = document(stage, state)
    code = "content_unknown" if state is State.UNKNOWN else "content_opaque"
    stage.assert_withheld(stage.ask("GET", "/api/knowledge/export"), code)
    document(stage, State.EMPTY)
    status, data, whole = exported(stage)
    assert (status, whole) == (200, False), "the connection breaks in the middle"
    assert not is_archive(data)
    stage.assert_clean(data)
    assert hidden.encode() not in data


@CLEAR
def test_knowledge_export__clean(stage: Stage, state: State) -> None:
    one = document(stage, state)
    status, data, whole = exported(stage)
    assert (status, whole) == (200, True)
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.read(f"{one}/original.txt").decode() == stage.written(state, before=f"{WORD}: ")
    assert archive.testzip() is None


def command(stage: Stage, run: Stanch, out: Path) -> Ended:
    token = stage.store.create_token(name="cli", principal=COPILOT, by=BY).secret
    at = ("--url", stage.url, "--token", token, "--session", stage.chat)
    return run("knowledge", "export", "--out", str(out), *at)


@pytest.mark.parametrize("state", [State.UNKNOWN, State.ENTRIES])
def test_knowledge_export_by_command__unknown_and_entries(
    stage: Stage,
    stanch: Stanch,
    state: State,
    tmp_path: Path,
) -> None:
    document(stage, state)
    out = tmp_path / "out" / "all.zip"
    out.parent.mkdir()
    assert command(stage, stanch, out).code == 1
    document(stage, State.EMPTY)
    ended = command(stage, stanch, out)
    assert (ended.code, "stopped in the middle" in ended.err) == (2, True)
    assert list(out.parent.iterdir()) == []


@CLEAR
def test_knowledge_export_by_command__clean(
    stage: Stage,
    stanch: Stanch,
    state: State,
    tmp_path: Path,
) -> None:
    document(stage, state)
    assert command(stage, stanch, tmp_path / "all.zip").code == 0
    assert is_archive((tmp_path / "all.zip").read_bytes())


def test_a_chat_has_no_tool_that_gives_archives(stage: Stage) -> None:
    stage.tool("knowledge_list")
    offered = {one["function"]["name"] for one in stage.models.bodies()[-1]["tools"]}
    assert "knowledge_search" in offered
    assert not offered & {"knowledge_export", "knowledge_upload"}


# Everybody else.


def test_nobody_else_is_classified(stage: Stage) -> None:
    ids = [document(stage, state) for state in State]
    asks: list[tuple[str, str, Any]] = [
        ("GET", DOCUMENTS, None),
        ("GET", "/api/knowledge/tags", None),
        ("GET", "/api/knowledge/export", None),
        ("POST", "/api/knowledge/search", {"query": WORD, "characters": 20}),
        *(("GET", f"{DOCUMENTS}/{one}{part}", None) for one in ids for part in ("", "/text", "/chunks")),
    ]
    reads = stage.reads
    for principal in OTHERS:
        for method, path, body in asks:
            given = {} if body is None else {"json": body}
            on = stage.send(method, path, principal, **given)
            assert on.status_code == 200, on.text
            with gate_off():
                assert stage.send(method, path, principal, **given).content == on.content
    assert stage.reads == reads


# What a model writes.


def test_a_model_that_adds_a_document_asks_first(stage: Stage) -> None:
    body = {"title": "By a model", "text": f"it says {stage.value}"}
    refused = stage.ask("POST", DOCUMENTS, json=body)
    assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (403, "approval-needed")
    call = stage.approved("knowledge_add", body)
    done = stage.ask("POST", DOCUMENTS, json=body, call=call)
    assert done.status_code == 201, done.text
    read = stage.ask("GET", f"{DOCUMENTS}/{done.json()['id']}/text")
    assert LABEL in read.json()["text"]
    stage.assert_clean(read)


def test_a_change_that_may_not_be_told_of_is_saved(stage: Stage) -> None:
    stage.free()
    one = document(stage, State.UNKNOWN)
    reply = stage.ask("PATCH", f"{DOCUMENTS}/{one}", json={"title": "By a model"})
    stage.assert_withheld(reply, "content_unknown", saved=True)
    assert stage.send("GET", f"{DOCUMENTS}/{one}").json()["document"]["title"] == "By a model"


def test_a_tier_closes_documents_made_of_its_closed_files(stage: Stage) -> None:
    stage.write(State.EMPTY, "PUT", "/api/files/text/private/a.txt", json={"content": WORD})
    stage.write(State.EMPTY, "POST", "/api/knowledge/imports", json={"path": "private/a.txt"})
    curious = stage.chat_of("cloud/scripted")
    page = stage.ask("POST", "/api/knowledge/search", json={"query": WORD}, session=curious).json()
    assert (page["items"], page["reasons"]) == ([], {"content_tier": 1})
    stage.free(curious)
    reply = stage.ask("POST", "/api/knowledge/imports", json={"path": "private/a.txt"}, session=curious)
    assert reply.json()["type"].endswith(":call-refused")
    assert len(stage.ask("POST", "/api/knowledge/search", json={"query": WORD}).json()["items"]) == 1
    assert stage.chat_of(MODEL)
