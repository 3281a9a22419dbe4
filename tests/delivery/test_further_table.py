"""What else a chat reaches than the policy table is about: lists, what a write gives back, tools of the same name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.delivery.stage import CLEAN, LABEL, Stage, State

U, E = State.UNKNOWN, State.ENTRIES
BACK = "and nothing else"
BINARY = {"Content-Type": "application/octet-stream"}


class Items:
    """One item of each kind, all of the same state, and a chat that may write."""

    def __init__(self, stage: Stage, state: State) -> None:
        self.stage = stage
        self.text = stage.written(state, after=f" {BACK}")
        stage.write(state, "PUT", "/api/files/text/a.txt", json={"content": self.text})
        body = {"title": self.text, "text": self.text, "tags": []}
        self.document = stage.write(state, "POST", "/api/knowledge/documents", json=body).json()["id"]
        run = {"name": "nightly", "output": self.text, "files": [{"name": "log.txt", "text": self.text}]}
        self.run = stage.write(state, "POST", "/api/runs", json=run).json()["id"]
        stage.write(state, "POST", "/api/tables", json={"name": "t", "columns": [{"name": "a"}]})
        stage.write(state, "POST", "/api/tables/t/rows", json={"rows": [{"a": self.text}]})
        stage.free()

    def ask(self, method: str, path: str, **given: Any) -> httpx2.Response:
        """The answer to the chat's model, which holds no value, whatever else."""
        reply = self.stage.ask(method, path, **given)
        self.stage.assert_clean(reply)
        return reply

    def reading(self) -> Iterator[httpx2.Response]:
        """What gives of an item, by a route that no other row is about."""
        yield self.ask("GET", f"/api/knowledge/documents/{self.document}")
        yield self.ask("PATCH", f"/api/knowledge/documents/{self.document}", json={"tags": ["new"]})
        yield self.ask("POST", "/api/knowledge/imports", json={"path": "a.txt"})

    def telling(self) -> list[httpx2.Response]:
        """What tells of items without giving of them."""
        return [self.ask("GET", "/api/runs"), self.ask("GET", f"/api/runs/{self.run}/files")]

    def writing(self) -> list[httpx2.Response]:
        """What a model writes, and is told back."""
        said = self.stage.written(E, after="")
        table = f"a\n{said}\n".encode()
        return [
            self.ask("POST", "/api/knowledge/documents", json={"title": said, "text": said}),
            self.ask("POST", "/api/knowledge/uploads", params={"title": said}, content=said.encode(), headers=BINARY),
            self.ask("POST", "/api/runs", json={"name": said[:150], "output": said}),
            self.ask("PUT", f"/api/runs/{self.run}/files/by-model.txt", content=said.encode(), headers=BINARY),
            self.ask("POST", "/api/tables", json={"name": "by-model", "columns": [{"name": said}]}),
            self.ask("POST", "/api/tables/t/import", params={"form": "csv"}, content=table, headers=BINARY),
        ]

    def told(self, tool: str, **arguments: Any) -> str:
        """What a tool of the chat tells, which holds no value, whatever else."""
        told = self.stage.tool(tool, **arguments)
        self.stage.assert_clean(told)
        return told

    def tools_reading(self) -> Iterator[str]:
        """What gives of an item, by a tool that no other row is about."""
        yield self.told("files_grep", pattern="key is")
        yield self.told("knowledge_change", id=self.document, tags=["new"])
        yield self.told("knowledge_import", path="a.txt")

    def tools_telling(self) -> list[str]:
        """What tells of items without giving of them, or what a model has written itself."""
        said = self.stage.written(E, after="")
        return [
            self.told("files_search", query="key"),
            self.told("files_links", path="a.txt"),
            self.told("files_share", path="a.txt"),
            self.told("runs_list"),
            self.told("runs_files", run=self.run),
            self.told("runs_record", name="x", output=said),
            self.told("runs_resume", run=self.run),
            self.told("knowledge_add", title=said, text=said),
            self.told("tables_create", name="by-model", columns=[{"name": said}]),
            self.told("tables_list"),
        ]


def test_further_routes__unknown(stage: Stage) -> None:
    items = Items(stage, U)
    for reply in items.reading():
        assert reply.status_code == 403, reply.text
        assert BACK not in reply.text
    for reply in items.telling():
        assert reply.status_code == 200, reply.text
        assert BACK not in reply.text


def test_further_routes__entries(stage: Stage) -> None:
    items = Items(stage, E)
    for reply in items.reading():
        assert reply.status_code < 300, reply.text
        assert LABEL in reply.text or "a.txt" in reply.text
    for reply in (*items.telling(), *items.writing()):
        assert reply.status_code < 300, reply.text


@pytest.mark.parametrize("state", CLEAN)
def test_further_routes__clean(stage: Stage, state: State) -> None:
    items = Items(stage, state)
    for reply in (*items.reading(), *items.telling()):
        assert reply.status_code < 300, reply.text
    assert BACK in items.ask("GET", f"/api/knowledge/documents/{items.document}").text


def test_further_tools__unknown(stage: Stage) -> None:
    items = Items(stage, U)
    for told in (*items.tools_reading(), *items.tools_telling()):
        assert BACK not in told


def test_further_tools__entries(stage: Stage) -> None:
    items = Items(stage, E)
    grep, change, _ = items.tools_reading()
    assert LABEL in grep
    assert LABEL in change
    for told in items.tools_telling():
        assert BACK not in told or LABEL in told
    assert '"replaced": 1' in items.told("files_edit", path="a.txt", old="the key", new="no key")


@pytest.mark.parametrize("state", CLEAN)
def test_further_tools__clean(stage: Stage, state: State) -> None:
    items = Items(stage, state)
    grep, change, _ = items.tools_reading()
    assert BACK in json.loads(grep)["items"][0]["text"]
    assert BACK in change
    edited = items.told("files_edit", path="a.txt", old="nowhere", new="here")
    assert '"replaced": 1' in edited
