"""Everybody but the chat's model: each operation gives them the same bytes with the gate and without it.

The operations that change something are done twice on two stages, and what is the same but for names and times is
compared; the others twice on one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx2
import pytest

from stanch.app.tools import ToolResult
from stanch.surfaces.http.application import ROUTERS
from stanch.surfaces.http.content_route import ContentRoute
from stanch.values.identity import Principal
from tests.delivery.driving import DRIVEN
from tests.delivery.stage import NAME, OTHERS, Stage, State, gate_off, staged
from tests.delivery.test_documents_table import picture
from tests.http.served import KEY, PERSON

BINARY = {"Content-Type": "application/octet-stream"}
VARIES = re.compile(
    rb'"(?:id|run|request_id|call_id|import_id|session|created_at|changed_at|started_at|ended_at|at|token|address|digest'
    rb'|revision|cursor|next)": ?"[^"]*"|[0-9a-f]{16,}|\d{4}-\d\d-\d\dT[0-9:.+Z]+'
)
MADE_OF_ITEMS = {"POST /api/knowledge/imports", "POST /api/tables/t/import/file", "POST /api/runs/run_-/execute"}
"""What is made of stored items carries on what is known of them, whoever does it: there alone it is read."""
Asked = tuple[str, str, dict[str, Any]]


class Things:
    """A file, a document, a run and a table of each state, and what may be asked about them."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.documents, self.runs = [], []
        stage.send("POST", "/api/tables", json={"name": "t", "columns": [{"name": "a"}]})
        for state in State:
            text = stage.written(state)
            stage.write(state, "PUT", f"/api/files/text/{state}.txt", json={"content": text})
            body: dict[str, Any] = {"title": f"needle {state}", "text": f"needle {text}", "tags": [str(state)]}
            self.documents.append(stage.write(state, "POST", "/api/knowledge/documents", json=body).json()["id"])
            run = {"name": "n", "output": text, "files": [{"name": "log.txt", "text": text}], "steps": [{"tool": "x"}]}
            self.runs.append(stage.write(state, "POST", "/api/runs", json=run).json()["id"])
            stage.write(state, "POST", "/api/tables/t/rows", json={"rows": [{"a": text}]})
        stage.write(State.UNKNOWN, "PUT", "/api/files/text/a.md", json={"content": f"![p](p.png) {stage.value}"})
        picture(stage, State.UNKNOWN)
        stage.service.tools.add(
            "look_up", lambda _: ToolResult({"text": stage.written(State.ENTRIES)}, secrets=(NAME,), complete=False)
        )

    def reading(self) -> Iterator[Asked]:
        """Everything that changes nothing."""
        for path in ("", "/grep?pattern=key", "/search?query=key", "/archive"):
            yield "GET", f"/api/files{path}", {}
        for state in State:
            for part in ("text", "content", "info", "versions"):
                yield "GET", f"/api/files/{part}/{state}.txt", {}
        for path in ("compiled/a.md", "pdf/a.md", "view/a.md", "image/p.png", "image/p.png?width=16"):
            yield "GET", f"/api/files/{path}", {}
        yield "GET", "/api/links?path=entries.txt", {}
        for path in ("/documents", "/tags", "/export"):
            yield "GET", f"/api/knowledge{path}", {}
        yield "POST", "/api/knowledge/search", {"json": {"query": "needle", "characters": 30}}
        for one in self.documents:
            for part in ("", "/text", "/chunks"):
                yield "GET", f"/api/knowledge/documents/{one}{part}", {}
        yield "GET", "/api/runs", {}
        for one in self.runs:
            for part in ("?base64=true", "/files", "/files/log.txt", "/text/log.txt"):
                yield "GET", f"/api/runs/{one}{part}", {}
        for path in ("", "/t", "/t/rows", "/t/rows/1", "/t/rows/2", "/t/search?query=key", "/t/export"):
            yield "GET", f"/api/tables{path}", {}
        yield "POST", "/api/tables/t/query", {"json": {"filters": []}}
        yield "POST", "/api/tables/t/selection", {"json": {"rows": [1, 2, 3, 4]}}

    def changing(self) -> Iterator[Asked]:
        """Everything that changes something, once."""
        secret = self.stage.written(State.ENTRIES)
        yield "PUT", "/api/files/text/new.txt", {"json": {"content": secret}}
        yield "PUT", "/api/files/content/new.bin", {"content": secret.encode(), "headers": BINARY}
        yield "PATCH", "/api/files/text/unknown.txt", {"json": {"old": "the key", "new": "a key"}}
        yield "POST", "/api/files/move", {"json": {"path": "new.txt", "to": "moved.txt"}}
        yield "POST", "/api/links", {"json": {"path": "unknown.txt"}}
        yield "DELETE", "/api/links?path=unknown.txt", {}
        yield "DELETE", "/api/files/content/moved.txt", {}
        yield "POST", "/api/knowledge/documents", {"json": {"title": secret, "text": secret}}
        yield "POST", "/api/knowledge/imports", {"json": {"path": "unknown.txt"}}
        yield "POST", "/api/knowledge/uploads?title=x", {"content": secret.encode(), "headers": BINARY}
        yield "PATCH", f"/api/knowledge/documents/{self.documents[0]}", {"json": {"title": "other"}}
        yield "DELETE", f"/api/knowledge/documents/{self.documents[0]}", {}
        yield "POST", "/api/runs", {"json": {"name": "m", "output": secret}}
        yield "PUT", f"/api/runs/{self.runs[0]}/files/more.txt", {"content": secret.encode(), "headers": BINARY}
        yield "POST", f"/api/runs/{self.runs[0]}/execute", {"json": {}}
        yield "POST", f"/api/runs/{self.runs[0]}/resume", {"json": {}}
        yield "POST", "/api/tables", {"json": {"name": "made", "columns": [{"name": "a"}]}}
        yield "POST", "/api/tables/t/rows", {"json": {"rows": [{"a": secret}]}}
        yield "PATCH", "/api/tables/t/rows", {"json": {"rows": [{"row": 1, "values": {"a": "x"}}]}}
        yield "POST", "/api/tables/t/import/file", {"json": {"path": "b.csv"}}
        yield "POST", "/api/tables/t/import?form=csv", {"content": f"a\n{secret}".encode(), "headers": BINARY}
        yield "POST", "/api/tables/t/rows/delete", {"json": {"rows": [2]}}
        yield "DELETE", "/api/tables/t", {}
        self.stage.free()
        yield "POST", "/api/tools/look_up/execute", {"json": {"session": self.stage.chat}}


