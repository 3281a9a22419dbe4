"""A copy on disk: used by whoever starts again, and by nobody where it is not whole, not young or not of this
source."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stanch.app.organization import Organization
from stanch.app.organization_copy import CopyFile, digest_of
from stanch.app.organization_fetching import Fetched
from stanch.policy.organization import Copy, Known, Moment, Trouble, Unfetched
from tests.organization.served import RULES, Clock

URL = "https://rules.example.com/rules?key=hush"


def _down(etag: str) -> Fetched:
    raise Unfetched(Trouble.TIMED_OUT)


def _kept(folder: Path, clock: Clock, url: str = URL) -> CopyFile:
    kept = CopyFile(folder / "copy.json", url)
    kept.write(Copy(tuple(RULES), digest_of(RULES), clock(), '"v1"'))
    return kept


def _again(kept: CopyFile, clock: Clock) -> Organization:
    return Organization(_down, source="rules", max_age_s=300, kept=kept, now=clock)


def test_a_copy_outlives_its_process_for_as_long_as_it_holds(tmp_path: Path) -> None:
    clock = Clock()
    kept = _kept(tmp_path, clock)
    clock.wall, clock.steady = clock.wall + 299, 3.0  # the machine was started again
    made = _again(kept, clock)
    assert (made.status().known, made.status().age_s) == (Known.CURRENT, 299)
    assert made.refresh().words == "stale: timed out"
    clock.on(1)
    assert made.status().known is Known.UNAVAILABLE


def test_a_copy_is_its_owners_alone_and_shows_no_key(tmp_path: Path) -> None:
    kept = _kept(tmp_path, Clock())
    assert stat.S_IMODE(kept.file.stat().st_mode) == 0o600
    assert "hush" not in kept.file.read_text()
    assert [one.name for one in tmp_path.iterdir()] == ["copy.json"]


def test_a_copy_of_another_source_is_none(tmp_path: Path) -> None:
    clock = Clock()
    kept = _kept(tmp_path, clock)
    assert kept.read(clock()) is not None
    assert CopyFile(kept.file, URL + "2").read(clock()) is None


def test_a_copy_from_the_future_is_none(tmp_path: Path) -> None:
    clock = Clock()
    kept = _kept(tmp_path, clock)
    assert kept.read(Moment(clock.wall - 1, clock.steady)) is None


def test_a_copy_that_was_cut_anywhere_is_none(tmp_path: Path) -> None:
    clock = Clock()
    kept = _kept(tmp_path, clock)
    whole = kept.file.read_bytes()
    for cut in range(len(whole)):
        kept.file.write_bytes(whole[:cut])
        assert kept.read(clock()) is None, cut


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rows", []),
        ("at", 2e9),
        ("at", "x"),
        ("etag", '"v2"'),
        ("source", ""),
        ("digest", ""),
        ("form", 2),
        ("rows", 5),
    ],
)
def test_a_copy_that_was_changed_is_none(tmp_path: Path, key: str, value: Any) -> None:
    clock = Clock()
    kept = _kept(tmp_path, clock)
    held = json.loads(kept.file.read_text())
    kept.file.write_text(json.dumps({**held, key: value}))
    assert kept.read(clock()) is None


def test_a_copy_that_others_may_read_or_that_is_a_link_is_none(tmp_path: Path) -> None:
    clock = Clock()
    kept = _kept(tmp_path, clock)
    kept.file.chmod(0o644)
    assert kept.read(clock()) is None
    kept.file.chmod(0o600)
    kept.file.rename(tmp_path / "there")
    kept.file.symlink_to(tmp_path / "there")
    assert kept.read(clock()) is None
    kept.file.unlink()
    os.mkfifo(kept.file, 0o600)
    assert kept.read(clock()) is None


def test_a_disk_that_refuses_harms_nothing_else(tmp_path: Path) -> None:
    kept = CopyFile(tmp_path / "gone" / "copy.json", URL)
    made = Organization(lambda _: Fetched(tuple(RULES)), source="x", max_age_s=300, kept=kept)
    assert made.refresh().known is Known.CURRENT


KILLED = """
import os, signal, sys
from pathlib import Path
from stanch.app import settings
from stanch.app.organization_copy import CopyFile
from stanch.policy.organization import Copy, Moment
settings.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
rows = tuple({"tool": f"t{n}", "action": "deny"} for n in range(3000))
CopyFile(Path(sys.argv[1]), sys.argv[2]).write(Copy(rows, "", Moment(1.8e9, 0.0)))
"""


def test_a_process_that_is_killed_while_it_writes_leaves_the_copy_before(tmp_path: Path) -> None:
    clock = Clock()
    kept = _kept(tmp_path, clock)
    ran = subprocess.run([sys.executable, "-P", "-c", KILLED, str(kept.file), URL], timeout=60, check=False)
    assert ran.returncode == -signal.SIGKILL
    found = kept.read(clock())
    assert found is not None
    assert found.rows == tuple(RULES)
    _kept(tmp_path, clock)
    assert [one.name for one in tmp_path.iterdir()] == ["copy.json"]
