"""The rows of the policy table about tables, each by U, E and C, through REST and as tools of an agent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.delivery.stage import CLEAN, LABEL, OTHERS, Stage, State, gate_off

U, E = State.UNKNOWN, State.ENTRIES
T = "/api/tables/t"
STATES = [U, E, *CLEAN]


@pytest.fixture
def table(stage: Stage) -> Stage:
    """A table whose name and columns nobody recorded anything about."""
    columns = [{"name": "a"}, {"name": "n", "type": "integer"}]
    assert stage.send("POST", "/api/tables", json={"name": "t", "columns": columns}).status_code == 200
    return stage


def put(stage: Stage, state: State, number: int = 1) -> str:
    """A row of that state; its text."""
    text = stage.written(state)
    stage.write(state, "POST", f"{T}/rows", json={"rows": [{"a": text, "n": number}]})
    return text


def given(reply: Any, stage: Stage) -> Any:
    """What a model was given."""
    assert reply.status_code == 200, reply.text
    stage.assert_clean(reply)
    return reply.json()


def cells(page: Any) -> list[str]:
    return [row["values"]["a"] for row in page["items"]]


PAGES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("GET", f"{T}/rows", "tables_rows", {}),
    ("POST", f"{T}/query", "tables_query", {"filters": [{"column": "n", "value": 1}]}),
    ("POST", f"{T}/selection", "tables_selection", {"rows": [1, 2]}),
]


def page_of(stage: Stage, at: int) -> Any:
    method, path, _, body = PAGES[at]
    return given(stage.ask(method, path, json=body or None), stage)


def told(stage: Stage, at: int) -> Any:
    _, _, tool, arguments = PAGES[at]
    text = stage.tool(tool, table="t", **arguments)
    stage.assert_clean(text)
    return json.loads(text)


# table rows, query, read, selection


@pytest.mark.parametrize("at", range(len(PAGES)))
def test_table_rows__unknown(table: Stage, at: int) -> None:
    put(table, U)
    kept = put(table, State.UNRECORDED)
    for page in (page_of(table, at), told(table, at)):
        assert cells(page) == [kept]
        assert (page["total"], page["withheld"], page["reasons"]) == (2, 1, {"content_unknown": 1})


@pytest.mark.parametrize("at", range(len(PAGES)))
def test_table_rows__entries(table: Stage, at: int) -> None:
    text = put(table, E)
    put(table, E)
    for page in (page_of(table, at), told(table, at)):
        assert cells(page) == [text.replace(table.value, LABEL)] * 2
        assert page["withheld"] == 0


@pytest.mark.parametrize("state", CLEAN)
@pytest.mark.parametrize("at", range(len(PAGES)))
def test_table_rows__clean(table: Stage, at: int, state: State) -> None:
    text = put(table, state)
    put(table, state)
    for page in (page_of(table, at), told(table, at)):
        assert cells(page) == [text, text]


def test_table_row__unknown(table: Stage) -> None:
    put(table, U)
    table.assert_withheld(table.ask("GET", f"{T}/rows/1"), "content_unknown")
    heard = table.tool("tables_row", table="t", row=1)
    table.assert_clean(heard)
    assert "and nothing else" not in heard


def test_table_row__entries(table: Stage) -> None:
    text = put(table, E)
    wanted = {"id": 1, "version": 1, "values": {"a": text.replace(table.value, LABEL), "n": 1}}
    assert given(table.ask("GET", f"{T}/rows/1"), table) == wanted
    assert json.loads(table.tool("tables_row", table="t", row=1)) == wanted


@pytest.mark.parametrize("state", CLEAN)
def test_table_row__clean(table: Stage, state: State) -> None:
    text = put(table, state)
    assert given(table.ask("GET", f"{T}/rows/1"), table)["values"]["a"] == text


def make(stage: Stage, state: State) -> None:
    """A table of that state."""
    columns = [{"name": stage.written(state, after=" and nothing else")}]
    stage.write(state, "POST", "/api/tables", json={"name": "made", "columns": columns})


def test_table_read__unknown(stage: Stage) -> None:
    make(stage, U)
    stage.assert_withheld(stage.ask("GET", "/api/tables/made"), "content_unknown")
    page = given(stage.ask("GET", "/api/tables"), stage)
    assert (page["items"], page["total"], page["withheld"]) == ([], 1, 1)
    assert "nothing else" not in stage.tool("tables_read", table="made")


def test_table_read__entries(stage: Stage) -> None:
    make(stage, E)
    for found in (
        given(stage.ask("GET", "/api/tables/made"), stage),
        given(stage.ask("GET", "/api/tables"), stage)["items"][0],
        json.loads(stage.tool("tables_read", table="made")),
    ):
        assert [one["name"] for one in found["columns"]] == [f"the key is {LABEL} and nothing else"]


@pytest.mark.parametrize("state", CLEAN)
def test_table_read__clean(stage: Stage, state: State) -> None:
    make(stage, state)
    found = given(stage.ask("GET", "/api/tables/made"), stage)
    assert [one["name"] for one in found["columns"]] == ["the key is nowhere and nothing else"]


# row search


def search(stage: Stage) -> Any:
    page = given(stage.ask("GET", f"{T}/search", params={"query": "KEY is"}), stage)
    heard = stage.tool("tables_search", table="t", query="KEY is")
    stage.assert_clean(heard)
    assert json.loads(heard) == page
    return page


@pytest.mark.parametrize(("state", "code"), [(U, "content_unknown"), (E, "content_cut")])
def test_row_search__unknown_and_entries(table: Stage, state: State, code: str) -> None:
    put(table, state)
    page = search(table)
    assert page["items"] == [{"row": 1, "column": "a", "value": None}]
    assert (page["total"], page["reasons"]) == (1, {code: 1})


@pytest.mark.parametrize("state", CLEAN)
def test_row_search__clean(table: Stage, state: State) -> None:
    text = put(table, state)
    page = search(table)
    assert page["items"] == [{"row": 1, "column": "a", "value": text}]
    assert page["withheld"] == 0


# table export download


@pytest.mark.parametrize("state", STATES)
def test_table_export__not_offered(table: Stage, state: State) -> None:
    text = put(table, state)
    table.assert_withheld(table.ask("GET", f"{T}/export"), "content_unaccounted")
    for principal in OTHERS:
        reply = table.send("GET", f"{T}/export", principal, params={"form": "jsonl"})
        assert json.loads(reply.text) == {"a": text, "n": 1}
    table.tool("tables_list")
    offered = {one["function"]["name"] for one in table.models.bodies()[-1]["tools"]}
    assert "tables_list" in offered
    assert not any("export" in name or "upload" in name for name in offered if name.startswith("tables_"))


# table import from a file


def file(stage: Stage, state: State) -> None:
    """A file of that state, with two rows."""
    text = stage.written(state, after="")
    stage.write(state, "PUT", "/api/files/text/a.csv", json={"content": f"a,n\n{text},1\nplain,2\n"})


def by_person(stage: Stage) -> None:
    assert stage.send("POST", f"{T}/import/file", json={"path": "a.csv"}).status_code == 200


def by_model(stage: Stage) -> None:
    stage.free()
    done = given(stage.ask("POST", f"{T}/import/file", json={"path": "a.csv"}), stage)
    assert (done["rows"], done["state"]) == (2, "done")


def by_tool(stage: Stage) -> None:
    heard = stage.tool("tables_import", table="t", path="a.csv")
    stage.assert_clean(heard)
    assert json.loads(heard)["rows"] == 2


WAYS = [by_person, by_model, by_tool]


@pytest.mark.parametrize("way", WAYS)
def test_table_import__unknown(table: Stage, way: Any) -> None:
    file(table, U)
    way(table)
    page = page_of(table, 0)
    assert (page["items"], page["total"], page["reasons"]) == ([], 2, {"content_unknown": 2})


@pytest.mark.parametrize("way", WAYS)
def test_table_import__entries(table: Stage, way: Any) -> None:
    file(table, E)
    way(table)
    assert cells(page_of(table, 0)) == [f"the key is {LABEL}", "plain"]
    kept = table.rows("SELECT provenance FROM content_rows ORDER BY id")
    assert all(one is not None for (one,) in kept)


@pytest.mark.parametrize("state", CLEAN)
@pytest.mark.parametrize("way", WAYS)
def test_table_import__clean(table: Stage, way: Any, state: State) -> None:
    file(table, state)
    way(table)
    assert cells(page_of(table, 0)) == ["the key is nowhere", "plain"]
    kept = [one is not None for (one,) in table.rows("SELECT provenance FROM content_rows ORDER BY id")]
    # What nobody recorded stays so where a person imports it; a model says of all it writes what it knows.
    assert kept == [state is State.EMPTY or way is not by_person] * 2


def test_table_import__rewritten(table: Stage) -> None:
    table.secret("DIGITS", "00123456789")
    headers = {"Stanch-Secrets": "DIGITS", "Stanch-Secrets-Complete": "yes"}
    table.write(
        State.UNRECORDED, "PUT", "/api/files/text/a.csv", headers=headers, json={"content": "a,n\nx,00123456789\ny,1\n"}
    )
    by_person(table)
    page = page_of(table, 0)
    assert (cells(page), page["reasons"]) == (["y"], {"content_unknown": 1})
    table.assert_withheld(table.ask("GET", f"{T}/rows/1"), "content_unknown")


# writes, and everybody else


def test_a_write_of_a_model_is_saved_and_tells_nothing_back(table: Stage) -> None:
    put(table, U)
    asked = {"rows": [{"row": 1, "values": {"n": 2}}]}
    refused = table.ask("PATCH", f"{T}/rows", json=asked)
    assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (403, "approval-needed")
    call = table.approved("tables_update", {"table": "t", **asked})
    done = given(table.ask("PATCH", f"{T}/rows", call=call, json=asked), table)
    assert done["items"] == [{"id": 1, "version": 2}]
    table.assert_withheld(table.ask("GET", f"{T}/rows/1"), "content_unknown")


def test_a_model_makes_a_table_of_what_it_was_told(table: Stage) -> None:
    table.free()
    made = given(table.ask("POST", "/api/tables", json={"name": "own", "columns": [{"name": "x"}]}), table)
    assert made["columns"] == [{"name": "x", "type": "text"}]
    table.ask("POST", "/api/tables/own/rows", json={"rows": [{"x": f"it is {table.value}"}]})
    page = given(table.ask("GET", "/api/tables/own/rows"), table)
    assert page["items"][0]["values"] == {"x": f"it is {LABEL}"}


REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/api/tables", None),
    ("GET", T, None),
    ("GET", f"{T}/rows", None),
    ("GET", f"{T}/rows/2", None),
    ("GET", f"{T}/search?query=key", None),
    ("GET", f"{T}/export", None),
    ("POST", f"{T}/selection", {"rows": [1, 2, 3, 4]}),
    ("POST", f"{T}/query", {"figures": [{"figure": "max", "column": "a"}, {"figure": "sum", "column": "n"}]}),
]


def test_everybody_else_gets_the_same_without_a_look_at_what_is_known(table: Stage) -> None:
    for at, state in enumerate(STATES):
        put(table, state, at)
    reads = table.reads
    answers = [[table.send(method, path, who, json=body).content for method, path, body in REQUESTS] for who in OTHERS]
    assert table.reads == reads
    assert all(one == answers[0] for one in answers)
    assert table.value.encode() in answers[0][2]
    with gate_off():
        assert [table.ask(method, path, json=body).content for method, path, body in REQUESTS] == answers[0]
    assert table.reads == reads
    table.ask("GET", f"{T}/rows")
    assert table.reads > reads
