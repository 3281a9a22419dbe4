"""A process that dies while it removes a workbench: `python -m tests.app.workbench_cleared STORE ROOT WHEN`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stanch.app.workbench_clearing import Clearing
from stanch.app.workbenches import Workbenches
from stanch.content.workbench_disk import Directory
from stanch.storage.store import Store
from stanch.storage.workbenches import WorkbenchRows
from tests.app.workbench_killed import die, seals

AFTER = timedelta(hours=24)


def dying(done: Callable[..., Any]) -> Callable[..., Any]:
    """The same, and then the end of the process."""

    def ends(*given: Any, **named: Any) -> None:
        done(*given, **named)
        die()

    return ends


def instead(*_: Any, **__: Any) -> None:
    """The end of the process."""
    die()


def main(store: str, root: str, when: str) -> None:
    """Removes what is due, and dies where it is told to."""
    patch = pytest.MonkeyPatch()
    match when:
        case "bytes":
            patch.setattr(os, "unlink", dying(os.unlink))
        case "cleared":
            patch.setattr(Directory, "clear", dying(Directory.clear))
        case "row":
            patch.setattr(WorkbenchRows, "forget_workbench", dying(WorkbenchRows.forget_workbench))
        case "lock":
            patch.setattr(Path, "rmdir", instead)
    opened = Store.open(store)
    Clearing(Workbenches(Path(root), opened, seals())).clear_due(-AFTER)


if __name__ == "__main__":
    main(*sys.argv[1:])
