"""Every door of the map, and how each is gone through: routes and tools of the inventory, commands, the proxy.

`shows` are the kinds of content of which the door gives something where it is clean. A door of the inventory that is
not here is named as one that nothing exercises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Things = Mapping[str, str]
OCTETS = {"Content-Type": "application/octet-stream"}


class Door(NamedTuple):
    """A route: how the inventory names it, what it shows, and the requests that are made of it."""

    reach: str
    shows: str
    asks: tuple[tuple[str, dict[str, Any]], ...]


class Told(NamedTuple):
    """A tool of the chat, and the calls of it."""

    tool: str
    shows: str
    calls: tuple[dict[str, Any], ...]


class Typed(NamedTuple):
    """A command line that is the model's."""

    shows: str
    words: tuple[str, ...]


def _door(reach: str, shows: str, *paths: str, **given: Any) -> Door:
    return Door(reach, shows, tuple((path, given) for path in paths))


def reading(one: Things) -> Iterator[Door]:
    """What changes nothing."""
    document, run, call = one["doc"], one["run"], one["call"]
    texts = ("text.txt", "version.txt?version=1", "bench.txt", "missing.txt")
    yield _door("GET /api/approval/tools", "", "/api/approval/tools")
    yield _door("GET /api/files", "", "/api/files", "/api/files?limit=1")
    yield _door("GET /api/files/archive", "txt bin", "/api/files/archive")
    yield _door("GET /api/files/compiled/{path:path}", "cmp", "/api/files/compiled/report.md")
    yield _door("GET /api/files/pdf/{path:path}", "cmp", "/api/files/pdf/report.md")
    yield _door("GET /api/files/view/{path:path}", "cmp", "/api/files/view/report.md")
    yield _door("GET /api/files/image/{path:path}", "bin", "/api/files/image/picture.png")
    yield _door(
        "GET /api/files/content/{path:path}",
        "txt bin ver",
        *(f"/api/files/content/{path}" for path in ("text.txt", "raw.bin", "version.txt?version=1")),
    )
    yield _door("GET /api/files/grep", "txt", "/api/files/grep?pattern=needle", "/api/files/grep?pattern=%5B")
    yield _door("GET /api/files/info/{path:path}", "", "/api/files/info/text.txt")
    yield _door("GET /api/files/search", "txt", "/api/files/search?query=needle")
    yield _door("GET /api/files/text/{path:path}", "txt ver", *(f"/api/files/text/{path}" for path in texts))
    yield _door("GET /api/files/versions/{path:path}", "", "/api/files/versions/version.txt")
    yield _door("GET /api/links", "", "/api/links?path=link.txt")
    yield _door("GET /api/knowledge/documents", "doc", "/api/knowledge/documents")
    yield _door("GET /api/knowledge/documents/{document_id}", "doc", f"/api/knowledge/documents/{document}")
    yield _door(
        "GET /api/knowledge/documents/{document_id}/chunks", "chk", f"/api/knowledge/documents/{document}/chunks"
    )
    yield _door(
        "GET /api/knowledge/documents/{document_id}/text", "doc chk", f"/api/knowledge/documents/{document}/text"
    )
    yield _door("GET /api/knowledge/export", "doc chk", "/api/knowledge/export")
    yield _door("GET /api/knowledge/tags", "doc", "/api/knowledge/tags")
    yield _door("POST /api/knowledge/search", "chk", "/api/knowledge/search", json={"query": "needle"})
    yield _door("GET /api/runs", "", "/api/runs")
    yield _door("GET /api/runs/{run}", "val log fil", f"/api/runs/{run}?base64=true")
    yield _door("GET /api/runs/{run}/files", "", f"/api/runs/{run}/files")
    yield _door("GET /api/runs/{run}/files/{name:path}", "fil", f"/api/runs/{run}/files/log.txt")
    yield _door("GET /api/runs/{run}/text/{name:path}", "fil", f"/api/runs/{run}/text/log.txt")
    yield _door("GET /api/tables", "", "/api/tables")
    yield _door("GET /api/tables/{table}", "", "/api/tables/t")
    yield _door("GET /api/tables/{table}/rows", "cel", "/api/tables/t/rows")
    yield _door("GET /api/tables/{table}/rows/{row}", "cel", "/api/tables/t/rows/1")
    yield _door("GET /api/tables/{table}/search", "cel", "/api/tables/t/search?query=needle")
    most = {"figures": [{"figure": "max", "column": "a"}]}
    yield _door("POST /api/tables/{table}/query", "cel", "/api/tables/t/query", json=most)
    yield _door("POST /api/tables/{table}/selection", "cel", "/api/tables/t/selection", json={"rows": [1]})
    yield _door("GET /api/sessions/{session_id}/calls", "", f"/api/sessions/{one['chat']}/calls")
    yield _door("GET /api/calls/{call_id}", "", f"/api/calls/{call}")
    yield _door("GET /api/questions/{request_id}", "", f"/api/questions/{one['question']}")
    asked = {"tool": "files_read", "arguments": {"path": "text.txt"}, "session_id": one["chat"]}
    yield _door("POST /api/check", "", "/api/check", json=asked)
    yield _door("POST /api/explain", "", "/api/explain", json=asked)
    probe = {"face": "attachment", "access": "read", "paths": ["disk.txt", "text.txt"], "session_id": one["chat"]}
    yield _door("POST /api/judge", "", "/api/judge", json=probe)
    planned = {"calls": [_READS], "session_id": one["chat"]}
    yield _door("POST /api/judge/plan", "", "/api/judge/plan", json=planned)


