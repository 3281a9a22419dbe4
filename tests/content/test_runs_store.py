"""Runs in both databases: kept whole, held by one at a time, and unknown once they were changed behind the store."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.app.content_writing import Declared, Said
from stanch.content.run_files import GetRunFile, ListRunFiles, get_run_file, list_run_files
from stanch.content.runs import ListRuns, ReadRun, list_runs, read_run
from stanch.content.runs_record import RecordRun, new_run, new_run_id, record_run
from stanch.content.runs_shown import RunBrief
from stanch.delivery.admit import ContentRefused
from stanch.storage.content_run_writing import NewStep, NewValue
from stanch.values.fault import BadFields, BadInput, BrokenRow, Conflict, NotFound
from stanch.values.run import Part, RunRecord, RunState, StepState
from tests.content.knowledge_world import LABEL, VALUE, Knowledge, knowledge
from tests.content.run_actors import recorded
from tests.stores.places import BY, Place, together

TABLES = ("runs", "run_steps", "run_values", "run_files", "audit")


@pytest.fixture
def world(place: Place, tmp_path: Path) -> Iterator[Knowledge]:
    with knowledge(place, tmp_path) as made:
        yield made


def dump(world: Knowledge) -> list[object]:
    return [sorted(world.place.rows(f"SELECT * FROM {table}"), key=repr) for table in TABLES]


def running(world: Knowledge, *steps: StepState, node: str = "node-a") -> RunRecord:
    """A run that a process holds."""
    world.store.see_node(node)
    run = new_run(
        new_run_id(), "n", owner=None, session_id=None, synchronous=True, state=RunState.RUNNING, holder="h", node=node
    )
    return world.stores.add_run(run, [NewStep("t", state) for state in steps], [], [], by=BY)


def states(world: Knowledge, run_id: str) -> list[str]:
    return [step.state.value for step in world.stores.run_steps(run_id, limit=100)]


def test_a_run_is_read_as_it_was_recorded(world: Knowledge) -> None:
    body = {
        "name": "nightly",
        "input": {"day": 1, "text": "ä\u0000\u2028"},
        "steps": [
            {"tool": "a", "arguments": {"x": [1, 2.5, None]}, "result": None, "logs": ["one", "two"]},
            {"tool": "b", "state": "failed"},
        ],
        "output": {"file": "out/a.bin", "media_type": "image/png", "base64": base64.b64encode(b"\x00\xff").decode()},
        "logs": ["done"],
        "files": [{"name": "log.txt", "text": "words"}],
    }
    made = record_run(world.access(), RecordRun.model_validate(body))
    found = read_run(world.access("bram"), ReadRun(run=made.id))
    assert found.run == made
    assert found.run.steps == 2
    assert found.values == {
        Part.INPUT: body["input"],
        Part.OUTPUT: {"file": "out/a.bin", "media_type": "image/png", "size": 2},
        Part.LOGS: ["done"],
    }
    assert found.steps[0].values == {
        Part.ARGUMENTS: {"x": [1, 2.5, None]},
        Part.RESULT: None,
        Part.LOGS: ["one", "two"],
    }
    assert found.steps[1].values == {Part.ARGUMENTS: {}}
    assert found.steps[1].state is StepState.FAILED
    files = list_run_files(world.access(), ListRunFiles(run=made.id)).items
    assert [(one.name, one.text, one.size) for one in files] == [  # type: ignore[union-attr]
        ("log.txt", True, 5), ("out/a.bin", False, 2),
    ]  # fmt: skip
    assert b"".join(get_run_file(world.access(), GetRunFile(run=made.id, name="out/a.bin")).chunks) == b"\x00\xff"
    audit = world.place.rows("SELECT action, subject, detail FROM audit")
    assert ("runs.record", made.id) in {(row[0], row[1]) for row in audit}
    assert "words" not in repr(audit)


@pytest.mark.parametrize(
    "wrong",
    [
        {"output": {"file": "../x", "base64": ""}},
        {"output": {"file": "x", "base64": "no base64!"}},
        {"output": {"file": "x", "base64": 7}},
        {"output": {"file": "x", "media_type": "<script>", "base64": ""}},
        {"files": [{"name": "x"}]},
        {"files": [{"name": "x", "text": "a", "base64": ""}]},
        {"files": [{"name": "x", "text": "a"}, {"name": "x", "text": "b"}]},
        {"files": [{"name": "x", "text": "a"}], "output": {"file": "x", "base64": ""}},
        {"files": [{"name": "x", "text": "\ud800"}]},
        {"output": {"deep": None}, "input": eval("[" * 40 + "]" * 40)},
    ],
)
def test_what_cannot_be_kept_is_kept_in_no_part(world: Knowledge, wrong: dict[str, Any]) -> None:
    before = dump(world)
    with pytest.raises((BadFields, BadInput)) as said:
        record_run(world.access(), RecordRun.model_validate({"name": "n", **wrong}))
    assert "script" not in str(said.value)
    assert dump(world) == before


def test_a_personal_run_is_not_there_for_others(world: Knowledge) -> None:
    mine = recorded(world.access(), personal=True, files=[{"name": "a.txt", "text": "mine"}])
    ours = recorded(world.access())
    page = list_runs(world.access("bram"), ListRuns())
    assert ([one.id for one in page.items], page.total) == ([ours], 1)
    assert [one.id for one in list_runs(world.access(), ListRuns(limit=1)).items] == [ours]
    for person in ("bram", None):
        with pytest.raises(NotFound):
            read_run(world.access(person), ReadRun(run=mine))
        with pytest.raises(NotFound):
            get_run_file(world.access(person), GetRunFile(run=mine, name="a.txt"))
        with pytest.raises(NotFound):
            list_run_files(world.access(person), ListRunFiles(run=mine))
    assert read_run(world.access(), ReadRun(run=mine)).run.owner == "ada"


def test_runs_are_listed_in_pages_and_a_broken_one_among_them(world: Knowledge) -> None:
    ids = [recorded(world.access()) for _ in range(5)]
    world.place.rows(f"UPDATE runs SET state = 'who knows' WHERE id = '{ids[2]}'")
    found: list[Any] = []
    cursor = None
    while True:
        page = list_runs(world.access(), ListRuns(limit=2, cursor=cursor))
        assert page.total == 5
        found += page.items
        cursor = page.next
        if cursor is None:
            break
    assert [one.id for one in found] == ids[::-1]
    assert [isinstance(one, RunBrief) for one in found] == [True, True, False, True, True]
    with pytest.raises(BrokenRow):
        read_run(world.access(), ReadRun(run=ids[2]))
    some = list_runs(world.access(), ListRuns(state=RunState.RECORDED))
    assert some.total == 4


def test_one_of_many_takes_a_paused_run(world: Knowledge) -> None:
    run = running(world, StepState.WAITING)
    world.stores.leave_run(run.id, "h", RunState.PAUSED, by=BY)
    ended = together(
        *(lambda at=at: world.stores.claim_run(run.id, f"holder-{at}", "node-a", by=BY) for at in range(6))
    )
    assert sum(isinstance(one, RunRecord) for one in ended) == 1
    assert sum(isinstance(one, Conflict) for one in ended) == 5


def test_a_step_is_begun_once_and_by_whoever_holds_the_run(world: Knowledge) -> None:
    run = running(world, StepState.PENDING, StepState.WAITING)
    with pytest.raises(Conflict):
        world.stores.move_step(run.id, "another", 1, StepState.RUNNING, by=BY)
    ended = together(*(lambda: world.stores.move_step(run.id, "h", 1, StepState.RUNNING, by=BY) for _ in range(4)))
    assert sum(one is None for one in ended) == 1
    value = NewValue(1, Part.RESULT, '"a"', (), None)
    world.stores.move_step(run.id, "h", 1, StepState.COMPLETED, values=[value, value], by=BY)
    for state in (StepState.RUNNING,):
        with pytest.raises(Conflict):
            world.stores.move_step(run.id, "h", 1, state, by=BY)
    with pytest.raises(Conflict):
        world.stores.leave_run(run.id, "another", RunState.COMPLETED, by=BY)
    assert world.stores.leave_run(run.id, "h", RunState.COMPLETED, by=BY).holder is None
    with pytest.raises(Conflict):
        world.stores.move_step(run.id, "h", 2, StepState.RUNNING, by=BY)
    with pytest.raises(Conflict):
        world.stores.claim_run(run.id, "h", "node-a", by=BY)
    with pytest.raises(NotFound):
        world.stores.claim_run("run_none", "h", "node-a", by=BY)


def test_what_a_process_left_behind_is_settled_once_it_is_gone(world: Knowledge) -> None:
    at_work = running(world, StepState.COMPLETED, StepState.RUNNING, StepState.PENDING)
    between = running(world, StepState.COMPLETED, StepState.PENDING)
    living = running(world, StepState.RUNNING, node="node-b")
    assert world.stores.settle_runs() == 0
    revision = world.store.revision()
    assert world.store.revision() == revision
    world.store.end_node("node-a")
    ended = together(world.stores.settle_runs, world.stores.settle_runs)
    assert all(isinstance(one, int) for one in ended), ended
    first, second, third = map(world.stores.get_run, (at_work.id, between.id, living.id))
    assert (first.state, first.failed_at) == (RunState.FAILED, 2)
    assert states(world, at_work.id) == ["completed", "interrupted", "pending"]
    assert (second.state, second.holder) == (RunState.PAUSED, None)
    assert states(world, between.id) == ["completed", "pending"]
    assert third.state is RunState.RUNNING
    with pytest.raises(Conflict):
        # The process was taken for gone, and comes back.
        world.stores.move_step(at_work.id, "h", 2, StepState.COMPLETED, by=BY)


def test_whatever_was_changed_behind_the_store_is_unknown(world: Knowledge) -> None:
    by = world.workflow()
    run = recorded(by, ("t", f"the key is {VALUE}"), ("t", f"again {VALUE}"), output=f"out {VALUE}")
    read = read_run(world.model(), ReadRun(run=run))
    assert not read.withheld
    key = f"{run}.1.result"
    other = f"{run}.2.result"
    kept = dict(world.place.rows("SELECT id, provenance FROM run_values"))
    for changed in (
        f"UPDATE run_values SET value = '\"harmless {VALUE[:9]}\"' WHERE id = '{key}'",
        f"UPDATE run_values SET provenance = '{kept[other]}' WHERE id = '{key}'",
        f"UPDATE run_values SET came_from = '[\"/elsewhere\"]' WHERE id = '{key}'",
        f"UPDATE run_values SET provenance = 's1.nonsense' WHERE id = '{key}'",
    ):
        row = world.place.rows(f"SELECT value, came_from, provenance FROM run_values WHERE id = '{key}'")[0]
        world.place.rows(changed)
        step = read_run(world.model(), ReadRun(run=run)).steps[0]
        assert Part.RESULT not in step.values
        assert [(one.part, one.code) for one in step.withheld] == [(Part.RESULT, "content_unknown")], changed
        # Whoever is no model is not asked about provenance at all.
        reads = world.seals.reads
        assert Part.RESULT in read_run(world.access(), ReadRun(run=run)).steps[0].values
        assert world.seals.reads == reads
        world.place.rows(
            f"UPDATE run_values SET value = '{row[0]}', came_from = '{row[1]}', provenance = '{row[2]}'"
            f" WHERE id = '{key}'"
        )
    assert not read_run(world.model(), ReadRun(run=run)).withheld_total


@pytest.mark.parametrize("data", [b"words", b"\x00\x01"])
@pytest.mark.parametrize("declared", [True, False])
def test_a_file_whose_bytes_were_changed_is_unknown(world: Knowledge, data: bytes, declared: bool) -> None:
    by = world.access()
    if declared:  # a picture carries whatever was resolved, so here that is nothing
        by = world.workflow() if data == b"words" else world.access("ada", Said(Declared(), world.entries))
    given = {"name": "a.txt", "media_type": "text/plain", "base64": base64.b64encode(data).decode()}
    run = recorded(by, files=[given])
    digest = world.stores.run_file(run, "a.txt").digest
    assert b"".join(get_run_file(world.model(), GetRunFile(run=run, name="a.txt")).chunks) == data
    for path in (world.blobs._root / digest[:2]).iterdir():
        path.write_bytes(data[:-1] + b"!")
    with pytest.raises(ContentRefused) as why:
        get_run_file(world.model(), GetRunFile(run=run, name="a.txt"))
    assert (why.value.reason.code.value, why.value.reason.detail) == ("content_unknown", "version_mismatch")
    with pytest.raises(BrokenRow):
        list(get_run_file(world.access(), GetRunFile(run=run, name="a.txt")).chunks)


def test_a_binary_that_is_said_to_be_text_is_unknown(world: Knowledge) -> None:
    data = base64.b64encode(b"\x00" + VALUE.encode()).decode()
    run = recorded(world.workflow(), files=[{"name": "a", "media_type": "text/plain", "base64": data}])
    with pytest.raises(ContentRefused) as why:
        get_run_file(world.model(), GetRunFile(run=run, name="a"))
    assert why.value.reason.code.value == "content_opaque"
    world.place.rows("UPDATE run_files SET is_text = 1")
    with pytest.raises(ContentRefused) as why:
        get_run_file(world.model(), GetRunFile(run=run, name="a"))
    assert why.value.reason.code.value == "content_unknown"


def test_a_users_secret_in_anothers_run_is_unknown(world: Knowledge) -> None:
    world.user_secret("HERS", "hers-1c0ffee-4711", "bram")
    run = recorded(world.workflow("HERS"), ("t", "it is hers-1c0ffee-4711"), personal=True)
    step = read_run(world.model(), ReadRun(run=run)).steps[0]
    assert [(one.part, one.cause) for one in step.withheld] == [(Part.RESULT, "scope_mismatch")]


def test_a_secret_in_a_key_or_in_base64_is_an_entry(world: Knowledge) -> None:
    hidden = base64.b64encode(f"x{VALUE}y".encode()).decode()
    run = recorded(world.workflow(), ("t", {VALUE: 1}), ("t", hidden))
    found = world.model()
    shown = read_run(found, ReadRun(run=run))
    assert shown.withheld_total == 0
    gate: Any = found.delivery.gate
    told = repr(gate.projector().structure(shown.model_dump(mode="json")))
    assert LABEL in told
    assert VALUE not in told
    assert hidden not in told
