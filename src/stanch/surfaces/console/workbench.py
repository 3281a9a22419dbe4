"""`/console/sessions/{session_id}/workbench`: what lies where a session's code runs, what it remembers, what was run.

Settles what a person sees of a workbench, and how they remove an entry or all of it. Does not settle how one entry is
shown (`workbench_file`), nor what a workbench remembers (`app.workbenches`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from starlette.responses import Response

from stanch.app.workbench_memory import Forgotten
from stanch.app.workbench_running import TOOL
from stanch.content.workbench import entry_path
from stanch.delivery.workbench import Entries, EntryKind, Mark
from stanch.surfaces.console.content_badges import Badge
from stanch.surfaces.console.cutting import Cut, cut
from stanch.surfaces.console.failing import Refused
from stanch.surfaces.console.guard import Asked, goes_to
from stanch.surfaces.console.workbench_reach import UNKNOWN, Bench, Standing, standing
from stanch.values.approval import CallRecord, CallState
from stanch.values.fault import Conflict, StoreUnreadable
from stanch.values.records import AuditRecord, Broken

MOST_ENTRIES, MOST_RUNS, MOST_ROWS, MOST_PLACES, CODE_LINES = 500, 20, 20, 50, 40
_KINDS = {
    EntryKind.FILE: "file",
    EntryKind.FOLDER: "folder",
    EntryKind.LINK: "link, which nobody follows",
    EntryKind.OTHER: "no file",
    EntryKind.DEEP: "folder that nobody has looked into",
}
_STATES = {
    CallState.AWAITING_APPROVAL: ("ask", "waits for an answer"),
    CallState.PENDING: ("none", "may start"),
    CallState.RUNNING: ("work", "at work"),
    CallState.COMPLETED: ("allow", "ran"),
    CallState.FAILED: ("deny", "failed"),
    CallState.REJECTED: ("deny", "refused"),
}


class Unlisted(StoreUnreadable):
    """What lies in a workbench cannot be looked through, such as where it is too much."""


class Entry(NamedTuple):
    """An entry: its name, what it is, what is known of it, and where it is looked at, if it can be."""

    name: str
    kind: str
    size: int | None
    at: datetime
    badge: Badge
    fields: Mapping[str, str]
    address: str
    download: str


class Run(NamedTuple):
    """A run, or one that was asked for. `output` is where what was withheld of it can be read, `is_read` by whom."""

    id: str
    at: datetime
    language: str
    tone: str
    word: str
    why: str
    code: Cut
    output: str
    is_read: bool


class Row(NamedTuple):
    """What the audit log says of the memory: it grew, or it was emptied."""

    seq: int
    at: datetime
    by: str
    says: str


class Output(NamedTuple):
    """An output that was withheld from the model."""

    call: str
    at: datetime
    is_read: bool
    address: str


def page(asked: Asked) -> Response:
    """The whole page."""
    return shown(Bench(asked))


def remove(asked: Asked) -> Response:
    """Removes an entry; of a folder, all that lies in it."""
    bench = Bench(asked)
    path = entry_path(bench.get("path"))
    try:
        with asked.service.workbenches.held(bench.id, by=asked.login.by, patience=0.0) as held:
            if not held.directory.remove(path, tree=True):
                return shown(bench, problem="It is not there any more.", status=404)
            held.look()
    except (Conflict, Forgotten) as why:
        status, words = asked.failing.said_of(why)
        return shown(bench, problem=words, status=status)
    return goes_to(f"{bench.address()}#files")


def clear(asked: Asked) -> Response:
    """Removes all of it, and what it remembers, where the person said so once more."""
    bench = Bench(asked)
    if asked.get("confirm") != "yes":
        raise Refused(422, "Nothing was removed: say that you want to have all of it removed.")
    try:
        asked.service.workbenches.clear(bench.id, by=asked.login.by)
    except Conflict as why:
        return shown(bench, problem=asked.failing.sentence(why), status=409)
    return goes_to(bench.address())


def shown(bench: Bench, *, problem: str = "", status: int = 200) -> Response:
    """The page, with what was wrong with what somebody did."""
    asked, service = bench.asked, bench.asked.service
    unreadable = ""
    entries: Entries = {}
    try:
        found = _entries(bench)
        # INVARIANT: only now: code at work may have named an entry by what has just come near.
        bench.open()
        entries = found
        stands = standing(bench, bench.memory, bench.registry, entries)
    except (Forgotten, Unlisted) as why:
        # WHY no entries: of their names, nobody could say which secret stands in them.
        unreadable = asked.failing.sentence(why)
        stands = Standing(UNKNOWN, "")
    outputs = outputs_of(bench)
    goes_at = service.clearing.goes_at(bench.session)
    places = [bench.say(one) for one in sorted(bench.memory.places)]
    places += [bench.say(one) for one in sorted(bench.memory.items)]
    return asked.page(
        "workbench.html.j2",
        status=status,
        at="sessions",
        wide=True,
        session=bench.session,
        problem=problem,
        unreadable=unreadable,
        stands=stands,
        secrets=sorted({entry.name for entry in bench.registry.entries}),
        places=places[:MOST_PLACES],
        more_places=max(0, len(places) - MOST_PLACES),
        entries=[_entry(bench, path, mark) for path, mark in sorted(entries.items())[:MOST_ENTRIES]],
        total=len(entries),
        outputs=outputs,
        unread=sum(not one.is_read for one in outputs),
        runs=_runs(bench, {one.call: one for one in outputs}),
        rows=_rows(bench),
        goes_at=goes_at,
        is_due=goes_at is not None and goes_at <= datetime.now(UTC),
        here=bench.address(),
    )


def _entries(bench: Bench) -> Entries:
    """What lies there. Raises `Unlisted`: whoever cannot see it may remove all of it nevertheless."""
    try:
        return bench.asked.service.workbenches.directory(bench.id).entries()
    except StoreUnreadable as why:
        raise Unlisted(*why.args) from None


def outputs_of(bench: Bench) -> list[Output]:
    """The outputs that were withheld, newest first."""
    kept = bench.asked.service.workbenches.outputs(bench.id).listed()
    return [Output(one.call_id, one.at, one.is_read, bench.address("/output", call=one.call_id)) for one in kept]


def _entry(bench: Bench, path: str, mark: Mark) -> Entry:
    is_file = mark.kind is EntryKind.FILE
    return Entry(
        bench.name(path),
        _KINDS[mark.kind],
        mark.size if is_file else None,
        datetime.fromtimestamp(mark.changed / 1e9, UTC),
        bench.badge(path),
        bench.fields(path=path),
        bench.address("/file", path=path) if is_file else "",
        bench.address("/download", path=path) if is_file else "",
    )


def _runs(bench: Bench, outputs: Mapping[str, Output]) -> list[Run]:
    found = bench.asked.service.calls.list(bench.id, tool=TOOL, limit=MOST_RUNS)
    told = bench.asked.service.projecting.records()
    return [_run(told.call(one), outputs.get(one.id)) for one in found.items if not isinstance(one, Broken)]


def _run(call: CallRecord, output: Output | None) -> Run:
    tone, word = _STATES.get(call.state, ("none", call.state.value.replace("_", " ")))
    code, language = call.arguments.get("code"), call.arguments.get("language", "python")
    return Run(
        call.id,
        call.created_at,
        language if isinstance(language, str) else "",
        tone,
        word,
        str(call.reason.get("sentence", "")) if call.state is CallState.REJECTED else "",
        cut(code if isinstance(code, str) else "", CODE_LINES),
        "" if output is None else output.address,
        output is not None and output.is_read,
    )


def _rows(bench: Bench) -> list[Row]:
    """The newest changes of what it remembers, by the audit log."""
    audit, told = bench.asked.service.audit, bench.asked.service.projecting.records()
    found: list[AuditRecord] = []
    for action in ("workbench.keep", "workbench.clear"):
        page = audit.list(subject=bench.id, action=action, newest_first=True, limit=MOST_ROWS)
        found += [told.row(one) for one in page.items if not isinstance(one, Broken)]
    found.sort(key=lambda one: one.seq, reverse=True)
    return [Row(one.seq, one.at, f"{one.actor} ({one.surface})", bench.say(_says(one))) for one in found[:MOST_ROWS]]


def _says(row: AuditRecord) -> str:
    detail: Mapping[str, Any] = row.detail
    if row.action == "workbench.clear":
        ended = "its session had ended: " if "session_ended_at" in detail else ""
        return f"{ended}all of it was removed{', and what it remembered' if detail.get('forgotten') else ''}"
    names, count = detail.get("secrets", ()), detail.get("places", 0)
    said = f"filled from {count} place{'' if count == 1 else 's'}"
    said += f"; secrets near it: {', '.join(map(str, names))}" if names else "; no secret near it"
    return f"{said}; tainted" if detail.get("tainted") else said
