"""A directory swapped for a link between judging and opening: refused every time, while check-then-open leaks."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stanch.paths.canonical import Canonicaliser
from stanch.paths.opening import open_judged
from stanch.values.reason import Code

TRIES = 100_000 if os.environ.get("STANCH_SOAK") else 10_000
SWAPPER = """
import ctypes, os, sys
one, other = (p.encode() for p in sys.argv[1:3])
libc = ctypes.CDLL(None)
print("swapping", flush=True)
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(500):
        libc.renameat2(-100, one, -100, other, 2)
"""


@contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Exchanges the two names as fast as another process can, as long as the block runs."""
    process = subprocess.Popen([sys.executable, "-c", SWAPPER, str(one), str(other)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "swapping\n"
        yield
    finally:
        process.kill()
        process.communicate()


def _exchange_works(folder: Path) -> bool:
    (folder / "x").write_text("")
    (folder / "y").write_text("")
    done = ctypes.CDLL(None).renameat2(-100, str(folder / "x").encode(), -100, str(folder / "y").encode(), 2)
    return bool(done == 0)


def _naive(path: str, allowed: str) -> str | None:
    """What a gate does that checks a path and then opens it by name."""
    try:
        if not os.path.realpath(path).startswith(allowed + "/"):
            return None
        return Path(path).read_text()
    except OSError:
        return None


def _judged(finder: Canonicaliser, path: str, allowed: str) -> str | None:
    stamp = finder.stamp(path, "/")
    if stamp.refusal is not None or not stamp.path.startswith(allowed + "/"):
        return None
    try:
        fd = open_judged(stamp, os.O_RDONLY)
    except FileNotFoundError:
        return None
    if isinstance(fd, Code):
        return None
    with os.fdopen(fd) as file:
        return file.read()


@pytest.mark.parametrize("by_kernel", [True, False])
def test_a_swapped_directory_never_leaks_while_check_then_open_does(tmp_path: Path, by_kernel: bool) -> None:
    root = Path(os.path.realpath(tmp_path))
    if not _exchange_works(root):
        pytest.skip("this file system cannot exchange two names")
    (root / "secret").mkdir()
    (root / "secret" / "key").write_text("SECRET")
    (root / "open").mkdir()
    (root / "open" / "key").write_text("fine")
    (root / "link").symlink_to(root / "secret")
    finder = Canonicaliser(use_kernel=by_kernel)
    target, allowed = str(root / "open" / "key"), str(root / "open")
    tries = TRIES if by_kernel else TRIES // 10
    leaked = fine = naive_leaks = 0
    with swapping(root / "open", root / "link"):
        for _ in range(tries):
            content = _judged(finder, target, allowed)
            leaked += content == "SECRET"
            fine += content == "fine"
        until = time.monotonic() + 60
        while not naive_leaks and time.monotonic() < until:
            naive_leaks += _naive(target, allowed) == "SECRET"
    assert leaked == 0
    assert fine > 0, "nothing was ever opened, so nothing was proved"
    assert naive_leaks > 0, "the attacker never won against a naive gate, so nothing was proved"


def test_a_file_swapped_for_a_link_is_refused_and_the_other_file_is_untouched(tmp_path: Path) -> None:
    outside = tmp_path / "bashrc"
    outside.write_text("orig")
    target = tmp_path / "out.txt"
    target.write_text("")
    stamp = Canonicaliser().stamp(str(target), "/", write=True)
    target.unlink()
    target.symlink_to(outside)
    assert open_judged(stamp, os.O_WRONLY | os.O_TRUNC) is Code.TARGET_CHANGED
    assert outside.read_text() == "orig"


def test_a_new_file_is_not_made_through_a_link_that_came_meanwhile(tmp_path: Path) -> None:
    stamp = Canonicaliser().stamp(str(tmp_path / "sub" / "new.txt"), "/", write=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "sub").symlink_to(tmp_path / "elsewhere")
    assert open_judged(stamp, os.O_WRONLY | os.O_CREAT, parents=True) is Code.TARGET_CHANGED
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_second_name_given_meanwhile_stops_the_write_before_it_truncates(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("kept")
    stamp = Canonicaliser().stamp(str(target), "/", write=True)
    os.link(target, tmp_path / "b")
    assert open_judged(stamp, os.O_WRONLY | os.O_TRUNC) is Code.TARGET_CHANGED
    assert (tmp_path / "b").read_text() == "kept"


def test_a_named_pipe_is_refused_without_waiting_for_its_other_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    stamp = Canonicaliser().stamp(str(tmp_path / "pipe"), "/")
    assert open_judged(stamp, os.O_RDONLY) is Code.PATH_UNREADABLE


def test_missing_directories_are_made_where_asked_for_and_only_there(tmp_path: Path) -> None:
    stamp = Canonicaliser().stamp(str(tmp_path / "new" / "dir" / "y.txt"), "/", write=True)
    with pytest.raises(FileNotFoundError):
        open_judged(stamp, os.O_WRONLY | os.O_CREAT)
    fd = open_judged(stamp, os.O_WRONLY | os.O_CREAT, parents=True)
    assert isinstance(fd, int)
    with os.fdopen(fd, "w") as file:
        file.write("x")
    assert (tmp_path / "new" / "dir" / "y.txt").read_text() == "x"


def test_a_refused_stamp_opens_nothing(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    stamp = Canonicaliser().stamp(str(tmp_path / "loop"), "/")
    assert open_judged(stamp, os.O_RDONLY) is Code.PATH_UNREADABLE
