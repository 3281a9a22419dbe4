"""What answers about runs of scheduled jobs hold.

Settles the keys. Does not settle what a run is (`values.turn`), nor how the job itself is shown (`shown`).
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from stanch.app.told_records import TellsRecords
from stanch.surfaces.http.shown import Shown, Word
from stanch.values.turn import JobRunRecord


class JobRunShown(Shown):
    """What became of a job at one of its times: `claimed`, `started`, `completed`, `failed` or `interrupted`."""

    job_id: str
    due_at: datetime
    state: Word
    session_id: str | None = Field(description="The session that was opened for it.")
    outcome: str | None = Field(description="How it ended, in a few words.")
    node: str
    claimed_at: datetime
    ended_at: datetime | None


def job_run_shown(run: JobRunRecord, told: TellsRecords) -> JobRunShown:
    """A run as JSON."""
    run = told.run(run)
    return JobRunShown(
        job_id=run.job_id,
        due_at=run.due_at,
        state=run.state.value,
        session_id=run.session_id,
        outcome=run.outcome,
        node=run.node,
        claimed_at=run.claimed_at,
        ended_at=run.ended_at,
    )
