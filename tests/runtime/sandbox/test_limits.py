"""Does each limit end a program, and is it told which one it was?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stanch.runtime.sandbox.program import KIB, MIB, How, Sandbox
from stanch.runtime.sandbox.removing import remove_tree
from tests.runtime.sandbox.confined import Ran, bash, below, python, running

Ended = tuple[How, str]
NOTHING = set(below())


@pytest.fixture(autouse=True)
def _before() -> None:
    """WHY for each: others have processes of their own started meanwhile, which stay."""
    NOTHING.clear()
    NOTHING.update(below())


def ends(done: Ran, how: How, words: str) -> None:
    assert (done.ended.how, words in done.ended.said) == (how, True), (done.ended, done.output[-500:])
    assert below() <= NOTHING


def ends_or_is_told(done: Ran, how: Ended, told: str) -> None:
    """The program was ended, or the kernel refused it more before anybody had looked: on a busy machine, either."""
    if done.ended.how is How.BY_ITSELF:
        assert (done.ended.code, told in done.output) == (1, True), (done.ended, done.output[-500:])
        assert below() <= NOTHING
    else:
        ends(done, *how)


@pytest.mark.parametrize(
    "code", ["while True: pass", "import time; time.sleep(60)", "import sys; sys.stdin.read(); input()"]
)
def test_time(sandbox: Sandbox, place: Path, code: str) -> None:
    if "stdin" in code:
        code = "import os; os.pause() if hasattr(os, 'pause') else __import__('signal').pause()"
    ends(python(sandbox, place, code, seconds=0.6), How.TOO_LATE, "after 0.6 seconds")


def test_time_of_one_that_hears_no_signal(sandbox: Sandbox, place: Path) -> None:
    code = "trap '' TERM INT HUP QUIT; echo here; while :; do sleep 60; done"
    done = bash(sandbox, place, code, seconds=0.6)
    assert done.output == "here\n"
    ends(done, How.TOO_LATE, "after 0.6 seconds")


def test_time_of_the_processor(sandbox: Sandbox, place: Path) -> None:
    code = "import resource as r, os; print(r.getrlimit(r.RLIMIT_CPU)[1] <= 10 * os.cpu_count() + 1)"
    assert python(sandbox, place, code, seconds=10.0).fine == "True\n"
    code = "import os, resource, signal; os.kill(os.getpid(), signal.SIGXCPU)"
    ends(python(sandbox, place, code), How.TOO_LATE, "processor's time")


BOMBS = {
    "many children": "import os, time\nwhile True:\n  try:\n    if not os.fork(): time.sleep(60); os._exit(0)\n"
    "  except OSError: pass",
    "children of children": "import os, time\nwhile True:\n  try: os.fork()\n  except OSError: pass",
    "orphans": "import os, time\nwhile True:\n  try:\n    if not os.fork():\n      os.setsid()\n"
    "      if os.fork(): os._exit(0)\n"
    "      time.sleep(60)\n  except OSError: pass",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_processes(sandbox: Sandbox, place: Path, bomb: str) -> None:
    done = python(sandbox, place, BOMBS[bomb], processes=12)
    ends(done, How.TOO_MANY_PROCESSES, "more than 12 processes")


def test_memory(sandbox: Sandbox, place: Path) -> None:
    # WHY it pauses: on a busy machine the kernel would refuse it more before anybody had looked.
    code = "import time\nheld = []\nwhile True: held.append(b'x' * 1_000_000); time.sleep(0.02)"
    ends(python(sandbox, place, code, memory=128 * MIB), How.TOO_MUCH_MEMORY, "more than 128 MiB")


def test_memory_of_all_together(sandbox: Sandbox, place: Path) -> None:
    code = (
        "import os, time\nfor _ in range(6):\n  if not os.fork(): break\nheld = os.urandom(40_000_000)\ntime.sleep(60)"
    )
    ends(python(sandbox, place, code, memory=128 * MIB), How.TOO_MUCH_MEMORY, "more than 128 MiB")


def test_memory_that_is_shared_counts_once(sandbox: Sandbox, place: Path) -> None:
    code = (
        "import os, time\nheld = os.urandom(40_000_000)\n"
        "for _ in range(6):\n  if not os.fork():\n    time.sleep(0.4); os._exit(len(held) == 0)\n"
        "print([os.wait()[1] for _ in range(6)])"
    )
    assert python(sandbox, place, code, memory=128 * MIB).fine == "[0, 0, 0, 0, 0, 0]\n"


def test_one_piece_of_memory_is_refused(sandbox: Sandbox, place: Path) -> None:
    done = python(sandbox, place, "bytearray(10**10)", memory=128 * MIB)
    assert "MemoryError" in done.output
    assert (done.ended.how, done.ended.code) == (How.BY_ITSELF, 1)


FILLING = {
    "one file": "f = open('f', 'wb')\nwhile True: f.write(bytes(100_000))",
    "many files": "import itertools\nfor n in itertools.count(): open(str(n), 'wb').write(bytes(300_000))",
    "files without a name": "import os\nheld = [open(str(n), 'wb') for n in range(20)]\n"
    "[os.unlink(str(n)) for n in range(20)]\n"
    "while True: [(f.write(bytes(100_000)), f.flush()) for f in held]",
    "a file with a hole": "import os\nos.truncate(os.open('f', os.O_CREAT | os.O_RDWR), 5_280_000)\n"
    "import time\ntime.sleep(60)",
    "where nobody may look": "import os\nos.mkdir('d', 0o300)\nf = open('d/f', 'wb')\n"
    "while True: f.write(bytes(100_000))",
}


@pytest.mark.parametrize("what", FILLING)
def test_bytes_on_disk(sandbox: Sandbox, place: Path, what: str) -> None:
    done = python(sandbox, place, FILLING[what], directory_bytes=5 * MIB)
    unseen = what == "where nobody may look" and sandbox.name == "sandlock"
    ended = (How.TOO_MUCH_ON_DISK, "cannot be read" if unseen else "more than 5 MiB")
    ends_or_is_told(done, ended, "File too large")


def test_bytes_of_a_program_that_ends_before_anybody_looks(sandbox: Sandbox, place: Path) -> None:
    done = bash(sandbox, place, "head -c 300000 /dev/zero > f; echo done", directory_bytes=100 * KIB)
    ends(done, How.TOO_MUCH_ON_DISK, "more than 100 KiB")


def test_entries_on_disk(sandbox: Sandbox, place: Path) -> None:
    code = "import itertools\nfor n in itertools.count(): open(f'f{n}', 'w').close()"
    ends(python(sandbox, place, code, directory_entries=200), How.TOO_MUCH_ON_DISK, "more than 200 files")


def test_directories_without_end(sandbox: Sandbox, place: Path) -> None:
    code = "import os\nwhile True: os.mkdir('d'); os.chdir('d')"
    ends(python(sandbox, place, code), How.TOO_MUCH_ON_DISK, "too deep")
    python(sandbox, place, f"import os; os.chdir(os.environ['TMPDIR'])\n{code}", seconds=1.0)


def test_what_lies_deep_is_removed(tmp_path: Path) -> None:
    code = "import os, sys\nos.chdir(sys.argv[1])\n"
    code += "for n in range(1500): os.mkdir('d'); os.symlink('/', 'l'); os.chdir('d')"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    (tmp_path / "closed").mkdir(0)
    remove_tree(tmp_path)
    assert not tmp_path.exists()
    remove_tree(tmp_path)


def test_temporary_bytes(bubblewrap: Sandbox, place: Path) -> None:
    for where in ("/tmp", "/dev/shm", "/var/tmp"):
        done = bash(bubblewrap, place, f"head -c 99999999 /dev/zero > {where}/f", temporary_bytes=MIB)
        assert "No space left on device" in done.output
        assert (done.ended.how, done.ended.code) == (How.BY_ITSELF, 1)


def test_temporary_bytes_that_are_watched(place: Path) -> None:
    from tests.runtime.sandbox.conftest import usable

    done = python(
        usable("sandlock"),
        place,
        "import os, time\nopen(os.environ['TMPDIR'] + '/f', 'wb').write(bytes(3_000_000))\ntime.sleep(60)",
        temporary_bytes=MIB,
    )
    ends(done, How.TOO_MUCH_ON_DISK, "more than 1 MiB of temporary files")


def test_temporary_entries(sandbox: Sandbox, place: Path) -> None:
    code = "import itertools, os\nfor n in itertools.count(): open(f'{os.environ[\"TMPDIR\"]}/{n}', 'w').close()"
    done = python(sandbox, place, code, temporary_bytes=MIB)
    ends(done, How.TOO_MUCH_ON_DISK, "too many temporary files")


def test_nothing_else_can_be_filled(bubblewrap: Sandbox, place: Path) -> None:
    code = "for d in / /dev /etc /run /run/stanch /usr /opt /var /proc; do echo x > $d/f && echo $d; done; true"
    assert "Read-only file system" in (said := bash(bubblewrap, place, code).fine)
    assert [line for line in said.splitlines() if line.startswith("/")] == []


@pytest.mark.parametrize("code", ["yes", "yes >&2", "cat /dev/zero", "yes | tee /dev/stderr"])
def test_output(sandbox: Sandbox, place: Path, code: str) -> None:
    done = bash(sandbox, place, code, output_bytes=100 * KIB)
    if "tee" in code and sandbox.name == "sandlock":
        return  # there is no /dev/stderr
    ends(done, How.TOO_MUCH_OUTPUT, "more than 100 KiB of output")
    assert len(done.output) == 100 * KIB


def test_output_that_is_just_allowed(sandbox: Sandbox, place: Path) -> None:
    done = bash(sandbox, place, "head -c 102400 /dev/zero", output_bytes=100 * KIB)
    assert len(done.fine) == 102400


@pytest.fixture
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of its own that is nearly full from the start."""
    mounted = place / "disk"
    mounted.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "none", str(mounted)]
    if (
        os.geteuid()
        or shutil.which("mount") is None
        or subprocess.run(words, capture_output=True, check=False).returncode
    ):
        pytest.skip("only root can mount a small disk")
    yield mounted
    subprocess.run(["umount", "-l", str(mounted)], check=True)


