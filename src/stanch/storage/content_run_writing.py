"""What is added to the tables of runs within a change: values and files, each with its sealed provenance.

Settles that what could not be read again is not written. Does not settle which change it is (`content_runs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import insert

from stanch.storage.content_run_nouns import RUN_FILE, RUN_VALUE, value_id
from stanch.storage.content_runs_schema import RUN_VALUES
from stanch.storage.rows import written_json
from stanch.storage.transactions import Change
from stanch.values.run import Part, RunFileRecord, StepState


class NewValue(NamedTuple):
    """A value to be kept. `place` is 0 for one of the run itself. `text` is JSON, `came_from` are canonical paths."""

    place: int
    part: Part
    text: str
    came_from: tuple[str, ...]
    provenance: str | None


class NewFile(NamedTuple):
    """A file to be kept, whose bytes are kept already. `id` is what its provenance is sealed for."""

    id: str
    name: str
    media_type: str
    size: int
    digest: str
    is_text: bool
    provenance: str | None


class NewStep(NamedTuple):
    """A step to be kept: its tool, and where it stands."""

    tool: str
    state: StepState


def reason_column(reason: Mapping[str, Any] | None) -> str | None:
    """A reason as a column keeps it."""
    return None if reason is None else written_json(dict(reason), "reason")


def put_value(change: Change, run_id: str, value: NewValue) -> None:
    """Keeps a value in the place of the one that is there. Raises `BadInput`."""
    key = value_id(run_id, value.place, value.part)
    row = {"id": key, "run_id": run_id, "place": value.place, "part": value.part.value, "value": value.text}
    row |= {"came_from": written_json(list(value.came_from), "came_from"), "provenance": value.provenance}
    RUN_VALUE.written(row)
    change.remove(RUN_VALUE, RUN_VALUES.c.id == key)
    change.connection.execute(insert(RUN_VALUES), row)


def put_file(change: Change, run_id: str, file: NewFile, at: str) -> RunFileRecord:
    """Keeps a file. Raises `BadInput`, and `Conflict` where its id is taken."""
    row = {"id": file.id, "run_id": run_id, "name": file.name, "media_type": file.media_type, "size": file.size}
    row |= {"digest": file.digest, "is_text": int(file.is_text), "provenance": file.provenance, "created_at": at}
    found = RUN_FILE.written(row)
    change.vacant(RUN_FILE, file.id)
    change.add(RUN_FILE, row)
    return found