def shown(reply: httpx2.Response) -> tuple[int, bytes, dict[str, str]]:
    """What of an answer has to be the same."""
    kept = {name: value for name, value in reply.headers.items() if name not in ("date", "server", "content-length")}
    return reply.status_code, reply.content, kept


@pytest.mark.parametrize("principal", OTHERS, ids=lambda one: one.kind.value)
def test_what_is_read_is_the_same_with_the_gate_and_without(stage: Stage, principal: Principal) -> None:
    things = Things(stage)
    reads = stage.reads
    for method, path, given in things.reading():
        on = shown(stage.send(method, path, principal, **given))
        assert on[0] == 200, (path, on)
        with gate_off():
            assert shown(stage.send(method, path, principal, **given)) == on, path
    assert stage.reads == reads, "something was read of what is known of an item"


def answers(stage: Stage, principal: Principal, off: bool) -> list[tuple[str, int, bytes, int]]:
    """What each change was answered with, and how much was read of what is known of items meanwhile."""
    stage.send("PUT", "/api/files/text/b.csv", json={"content": "a\nx\n"})
    things = Things(stage)
    found = []
    for method, path, given in things.changing():
        before = stage.reads
        with gate_off() if off else nullcontext():
            reply = stage.send(method, path, principal, **given)
        said = reply.content.replace(stage.value.encode(), b"VALUE")
        said = said.replace(json.dumps(stage.value)[1:-1].encode(), b"VALUE")
        where = VARIES.sub(b"-", f"{method} {path.split('?')[0]}".encode()).decode()
        found.append((where, reply.status_code, VARIES.sub(b"-", said), stage.reads - before))
    return found


@pytest.mark.parametrize("principal", OTHERS, ids=lambda one: one.kind.value)
def test_what_is_changed_is_the_same_with_the_gate_and_without(tmp_path: Path, principal: Principal) -> None:
    found: list[list[tuple[str, int, bytes, int]]] = []
    for off in (False, True):
        root = tmp_path / str(off)
        root.mkdir()
        with staged(root) as stage:
            found.append(answers(stage, principal, off))
    for on, without in zip(*found, strict=True):
        assert on == without
    assert {one[0] for one in found[0] if one[3]} <= MADE_OF_ITEMS, "something was read of what is known of an item"
    # What waits for nothing is not gone on with; and not everybody has a session that a tool could act in.
    passing = ("/resume",) if principal in (PERSON, KEY) else ("/resume", "/api/tools/look_up/execute")
    failed = [one[:3] for one in found[0] if one[1] >= 400 and not one[0].endswith(passing)]
    assert not failed


def test_every_operation_is_asked_for_here(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is new has to be added above."""
    done: set[str] = set()
    real: Callable[..., Any] = ContentRoute.handle

    async def handling(self: ContentRoute, *given: Any) -> None:
        done.add(self.operation.name)
        await real(self, *given)

    monkeypatch.setattr(ContentRoute, "handle", handling)
    stage.send("PUT", "/api/files/text/b.csv", json={"content": "a\nx\n"})
    things = Things(stage)
    for method, path, given in (*things.reading(), *things.changing()):
        stage.send(method, path, **given)
    import_id = "0123456789abcdef"
    query = f"form=csv&create=true&import_id={import_id}"
    stage.send("POST", f"/api/tables/u/import?{query}", content=b"a\n1\n", headers=BINARY)
    stage.send("GET", f"/api/tables/u/imports/{import_id}")
    link = stage.send("POST", "/api/links", json={"path": "unknown.txt"}).json()
    assert stage.send("GET", link["address"]).status_code == 200
    served = {one.operation.name for router in ROUTERS for one in router.routes if isinstance(one, ContentRoute)}
    # A workbench is filled by a model alone: nobody else is given anything there.
    assert served - done == {"workbench_get"}
    assert not DRIVEN.now, "nobody of these is the chat's model"
