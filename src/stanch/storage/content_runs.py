"""The part of the content store that keeps runs: their steps, their values, their files.

Settles that a run is moved by one holder at a time, that a step is begun once, and what becomes of a run whose process
is gone. Does not settle which steps may run (`content.runs_going`), nor what is known of a value (`provenance.seals`).
INVARIANT: whoever moves a run names its holder's word, and moves nothing where another one holds it by now.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, func, or_, select, update

from stanch.storage.approval_nouns import NODE
from stanch.storage.content_run_nouns import (
    RUN,
    RUN_FILE,
    RUN_PART,
    RUN_STEP,
    RUN_VALUE,
    KeptPart,
    KeptValue,
    step_id,
)
from stanch.storage.content_run_writing import NewFile, NewStep, NewValue, put_file, put_value, reason_column
from stanch.storage.content_runs_schema import RUN_FILES, RUN_STEPS, RUN_VALUES, RUNS
from stanch.storage.pages import page_of
from stanch.storage.rows import written_moment
from stanch.storage.schema import NODES
from stanch.storage.transactions import Change, Transactions, find
from stanch.storage.turns import serving
from stanch.values.fault import Conflict, NotFound, quoted
from stanch.values.reason import Code
from stanch.values.records import Actor, Broken, Page
from stanch.values.run import RunFileRecord, RunRecord, RunState, StepRecord, StepState

NODE_ACTOR = Actor("stanch", "node")
MOST_LEFT = 100
_BATCH = 200
_OPEN = (StepState.PENDING.value, StepState.WAITING.value)


class RunsRows(Transactions):
    """What is kept of runs."""

    def add_run(
        self,
        record: RunRecord,
        steps: Sequence[NewStep],
        values: Sequence[NewValue],
        files: Sequence[NewFile],
        *,
        by: Actor,
    ) -> RunRecord:
        """The new run, whole. Its dates are those of the change. Raises `BadInput` and `Conflict`."""
        with self._changing(by, "runs.record" if record.of_run is None else "runs.execute", record.id) as change:
            at = written_moment(change.at)
            ended = record.state not in (RunState.RUNNING, RunState.PAUSED)
            row: dict[str, Any] = {
                **{name: getattr(record, name) for name in ("id", "name", "owner", "session_id", "of_run", "holder")},
                "node": record.node,
                "created_by": by.principal,
                "state": record.state.value,
                "synchronous": int(record.synchronous),
                "steps": len(steps),
                "failed_at": record.failed_at or 0,
                "created_at": at,
                "changed_at": at,
                "ended_at": at if ended else None,
            }
            found = RUN.written(row)
            change.vacant(RUN, record.id)
            if record.node is not None:
                serving(change, record.node)
            change.add(RUN, row)
            for place, step in enumerate(steps, 1):
                kept = {"id": step_id(record.id, place), "run_id": record.id, "place": place, "tool": step.tool}
                kept |= {"state": step.state.value, "call_id": None, "reason": None}
                RUN_STEP.written(kept)
                change.add(RUN_STEP, kept)
            for value in values:
                put_value(change, record.id, value)
            for file in files:
                put_file(change, record.id, file, at)
            change.detail.update(of=record.of_run, steps=len(steps), files=len(files), session=record.session_id)
        return found

    def add_run_file(self, run_id: str, file: NewFile, *, by: Actor) -> RunFileRecord:
        """The file, kept with the run. Raises `NotFound`, and `Conflict` where it has one of that name."""
        with self._changing(by, "runs.add_file", run_id) as change:
            change.find(RUN, run_id)
            known = select(RUN_FILES.c.id).where(RUN_FILES.c.run_id == run_id, RUN_FILES.c.name == file.name)
            if change.connection.execute(known).first() is not None:
                raise Conflict("the run has a file of that name already")
            change.detail.update(file=file.id, size=file.size)
            return put_file(change, run_id, file, written_moment(change.at))

    def get_run(self, run_id: str) -> RunRecord:
        """The run. Raises `NotFound`, and `BrokenRow`."""
        with self._reading() as connection:
            return RUN.readable(find(connection, RUN, run_id))

    def list_runs(
        self,
        *,
        person: str | None,
        state: RunState | None = None,
        of_run: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[RunRecord | Broken]:
        """A page of the runs of the workspace and of this person, newest first."""
        seen = RUNS.c.owner.is_(None) if person is None else or_(RUNS.c.owner.is_(None), RUNS.c.owner == person)
        filters = {RUNS.c.state: None if state is None else state.value, RUNS.c.of_run: of_run}
        with self._reading() as connection:
            order = (RUNS.c.created_at, RUNS.c.id)
            return page_of(
                connection, RUN, order, limit=limit, cursor=cursor, filters=filters, conditions=[seen], descending=True
            )

    def run_steps(self, run_id: str, *, after: int = 0, limit: int) -> list[StepRecord]:
        """The steps behind this place, in order. Raises `BrokenRow` where one cannot be read: none is skipped."""
        wanted = select(RUN_STEPS).where(RUN_STEPS.c.run_id == run_id, RUN_STEPS.c.place > after)
        with self._reading() as connection:
            rows = connection.execute(wanted.order_by(RUN_STEPS.c.place).limit(limit)).mappings().all()
        return [RUN_STEP.readable(row) for row in rows]

    def run_parts(self, run_id: str, places: Collection[int]) -> list[KeptPart]:
        """Which values there are of the run (the place 0) and of its steps, without any of them. Raises `BrokenRow`."""
        wanted = select(RUN_VALUES.c.id, RUN_VALUES.c.place, RUN_VALUES.c.part, RUN_VALUES.c.came_from)
        wanted = wanted.where(RUN_VALUES.c.run_id == run_id, RUN_VALUES.c.place.in_(places))
        with self._reading() as connection:
            rows = connection.execute(wanted.order_by(RUN_VALUES.c.place, RUN_VALUES.c.part)).mappings().all()
        return [RUN_PART.readable(row) for row in rows]

    def run_values(self, ids: Sequence[str]) -> dict[str, KeptValue]:
        """The values with these ids. Raises `BrokenRow`."""
        found: dict[str, KeptValue] = {}
        with self._reading() as connection:
            for at in range(0, len(ids), _BATCH):
                wanted = select(RUN_VALUES).where(RUN_VALUES.c.id.in_(ids[at : at + _BATCH]))
                for row in connection.execute(wanted).mappings():
                    found[str(row["id"])] = RUN_VALUE.readable(row)
        return found

    def run_files(self, run_id: str, *, limit: int = 50, cursor: str | None = None) -> Page[RunFileRecord | Broken]:
        """A page of the files of a run, by name."""
        filters = {RUN_FILES.c.run_id: run_id}
        with self._reading() as connection:
            return page_of(connection, RUN_FILE, (RUN_FILES.c.name,), limit=limit, cursor=cursor, filters=filters)

    def run_file(self, run_id: str, name: str) -> RunFileRecord:
        """The file of that name. Raises `NotFound` and `BrokenRow`."""
        found = self.run_files_named(run_id, [name])
        if not found:
            raise NotFound("file", name)
        return found[name]

    def run_files_named(self, run_id: str, names: Sequence[str]) -> dict[str, RunFileRecord]:
        """Those of the names that the run has a file of. Raises `BrokenRow`."""
        found: dict[str, RunFileRecord] = {}
        possible = [name for name in names if "\0" not in name]
        with self._reading() as connection:
            for at in range(0, len(possible), _BATCH):
                named = RUN_FILES.c.name.in_(possible[at : at + _BATCH])
                for row in connection.execute(select(RUN_FILES).where(RUN_FILES.c.run_id == run_id, named)).mappings():
                    found[str(row["name"])] = RUN_FILE.readable(row)
        return found

    def run_file_seals(self, ids: Sequence[str]) -> dict[str, str | None]:
        """The sealed provenance of each of these files."""
        found: dict[str, str | None] = {}
        with self._reading() as connection:
            for at in range(0, len(ids), _BATCH):
                wanted = select(RUN_FILES.c.id, RUN_FILES.c.provenance).where(RUN_FILES.c.id.in_(ids[at : at + _BATCH]))
                found |= {str(key): kept for key, kept in connection.execute(wanted)}
        return found

    def claim_run(self, run_id: str, holder: str, node: str, *, by: Actor) -> RunRecord:
        """The run, held and running from now on. Raises `NotFound`, and `Conflict` where it is not paused."""
        with self._changing(by, "runs.resume", run_id) as change:
            state = change.find(RUN, run_id)["state"]
            if state != RunState.PAUSED.value:
                raise Conflict(f"the run {quoted(run_id)} is {state}, and is not to be resumed")
            serving(change, node)
            columns = {"state": RunState.RUNNING.value, "holder": holder, "node": node, "ended_at": None}
            return change.replace(RUN, run_id, columns | {"changed_at": written_moment(change.at)})

    def move_step(
        self,
        run_id: str,
        holder: str,
        place: int,
        state: StepState,
        *,
        call_id: str | None = None,
        reason: Mapping[str, Any] | None = None,
        values: Sequence[NewValue] = (),
        by: Actor,
    ) -> None:
        """Moves a step, and keeps these values of it, each in the place of one that is there.

        Raises `Conflict` where the run is held by another one, and where a step is begun that was begun before.
        """
        with self._changing(by, f"runs.step_{state.value}", run_id) as change:
            self._held(change, run_id, holder)
            key = step_id(run_id, place)
            now = change.find(RUN_STEP, key)["state"]
            if state is StepState.RUNNING and now not in _OPEN:
                raise Conflict(f"the step {place} of the run {quoted(run_id)} is {now}, and is begun once only")
            columns: dict[str, Any] = {"state": state.value, "reason": reason_column(reason)}
            if call_id is not None:
                columns["call_id"] = call_id
            change.replace(RUN_STEP, key, columns)
            for value in values:
                put_value(change, run_id, value)
            change.detail.update(step=place, call=call_id, code=None if reason is None else reason.get("code"))

    def leave_run(
        self,
        run_id: str,
        holder: str,
        state: RunState,
        *,
        failed_at: int | None = None,
        values: Sequence[NewValue] = (),
        by: Actor,
    ) -> RunRecord:
        """The run, which nobody holds any more: at its end, or paused. Raises `Conflict` where another one holds it."""
        with self._changing(by, f"runs.{state.value}", run_id) as change:
            self._held(change, run_id, holder)
            at = written_moment(change.at)
            for value in values:
                put_value(change, run_id, value)
            change.detail.update(step=failed_at)
            columns = {"state": state.value, "holder": None, "failed_at": failed_at or 0, "changed_at": at}
            return change.replace(RUN, run_id, columns | {"ended_at": None if state is RunState.PAUSED else at})

    def settle_runs(self) -> int:
        """Settles the runs of processes that are gone; returns how many. It changes nothing where there is none.

        A step that was running is interrupted, and its run has failed. A run between two steps is paused.
        """
        gone = select(NODES.c.id).where(NODES.c.ended_at.is_not(None))
        wanted = select(RUNS.c.id).where(RUNS.c.state == RunState.RUNNING.value, RUNS.c.node.in_(gone)).limit(MOST_LEFT)
        with self._reading() as connection:
            left = [str(row[0]) for row in connection.execute(wanted)]
        for run_id in left:
            self._settle(run_id)
        return len(left)

    def _settle(self, run_id: str) -> None:
        with self._changing(NODE_ACTOR, "runs.settle", run_id) as change:
            row = change.find(RUN, run_id)
            if row["state"] != RunState.RUNNING.value or not _is_gone(change.connection, row["node"]):
                return
            running = RUN_STEPS.c.run_id == run_id, RUN_STEPS.c.state == StepState.RUNNING.value
            first = change.connection.execute(select(func.min(RUN_STEPS.c.place)).where(*running)).scalar()
            said = reason_column({"code": Code.INTERRUPTED.value, "layer": "approval"})
            change.connection.execute(
                update(RUN_STEPS).where(*running).values(state=StepState.INTERRUPTED.value, reason=said)
            )
            at = written_moment(change.at)
            state = RunState.PAUSED if first is None else RunState.FAILED
            columns = {"state": state.value, "holder": None, "failed_at": first or 0, "changed_at": at}
            change.replace(RUN, run_id, columns | {"ended_at": None if first is None else at})
            change.detail.update(step=first)

    @staticmethod
    def _held(change: Change, run_id: str, holder: str) -> None:
        row = change.find(RUN, run_id)
        if row["state"] != RunState.RUNNING.value or row["holder"] != holder:
            raise Conflict(f"the run {quoted(run_id)} is held by another one by now")


def _is_gone(connection: Connection, node: str) -> bool:
    return find(connection, NODE, node)["ended_at"] is not None
