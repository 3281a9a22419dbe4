"""What is in a world: stored content of every kind in every state, files on the disk, tools of the program.

Written twice from one description, once for each side; what differs is said by the places in its texts (`casts`).
"""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from stanch.app.tools import ToolResult
from tests.delivery.stage import BRAM, Stage, State
from tests.http.served import BY
from tests.worlds.casts import KEY, NUMBER, OLD, OWN, PEM, PIN, Cast

U, E, SAID, EMPTY = State.UNKNOWN, State.ENTRIES, State.UNRECORDED, State.EMPTY
ALL = (KEY, PEM, OLD, OWN, PIN, NUMBER)
MANY = (
    "alpha {PAY_KEY} and {PAY_KEY:b64}\n{CERT}\n"
    "bravo {CERT:b64} {OLD_KEY:hex} {OWN_KEY:json}\n{OWN_KEY:html} {OWN_KEY:url}"
)
PICTURE = b"\x89PNG\x00\x01"


class Stored(NamedTuple):
    """A file: who said what of it, and its versions in order."""

    path: str
    versions: tuple[tuple[State, str], ...]
    binary: bool = False


def one(path: str, state: State, text: str, *, binary: bool = False) -> Stored:
    return Stored(path, ((state, text),), binary)


FILES = (
    one("open/e-key.txt", E, "alpha key {PAY_KEY} bravo\nsecond line charlie\nand {PAY_KEY} again delta\n"),
    one("open/e-many.md", E, MANY),
    one("open/e-rows.csv", E, "name,code\nalpha,{PAY_KEY}\nbravo,none\n"),
    one("open/e-pin.txt", E, "{PIN}"),
    one("open/e-raw.bin", E, "alpha {PAY_KEY} bravo", binary=True),
    one("open/u-plan.txt", U, "alpha {x12} bravo\n{x30}\ncharlie {x9} {PAY_KEY}\n"),
    one("open/u-rows.csv", U, "name,{x6}\nalpha,{x9}\nbravo,{x4}\n"),
    one("open/u-raw.bin", U, "{x40}", binary=True),
    one("open/c-notes.txt", SAID, "alpha and bravo\ncharlie delta\nnothing else\n"),
    one("open/c-done.md", EMPTY, "# alpha\n\necho foxtrot\n"),
    one("open/c-rows.csv", SAID, "name,amount\nalpha,150\nbravo,20\n"),
    one("open/c-raw.bin", SAID, "alpha bytes", binary=True),
    Stored("open/v-three.txt", ((E, "alpha {PAY_KEY}\n"), (U, "bravo {x20}\n"), (EMPTY, "charlie\n"))),
    one("loose/person.txt", SAID, "a person wrote {PAY_KEY} and {OWN_KEY} alpha\n"),
    one("app/secrets/{x8}.txt", SAID, "alpha {X40} bravo\n"),
    one("app/secrets/named.txt", E, "alpha {PAY_KEY} {X9}\n"),
)
PRIVATE = (
    one("private/plan.txt", SAID, "alpha {x60} bravo\n{x9}\n"),
    one("private/named.txt", SAID, "bravo {x33} charlie\n"),
)
DOCUMENTS: Mapping[str, tuple[State, dict[str, Any]]] = {
    "e": (E, {"title": "alpha {PAY_KEY}", "text": f"{MANY} delta", "tags": ["staff", "kept {OLD_KEY}"]}),
    "u": (U, {"title": "{X9} alpha", "text": "alpha {x20} bravo {x30}", "tags": ["zz{x5}"]}),
    "c": (EMPTY, {"title": "handbook", "text": "alpha bravo charlie. " * 90, "tags": ["staff", "plain"]}),
    "p": (SAID, {"title": "by a person", "text": "delta {PAY_KEY} echo alpha", "tags": ["plain"]}),
}
RUNS: Mapping[str, tuple[State, str]] = {
    "e": (E, "alpha {PAY_KEY} bravo {OWN_KEY:json}"),
    "u": (U, "alpha {X20} bravo"),
    "c": (EMPTY, "alpha bravo"),
    "p": (SAID, "alpha {OLD_KEY} bravo"),
}
COLUMNS = [{"name": "name"}, {"name": "code"}, {"name": "amount", "type": "integer"}, {"name": "more", "type": "json"}]
ROWS: tuple[tuple[State, dict[str, Any]], ...] = (
    (SAID, {"name": "alpha", "code": "none", "amount": 10, "more": {"a": ["bravo"]}}),
    (E, {"name": "alpha", "code": "{PAY_KEY}", "amount": 150, "more": {"{OLD_KEY}": ["x {PAY_KEY}"]}}),
    (U, {"name": "bravo", "code": "{x14}", "amount": 200, "more": {"{x4}": ["{X8}"]}}),
    (EMPTY, {"name": "charlie", "code": "some", "amount": 120, "more": None}),
    (E, {"name": "delta", "code": "{PIN}", "amount": 130, "more": None}),
    (SAID, {"name": "echo", "code": "by hand {PAY_KEY}", "amount": 140, "more": None}),
)


