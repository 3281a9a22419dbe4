"""Does a person's mistake end with one clear line on standard error, exit code 2 and an empty standard output?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Stanch, call

READ = call("read_file", path="docs/a")

MISTAKES = [
    (("--tool", "read_file", "--args", "{"), "--args is no JSON: expecting property name"),
    (("--tool", "Write", "--args", "file_path=x"), """write an object, such as '{"file_path": "..."}'"""),
    (("--tool", "Write", "--args", "src/x"), """write an object, such as '{"file_path": "..."}'"""),
    (("--tool", "Bash", "--args", "ls"), """write an object, such as '{"command": "..."}'"""),
    (("--tool", "mystery", "--args", "x"), """write an object, such as '{"path": "..."}'"""),
    (("Write", "src/x"), """takes options, not words; use --tool Write --args '{"file_path": "src/x"}'"""),
    (("Write", "file_path=src/x"), """use --tool Write --args '{"file_path": "src/x"}'"""),
    (("Write", '{"file_path": "x"}'), """use --tool Write --args '{"file_path": "x"}'"""),
    (("Bash", "git", "log"), """use --tool Bash --args '{"command": "git log"}'"""),
    (("TodoWrite",), "use --tool TodoWrite --args '{}'"),
    (("--tool", "Write", "src/x"), """use --tool Write --args '{"file_path": "src/x"}'"""),
    ((*READ, "--source", "corn"), "--source: unknown source 'corn'; did you mean 'cron'? (known: web, cli, "),
    ((*READ, "--source", "fax"), "--source: unknown source 'fax' (known: web, cli, "),
    (("--tool", "read_file", "--args", "[1]"), '--args must be a JSON object such as {"path": "notes.md"}, got a list'),
    (("--tool", "read_file", "--args", "null"), "got null"),
    (("--tool", "read_file", "--args", "{}"), "read_file needs the argument 'path'"),
    (
        ("--tool", "read_file", "--args", '{"path": 7}'),
        "must be a path, as a string or a list of strings, got a number",
    ),
    (("--tool", "read_file", "--args", '{"path": "a", "path": "b"}'), "names 'path' twice"),
    (("--tool", "read_file", "--args", '{"path": ' + "[" * 5000 + "]" * 5000 + "}"), "nested too deeply"),
    (("--tool", "read_file", "--args", '{"n": ' + "9" * 5000 + "}"), "a number that is too long"),
    (("--tool", "read_file", "--args", "@nothing.json"), "the file nothing.json cannot be read"),
    (("--tool", "", "--args", "{}"), "--tool is empty"),
    ((*READ, "--policy", "nowhere.toml"), "nowhere.toml cannot be read: no such file or directory"),
    ((*READ, "--policy", "docs"), "docs cannot be read: is a directory"),
    ((*READ, "--cwd", ""), "--cwd is empty"),
    ((*READ, "--cwd", "a" * 5000), "longer than 4,096 bytes"),
    ((*READ, "--cwd", "loop"), "--cwd loop cannot be used"),
    ((*READ, "--context", "{"), "--context is no JSON"),
    ((*READ, "--context", "[]"), "--context must be a JSON object, or null for none, got a list"),
    ((*READ, "--context", '{"allow_fs_write": []}'), "unknown key 'allow_fs_write'; did you mean 'allow_fs_writes'?"),
    ((*READ, "--context", '{"allow_fs_writes": "data"}'), "'allow_fs_writes' must be a list, got a string"),
    ((*READ, "--context", '{"system_prompt": ["a", 1]}'), "'system_prompt[1]' must be a string, got a number"),
    ((*READ, "--context", '{"security_group": 5}'), "'security_group' must be"),
    ((*READ, "--context", '{"allow_fs_writes": ["data/*.csv"]}'), 'write "data", not "data/*.csv"'),
    ((*READ, "--context", '{"allow_fs_reads": ["?"]}'), "write the directory or the exact files"),
]


@pytest.mark.parametrize("command", ["check", "explain"])
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "json"])
@pytest.mark.parametrize(("words", "said"), MISTAKES, ids=[said[:40] for _, said in MISTAKES])
def test_a_mistake_is_one_line_on_standard_error(
    stanch: Stanch, project: Path, command: str, form: tuple[str, ...], words: tuple[str, ...], said: str
) -> None:
    (project / "loop").symlink_to("loop")
    ended = stanch(command, *words, *form)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("stanch: ")
    assert ended.err.count("\n") == 1
    assert said in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "--tool", "read_file"), "Missing option '--args'"),
        (("check", *READ, "--polcy", "x"), "No such option: --polcy"),
        (("chekc",), "No such command 'chekc'"),
        (("policy", "test"), "Missing argument"),
    ],
)
def test_a_wrong_option_gets_the_usage(stanch: Stanch, project: Path, words: tuple[str, ...], said: str) -> None:
    ended = stanch(*words)
    assert ended.code == 2
    assert ended.out == ""
    assert "Usage: stanch" in ended.err
    assert said in ended.err


def test_help_and_version_are_answers(stanch: Stanch) -> None:
    for words in (
        ("--help",),
        ("check", "--help"),
        ("check", "Write", "--help"),
        ("policy", "--help"),
        ("policy", "lint", "-h"),
    ):
        ended = stanch(*words)
        assert ended.code == 0
        assert "Usage: stanch" in ended.out
    assert stanch("--version").out.startswith("stanch ")


def run(words: list[bytes], directory: Path, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Runs the command as a process of its own, without a terminal."""
    command = [os.fsencode(sys.executable), b"-m", b"stanch.surfaces.cli.main", *words]
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "PYTHONWARNINGS": "error"}
    settings: dict[str, object] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options}
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, cwd=directory, env=environment, stderr=subprocess.PIPE, timeout=60, check=False, **settings
    )


def test_arguments_that_are_no_text_make_no_traceback(project: Path) -> None:
    call = [b"check", b"--tool", b"read_file", b"--args", b'{"path": "data/\xff"}']
    ended = run(call, project)
    assert ended.returncode == 11
    assert b"\\udcff" in ended.stdout
    assert ended.stderr == b""
    for words in ([b"check", b"--\xff"], [b"\xff"], [*call, b"--policy", b"\xff.toml"], [*call, b"--cwd", b"\xff"]):
        ended = run(words, project)
        assert ended.returncode == 2
        assert ended.stdout == b""
        assert b"Traceback" not in ended.stderr


def test_a_reader_that_went_away_changes_no_exit_code(project: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    call = [b"check", b"--tool", b"read_file", b"--args", b'{"path": "secrets/x"}']
    try:
        ended = run(call, project, stdout=writing)
    finally:
        os.close(writing)
    assert ended.returncode == 11
    assert ended.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_mistake_with_a_name(project: Path) -> None:
    call = [b"check", b"--tool", b"ask_user", b"--args", b"{}"]
    with open("/dev/full", "wb") as full:
        ended = run(call, project, stdout=full)
    assert ended.returncode == 2
    assert ended.stderr == b"stanch: standard output cannot be written: no space left on device\n"


def test_a_current_directory_that_is_gone_is_a_mistake(project: Path) -> None:
    script = (
        'mkdir gone && cd gone && rmdir ../gone && exec "$0" -m stanch.surfaces.cli.main check --tool x --args "{}"'
    )
    ended = subprocess.run(
        ["/bin/sh", "-c", script, sys.executable],
        cwd=project,
        capture_output=True,
        timeout=60,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(project)},
    )
    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr
    assert ended.stderr.startswith(b"stanch: the current directory is gone")
