"""How far a run has come while its end is waited for: a bar on standard error, where a person looks.

Settles that looking disturbs nothing: whatever goes wrong with it shows nothing. Does not settle what is run.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from stanch.surfaces.cli.client import Refusal
from stanch.surfaces.cli.content_client import ContentClient
from stanch.values.fault import Fault

PAUSE = 0.5
MOST_STEPS = 200
_OVER = ("completed", "failed", "refused", "interrupted")


@contextmanager
def steps_shown(to: ContentClient, which: Callable[[], str | None]) -> Iterator[None]:
    """Shows the steps of a run within the block. `which` says which run it is, None while nobody knows.

    A model's run is not shown: it would have to be asked for in its session.
    """
    if not sys.stderr.isatty() or to.session_id is not None:
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    over = threading.Event()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("steps", total=None)

        def look() -> None:
            run: str | None = None
            while not over.wait(PAUSE):
                try:
                    run = run or which()
                    if run is not None:
                        done, of = counted(
                            to.client.get(f"/api/runs/{quote(run, safe='')}", parts="input", limit=MOST_STEPS)
                        )
                        progress.update(task, completed=done, total=of)
                except (Fault, Refusal, KeyError, TypeError):
                    continue

        looking = threading.Thread(target=look, name="stanch-steps", daemon=True)
        looking.start()
        try:
            yield
        finally:
            over.set()
            looking.join(PAUSE * 4)


def counted(found: dict[str, Any]) -> tuple[int, int]:
    """How many of the steps are over, and how many there are."""
    return sum(step["state"] in _OVER for step in found["steps"]), int(found["run"]["steps"])
