"""How far bytes on their way have come: a bar on standard error, where a person looks.

Settles that nothing is shown where no terminal is. Does not settle what is moved.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Moved = Callable[[int], None]
"""Is told how many bytes are done."""


@contextmanager
def progress_bar(doing: str, size: int | None) -> Iterator[Moved]:
    """A bar for so many bytes, None for nobody knows, within the block."""
    if not sys.stderr.isatty():
        yield lambda done: None  # noqa: ARG005 - nothing is shown
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task(doing, total=size)
        yield lambda done: progress.update(task, completed=done)
