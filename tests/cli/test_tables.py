"""`stanch tables` against a real server: for a person, and for a model whose calls a person is asked about."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.surfaces.cli import content_client, tables_asked, tables_moving
from stanch.surfaces.cli.client import Client
from stanch.values.fault import BadInput
from tests.cli.conftest import Ended, Stanch
from tests.delivery.stage import LABEL, Stage, State, staged
from tests.http.served import COPILOT, PERSON, World, until


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A server whose address and a person's token are in the environment; the current directory is empty."""
    here = tmp_path / "here"
    here.mkdir()
    with staged(tmp_path) as running:
        monkeypatch.chdir(here)
        monkeypatch.setenv("STANCH_URL", running.url)
        monkeypatch.setattr(content_client, "PAUSES", (0.01,))
        acts_as(running, PERSON, monkeypatch)
        yield running


def acts_as(world: World, who: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANCH_TOKEN", world.client(who).headers["Authorization"].partition(" ")[2])


def test_a_table_from_beginning_to_end(stage: Stage, stanch: Stanch) -> None:
    made = stanch("tables", "create", "people", "name", "age:integer", "x:y:json")
    assert made.code == 0, made.err
    assert stanch("tables", "read", "people").out.splitlines()[1:] == ["  name: text", "  age: integer", "  x:y: json"]
    rows = '{"name":"Ada","age":36}\n{"name":"Bram\\u001b[2J"}\n'
    assert stanch("tables", "insert", "people", stdin=rows).out == "added: 1, 2\n"
    Path("more.json").write_text('[{"name": "Cy", "age": 5, "x:y": [1]}]', "utf-8")
    assert stanch("tables", "insert", "people", "more.json").out == "added: 3\n"
    assert stanch("tables", "update", "people", "2", "age:=7", "name=Bram").out == "changed: 2\n"
    assert stanch("tables", "rows", "people").out.splitlines() == [
        "id\tname\tage\tx:y", "1\tAda\t36\t-", "2\tBram\t7\t-", "3\tCy\t5\t[1]",
    ]  # fmt: skip
    assert stanch("tables", "rows", "people", "3", "1", "--json").json["items"][0]["values"]["name"] == "Cy"
    words = ("--where", "age >= 6", "--sort", "-age", "--column", "name", "--figure", "sum:age", "--figure", "count")
    assert stanch("tables", "query", "people", *words).out.splitlines() == [
        "id\tname", "1\tAda", "2\tBram", "sum of age: 43", "count: 2",
    ]  # fmt: skip
    page = stanch("tables", "rows", "people", "--limit", "2")
    assert "3 in all; --cursor " in page.err
    assert stanch("tables", "search", "people", "bra").out == "row 2, name: Bram\n"
    assert stanch("tables", "search", "people", "zoe").err == "stanch: note: nothing was found\n"
    assert stanch("tables", "rows", "people", "1", "9").err == "stanch: note: there is no row 9\n"
    assert stanch("tables", "rm", "people", "1", "9").out == "1 row removed\n"
    assert stanch("tables", "list").out.split()[1:4] == ["people", "2", "rows,"]
    assert stanch("tables", "rm", "people").out == "the table and its 2 rows removed\n"
    gone = stanch("tables", "read", "people")
    assert (gone.code, gone.out, gone.err) == (1, "", "stanch: there is no table 'people'\n")


def test_an_import_and_an_export(stage: Stage, stanch: Stanch) -> None:
    lines = "id,what\n" + "".join(f"{at},thing {at}\n" for at in range(3_000))
    Path("a.csv").write_text(lines, "utf-8")
    done = stanch("tables", "import", "t", "a.csv", "--create", "--type", "id:integer")
    assert (done.code, done.out) == (0, "3,000 rows imported\n"), done.err
    assert stanch("tables", "export", "t", "-o", "b.csv").code == 0
    assert Path("b.csv").read_bytes().replace(b"\r\n", b"\n").decode() == lines
    assert stanch("tables", "export", "t", "-o", "b.csv").code == 2
    assert len(stanch("tables", "export", "t", "--form", "jsonl").out.splitlines()) == 3_000
    Path("bad.csv").write_text("id\nword\n", "utf-8")
    bad = stanch("tables", "import", "t", "bad.csv")
    assert (bad.code, bad.out) == (2, "")
    assert "row 1, column 1: a whole number" in bad.err
    assert "word" not in bad.err
    assert stanch("tables", "import", "t", "bad.csv", "--on-error", "null", "--json").json["nulled"] == 1
    stage.send("PUT", "/api/files/text/in.csv", json={"content": "id\n7\n"})
    assert stanch("tables", "import", "t", "in.csv", "--stored").out == "1 row imported\n"
    assert stanch("tables", "import", "t", "none.csv").code == 2
    assert stanch("tables", "import", "t", "a.csv", "--type", "id").code == 2


def test_an_import_is_followed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    seen = threading.Event()
    real = Client.get

    def get(client: Any, path: str, **query: Any) -> Any:
        if "/imports/" in path:
            asked.append(path)
            seen.set()
        return real(client, path, **query)

    monkeypatch.setattr(Client, "get", get)
    monkeypatch.setattr(tables_moving, "PAUSE", 0.01)
    client = content_client.ContentClient(Client(stage.url, os.environ["STANCH_TOKEN"]))
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", _Terminal())
        with tables_moving._followed(client, "t", "a" * 24):
            assert seen.wait(30)
    assert asked[0] == f"/api/tables/t/imports/{'a' * 24}"


class _Terminal:
    """A terminal that shows nothing."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        return None


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("amount >= 10", {"column": "amount", "how": ">=", "value": 10}),
        ("a=b", {"column": "a", "value": "b"}),
        ('code = "12"', {"column": "code", "value": "12"}),
        ("a != x = y", {"column": "a", "how": "!=", "value": "x = y"}),
        ("a contains x < y", {"column": "a", "how": "contains", "value": "x < y"}),
        ("a contains 5", {"column": "a", "how": "contains", "value": "5"}),
        ('state in ["a", "b"]', {"column": "state", "how": "in", "value": ["a", "b"]}),
        ("the day is null", {"column": "the day", "how": "is null", "value": True}),
        ("day is not null", {"column": "day", "how": "is null", "value": False}),
    ],
)
def test_how_a_comparison_is_written(written: str, wanted: Any) -> None:
    assert tables_asked.comparison(written) == wanted


@pytest.mark.parametrize("written", ["", "amount", "= 5", "day is null 5", "contains x"])
def test_what_is_no_comparison(written: str) -> None:
    with pytest.raises(BadInput):
        tables_asked.comparison(written)


def test_what_is_written_wrongly(stage: Stage, stanch: Stanch) -> None:
    for words in (
        ("create", "t", "a:word"),
        ("insert", "t"),
        ("insert", "t", "none.json"),
        ("update", "t", "1", "name"),
        ("update", "t", "1", "n:=x"),
        ("query", "t", "--figure", "sum"),
        ("query", "t", "--where", "x"),
        ("query", "t", "--where", "n => 1"),
        ("query", "t", "--where", "n == 1"),
        ("import", "t", "none.csv"),
    ):
        ended = stanch("tables", *words, stdin="no json")
        assert (ended.code, ended.out) == (2, ""), words


def test_a_model_asks_a_person_first(stage: Stage, stanch: Stanch, monkeypatch: pytest.MonkeyPatch) -> None:
    stanch("tables", "create", "t", "a", "n:integer")
    stage.write(State.ENTRIES, "POST", "/api/tables/t/rows", json={"rows": [{"a": stage.value}]})
    stage.write(State.UNKNOWN, "POST", "/api/tables/t/rows", json={"rows": [{"a": stage.value}]})
    acts_as(stage, COPILOT, monkeypatch)
    monkeypatch.setenv("STANCH_SESSION", stage.chat)
    shown = stanch("tables", "rows", "t")
    assert shown.out.splitlines() == ["id\ta\tn", f"1\t{LABEL}\t-"]
    assert "1 may not be shown here: 1 content_unknown" in shown.err
    assert stanch("tables", "export", "t").code == 1
    Path("a.csv").write_text("a,n\nx,1\n", "utf-8")
    for words in (
        ("insert", "t", "--json"),
        ("update", "t", "1", "a=plain", "--version", "1"),
        ("create", "own", "a", "b:json"),
        ("import", "t", "a.csv"),
        ("import", "new", "a.csv", "--create", "--type", "n:number"),
        ("rm", "t", "1"),
        ("rm", "own"),
    ):
        ended = approved(stage, stanch, *words)
        assert ended.code == 0, (words, ended.err)
    assert json.loads(stanch("tables", "list", "--json").out)["total"] == 2


def approved(stage: Stage, stanch: Stanch, *words: str) -> Ended:
    """How a command ended that a person says yes to."""

    def answering() -> None:
        until(lambda: bool(stage.get("/api/inbox")["approvals"]), "the request")
        (request,) = stage.get("/api/inbox")["approvals"]
        stage.post(f"/api/inbox/approvals/{request['request_id']}/resolve", {"action": "approve"})

    person = threading.Thread(target=answering, daemon=True)
    person.start()
    ended = stanch("tables", *words, stdin='{"a": "said"}')
    person.join(30)
    assert not person.is_alive()
    return ended
