"""`/console/content/runs`: runs by name and state, one run with its values, and one file of it.

Settles what of a run a page shows. Does not settle which of its values a model gets (`content.runs_shown`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.responses import Response

from stanch.content.provenance_told import Of
from stanch.content.run_files import (
    GetRunFile,
    ListRunFiles,
    ReadRunFile,
    RunFileShown,
    list_run_files,
    read_run_file,
)
from stanch.content.runs import BrokenRun, ListRuns, ReadRun, list_runs, read_run
from stanch.content.runs_shown import RunBrief, RunShown
from stanch.delivery.admit import ContentRefused
from stanch.surfaces.console.content import search_words, shown_query
from stanch.surfaces.console.content_badges import Badge, later, one_of
from stanch.surfaces.console.content_reach import Reach, made, why_withheld
from stanch.surfaces.console.content_text import FEW_LINES, SOME_LINES, Sides, got, stored, written
from stanch.surfaces.console.guard import Asked
from stanch.values.fault import BadInput, StoreUnreadable
from stanch.values.reason import Code
from stanch.values.run import Part, RunState

MOST_RUNS = 40
MOST_STEPS = 25
MOST_FILES = 50
LOOKED_THROUGH = 2_000
AT_ONCE = 200
_ORDER = (Part.INPUT, Part.ARGUMENTS, Part.RESULT, Part.OUTPUT, Part.LOGS)
_CODES = {
    Code.CONTENT_UNKNOWN.value: "nobody can say which secrets it carries",
    Code.SECRET_TOO_SHORT.value: "one of its secrets is too short to be found in a text",
    Code.REGISTRY_FULL.value: "it carries more secrets than can be looked for at once",
    Code.CONTENT_UNSCANNED.value: "it could not be looked through",
}


class Row(NamedTuple):
    """A run in the list."""

    run: RunBrief
    name: str
    by: str
    address: str
    badge: Badge


class Value(NamedTuple):
    """A value of a run or of a step, as a model gets it and as it is."""

    part: str
    sides: Sides


class Step(NamedTuple):
    """A step. `why` is why it was refused."""

    place: int
    tool: str
    state: str
    why: str
    values: Sequence[Value]


class File(NamedTuple):
    """A file of a run."""

    name: str
    size: int
    media_type: str
    text: bool
    address: str
    download: str
    badge: Badge


def listed(asked: Asked) -> Response:
    """The runs, newest first: a page of all, or those whose name holds some words."""
    reach = Reach(asked)
    query, chosen = search_words(reach), asked.get("state")
    state = RunState(chosen) if chosen in [one.value for one in RunState] else None
    items, total, following, looked = _runs(reach, query, state)
    return asked.page(
        "content_runs.html.j2",
        at="content",
        wide=True,
        tab="runs",
        query=shown_query(reach, query),
        searched=bool(query),
        looked=looked,
        state="" if state is None else state.value,
        states=[one.value for one in RunState],
        rows=[_row(reach, one) for one in items if isinstance(one, RunBrief)],
        broken=[one for one in items if isinstance(one, BrokenRun)],
        total=total,
        further="" if following is None else reach.address("/runs", state=chosen, cursor=following),
    )


def _runs(
    reach: Reach, query: str, state: RunState | None
) -> tuple[Sequence[RunBrief | BrokenRun], int, str | None, int]:
    """A page of runs, how many there are, the next page's cursor, and how many were looked through for their names."""
    if not query:
        page = reach.asks(list_runs, made(ListRuns, state=state, limit=MOST_RUNS, cursor=reach.get("cursor") or None))
        return page.items, page.total, page.next, 0
    wanted, looked, cursor = query.casefold(), 0, None
    found: list[RunBrief | BrokenRun] = []
    while looked < LOOKED_THROUGH and len(found) < MOST_RUNS:
        page = reach.asks(list_runs, made(ListRuns, state=state, limit=AT_ONCE, cursor=cursor))
        looked += len(page.items)
        found += [one for one in page.items if isinstance(one, RunBrief) and _fits(one, wanted)]
        cursor = page.next
        if cursor is None:
            break
    return found[:MOST_RUNS], len(found), None, looked if cursor is not None else 0


def _fits(run: RunBrief, wanted: str) -> bool:
    return wanted in run.name.casefold() or wanted == run.id


def _row(reach: Reach, run: RunBrief) -> Row:
    address = reach.address("/run", id=run.id)
    return Row(run, reach.say(run.name), reach.say(run.created_by), address, later(reach, Of.RUN, run.id))


