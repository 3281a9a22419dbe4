"""A new store in a moment: a copy of one that was migrated once in this process.

WHY: to run all migrations takes longer than most of the tests that need a store.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from stanch.storage.store import Store


@cache
def _template() -> bytes:
    """WHY in memory: nothing removes the files of a worker when it ends."""
    with tempfile.TemporaryDirectory(prefix="stanch-template-") as folder:
        path = Path(folder) / "stanch.db"
        store = Store.open(f"sqlite:///{path}")
        store.migrate()
        store.close()
        leftover = [beside.name for beside in path.parent.iterdir() if beside != path]
        assert not leftover, f"the template is not all in one file: {leftover}"
        return path.read_bytes()


def new_file(path: Path) -> None:
    """Makes the file of a store, migrated."""
    assert not path.exists()
    path.write_bytes(_template())
    path.chmod(0o600)


def new_store(path: Path) -> Store:
    """The open store, migrated, in a new file of this name."""
    new_file(path)
    return Store.open(f"sqlite:///{path}")
