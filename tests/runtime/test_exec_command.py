"""Does a command run as it was judged: in that directory, with that shell and environment, and is its output told?"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from stanch.runtime.builtin import executing
from stanch.runtime.builtin.executing import EXECUTE_CMD, execute_cmd
from stanch.runtime.builtin.executing_run import Ran, run
from stanch.runtime.environment import environment_for
from stanch.values.message import Origin, SourceTag
from tests.runtime.exec_jobs import HERE, job, ran


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = Path(os.path.realpath(tmp_path))
    for name in ("work", "home", "elsewhere"):
        (root / name).mkdir()
    monkeypatch.setenv("HOME", str(root / "home"))
    return root / "work"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo hi", "hi\n[exit code 0]"),
        ("true", "[exit code 0]"),
        ("printf 'no end'", "no end\n[exit code 0]"),
        ("echo 1; echo 2 >&2; echo 3; echo 4 >&2", "1\n2\n3\n4\n[exit code 0]"),
        ("exit 3", "[exit code 3]"),
        ("kill -9 $$", "[ended by SIGKILL]"),
        ("echo hi | tr h j && echo $(( 1 + 1 ))", "ji\n2\n[exit code 0]"),
        ("printf 'a\\0b\\377'", "a\ufffdb\ufffd\n[exit code 0]"),
        ("cat; echo read", "read\n[exit code 0]"),
        ("for i in 1 2; do\n  echo $i\ndone", "1\n2\n[exit code 0]"),
        ("echo 'ü €'", "ü €\n[exit code 0]"),
        ("echo $0 $#", "bash 0\n[exit code 0]"),
        ("tty", "not a tty\n[exit code 1]"),
        ("[[ $- == *i* ]] || shopt -q login_shell || echo plain", "plain\n[exit code 0]"),
    ],
)
def test_what_a_command_wrote_and_how_it_ended_is_told(here: Path, command: str, text: str) -> None:
    output = ran(here, command)
    assert (output.text, output.failed) == (text, False)


@pytest.mark.parametrize("command", ["-x", "--version", "-c 'echo no'", "-i", "+x"])
def test_a_command_is_no_option_of_the_shell(here: Path, command: str) -> None:
    program = command.split(maxsplit=1)[0]
    assert ran(here, command).text == f"bash: line 1: {program}: command not found\n[exit code 127]"


@pytest.mark.parametrize("given", [None, 1, "", "echo \0", "echo \ud800", ["echo"]])
def test_what_is_no_command_is_not_run(here: Path, given: object) -> None:
    output = execute_cmd(job(here, given))
    assert output.failed
    assert output.text.startswith("The argument command")


@pytest.mark.parametrize("given", [0, -1, 600.5, 10**400, float("nan"), float("inf"), "5", True, [5]])
def test_a_time_out_has_a_range(here: Path, given: object) -> None:
    output = execute_cmd(job(here, "touch ran", given))
    assert output.failed
    assert output.text == "The argument timeout has to be a number of seconds, at most 600"
    assert not (here / "ran").exists()


def test_its_arguments_are_described() -> None:
    assert EXECUTE_CMD.name == "execute_cmd"
    assert set(EXECUTE_CMD.parameters["properties"]) == {"command", "timeout"}
    assert EXECUTE_CMD.parameters["properties"]["timeout"]["maximum"] == 600


def test_a_command_that_is_too_long_never_starts(here: Path) -> None:
    output = ran(here, ": " + "x" * 200_000)
    assert (output.text, output.failed) == ("[never started: argument list too long]", True)


def test_a_long_output_is_cut(here: Path) -> None:
    output = ran(here, "seq 1 100000")
    assert output.text.startswith("1\n2\n3\n")
    assert output.text.endswith("\n99999\n100000\n[exit code 0]")
    assert re.search(r"\n\[… [\d,]+ bytes left out …\]\n\d+\n", output.text)
    assert len(output.text) < 70_000


# --- the directory --------------------------------------------------------------------------------------------------


def test_it_starts_in_the_directory_of_the_session(here: Path) -> None:
    assert ran(here, "pwd; pwd -P; echo $PWD; echo ${OLDPWD-none}").text.split("\n")[:4] == [str(here)] * 3 + ["none"]


@pytest.mark.parametrize("name", ["work", ""])
def test_a_directory_that_was_swapped_for_a_link_is_not_entered(here: Path, name: str) -> None:
    swapped = here if name else here.parent
    given = job(here, "touch ran")
    swapped.rename(swapped.with_name("moved"))
    swapped.symlink_to(swapped.with_name("moved"))
    output = execute_cmd(given)
    assert output.failed
    assert "changed" in output.text
    assert not (here / "ran").exists()


@pytest.mark.parametrize("instead", ["nothing", "file"])
def test_a_directory_that_is_gone_is_told(here: Path, instead: str) -> None:
    given = job(here, "touch ran")
    here.rmdir()
    if instead == "file":
        here.write_text("", "utf-8")
    assert execute_cmd(given).failed


def test_what_is_swapped_in_the_last_moment_is_not_entered(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved, other = here.with_name("moved"), here.with_name("elsewhere")

    def late(*words: Any, **options: Any) -> Ran:
        here.rename(moved)
        here.symlink_to(other)
        return run(*words, **options)

    monkeypatch.setattr(executing, "run", late)
    assert not ran(here, "touch ran").failed
    assert (moved / "ran").exists()
    assert not (other / "ran").exists()


def test_the_name_of_a_link_does_not_become_the_directory(here: Path) -> None:
    # `cd ..` goes by the spelling in $PWD where that leads to the same place, and the gate went by the canonical path.
    link = here.with_name("elsewhere") / "link"
    link.symlink_to(here)
    output = ran(here, "cd ..; pwd", environment={**HERE, "PWD": str(link)})
    assert output.text == f"{here.parent}\n[exit code 0]"


# --- the environment ------------------------------------------------------------------------------------------------


def test_home_is_the_one_that_was_judged(here: Path) -> None:
    expected = os.path.expanduser("~")
    output = ran(here, "echo ~ $HOME", environment={**HERE, "HOME": "/elsewhere"})
    assert output.text == f"{expected} {expected}\n[exit code 0]"


@pytest.mark.parametrize(
    ("name", "held", "command", "text"),
    [
        ("BASH_ENV", "{elsewhere}/code", "true", ""),
        ("ENV", "{elsewhere}/code", "true", ""),
        ("BASH_FUNC_pwd%%", "() {{ echo other code; }}", "pwd", "{work}\n"),
        ("CDPATH", "{elsewhere}", "mkdir sub; cd sub; pwd", "{work}/sub\n"),
        ("GLOBIGNORE", "*a", "touch a b; echo *", "a b\n"),
        ("SHELLOPTS", "noglob", "touch a b; echo *", "a b\n"),
        ("BASHOPTS", "dotglob", "touch a .b; echo *", "a\n"),
        ("SSH_CLIENT", "1.2.3.4 5 6", "true", ""),
        ("SSH2_CLIENT", "1.2.3.4 5 6", "true", ""),
        ("EXECIGNORE", "*/cat", "type -t cat", "file\n"),
        ("POSIXLY_CORRECT", "1", "[[ :$SHELLOPTS: == *:posix:* ]] || echo bash", "bash\n"),
        ("OLDPWD", "{elsewhere}", "cd - 2>/dev/null; pwd", "{work}\n"),
    ],
)
def test_nothing_changes_what_bash_makes_of_a_command(
    here: Path, name: str, held: str, command: str, text: str
) -> None:
    places = {"elsewhere": here.with_name("elsewhere"), "work": here}
    for code in (here.with_name("elsewhere") / "code", here.with_name("home") / ".bashrc"):
        code.write_text("echo other code\n", "utf-8")
    output = ran(here, command, environment={**HERE, name: held.format(**places)})
    assert output.text == text.format(**places) + "[exit code 0]"


def test_no_secret_of_the_server_is_in_reach(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-agents")
    monkeypatch.setenv("STANCH_TOKEN", "not-for-agents")
    output = ran(here, "env; echo; cat /proc/$PPID/environ /proc/self/environ", environment=environment_for(os.environ))
    assert "PATH=" in output.text
    assert "not-for-agents" not in output.text


def test_no_descriptor_of_the_server_is_passed_on(here: Path) -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        assert ran(here, "ls /proc/$$/fd; true").text == "0\n1\n2\n[exit code 0]"
    finally:
        os.close(read)
        os.close(write)


# --- where its output came from -------------------------------------------------------------------------------------


def closed(directory: str, /) -> tuple[tuple[str, ...], bool]:
    found = [os.path.join(where, name) for where, _, names in os.walk(directory) for name in names if name == ".env"]
    return tuple(sorted(found)), True


def test_what_a_resolved_command_read_is_its_source(here: Path) -> None:
    (here / "a").write_text("a", "utf-8")
    assert ran(here, "echo", reads=()).tags == ()
    assert ran(here, "cat a a", reads=(f"{here}/a", f"{here}/a")).tags == (SourceTag(f"{here}/a"),)
    assert ran(here, "cat a; rm a", reads=(f"{here}/a",)).tags == (SourceTag(f"{here}/a"),)


def test_a_directory_that_was_read_is_one_with_all_below(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub" / ".env").write_text("KEY", "utf-8")
    tag = SourceTag(f"{here}/sub", Origin.SUBTREE, below=(f"{here}/sub/.env",))
    assert ran(here, "grep -r K sub", reads=(f"{here}/sub",), closed_below=closed).tags == (tag,)
    assert ran(here, "grep -r K sub; rm -r sub", reads=(f"{here}/sub",), closed_below=closed).tags == (tag,)


def test_a_command_that_was_not_resolved_may_have_read_all_below(here: Path) -> None:
    (here / ".env").write_text("KEY", "utf-8")
    whole = SourceTag(str(here), Origin.SUBTREE, below=(f"{here}/.env",))
    assert ran(here, "cat $x", reads=None, closed_below=closed).tags == (whole,)
    assert ran(here, "cat .env; rm .env", reads=None, closed_below=closed).tags == (whole,)
    also = ran(here, "cat $x", reads=None, also_reads=("/etc/hostname", "/etc"), closed_below=lambda _: ((), True)).tags
    assert also == (
        SourceTag("/etc/hostname"),
        SourceTag("/etc", Origin.SUBTREE),
        SourceTag(str(here), Origin.SUBTREE),
    )


def test_what_comes_to_lie_below_while_it_runs_counts(here: Path) -> None:
    hidden = here.with_name("elsewhere") / ".env"
    hidden.write_text("KEY", "utf-8")
    output = ran(here, "mv ../elsewhere/.env . && cat .env", reads=None, closed_below=closed)
    assert output.tags == (SourceTag(str(here), Origin.SUBTREE, below=(f"{here}/.env",)),)
    late = ran(here, "mkdir sub; mv .env sub; cat sub/*", reads=(f"{here}/sub",), closed_below=closed)
    assert late.tags == (SourceTag(f"{here}/sub", Origin.SUBTREE, below=(f"{here}/sub/.env",)),)


def test_where_nobody_looked_nothing_is_known(here: Path) -> None:
    (tag,) = ran(here, "cat $x", reads=None).tags
    assert tag == SourceTag(str(here), Origin.SUBTREE, all_below=False)


def test_where_only_half_could_be_looked_at_not_all_is_known(here: Path) -> None:
    looks = iter([((), False), ((), True)])
    (tag,) = ran(here, "cat $x", reads=None, closed_below=lambda _: next(looks)).tags
    assert not tag.all_below


def test_a_command_that_failed_has_its_sources_all_the_same(here: Path) -> None:
    output = ran(here, "cat a; kill -9 $PPID; sleep 300", reads=(f"{here}/a",))
    assert output.failed
    assert output.tags == (SourceTag(f"{here}/a"),)
