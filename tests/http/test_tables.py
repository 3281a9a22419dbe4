"""Tables over REST: every route, what it refuses in which words, and who may."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from stanch.app.service import Service
from stanch.storage.content_store import ContentStore
from stanch.values.tables import RowDraft
from tests.delivery.stage import BRAM, Stage, staged
from tests.http.served import AGENT, COPILOT, PERSON, until

MARK = "marker-7c21"
COLUMNS = [{"name": "a"}, {"name": "n", "type": "integer"}]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with staged(tmp_path) as running:
        yield running


def ok(reply: httpx2.Response) -> Any:
    assert reply.status_code == 200, reply.text
    return reply.json()


def made(stage: Stage, name: str = "t", **more: Any) -> str:
    return str(ok(stage.send("POST", "/api/tables", json={"name": name, "columns": COLUMNS, **more}))["id"])


def test_a_table_from_beginning_to_end(stage: Stage) -> None:
    table = made(stage, "Größe 1")
    place = f"/api/tables/{quote('Größe 1')}"
    written = ok(stage.send("POST", f"{place}/rows", json={"rows": [{"a": "x", "n": 1}, {"a": "y"}, {"n": 3}]}))
    assert [one["id"] for one in written["items"]] == [1, 2, 3]
    change = {"rows": [{"row": 2, "values": {"n": 2}, "version": 1}]}
    assert ok(stage.send("PATCH", f"/api/tables/{table}/rows", json=change))["items"] == [{"id": 2, "version": 2}]
    assert stage.send("PATCH", f"{place}/rows", json=change).status_code == 409
    first = ok(stage.send("GET", f"{place}/rows", params={"limit": 2}))
    assert [row["values"] for row in first["items"]] == [{"a": "x", "n": 1}, {"a": "y", "n": 2}]
    rest = ok(stage.send("GET", f"{place}/rows", params={"cursor": first["next"]}))
    assert ([row["id"] for row in rest["items"]], rest["total"], rest["next"]) == ([3], 3, None)
    assert ok(stage.send("GET", f"{place}/rows/3"))["values"] == {"a": None, "n": 3}
    query = {
        "filters": [{"column": "n", "how": ">=", "value": 2}],
        "sort": [{"column": "n", "descending": True}],
        "columns": ["n"],
        "figures": [{"figure": "avg", "column": "n"}],
    }
    found = ok(stage.send("POST", f"{place}/query", json=query))
    assert [row["values"] for row in found["items"]] == [{"n": 3}, {"n": 2}]
    assert found["columns"] == [{"name": "n", "type": "integer"}]
    assert found["figures"] == [
        {"figure": "avg", "column": "n", "value": 2.5, "withheld": False, "reason": None},
    ]
    assert ok(stage.send("POST", f"{place}/selection", json={"rows": [3, 1, 9]}))["total"] == 2
    assert ok(stage.send("GET", f"{place}/search?query=Y"))["items"] == [{"row": 2, "column": "a", "value": "y"}]
    assert ok(stage.send("POST", f"{place}/rows/delete", json={"rows": [1, 9]}))["rows"] == 1
    listed = ok(stage.send("GET", "/api/tables"))
    assert [(one["name"], one["rows"]) for one in listed["items"]] == [("Größe 1", 2)]
    assert ok(stage.send("DELETE", place)) == {"table": table, "rows": 2, "whole": True}
    assert stage.send("GET", place).status_code == 404
    actions = [row["action"] for row in stage.get("/api/audit?limit=100")["items"]]
    assert {"tables.create", "tables.insert", "tables.update", "tables.delete"} <= set(actions)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/tables", {"name": "a/b", "columns": COLUMNS}, 422),
        ("POST", "/api/tables", {"name": "b", "columns": []}, 422),
        ("POST", "/api/tables", {"name": "b", "columns": [{"name": "a", "type": MARK}]}, 422),
        ("POST", "/api/tables", {"name": "t", "columns": COLUMNS}, 409),
        ("POST", "/api/tables/t/rows", {"rows": []}, 422),
        ("POST", "/api/tables/t/rows", {"rows": [{"n": MARK}]}, 422),
        ("POST", "/api/tables/t/rows", {"rows": [{MARK: 1}]}, 422),
        ("POST", "/api/tables/t/rows", {"rows": [{"a": f"{MARK}\0"}]}, 422),
        ("POST", "/api/tables/none/rows", {"rows": [{"a": MARK}]}, 404),
        ("POST", "/api/tables/t/query", {"filters": [{"column": "n", "value": MARK}]}, 422),
        ("POST", "/api/tables/t/query", {"filters": [{"column": "n", "how": MARK, "value": 1}]}, 422),
        ("POST", "/api/tables/t/query", {"cursor": MARK}, 422),
        ("GET", "/api/tables/t/rows?cursor=x", None, 422),
        ("GET", f"/api/tables/t/rows?cursor={'x' * 5_000}", None, 422),
        ("GET", "/api/tables/t/rows/0", None, 422),
        ("GET", f"/api/tables/t/rows/{1 << 63}", None, 422),
        ("GET", "/api/tables/t/rows/1", None, 404),
        ("GET", "/api/tables/t/export?form=xls", None, 422),
        ("GET", f"/api/tables/t/imports/{'0' * 24}", None, 404),
        ("POST", "/api/tables/t/import/file", {"path": "none.csv"}, 404),
        ("POST", "/api/tables/t/import/file", {"path": "../x"}, 422),
    ],
)
def test_what_cannot_be_done_is_told_without_what_was_sent(
    stage: Stage, method: str, path: str, body: Any, status: int
) -> None:
    made(stage)
    reply = stage.send(method, path, json=body)
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    assert MARK not in reply.text


def test_an_upload_becomes_rows(stage: Stage) -> None:
    followed = "f" * 24
    asked = {"name": "a.csv", "create": True, "type": ["n:integer", "x:y:json"], "import_id": followed}
    done = ok(stage.send("POST", "/api/tables/t/import", params=asked, content=b'a,n,x:y\nx,1,[1]\n"y",2,\n'))
    assert (done["rows"], done["state"], done["id"]) == (2, "done", followed)
    for named in ("t", done["table"]):
        assert ok(stage.send("GET", f"/api/tables/{named}/imports/{followed}"))["rows"] == 2
    assert [one["type"] for one in ok(stage.send("GET", "/api/tables/t"))["columns"]] == ["text", "integer", "json"]
    bad = stage.send("POST", "/api/tables/t/import", params={"name": "a.csv"}, content=f"a,n\nx,{MARK}\n".encode())
    assert bad.status_code == 422
    assert "row 1, column 2: a whole number" in bad.json()["detail"]
    assert MARK not in bad.text
    again = stage.send(
        "POST", "/api/tables/t/import", params={"name": "a.csv", "import_id": followed}, content=b"a\n1\n"
    )
    assert again.status_code == 409
    for wrong in ({"type": "n"}, {"type": "n:word"}, {"form": "doc"}, {"import_id": "../x"}, {"delimiter": "ab"}):
        assert stage.send("POST", "/api/tables/t/import", params=wrong, content=b"a\n1\n").status_code == 422
    assert ok(stage.send("GET", "/api/tables/t/rows"))["total"] == 2


def test_a_large_upload_is_taken(stage: Stage) -> None:
    lines = b"a,n\n" + b"".join(b"some words that take their place %d,%d\n" % (at, at) for at in range(40_000))
    assert len(lines) > 1 << 20
    done = ok(stage.send("POST", "/api/tables/big/import", params={"name": "a.csv", "create": True}, content=lines))
    assert done["rows"] == 40_000
    assert len(stage.send("GET", "/api/tables/big/export").content) == len(lines) + 40_001


def test_an_export_is_read_again(stage: Stage) -> None:
    made(stage)
    rows: list[dict[str, Any]] = [{"a": "=1+1", "n": -5}, {"a": 'qu"ote\nline', "n": None}, {"a": "-x"}, {"a": ""}]
    ok(stage.send("POST", "/api/tables/t/rows", json={"rows": rows}))
    plain = stage.send("GET", "/api/tables/t/export")
    assert plain.text == 'a,n\r\n\'=1+1,-5\r\n"qu""ote\nline",\r\n\'-x,\r\n,\r\n'
    assert "attachment" in plain.headers["content-disposition"]
    assert plain.headers["content-type"].startswith("text/csv")
    lines = stage.send("GET", "/api/tables/t/export?form=jsonl").text.splitlines()
    assert [json.loads(line) for line in lines] == [{"a": None, "n": None, **row} for row in rows]
    raw = stage.send("GET", "/api/tables/t/export?formulas=true").content
    ok(
        stage.send(
            "POST",
            "/api/tables/back/import",
            params={"name": "a.csv", "create": True, "type": "n:integer"},
            content=raw,
        )
    )
    assert [row["values"]["a"] for row in ok(stage.send("GET", "/api/tables/back/rows"))["items"]] == [
        row["a"] for row in rows
    ]


def test_whose_tables_are_seen(stage: Stage) -> None:
    made(stage, "mine", personal=True)
    assert ok(stage.send("GET", "/api/tables", BRAM))["total"] == 0
    assert stage.send("GET", "/api/tables/mine", BRAM).status_code == 404
    assert ok(stage.send("GET", "/api/tables", PERSON))["total"] == 1
    assert ok(stage.ask("GET", "/api/tables"))["total"] == 1, "the chat's model acts for the same person"


def test_a_model_needs_its_session_and_an_agent_may_nothing(stage: Stage) -> None:
    made(stage)
    assert stage.send("GET", "/api/tables/t/rows", AGENT).status_code == 403
    assert stage.send("GET", "/api/tables/t/rows", COPILOT).status_code == 422
    refused = stage.ask("POST", "/api/tables/t/rows", json={"rows": [{"a": "x"}]})
    assert refused.json()["type"].endswith("approval-needed")
    upload = stage.ask("POST", "/api/tables/t/import", params={"name": "a.csv"}, content=b"a\nx\n")
    assert upload.json()["type"].endswith("approval-needed")
    stage.free()
    assert ok(stage.ask("POST", "/api/tables/t/import", params={"name": "a.csv"}, content=b"a\nx\n"))["rows"] == 1


@pytest.mark.parametrize("alone", [True, False])
def test_a_start_clears_away_what_a_process_left_half_done(stage: Stage, alone: bool) -> None:
    made(stage)
    stores = ContentStore(stage.store)
    table = stores.find_table("t", None)
    stores.begin_table_import("a" * 24, table, 10)
    first = stores.reserve_rows("a" * 24, table.id, 1)
    stores.add_rows("a" * 24, table.id, first, [RowDraft('["x",1]')], 5)
    other = Service.open(store=stage.store, policy=None, workspace=stage.workspace, alone=alone)
    try:
        if alone:
            until(lambda: stage.rows("SELECT state FROM content_imports") == [("failed",)], "the clearing")
        # Where others may be at it, one that has just said something goes on.
        assert stage.rows("SELECT count(*) FROM content_rows") == [(0 if alone else 1,)]
    finally:
        other.close()
    assert ok(stage.send("GET", "/api/tables/t/rows"))["total"] == 0