def page(asked: Asked) -> Response:
    """One run: its values, some of its steps, some of its files."""
    reach = Reach(asked)
    run_id, after = reach.get("id"), reach.number("after") or 0
    known = one_of(reach, Of.RUN, run_id)
    arguments = made(ReadRun, run=run_id, after=after, limit=MOST_STEPS)
    shown = reach.as_model(read_run, arguments)
    raw = reach.asks(read_run, arguments) if reach.raw else None
    files = reach.asks(
        list_run_files, made(ListRunFiles, run=run_id, limit=MOST_FILES, cursor=reach.get("cursor") or None)
    )
    run, following = shown["run"], shown["next"]
    brief = reach.asks(read_run, made(ReadRun, run=run_id, parts=(), limit=0)).run
    return asked.page(
        "content_run.html.j2",
        at="content",
        wide=True,
        run=brief,
        name=run["name"],
        by=reach.say(brief.created_by),
        known=known,
        values=_values(shown["values"], shown["withheld"], None if raw is None else raw.values),
        steps=_steps(reach, shown["steps"], raw),
        after=after,
        further="" if following is None else reach.address("/run", id=run_id, after=following, raw=asked.get("raw")),
        first=reach.address("/run", id=run_id),
        files=[_file(reach, run_id, one) for one in files.items if isinstance(one, RunFileShown)],
        broken=[one for one in files.items if isinstance(one, BrokenRun)],
        file_total=files.total,
        more_files="" if files.next is None else reach.address("/run", id=run_id, cursor=files.next),
        raw=reach.raw,
        here={
            "redacted": reach.address("/run", id=run_id, after=after or None),
            "raw": reach.address("/run", id=run_id, after=after or None, raw=1),
        },
    )


def _values(
    shown: Mapping[str, Any], withheld: Sequence[Mapping[str, Any]], raw: Mapping[Part, Any] | None
) -> list[Value]:
    """Every value that there is, in the order in which a run has them."""
    refused = {one["part"]: one for one in withheld}
    found = []
    for part in _ORDER:
        if part.value not in shown and part.value not in refused:
            continue
        stored_one = None if raw is None or part not in raw else stored(written(raw[part]), FEW_LINES)
        if part.value in shown:
            sides = Sides(got(written(shown[part.value]), FEW_LINES), "", stored_one)
        else:
            sides = Sides(None, _why(refused[part.value]), stored_one)
        found.append(Value(part.value, sides))
    return found


def _why(refused: Mapping[str, Any]) -> str:
    cause = str(refused["cause"]).replace("_", " ")
    said = _CODES.get(refused["code"], str(refused["code"]).replace("_", " "))
    return f"withheld: {said}{f' ({cause})' if cause else ''}"


def _steps(reach: Reach, shown: Sequence[Mapping[str, Any]], raw: RunShown | None) -> list[Step]:
    as_it_is = {} if raw is None else {one.place: one.values for one in raw.steps}
    return [
        Step(
            one["place"],
            one["tool"],
            one["state"],
            reach.say((one["reason"] or {}).get("sentence", "")),
            _values(one["values"], one["withheld"], as_it_is.get(one["place"])),
        )
        for one in shown
    ]


def _file(reach: Reach, run_id: str, one: RunFileShown) -> File:
    return File(
        reach.say(one.name),
        one.size,
        one.media_type,
        one.text,
        reach.address("/run-file", run=run_id, name=one.name),
        reach.address("/download", kind="run_file", run=run_id, name=one.name),
        later(reach, Of.RUN_FILE, f"{run_id}/{one.name}"),
    )


def file_page(asked: Asked) -> Response:
    """One file of a run."""
    reach = Reach(asked)
    run_id, name = reach.get("run"), reach.get("name")
    known = one_of(reach, Of.RUN_FILE, f"{run_id}/{name}")
    brief = reach.asks(read_run, made(ReadRun, run=run_id, parts=(), limit=0)).run
    here = {"run": run_id, "name": name}
    return asked.page(
        "content_run_file.html.j2",
        at="content",
        wide=True,
        name=reach.say(name),
        run_name=reach.say(brief.name),
        run_address=reach.address("/run", id=run_id),
        known=known,
        sides=_file_sides(reach, made(ReadRunFile, **here), known.text_says),
        here={
            "redacted": reach.address("/run-file", **here),
            "raw": reach.address("/run-file", **here, raw=1),
            "download": reach.address("/download", kind="run_file", **here),
        },
    )


def _file_sides(reach: Reach, asked: ReadRunFile, says: str) -> Sides:
    try:
        found, why = got(reach.as_model(read_run_file, asked)["text"], SOME_LINES), ""
    except ContentRefused as refused:
        found, why = None, says if says.startswith("withheld") else why_withheld(refused)
    except (BadInput, StoreUnreadable) as problem:
        found, why = None, reach.asked.failing.sentence(problem)
    if not reach.raw:
        return Sides(found, why)
    try:
        return Sides(found, why, stored(reach.asks(read_run_file, asked).text, SOME_LINES))
    except (BadInput, StoreUnreadable):
        return Sides(found, why)


def asked_file(reach: Reach) -> GetRunFile:
    """The file of a run that an address names."""
    return made(GetRunFile, run=reach.get("run"), name=reach.get("name"))