def changing(one: Things) -> Iterator[Door]:
    """What changes something, after all has been read."""
    document, run, call = one["doc"], one["run"], one["call"]
    yield _door("POST /api/sessions/{session_id}/calls", "", f"/api/sessions/{one['chat']}/calls", json=_READS)
    asked = {"question": "which?", "choices": ["a", "b"]}
    yield _door("POST /api/sessions/{session_id}/questions", "", f"/api/sessions/{one['chat']}/questions", json=asked)
    yield _door("POST /api/calls/{call_id}/start", "", f"/api/calls/{call}/start", json={})
    yield _door("POST /api/calls/{call_id}/finish", "", f"/api/calls/{call}/finish", json={"outcome": "completed"})
    yield _door("POST /api/calls/{call_id}/cancel", "", f"/api/calls/{one['call2']}/cancel")
    change = {"old": "needle", "new": "needle found", "all": True}
    yield _door("PATCH /api/files/text/{path:path}", "", "/api/files/text/text.txt", json=change)
    wrong = {"old": "nowhere in it", "new": "x"}
    yield _door("PATCH /api/files/text/{path:path}", "", "/api/files/text/text.txt", json=wrong)
    yield _door("PUT /api/files/text/{path:path}", "", "/api/files/text/new.txt", json={"content": "x"})
    yield _door("PUT /api/files/content/{path:path}", "", "/api/files/content/new.bin", content=b"x", headers=OCTETS)
    yield _door("POST /api/files/move", "", "/api/files/move", json={"path": "version.txt", "to": "moved.txt"})
    yield _door("POST /api/links", "lnk", "/api/links", json={"path": "link.txt"})
    yield _door("DELETE /api/links", "", "/api/links?path=link.txt")
    yield _door("DELETE /api/files/content/{path:path}", "", "/api/files/content/new.txt")
    workbench = f"/api/sessions/{one['chat']}/workbench/files"
    yield _door("POST /api/sessions/{session_id}/workbench/files", "", workbench, json={"path": "bench.txt"})
    yield _door(
        "PATCH /api/knowledge/documents/{document_id}", "doc", f"/api/knowledge/documents/{document}", json=_TAGS
    )
    yield _door("POST /api/knowledge/documents", "", "/api/knowledge/documents", json={"title": "x", "text": "x"})
    yield _door("POST /api/knowledge/imports", "", "/api/knowledge/imports", json={"path": "text.txt"})
    yield _door("POST /api/knowledge/uploads", "", "/api/knowledge/uploads?title=x", content=b"x", headers=OCTETS)
    yield _door("POST /api/runs", "", "/api/runs", json={"name": "n", "output": "x"})
    yield _door("PUT /api/runs/{run}/files/{name:path}", "", f"/api/runs/{run}/files/x", content=b"x", headers=OCTETS)
    yield _door("POST /api/runs/{run}/execute", "val", f"/api/runs/{run}/execute", json={"base64": True})
    yield _door("POST /api/runs/{run}/resume", "", f"/api/runs/{run}/resume", json={})
    yield _door("POST /api/tables", "", "/api/tables", json={"name": "made", "columns": [{"name": "a"}]})
    yield _door("POST /api/tables/{table}/rows", "", "/api/tables/t/rows", json={"rows": [{"a": "x"}]})
    row = {"rows": [{"row": 2, "values": {"n": 5}}]}
    yield _door("PATCH /api/tables/{table}/rows", "", "/api/tables/t/rows", json=row)
    number = "0123456789abcdef"
    sent = f"/api/tables/made/import?form=csv&import_id={number}"
    yield _door("POST /api/tables/{table}/import", "", sent, content=b"a\nx\n", headers=OCTETS)
    yield _door("GET /api/tables/{table}/imports/{import_id}", "", f"/api/tables/made/imports/{number}")
    stored = {"path": "rows.csv", "form": "csv"}
    yield _door("POST /api/tables/{table}/import/file", "", "/api/tables/made/import/file", json=stored)
    yield _door("GET /api/tables/{table}/rows", "txt", "/api/tables/made/rows")
    yield _door("POST /api/tables/{table}/rows/delete", "", "/api/tables/t/rows/delete", json={"rows": [2]})
    yield _door("DELETE /api/tables/{table}", "", "/api/tables/made")
    yield _door("POST /api/tools/{tool}/execute", "tol", "/api/tools/look_up/execute", json={})
    environment = {"arguments": {"command": "env"}}
    yield _door("POST /api/tools/{tool}/execute", "", "/api/tools/execute_cmd/execute", json=environment)
    yield _door("DELETE /api/knowledge/documents/{document_id}", "", f"/api/knowledge/documents/{one['doc2']}")


