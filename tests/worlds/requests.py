"""Requests that a model makes at the REST door, one or several that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.worlds.drawing import Draws
from tests.worlds.furnishing import rows_as_csv
from tests.worlds.playing import Move, Turn

BINARY = {"Content-Type": "application/octet-stream"}
READING = (
    "files_list", "files_read", "files_grep", "files_search", "files_versions", "files_links", "knowledge_list",
    "knowledge_search", "knowledge_read", "knowledge_chunks", "knowledge_tags", "tables_list", "tables_read",
    "tables_rows", "tables_row", "tables_query", "tables_search", "tables_selection", "runs_list", "runs_read",
    "runs_files", "runs_get",
)  # fmt: skip
Call = tuple[str, dict[str, Any]]


class Requests(Draws):
    """Draws requests."""

    def call(self, tools: Sequence[str]) -> Call:
        """One call of a tool of the chat."""
        raise NotImplementedError

    def _files(self) -> Move:
        path, limit = self._path(), self._one(1, 2, 100)
        text: dict[str, Any] = self._one({}, {"start": 2}, {"lines": 1}, {"version": 1}, {"version": 2})
        grep = {"pattern": self._one(self._word(), *[self._pattern()] * 3, ".", "["), "limit": self._one(1, 3, 200)}
        within: dict[str, Any] = self._one({}, {"path": "open"}, {"path": "private"}, {"path": "app"}, {"path": path})
        taken = "nope" if path.startswith("loose") else path  # an archive is bytes, and those of a person's are given
        return self._one(
            Move("GET", "/api/files", {"params": {"limit": limit, **self._one({}, {"path": "open"})}}),
            Move("GET", f"/api/files/text/{path}", {"params": text}),
            Move("GET", f"/api/files/text/{path}", {"params": text}),
            Move("GET", f"/api/files/content/{self._bytes()}", {"params": self._one({}, {"version": 1})}),
            Move("GET", f"/api/files/info/{path}"),
            Move("GET", f"/api/files/versions/{path}", {"params": {"limit": limit}}),
            Move("GET", "/api/files/grep", {"params": {**grep, **within}}),
            Move("GET", "/api/files/grep", {"params": {**grep, "glob": self._one("*.md", "open/*", "e-*")}}),
            Move("GET", "/api/files/search", {"params": {"query": self._word(), **within}}),
            Move("GET", "/api/files/archive", {"params": {"path": self._one("open", "app", "private", "nope", taken)}}),
            Move("GET", f"/api/files/{self._one('view', 'image', 'compiled')}/{self._bytes()}"),
            Move("GET", "/api/links", {"params": {"path": self._bytes()}}),
            Move("POST", "/api/links", {"json": {"path": self._bytes()}}),
        )

    def _writing(self) -> Move:
        path = self._one(self._path(), "open/made.txt", "open/made.txt")
        old = self._one(self._guess(), self._word(), "{{PAY_KEY}}", "key {{PAY")
        edit = {"old": old, "new": self._said(), "all": self._one(True, False)}
        return self._one(
            Move("PUT", f"/api/files/text/{path}", {"json": {"content": self._said()}}),
            Move("PUT", f"/api/files/text/{path}", {"json": {"content": self._random.choice(self._texts)}}),
            Move("PUT", "/api/files/text/open/made.txt", {"json": {"content": "x"}, "params": {"version": 99}}),
            Move("PUT", "/api/files/content/open/made.bin", {"content": self._said().encode(), "headers": BINARY}),
            Move("PATCH", f"/api/files/text/{path}", {"json": edit}),
            Move("PATCH", "/api/files/text/open/e-key.txt", {"json": edit}),
            Move("PATCH", "/api/files/text/open/e-many.md", {"json": edit}),
            Move("PATCH", f"/api/files/text/{path}", {"json": {**edit, "version": 7}}),
            Move(
                "POST",
                "/api/files/move",
                {"json": {"path": path, "to": self._one("open/moved.txt", path, "private/x")}},
            ),
            Move("DELETE", "/api/files/content/open/moved.txt"),
            Move("DELETE", "/api/links", {"params": {"path": path}}),
        )

    def _knowledge(self) -> Move:
        document, limit = self._document(), self._one(1, 2, 50)
        window: dict[str, Any] = self._one({}, {"start": 3, "end": 14}, {"end": 9}) if self._windows else {}
        shown: dict[str, Any] = self._one({}, {"characters": 30}) if self._windows else {}
        search = {"query": self._word(), "limit": limit, **shown, **self._one({}, {"tags": ["staff"]})}
        tags = self._one(["staff"], [self._guess().replace("\n", "")], [])
        change: dict[str, Any] = self._one({"title": self._word()}, {"text": self._said()}, {"tags": tags})
        return self._one(
            Move("GET", "/api/knowledge/documents", {"params": {"limit": limit, **self._one({}, {"tags": "plain"})}}),
            Move("GET", f"/api/knowledge/documents/{document}"),
            Move("GET", f"/api/knowledge/documents/{document}/text", {"params": window}),
            Move("GET", f"/api/knowledge/documents/{document}/text", {"params": window}),
            Move("GET", f"/api/knowledge/documents/{document}/chunks", {"params": {"limit": limit}}),
            Move("POST", "/api/knowledge/search", {"json": search}),
            Move("POST", "/api/knowledge/search", {"json": search}),
            Move("GET", "/api/knowledge/tags", {"params": {"limit": limit}}),
            Move(
                "GET", "/api/knowledge/export", {"params": {"document": self._one("${doc.c}", "${doc.e}", "${doc.u}")}}
            ),
            Move(
                "POST",
                "/api/knowledge/documents",
                {"json": {"title": self._word(), "text": self._said(), "tags": tags}},
            ),
            Move("PATCH", f"/api/knowledge/documents/{document}", {"json": change}),
            Move("POST", "/api/knowledge/imports", {"json": {"path": self._path()}}),
            Move("POST", "/api/knowledge/uploads?title=up", {"content": self._said().encode(), "headers": BINARY}),
            Move("DELETE", "/api/knowledge/documents/${made}"),
        )

    def _tables(self) -> Move:
        table, limit = self._table(), self._one(1, 2, 50)
        columns: dict[str, Any] = self._one({}, {}, {"columns": [self._column()]}, {"columns": ["code", "amount"]})
        query = {**self._query(table), "limit": limit, **columns}
        row = self._one(1, 2, 3, 4, 5, 6, 99)
        csv = rows_as_csv(("name", "amount"), ("alpha", self._one("1", self._guess())), (self._guess(), "7"))
        rows = {"rows": [{"name": self._said(), "amount": self._one(1, 2, "x")}]}
        named = self._one("orders", "copy")
        stored = {"path": self._path(), "create": self._one(True, False), "on_error": self._one("fail", "null")}
        update = {"rows": [{"row": row, "values": {self._column(): self._one(self._word(), 5)}}]}
        place = f"/api/tables/{table}"
        return self._one(
            Move("GET", "/api/tables", {"params": {"limit": limit}}),
            Move("GET", place),
            Move("GET", f"{place}/rows", {"params": {"limit": limit}}),
            Move("GET", f"{place}/rows/{row}"),
            Move("POST", f"{place}/selection", {"json": {"rows": [row, self._one(1, 2, 3)]}}),
            Move("POST", f"{place}/query", {"json": query}),
            Move("POST", f"{place}/query", {"json": query}),
            Move("POST", f"{place}/query", {"json": {**query, "table": "x"}}),
            Move("GET", f"{place}/search", {"params": {"query": self._word(), "limit": limit}}),
            Move("GET", f"{place}/export"),
            Move("POST", f"{place}/rows", {"json": rows}),
            Move("PATCH", f"{place}/rows", {"json": update}),
            Move("POST", "/api/tables", {"json": {"name": self._word(), "columns": [{"name": self._word()}]}}),
            Move("POST", f"/api/tables/{named}/import?form=csv", {"content": csv.encode(), "headers": BINARY}),
            Move("POST", f"/api/tables/{named}/import/file", {"json": stored}),
            Move("POST", "/api/tables/copy/rows/delete", {"json": {"rows": [row]}}),
        )

    def _runs(self) -> Move:
        run = self._run()
        name = self._one("log.txt", "pic.png", "nope", "more.txt")
        part: dict[str, Any] = self._one({}, {"offset": 8, "limit": 9}, {"limit": 12}) if self._windows else {}
        tool = self._one("look_up", "guess_at", "look_wrong", "read_file", "grep_files", "nope")
        arguments = {"read_file": {"path": "notes.txt"}, "grep_files": {"pattern": self._word()}}.get(str(tool), {})
        record = {"name": "mine", "output": self._said(), "files": [{"name": "a.txt", "text": self._said()}]}
        return self._one(
            Move("GET", "/api/runs"),
            Move("GET", f"/api/runs/{run}", {"params": self._one({}, {"base64": True}, {"parts": "output"})}),
            Move("GET", f"/api/runs/{run}", {"params": {"base64": True}}),
            Move("GET", f"/api/runs/{run}/files"),
            Move("GET", f"/api/runs/{run}/files/{name}"),
            Move("GET", f"/api/runs/{run}/text/{name}", {"params": part}),
            Move("POST", "/api/runs", {"json": record}),
            Move("PUT", f"/api/runs/{run}/files/more.txt", {"content": self._said().encode(), "headers": BINARY}),
            Move("POST", f"/api/runs/{run}/execute", {"json": self._one({}, {"base64": True})}),
            Move("POST", f"/api/runs/{run}/resume", {"json": {}}),
            Move("POST", f"/api/tools/{tool}/execute", {"json": {"arguments": arguments}}),
            Move("POST", f"/api/tools/{tool}/execute", {"json": {"arguments": arguments}}),
        )

    def _asks(self) -> Move:
        """What a model may ask that is no operation, and what it may not ask at all."""
        tool, arguments = self.call(READING)
        return self._one(
            Move("POST", "/api/check", {"json": {"tool": tool, "arguments": arguments, "session_id": "${chat}"}}),
            Move("POST", "/api/sessions/${chat}/calls", {"json": {"tool": tool, "arguments": arguments}}),
            Move("GET", "/api/sessions/${chat}/calls"),
            Move("GET", "/api/calls/${call}"),
            Move("POST", "/api/calls/${call}/cancel"),
            Move("GET", "/api/approval/tools"),
            Move("POST", "/api/sessions/${chat}/workbench/files", {"json": {"path": self._bytes()}}),
            Move("GET", "/api/sessions/${chat}/workbench"),
            Move("GET", "/api/vault"),
            Move("GET", "/api/audit"),
            Move("GET", "/api/sessions/${chat}/messages"),
            Move("GET", "/api/sessions/${chat}/sent"),
        )

    def _pages(self) -> list[Move | Turn]:
        """A list, page by page."""
        path, given = self._one(
            ("/api/files", {}),
            ("/api/files/versions/open/v-three.txt", {}),
            ("/api/knowledge/documents", {}),
            ("/api/knowledge/documents/${doc.e}/chunks", {}),
            ("/api/knowledge/tags", {}),
            ("/api/tables", {}),
            ("/api/tables/orders/rows", {}),
            ("/api/tables/orders/search", {"query": self._word()}),
            ("/api/runs", {}),
            ("/api/runs/${run.e}/files", {}),
        )
        limit = self._one(1, 2)
        first = Move("GET", path, {"params": {**given, "limit": limit}})
        return [first, *[Move("GET", path, {"params": {**given, "limit": limit, "cursor": "${next}"}})] * 2]

    def _approved(self) -> list[Move | Turn]:
        """A call that a person says yes to, and the request that it is for."""
        path = self._one("open/made.txt", "open/e-key.txt", "open/u-plan.txt")
        change = {"old": self._one(self._guess(), "alpha"), "new": "zulu"}
        call = {"tool": "files_edit", "arguments": {"path": path, **change}}
        return [
            Move("POST", "/api/sessions/${chat}/calls", {"json": call}),
            Move("GET", "/api/inbox", {}, "person"),
            Move("PATCH", f"/api/files/text/{path}", {"json": change, "headers": {"Stanch-Call": "${call}"}}),
        ]
