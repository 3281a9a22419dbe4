"""Is nothing left of a program, however it comes to its end?"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stanch.runtime.sandbox import running as running_module
from stanch.runtime.sandbox.program import How, Program, Sandbox
from tests.runtime.sandbox.confined import LIMITS, NAMES, bash, below, descriptors, python, ran, running
from tests.runtime.sandbox.conftest import usable
from tests.server.processes import until

ROOT = Path(__file__).parents[3]
# Each leaves something that would run for long, with a mark among its words.
LEAVING = {
    "a child": "sleep 300.{0} &",
    "one that hears no signal": "(trap '' TERM HUP INT; exec sleep 300.{0}) &",
    "another session": "setsid sleep 300.{0} &",
    "a daemon": "(setsid bash -c '(exec sleep 300.{0}) & exit' &)",
    "what hangs up nowhere": "nohup sleep 300.{0} > /dev/null & disown",
    "what was halted": "sleep 300.{0} & kill -STOP $!",
    "what closes its output": "(exec sleep 300.{0} > /dev/null 2>&1 < /dev/null) &",
}


def mark() -> str:
    return str(secrets.randbelow(10**9) + 10**9)


@pytest.mark.parametrize("what", LEAVING)
def test_nothing_that_it_started_outlives_it(sandbox: Sandbox, place: Path, what: str) -> None:
    name = mark()
    done = bash(sandbox, place, f"{LEAVING[what].format(name)}\necho done; exit 7")
    assert (done.ended.how, done.ended.code, done.output) == (How.BY_ITSELF, 7, "done\n")
    assert running(f"300.{name}") == []


def test_nothing_outlives_its_time(sandbox: Sandbox, place: Path) -> None:
    name = mark()
    code = "\n".join(code.format(name) for code in LEAVING.values())
    assert bash(sandbox, place, f"{code}\nsleep 300.{name}", seconds=0.7).ended.how is How.TOO_LATE
    assert running(f"300.{name}") == []


def test_one_that_nobody_waits_for_ends(sandbox: Sandbox, place: Path) -> None:
    cancelled, name = threading.Event(), mark()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(bash, sandbox, place, f"setsid sleep 300.{name} & touch here; wait", cancelled=cancelled)
        until((place / "here").exists, "the program runs")
        cancelled.set()
        done = waiting.result(30)
    assert (done.ended.how, done.ended.said) == (How.NOT_WANTED, "It was ended, since nobody waits for it any more.")
    assert running(f"300.{name}") == []


def test_one_that_nobody_waits_for_is_not_even_started(sandbox: Sandbox, place: Path) -> None:
    cancelled = threading.Event()
    cancelled.set()
    assert bash(sandbox, place, "touch here", cancelled=cancelled).ended.how is How.NOT_WANTED
    assert list(place.iterdir()) == []


def test_what_its_reader_raises_ends_it(sandbox: Sandbox, place: Path) -> None:
    name = mark()

    def out(_: bytes) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bash(sandbox, place, f"echo a; exec sleep 300.{name}", out=out)
    assert running(f"300.{name}") == []


def test_output_comes_as_it_is_written(sandbox: Sandbox, place: Path) -> None:
    """The program goes on only once its first line has arrived."""
    said: list[bytes] = []

    def out(piece: bytes) -> None:
        said.append(piece)
        (place / "heard").touch()

    bash(sandbox, place, "echo first; until [ -e heard ]; do sleep 0.01; done; echo second >&2", out=out)
    assert said == [b"first\n", b"second\n"]


SERVER = """
import sys, threading
from pathlib import Path
from tests.runtime.sandbox.confined import bash, sandbox_named
bash(sandbox_named(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], seconds=120.0)
"""


@pytest.mark.parametrize("name", NAMES)
def test_all_ends_when_the_server_dies(name: str, place: Path) -> None:
    usable(name)
    number = mark()
    code = f"setsid sleep 300.{number} & sleep 300.{number} & touch here; wait"
    with subprocess.Popen([sys.executable, "-c", SERVER, name, str(place), code], cwd=ROOT) as server:
        try:
            until((place / "here").exists, "the program runs")
            until(lambda: len(running(f"sleep\x00300.{number}")) == 2, "all of it runs")
        finally:
            server.kill()
    until(lambda: running(f"300.{number}") == [], "all of it has ended")


def test_all_ends_when_the_warden_is_killed(bubblewrap: Sandbox, place: Path) -> None:
    number, before = mark(), below()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(bash, bubblewrap, place, f"setsid sleep 300.{number} & touch here; wait")
        until((place / "here").exists, "the program runs")
        (warden,) = below() - before
        os.kill(warden, signal.SIGKILL)
        done = waiting.result(60)
    assert done.ended.how is How.LOST
    until(lambda: running(f"300.{number}") == [], "all of it has ended")


def test_nothing_is_leaked(sandbox: Sandbox, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    bash(sandbox, place, "true")
    before = (descriptors(), below(), threading.active_count(), list(tmp_path.iterdir()))
    for code in ("true", "yes", "sleep 60", "nothing-of-this-name", "setsid sleep 60 & exit 3"):
        bash(sandbox, place, code, seconds=0.5, output_bytes=1000, stdin=b"x" * 100_000)
    after = (descriptors(), below(), threading.active_count(), list(tmp_path.iterdir()))
    assert after == before


def test_several_run_at_once(sandbox: Sandbox, place: Path) -> None:
    def one(number: int) -> str:
        inside = place / str(number)
        inside.mkdir()
        return bash(sandbox, inside, f"echo {number} > f; sleep 0.1; cat f").fine

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(6))) == [f"{number}\n" for number in range(6)]


def test_a_program_cannot_say_how_it_ended(sandbox: Sandbox, place: Path) -> None:
    forged = json.dumps({"how": "BY_ITSELF", "code": 0, "why": ""})
    code = (
        f"import os\nfor n in range(1, 200):\n  try: os.write(n, b'{forged}\\n')\n  except OSError: pass\nos._exit(9)"
    )
    assert python(sandbox, place, code).ended.code == 9


def test_a_directory_that_is_not_there(sandbox: Sandbox, place: Path) -> None:
    done = bash(sandbox, place / "absent", "echo a")
    assert (done.ended.how, done.output) == (How.NEVER_STARTED, "")
    assert done.ended.said.startswith("It was never started: ")


def test_a_program_that_is_not_there(sandbox: Sandbox, place: Path) -> None:
    done = ran(sandbox, place, "nothing-of-this-name")
    assert done.ended.code != 0
    assert "nothing-of-this-name" in done.output


def test_what_is_to_be_read_need_not_be_read(sandbox: Sandbox, place: Path) -> None:
    assert bash(sandbox, place, "echo a", stdin=b"x" * 3_000_000).fine == "a\n"
    assert bash(sandbox, place, "wc -c", stdin=b"x" * 3_000_000).fine == "3000000\n"
    assert bash(sandbox, place, "wc -c").fine == "0\n"


def test_what_is_to_be_read_cannot_be_changed(bubblewrap: Sandbox, place: Path) -> None:
    code = "import os\ntry: os.write(os.open('/proc/self/fd/0', os.O_RDWR), b'y')\nexcept OSError as e: print('held')"
    assert python(bubblewrap, place, code, stdin=b"x").fine == "held\n"


def test_a_warden_that_does_not_start_is_told(place: Path, monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox) -> None:
    monkeypatch.setattr(running_module, "_START", "raise SystemExit(1)")
    assert bash(sandbox, place, "touch here").ended.how is How.LOST
    monkeypatch.setattr(sys, "executable", str(place / "nothing"))
    assert bash(sandbox, place, "touch here").ended.how is How.NEVER_STARTED
    assert list(place.iterdir()) == []


def test_the_program_is_not_shown_where_it_may_stand() -> None:
    shown = repr(Program(("a",), Path("/"), stdin=b"secret", limits=LIMITS))
    assert "secret" not in shown
