"""A lock whose file somebody removes while others wait for it."""

from __future__ import annotations

from pathlib import Path

from stanch.host.locking import Lock


def test_a_lock_says_whether_it_holds_anybody_off(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with Lock(path) as lock:
        said = [lock.stands]
        path.unlink()
        said.append(lock.stands)
        with Lock(path) as other:
            said += [lock.stands, other.stands]
    assert said == [True, False, False, True]
