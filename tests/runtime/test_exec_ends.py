"""Does every command come to its end, with all that it started, whatever it does against that?"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stanch.runtime.builtin import executing_run
from stanch.runtime.builtin.executing import execute_cmd
from tests.runtime.exec_jobs import job, lives, ran
from tests.server.processes import until

ROOT = Path(__file__).parents[2]
# Each starts something that would run for long, and writes its process id.
LEAVING = {
    "a child": "sleep 300 & echo $!",
    "a child that hears no signal": "(trap '' TERM HUP INT; echo $BASHPID; sleep 300; sleep 300) & sleep 0.1",
    "another session": "setsid bash -c 'echo $$; exec sleep 300' & sleep 0.1",
    "another session, with deaf ears": "setsid bash -c 'trap \"\" TERM HUP; echo $$; sleep 300; sleep 300' & sleep 0.1",
    "a daemon": "(setsid bash -c '(echo $BASHPID; exec sleep 300) & exit' &); sleep 0.1",
    "what hangs up nowhere": "nohup sleep 300 > /dev/null & echo $!; disown",
    "what was halted": "sleep 300 & echo $!; kill -STOP $!",
    "what closes its output": "(echo $BASHPID; exec sleep 300 > /dev/null 2>&1) & sleep 0.1",
}


def processes(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"^(\d+)$", text, re.MULTILINE)]


@pytest.mark.parametrize("what", LEAVING)
def test_nothing_that_a_command_started_outlives_it(tmp_path: Path, what: str) -> None:
    output = ran(tmp_path, LEAVING[what], 60)
    assert output.text.endswith("[exit code 0]\n[what it had left running was ended with it]")
    (process,) = processes(output.text)
    assert not lives(process)
    assert not output.failed


@pytest.mark.parametrize("what", LEAVING)
def test_a_command_whose_time_is_up_ends_with_all_it_started(tmp_path: Path, what: str) -> None:
    output = ran(tmp_path, f"{LEAVING[what]}; sleep 300", 0.5)
    assert output.text.endswith("[ended after 0.5 seconds, the longest that it might take]")
    assert output.failed
    (process,) = processes(output.text)
    assert not lives(process)


def test_a_command_is_asked_before_it_is_ended(tmp_path: Path) -> None:
    output = ran(tmp_path, "trap 'echo bye; exit 5' TERM; sleep 300 & wait", 0.3)
    assert output.text == "bye\n[ended after 0.3 seconds, the longest that it might take]"


@pytest.mark.parametrize("how", ["trap '' TERM; echo $$; sleep 300; sleep 300; sleep 300", "echo $$; kill -STOP $$"])
def test_a_command_that_hears_nothing_is_ended(tmp_path: Path, how: str) -> None:
    output = ran(tmp_path, how, 0.3)
    assert output.text.endswith("[ended after 0.3 seconds, the longest that it might take]")
    assert not lives(*processes(output.text))


def test_a_command_that_was_halted_is_asked_too(tmp_path: Path) -> None:
    output = ran(tmp_path, "trap 'echo bye; exit 5' TERM; kill -STOP $$", 0.3)
    assert output.text == "bye\n[ended after 0.3 seconds, the longest that it might take]"


def test_what_is_about_to_end_is_waited_for(tmp_path: Path) -> None:
    output = ran(tmp_path, "echo a > >(sleep 0.2; cat)")
    assert output.text == "a\n[exit code 0]"


def test_a_command_that_nobody_waits_for_ends(tmp_path: Path) -> None:
    given = job(tmp_path, "sleep 300 & echo $$ $! > ids.new; mv ids.new ids; wait", reads=())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(execute_cmd, given)
        until((tmp_path / "ids").exists, "the command runs")
        given.cancelled.set()
        output = waiting.result(30)
    assert (output.text, output.failed) == ("[ended, since nobody waits for it any more]", True)
    assert not any(lives(int(process)) for process in (tmp_path / "ids").read_text("utf-8").split())


def test_a_command_that_nobody_waits_for_is_not_even_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executing_run, "_WARDEN", str(tmp_path / "nothing"))  # to start it would be told otherwise
    cancelled = threading.Event()
    cancelled.set()
    output = ran(tmp_path, "touch ran", cancelled=cancelled)
    assert (output.text, output.failed) == ("[ended, since nobody waits for it any more]", True)


def test_a_warden_that_does_not_start_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executing_run, "_WARDEN", str(tmp_path / "nothing"))
    output = ran(tmp_path, "touch ran")
    assert output.failed
    assert "nobody knows how" in output.text


SERVER = """
import pathlib, sys
from tests.runtime.exec_jobs import ran
ran(pathlib.Path(sys.argv[1]), sys.argv[2], 60)
"""


def server_with(command: str, place: Path) -> tuple[subprocess.Popen[bytes], list[int]]:
    """A process that runs the command as a server would, and the numbers that the command has written to `ids`."""
    words = [sys.executable, "-c", SERVER, str(place), command]
    server = subprocess.Popen(words, cwd=ROOT)
    until((place / "ids").exists, "the command runs")
    return server, [int(process) for process in (place / "ids").read_text("utf-8").split()]


def test_all_ends_when_the_server_dies(tmp_path: Path) -> None:
    command = "sleep 300 & setsid sleep 300 & echo $$ $PPID $(jobs -p) > ids.new; mv ids.new ids; wait"
    server, found = server_with(command, tmp_path)
    with server:
        server.kill()
    assert len(found) == 4
    until(lambda: not any(lives(process) for process in found), "all of them end")


def test_a_shell_ends_when_its_warden_dies_and_nobody_else_is_there(tmp_path: Path) -> None:
    server, (shell, warden) = server_with("echo $$ $PPID > ids.new; mv ids.new ids; exec sleep 300", tmp_path)
    with server:
        os.kill(warden, signal.SIGSTOP)  # so that it does not notice that the server is gone
        server.kill()
    os.kill(warden, signal.SIGKILL)
    until(lambda: not lives(shell), "it ends")


def test_a_command_may_end_its_warden_and_ends_with_it(tmp_path: Path) -> None:
    output = ran(tmp_path, "sleep 300 & echo $!; echo $$; kill -9 $PPID; sleep 300", 60)
    assert output.failed
    assert "nobody knows how" in output.text
    found = processes(output.text)
    assert len(found) == 2
    until(lambda: not any(lives(process) for process in found), "both of them end")


def test_what_escapes_for_good_is_told_and_not_waited_for(tmp_path: Path) -> None:
    escaping = "setsid bash -c 'echo $$; sleep 20; touch late' & sleep 0.1; kill -9 $PPID; sleep 300"
    output = ran(tmp_path, escaping, 60)
    assert not (tmp_path / "late").exists()
    (group,) = processes(output.text)
    os.killpg(group, signal.SIGKILL)
    assert output.text.endswith("[some of what it started may still be running, and cannot be ended from here]")


@pytest.mark.parametrize("number", ["TERM", "INT", "HUP", "PIPE", "CHLD"])
def test_a_warden_hears_nothing_of_what_a_command_says(tmp_path: Path, number: str) -> None:
    assert ran(tmp_path, f"kill -{number} $PPID; sleep 0.1; echo on", 60).text == "on\n[exit code 0]"


def test_a_command_may_halt_its_warden_and_ends_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executing_run, "_PATIENCE", 0.5)
    output = ran(tmp_path, "echo $$; kill -STOP $PPID; sleep 300", 0.3)
    assert output.failed
    (process,) = processes(output.text)
    until(lambda: not lives(process), "it ends")


def test_it_writes_without_end_and_ends(tmp_path: Path) -> None:
    output = ran(tmp_path, "yes", 0.5)
    assert output.text.endswith("y\n[ended after 0.5 seconds, the longest that it might take]")
    assert len(output.text) < 70_000


def test_it_makes_more_and_more_and_ends(tmp_path: Path) -> None:
    output = ran(tmp_path, "f() { sleep 0.2; f & }; for i in 1 2 3 4 5; do f & done; sleep 300", 0.7)
    assert "may still be running" not in output.text
    assert output.text.endswith("[ended after 0.7 seconds, the longest that it might take]")


def test_no_descriptor_and_no_process_is_left_behind(tmp_path: Path) -> None:
    def held() -> tuple[int, set[str]]:
        """How many descriptors this process has, and its children: other tests of this process may have left some."""
        children = [task.read_text("ascii").split() for task in Path("/proc/self/task").glob("*/children")]
        return len(os.listdir("/proc/self/fd")), {child for found in children for child in found}

    commands = ["true", "exit 3", "sleep 300 & :", "kill -9 $PPID", "x" * 200_000]
    ran(tmp_path, "true")
    before = held()
    for command in commands:
        ran(tmp_path, command, 60)
    assert held() == before


def test_many_at_once_do_not_mix(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: ran(tmp_path, f"sleep 0.1; echo {n}; exit {n}", 60).text, range(16)))
    assert found == [f"{number}\n[exit code {number}]" for number in range(16)]


def test_signals_are_as_a_fresh_shell_has_them(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        output = ran(tmp_path, "grep -E 'Sig(Blk|Ign)' /proc/self/status; yes | head -1; echo ${PIPESTATUS[0]}")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        signal.signal(signal.SIGTERM, before)
    assert re.findall(r":\s+(\S+)", output.text) == ["0" * 16] * 2
    assert output.text.endswith("y\n141\n[exit code 0]")