def test_a_full_disk(sandbox: Sandbox, small_disk: Path) -> None:
    code = "f = open('f', 'wb')\nwhile True: f.write(bytes(10_000))"
    ends(python(sandbox, small_disk, code), How.DISK_FULL, "disk of the machine is full")


def test_no_core_is_dumped(sandbox: Sandbox, place: Path) -> None:
    done = python(sandbox, place, "import os; os.abort()")
    assert (done.ended.how, done.ended.code) == (How.BY_ITSELF, 128 + 6)
    assert "SIGABRT" in done.ended.said
    assert list(place.iterdir()) == []


def test_everything_runs_out_in_turn(sandbox: Sandbox, place: Path) -> None:
    """What is left of one run does not hinder the next."""
    for code, how in (("yes", How.TOO_MUCH_OUTPUT), ("sleep 60", How.TOO_LATE), ("true", How.BY_ITSELF)):
        assert bash(sandbox, place, code, output_bytes=KIB, seconds=0.5).ended.how is how
    assert running(str(place)) == []


@pytest.mark.soak
def test_a_long_bomb(sandbox: Sandbox, place: Path) -> None:
    for _ in range(20):
        start = time.monotonic()
        ends(bash(sandbox, place, "b() { b | b & b | b & wait; }; b"), How.TOO_MANY_PROCESSES, "processes")
        assert time.monotonic() - start < 60
