"""A run that is repeated: each step is judged, done once, and what is not known of a value never becomes known."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stanch.content.access import Access
from stanch.content.acting import Performed, Standing
from stanch.content.runs import ReadRun, read_run
from stanch.content.runs_going import ExecuteRun, ResumeRun, execute_run, resume_run
from stanch.content.runs_shown import RunShown
from stanch.provenance.states import Cause, Exact, Unknown
from stanch.values.fault import BadFields, Conflict, NotFound, StoreUnreadable
from stanch.values.run import Part, RunState
from tests.content.knowledge_world import VALUE, Knowledge, knowledge
from tests.content.run_actors import RULE, Actors, recorded
from tests.stores.places import Place, together

SESSION = "session-1"


class World:
    """A store of runs, and a gate and tools that a test plays."""

    def __init__(self, kept: Knowledge) -> None:
        self.kept, self.actors = kept, Actors()
        kept.store.see_node(self.actors.node)

    def access(self, person: str | None = "ada", **more: Any) -> Access:
        return self.kept.access(person, acting=self.actors, **more)

    def model(self) -> Access:
        return replace(self.kept.model(), acting=self.actors, session_id=SESSION)

    def execute(self, run: str, access: Access | None = None, **more: Any) -> RunShown:
        return execute_run(access or self.access(), ExecuteRun(run=run, session=more.pop("session", SESSION), **more))

    def resume(self, run: str, access: Access | None = None) -> RunShown:
        return resume_run(access or self.access(), ResumeRun(run=run))


@pytest.fixture
def world(place: Place, tmp_path: Path) -> Iterator[World]:
    with knowledge(place, tmp_path) as made:
        yield World(made)


def ways(shown: RunShown) -> list[str]:
    return [step.state.value for step in shown.steps]


def test_a_run_is_repeated_and_its_output_is_that_of_the_same_results(world: World) -> None:
    files = [{"name": "a.txt", "text": "words"}]
    old = recorded(
        world.access(), ("x", {"b": 1, "a": 2}), ("y", "two"), output={"file": "a.txt"}, files=files, input=7
    )
    shown = world.execute(old, base64=True)
    assert (shown.run.state, shown.run.of_run, ways(shown)) == (RunState.COMPLETED, old, ["completed", "completed"])
    assert shown.values[Part.OUTPUT] == {"file": "a.txt", "media_type": "text/plain", "size": 5, "base64": "d29yZHM="}
    assert shown.values[Part.INPUT] == 7
    assert [step.values[Part.RESULT] for step in shown.steps] == [{"b": 1, "a": 2}, "two"]
    assert [tool for tool, _ in world.actors.done] == ["x", "y"]


def test_an_output_of_other_results_is_not_taken_over(world: World) -> None:
    old = recorded(world.access(), ("x", "one"), output="of one", logs=["of one"])
    world.actors.gives["x"] = "another"
    shown = world.execute(old)
    assert shown.run.state is RunState.COMPLETED
    assert shown.steps[0].values[Part.RESULT] == "another"
    assert shown.values == {}


def test_a_step_that_is_refused_ends_the_run(world: World) -> None:
    old = recorded(world.access(), ("x", 1), ("y", 2), ("z", 3), output="o")
    world.actors.standing["y"] = Standing.REFUSED
    shown = world.execute(old)
    assert (shown.run.state, shown.run.failed_at) == (RunState.FAILED, 2)
    assert ways(shown) == ["completed", "refused", "pending"]
    assert shown.steps[1].reason == RULE
    assert Part.RESULT not in shown.steps[1].values
    assert shown.values == {}
    with pytest.raises(Conflict):
        world.resume(shown.run.id)


def test_a_run_waits_for_a_person_and_goes_on(world: World) -> None:
    old = recorded(world.access(), ("x", 1), ("y", 2))
    world.actors.standing["y"] = Standing.WAITS
    shown = world.execute(old)
    assert (shown.run.state, ways(shown)) == (RunState.PAUSED, ["completed", "waiting"])
    call = shown.steps[1].call_id
    assert call is not None
    assert world.resume(shown.run.id).run.state is RunState.PAUSED
    with pytest.raises(Conflict):
        world.execute(shown.run.id)
    world.actors.answer(call, Standing.READY)
    ended = together(*(lambda: world.resume(shown.run.id) for _ in range(4)))
    assert sum(isinstance(one, RunShown) for one in ended) == 1, ended
    assert sum(isinstance(one, Conflict) for one in ended) == 3
    assert [tool for tool, _ in world.actors.done] == ["x", "y"]
    assert len(world.actors.calls) == 2


def test_a_person_says_no_or_something_else(world: World) -> None:
    old = recorded(world.kept.workflow(), ("x", 1))
    world.actors.standing["x"] = Standing.WAITS
    no, other = world.execute(old), world.execute(old)
    for shown, standing, more in ((no, Standing.REFUSED, {}), (other, Standing.READY, {"edited": True})):
        call = str(shown.steps[0].call_id)
        world.actors.answer(call, standing, arguments={"of": f"edited {VALUE}"}, **more)
    assert ways(world.resume(no.run.id)) == ["refused"]
    shown = world.resume(other.run.id, replace(world.kept.workflow(), acting=world.actors))
    assert ways(shown) == ["completed"]
    assert shown.steps[0].values[Part.ARGUMENTS] == {"of": f"edited {VALUE}"}
    assert world.actors.done == [("x", {"of": f"edited {VALUE}"})]
    known = world.actors.sources[0][0]
    assert isinstance(known, Exact)
    assert [entry.name for entry in known.entries] == ["PAY_KEY"]


def test_a_call_that_may_not_start_after_all_is_waited_for_again(world: World) -> None:
    old = recorded(world.access(), ("x", 1))
    world.actors.gives["x"] = lambda _: replace(world.actors.calls["call_0"][2], standing=Standing.WAITS)
    shown = world.execute(old)
    assert (shown.run.state, ways(shown)) == (RunState.PAUSED, ["waiting"])
    world.actors.gives["x"] = "done"
    assert ways(world.resume(shown.run.id)) == ["completed"]


def test_a_forged_call_is_refused(world: World) -> None:
    old = recorded(world.access(), ("x", 1))
    world.actors.standing["x"] = Standing.WAITS
    shown = world.execute(old)
    foreign = world.actors.submit(world.access(), "another session", "x", {})
    world.actors.answer(foreign.call_id, Standing.READY)
    world.kept.place.rows(f"UPDATE run_steps SET call_id = '{foreign.call_id}' WHERE run_id = '{shown.run.id}'")
    after = world.resume(shown.run.id)
    assert ways(after) == ["refused"]
    assert (after.steps[0].reason or {})["code"] == "call_changed"
    assert world.actors.done == []


def test_whoever_breaks_in_a_step_leaves_it_interrupted_and_not_to_be_repeated(world: World) -> None:
    old = recorded(world.access(), ("x", 1), ("y", 2))

    def breaks(_: Any) -> Any:
        raise KeyboardInterrupt

    world.actors.gives["y"] = breaks
    with pytest.raises(KeyboardInterrupt):
        world.execute(old)
    (run,) = [row[0] for row in world.kept.place.rows(f"SELECT id FROM runs WHERE of_run = '{old}'")]
    shown = read_run(world.access(), ReadRun(run=run))
    assert (shown.run.state, shown.run.failed_at, ways(shown)) == (RunState.FAILED, 2, ["completed", "interrupted"])
    with pytest.raises(Conflict):
        world.resume(run)
    assert [tool for tool, _ in world.actors.done] == ["x", "y"]


def test_whatever_fails_between_two_steps_leaves_a_run_that_can_go_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = recorded(world.access(), ("x", 1), ("y", 2))

    def fails(*_: Any) -> Any:
        raise StoreUnreadable("it is away")

    with monkeypatch.context() as patch:
        patch.setattr(world.actors, "submit", fails)
        with pytest.raises(StoreUnreadable):
            world.execute(old)
    (run,) = [row[0] for row in world.kept.place.rows(f"SELECT id FROM runs WHERE of_run = '{old}'")]
    assert ways(world.resume(run)) == ["completed", "completed"]


def test_whoever_is_not_waited_for_stops_between_two_steps(world: World) -> None:
    old = recorded(world.access(), ("x", 1), ("y", 2))
    gone = threading.Event()

    def leaves(_: Any) -> Any:
        gone.set()
        return "done"

    world.actors.gives["x"] = leaves
    shown = world.execute(old, world.access(cancelled=gone))
    assert (shown.run.state, ways(shown)) == (RunState.PAUSED, ["completed", "pending"])
    assert ways(world.resume(shown.run.id)) == ["completed", "completed"]


def test_what_nobody_can_vouch_for_stays_so_in_every_copy(world: World) -> None:
    writer = world.kept.workflow(complete=False)
    old = recorded(writer, ("x", f"the key {VALUE}"), output=f"o {VALUE}", input=f"i {VALUE}")
    # In no session, no call of anybody's is made of it.
    shown = world.execute(old, session=None)
    assert shown.run.state is RunState.COMPLETED
    for access in (world.model(),):
        seen = read_run(access, ReadRun(run=shown.run.id))
        assert seen.withheld_total == 4, seen
        assert {one.cause for one in (*seen.withheld, *seen.steps[0].withheld)} == {"incomplete"}
        assert VALUE not in seen.model_dump_json()


@pytest.mark.parametrize("classified", [True, False])
def test_arguments_that_nobody_can_vouch_for_are_no_call_of_a_session(world: World, classified: bool) -> None:
    old = recorded(world.kept.workflow(complete=False), ("x", VALUE))
    shown = world.execute(old, world.model() if classified else None)
    assert ways(shown) == ["refused"]
    assert shown.steps[0].reason == {"code": "content_unknown", "layer": "delivery"}
    assert (world.actors.calls, world.actors.done) == ({}, [])
    assert (VALUE in shown.model_dump_json()) is (not classified and Part.RESULT in shown.steps[0].values)


def test_a_reason_that_may_name_an_argument_is_told_with_the_arguments_alone(world: World) -> None:
    old = recorded(world.access(), ("x", 1))
    world.actors.standing["x"] = Standing.REFUSED
    run = world.execute(old).run.id
    assert read_run(world.model(), ReadRun(run=run)).steps[0].reason == RULE
    world.kept.place.rows(f"UPDATE run_values SET provenance = 's1.x' WHERE run_id = '{run}' AND part = 'arguments'")
    step = read_run(world.model(), ReadRun(run=run)).steps[0]
    assert step.reason == {"code": "rule", "layer": "persisted_rules"}
    assert read_run(world.access(), ReadRun(run=run)).steps[0].reason == RULE


def test_a_value_of_a_step_in_an_error_is_known_as_the_step_is(world: World) -> None:
    old = recorded(world.kept.workflow(), ("x", 1))
    unknown = Performed({"error": f"no such {VALUE}"}, Unknown(Cause.SOURCE_UNKNOWN), failed=True)
    world.actors.gives["x"] = unknown
    shown = world.execute(old, world.model())
    assert (shown.run.state, ways(shown)) == (RunState.FAILED, ["failed"])
    assert [(one.part, one.cause) for one in shown.steps[0].withheld] == [(Part.RESULT, "source_unknown")]
    assert VALUE not in shown.model_dump_json()


def test_a_result_that_cannot_be_kept_fails_its_step(world: World) -> None:
    old = recorded(world.access(), ("x", 1))
    for bad in ({1, 2}, float("nan"), "x" * (9 << 20)):
        world.actors.gives["x"] = bad
        shown = world.execute(old)
        assert (ways(shown), shown.run.state) == (["failed"], RunState.FAILED)
        assert "cannot be kept" in json.dumps(shown.steps[0].values[Part.RESULT])


def test_who_may_repeat_and_go_on(world: World) -> None:
    mine = recorded(world.access(), ("x", 1), personal=True)
    with pytest.raises(NotFound):
        world.execute(mine, world.access("bram"))
    world.actors.standing["x"] = Standing.WAITS
    shown = world.execute(mine, session="another session")
    assert shown.run.owner == "ada"
    with pytest.raises(Conflict, match="where it was begun"):
        world.resume(shown.run.id, world.model())
    with pytest.raises(NotFound):
        world.resume(shown.run.id, world.access("bram"))
    world.actors.gives["x"] = 1
    with pytest.raises(BadFields, match="session"):
        world.execute(mine, session=None)
    assert world.execute(recorded(world.access(), ("y", 1)), personal=True).run.owner == "ada"


def test_what_was_never_done_cannot_be_replayed(world: World) -> None:
    old = recorded(world.access(), ("x", 1), ("y", 2), output="o")
    world.actors.standing["x"] = Standing.REFUSED
    failed = world.execute(old)
    world.actors.standing.clear()
    again = world.execute(failed.run.id)
    assert (ways(again), again.run.state) == (["failed", "pending"], RunState.FAILED)
    assert again.steps[0].values[Part.RESULT] == {"error": "nothing was recorded of it"}


def test_progress_is_told(world: World) -> None:
    told: list[tuple[int, int | None]] = []
    old = recorded(world.access(), ("x", 1), ("y", 2))
    world.execute(old, world.access(told=lambda done, of: told.append((done, of))))
    assert told == [(0, 2), (1, 2), (2, 2)]