_READS = {"tool": "files_read", "arguments": {"path": "text.txt"}}
_TAGS = {"tags": ["other"]}
_PRINTS = "print(open('bench.txt').read())"


def tools(one: Things) -> Iterator[Told]:
    """Every tool of a chat."""
    table, run, document = {"table": "t"}, {"run": one["run"]}, {"id": one["doc"]}
    yield Told("files_list", "", ({},))
    yield Told("files_read", "txt ver", ({"path": "text.txt"}, {"path": "version.txt", "version": 1}, {"path": "no"}))
    yield Told("files_grep", "txt", ({"pattern": "needle"},))
    yield Told("files_search", "txt", ({"query": "needle"},))
    yield Told("files_versions", "", ({"path": "version.txt"},))
    yield Told("files_links", "", ({"path": "link.txt"},))
    yield Told("files_share", "lnk", ({"path": "link.txt"},))
    yield Told("files_unshare", "", ({"path": "link.txt"},))
    yield Told("files_compile", "cmp", ({"path": "report.md"},))
    # A picture is shown as it looks: what else its file holds is not sent.
    yield Told("files_show", "", ({"path": "picture.png"},))
    yield Told("files_edit", "", ({"path": "text.txt", "old": "needle", "new": "a needle", "all": True},))
    yield Told("files_write", "", ({"path": "by-tool.txt", "content": "x"},))
    yield Told("files_move", "", ({"path": "by-tool.txt", "to": "by-tool-2.txt"},))
    yield Told("files_delete", "", ({"path": "by-tool-2.txt"},))
    yield Told("knowledge_list", "doc", ({},))
    yield Told("knowledge_read", "doc chk", (document,))
    yield Told("knowledge_chunks", "chk", (document,))
    yield Told("knowledge_search", "chk", ({"query": "needle"},))
    yield Told("knowledge_tags", "doc", ({},))
    yield Told("knowledge_add", "", ({"title": "x", "text": "x"},))
    yield Told("knowledge_import", "", ({"path": "text.txt"},))
    yield Told("knowledge_change", "doc", ({**document, "tags": ["by-tool"]},))
    yield Told("knowledge_delete", "", ({"id": "none"},))
    yield Told("tables_list", "", ({},))
    yield Told("tables_read", "", (table,))
    yield Told("tables_rows", "cel", (table,))
    yield Told("tables_row", "cel", ({**table, "row": 1},))
    yield Told("tables_query", "cel", ({**table, "figures": [{"figure": "min", "column": "a"}]},))
    yield Told("tables_search", "cel", ({**table, "query": "needle"},))
    yield Told("tables_selection", "cel", ({**table, "rows": [1]},))
    yield Told("tables_create", "", ({"name": "by-tool", "columns": [{"name": "a"}]},))
    yield Told("tables_insert", "", ({"table": "by-tool", "rows": [{"a": "x"}]},))
    yield Told("tables_update", "", ({"table": "by-tool", "rows": [{"row": 1, "values": {"a": "y"}}]},))
    yield Told("tables_import", "", ({"table": "by-tool", "path": "rows.csv"},))
    yield Told("tables_delete", "", ({"table": "by-tool"},))
    yield Told("runs_list", "", ({},))
    yield Told("runs_read", "val log", (run,))
    yield Told("runs_files", "", (run,))
    yield Told("runs_get", "fil", ({**run, "name": "log.txt"},))
    yield Told("runs_record", "", ({"name": "x", "output": "x"},))
    yield Told("runs_execute", "val", (run,))
    yield Told("runs_resume", "", (run,))
    yield Told("tools_execute", "tol", ({"tool": "look_up", "arguments": {}},))
    yield Told("list_files", "", ({"path": "."},))
    yield Told("grep_files", "", ({"pattern": "needle", "path": "."},))
    yield Told("read_file", "", ({"path": "disk.txt"},))
    yield Told("write_file", "", ({"path": "by-tool.txt", "content": "x"},))
    yield Told("edit_file", "", ({"path": "by-tool.txt", "old": "x", "new": "y"},))
    yield Told("execute_cmd", "", ({"command": "env"},))
    yield Told("ask_user", "", ({"question": "which?"},))
    yield Told("call_agent", "", ({"agent": "nobody", "prompt": "look"},))
    yield Told("run_code", "wbk", ({"code": _PRINTS, "mounts": ["bench.txt"]}, {"code": "print(1)"}))