class Furnished:
    """A world and what is in it; `things` are its ids by the names that moves have for them."""

    def __init__(self, stage: Stage, cast: Cast, *, private: bool) -> None:
        self.stage, self.cast, self.things = stage, cast, dict[str, str]()
        self._private = cast if private else Cast("a", cast.seed)
        self._keep_secrets()
        for file in FILES:
            self._file(file, cast)
        for file in PRIVATE:
            self._file(file, self._private)
        body = {"content": cast.written("theirs alpha {X30}")}
        path = cast.written("/api/files/text/open/{x9}.txt")
        assert stage.send("PUT", path, BRAM, params={"mine": True}, json=body).status_code == 200
        for name, (state, document) in DOCUMENTS.items():
            found = self._written(state, "POST", "/api/knowledge/documents", document)
            self.things[f"doc.{name}"] = found["id"]
        for name, (state, text) in RUNS.items():
            self.things[f"run.{name}"] = self._written(state, "POST", "/api/runs", self._run(text))["id"]
        self._repeatable()
        self._tables()
        self._elsewhere()

    def _keep_secrets(self) -> None:
        values = self.cast.values
        for name in (PEM, OLD, NUMBER):
            self.stage.secret(name, values[name])
        self.stage.secret(OWN, values[OWN], user="ada")
        self.stage.service.vault.revoke(OLD, by=BY)

    def _file(self, file: Stored, cast: Cast) -> None:
        for state, text in file.versions:
            path, data = cast.written(file.path), cast.written(text)
            if file.binary:
                headers = {"Content-Type": "application/octet-stream", **self._headers(state, text)}
                content = b"\x00\xff" + data.encode() + b"\x00"
                self._send("PUT", f"/api/files/content/{path}", headers=headers, content=content)
            else:
                headers = self._headers(state, text)
                self._send("PUT", f"/api/files/text/{path}", headers=headers, json={"content": data})

    def _run(self, text: str) -> dict[str, Any]:
        # WHY not of a person's: in base64 a letter that stands for a bit of a neighbour, too, is not taken out.
        inside = "" if "{OLD_KEY}" in text else self.cast.written(text.replace("{X", "{x"))
        picture = base64.b64encode(PICTURE + inside.encode()).decode()
        return {
            "name": "nightly",
            "synchronous": True,
            "input": {"of": text},
            "output": {"said": text, "picture": {"file": "pic.png", "media_type": "image/png", "base64": picture}},
            "steps": [{"tool": "elsewhere", "arguments": {"q": text}, "result": [text], "logs": [f"log {text}"]}],
            "files": [{"name": "log.txt", "text": text.replace("{X", "{x")}],
        }

    def _repeatable(self) -> None:
        steps = [{"tool": "files_read", "arguments": {"path": path}} for path in ("open/e-key.txt", "open/u-plan.txt")]
        steps += [{"tool": "tables_rows", "arguments": {"table": "orders"}}, {"tool": "knowledge_list"}]
        body = {"name": "again", "steps": steps, "synchronous": True}
        self.things["run.x"] = self._written(SAID, "POST", "/api/runs", body)["id"]

    def _tables(self) -> None:
        made = self._written(SAID, "POST", "/api/tables", {"name": "orders", "columns": COLUMNS})
        self.things["table"] = made["id"]
        for state, row in ROWS:
            # WHY in the same order all the same: that is told, whatever the cells are.
            other = {"amount": 230} if state is U and self.cast.side == "b" else {}
            self._written(state, "POST", "/api/tables/orders/rows", {"rows": [{**row, **other}]})
        self._written(E, "POST", "/api/tables", {"name": "named", "columns": [{"name": "code {PAY_KEY}"}]})
        self._written(U, "POST", "/api/tables", {"name": "hidden", "columns": [{"name": "{X7}"}, {"name": "{X5}"}]})
        numbers = [{"name": "n", "type": "integer"}, {"name": "note"}]
        self._written(SAID, "POST", "/api/tables", {"name": "numbers", "columns": numbers})
        for state, cells in ((SAID, {"n": 5}), (E, {"n": int(self.cast.values[NUMBER])}), (SAID, {"n": 7})):
            self._written(state, "POST", "/api/tables/numbers/rows", {"rows": [cells]}, names=(NUMBER,))

    def _elsewhere(self) -> None:
        """Files on the disk, and tools of the program that Stanch is part of."""
        place, cast = self.stage.workspace, self.cast
        for name, text in (("notes.txt", "alpha {PAY_KEY} bravo\ncharlie\n"), ("secrets/k.txt", "alpha {X20}\n")):
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(cast.written(text), "utf-8")
        (place / "private").mkdir()
        (place / "private" / "plan.txt").write_text(self._private.written("alpha {x30}\n"), "utf-8")
        key, unknown = cast.written(f"alpha {MANY}"), cast.written("bravo {X30}")
        tools = self.stage.service.tools
        tools.add("look_up", lambda _: ToolResult({"found": key}, secrets=(KEY, PEM), complete=True))
        tools.add("guess_at", lambda _: ToolResult({"found": unknown}, secrets=(KEY,), complete=False))
        tools.add("look_wrong", lambda _: ToolResult(f"could not: {key}", secrets=(KEY,), failed=True))

    def _written(
        self, state: State, method: str, path: str, body: Mapping[str, Any], *, names: tuple[str, ...] = ()
    ) -> Any:
        text = json.dumps(body)
        filled = _filled(body, self.cast)
        return self._send(method, path, headers=self._headers(state, text, *names), json=filled).json()

    def _send(self, method: str, path: str, **given: Any) -> Any:
        return self.stage.write(SAID, method, path, **given)

    def _headers(self, state: State, text: str, *names: str) -> dict[str, str]:
        """What the writer says: of an item with secrets, those that stand in it."""
        there = names or tuple(name for name in ALL if f"{{{name}" in text)
        return self.stage.headers(state, *(there or (KEY,)))


def _filled(value: Any, cast: Cast) -> Any:
    """A value with every text of it as this side has it."""
    if isinstance(value, str):
        return cast.written(value)
    if isinstance(value, Mapping):
        return {cast.written(name): _filled(one, cast) for name, one in value.items()}
    return [_filled(one, cast) for one in value] if isinstance(value, list) else value


def rows_as_csv(*rows: tuple[str, ...]) -> str:
    """A file that a model sends."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