def commands(one: Things) -> Iterator[Typed]:
    """What a model types."""
    yield Typed("txt", ("files", "read", "text.txt"))
    yield Typed("", ("files", "list"))
    yield Typed("txt", ("files", "grep", "needle"))
    yield Typed("txt", ("files", "search", "needle"))
    yield Typed("", ("files", "versions", "version.txt"))
    yield Typed("txt", ("files", "get", "text.txt", one["out"]))
    yield Typed("txt bin", ("files", "zip", one["zip"]))
    yield Typed("", ("files", "links", "link.txt"))
    yield Typed("doc", ("knowledge", "list"))
    yield Typed("chk", ("knowledge", "search", "needle"))
    yield Typed("chk", ("knowledge", "read", one["doc"]))
    yield Typed("chk", ("knowledge", "chunks", one["doc"]))
    yield Typed("doc", ("knowledge", "tags"))
    yield Typed("", ("tables", "list"))
    yield Typed("cel", ("tables", "query", "t"))
    yield Typed("cel", ("tables", "rows", "t", "1"))
    yield Typed("cel", ("tables", "search", "t", "needle"))
    yield Typed("", ("runs", "list"))
    yield Typed("val", ("runs", "read", one["run"]))
    yield Typed("", ("runs", "files", one["run"]))
    yield Typed("tol", ("tools", "execute", "look_up"))
