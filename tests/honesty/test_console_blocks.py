"""Do the commands and programs that the documents show run, and do they end and print as the documents say?

In a fenced block marked `console`, each line that begins with `$ ` is a command. Those that run `stanch` are run, one
after the other, in a directory per document that holds a copy of docs/examples. `# exit N`, behind the command or on
a line below it, says how it ends; without it, a command ends with 0. Lines below a command are what it prints, word for
word; a line `...` stands for any number of lines, and the directory is written as /home/you/stanch/docs/examples. All
other commands are left alone.

A fenced block marked `python` whose first line is `# run` is run there as well, and has to end without an error. A
fenced block marked `toml` that begins with `version = 1` has to be a policy without a problem and without a finding.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from stanch.app.linting import check_file
from stanch.policy.lint import lint

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60
# How documents write the directory in which their commands are run.
SHOWN_DIRECTORY = "/home/you/stanch/docs/examples"

BLOCK = re.compile(r"^```console[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"^```python[^\n]*\n(# run\n.*?)^```", re.MULTILINE | re.DOTALL)
POLICY = re.compile(r"^```toml[^\n]*\n(version = 1\n.*?)^```", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"\s*# exit (\d+)\s*$")
RUNS_STANCH = re.compile(r"(?:^|[|&;]\s*)stanch(?:\s|$)")


@dataclass(frozen=True)
class Command:
    """A command that a document shows, the exit code that it promises, and what it prints where that is shown."""

    line: str
    code: int = 0
    prints: tuple[str, ...] = ()


def commands(page: str) -> list[Command]:
    """The commands of a page that run stanch, in order."""
    found: list[Command] = []
    for block in BLOCK.findall(page):
        shown: list[Command] = []
        for line in re.sub(r"\\\n>? *", "", block).splitlines():
            promise = EXIT.search(line)
            code = int(promise[1]) if promise else 0
            if line.startswith("$ "):
                shown.append(Command(EXIT.sub("", line[2:]).strip(), code))
            elif promise and shown:
                shown[-1] = Command(shown[-1].line, code, shown[-1].prints)
            elif shown:
                shown[-1] = Command(shown[-1].line, shown[-1].code, (*shown[-1].prints, line))
        found += [one for one in shown if RUNS_STANCH.search(one.line)]
    return found


def run(command: Command, directory: Path) -> str | None:
    """Runs a command as a reader would; returns what is wrong with how it ended, or with what it printed."""
    ended = _run(["/bin/sh", "-c", command.line], directory)
    said = ended.stdout.replace(str(directory), SHOWN_DIRECTORY)
    if ended.returncode != command.code:
        what = f"ended with {ended.returncode}, the document says {command.code}"
        return f"$ {command.line}\n{what}:\n{(said + ended.stderr).strip()}"
    if command.prints and not prints(command.prints, said):
        return f"$ {command.line}\nprints something else than the document says:\n{said}"
    return None


def run_program(text: str, directory: Path) -> str | None:
    """Runs a program as a reader would; returns what is wrong with how it ended."""
    ended = _run([sys.executable, "-W", "error", "-c", text], directory)
    return None if ended.returncode == 0 else f"{text}\nended with:\n{ended.stderr}"


def _run(words: list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    environment = {"PATH": path, "HOME": str(directory.parent), "LANG": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "120"}
    return subprocess.run(
        words, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip


def prints(shown: tuple[str, ...], said: str) -> bool:
    """True where the lines are those that were printed, each `...` standing for any number of them."""
    lines = "".join(".*" if line == "..." else re.escape(line) + "\n" for line in shown)
    return re.fullmatch(lines, said, re.DOTALL) is not None


DOCUMENTS = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if path.is_file()]
PAGES = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in DOCUMENTS}
SHOWN = {name: commands(page) for name, page in PAGES.items()}
PROGRAMS = [(name, text) for name, page in PAGES.items() for text in PROGRAM.findall(page)]
POLICIES = [(name, text) for name, page in PAGES.items() for text in POLICY.findall(page)]


@pytest.fixture
def directory(root: Path, tmp_path: Path) -> Path:
    """A copy of the examples, in which a document's commands and programs are run."""
    found = Path(shutil.copytree(root / "docs" / "examples", tmp_path.resolve() / "project"))
    assert (found / "stanch.toml").is_file()
    return found


def test_the_documents_show_stanch_at_work() -> None:
    assert SHOWN.get("README.md"), "README.md has no console block with a `$ stanch` command"
    assert {"README.md", "docs/library.md"} <= {name for name, _ in PROGRAMS}
    assert {"README.md", "docs/policy.md"} <= {name for name, _ in POLICIES}


@pytest.mark.parametrize("document", [name for name, shown in SHOWN.items() if shown])
def test_commands_end_and_print_as_the_document_says(document: str, directory: Path) -> None:
    problems = [problem for one in SHOWN[document] if (problem := run(one, directory))]
    assert not problems, "\n\n".join(problems)


@pytest.mark.parametrize(("document", "text"), PROGRAMS, ids=[f"{name} {at}" for at, (name, _) in enumerate(PROGRAMS)])
def test_programs_run(document: str, text: str, directory: Path) -> None:
    problem = run_program(text, directory)
    assert problem is None, f"{document}:\n{problem}"


@pytest.mark.parametrize(("document", "text"), POLICIES, ids=[f"{name} {at}" for at, (name, _) in enumerate(POLICIES)])
def test_policies_have_no_problem_and_no_finding(document: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "stanch.toml").write_text(text, "utf-8")
    checked = check_file(tmp_path / "stanch.toml")
    assert checked.problems == (), document
    assert lint(checked.policy) == [], document


def test_commands_are_found_with_their_codes_and_what_they_print() -> None:
    page = """
```console
$ ./run up
$ pip install stanch
$ stanch check read_file a   # exit 3
Ask: no rule matched
...
$ echo '{}' | stanch check \\
>   --stdin
# exit 2
$ stanch explain
```
```sh
$ stanch nothing
```
"""
    assert commands(page) == [
        Command("stanch check read_file a", 3, ("Ask: no rule matched", "...")),
        Command("echo '{}' | stanch check --stdin", 2),
        Command("stanch explain", 0),
    ]


@pytest.mark.parametrize(("line", "code", "fine"), [("exit 3", 3, True), ("exit 3", 0, False), ("true", 1, False)])
def test_a_wrong_exit_code_is_noticed(line: str, code: int, fine: bool, tmp_path: Path) -> None:
    assert (run(Command(line, code), tmp_path) is None) is fine


@pytest.mark.parametrize(
    ("shown", "fine"),
    [
        (("one", "two", "three"), True),
        (("one", "..."), True),
        (("...", "three"), True),
        (("one", "...", "three"), True),
        (("one", "two"), False),
        (("one", "tw.", "three"), False),
        (("one", "...", "four"), False),
    ],
)
def test_wrong_output_is_noticed(shown: tuple[str, ...], fine: bool, tmp_path: Path) -> None:
    assert (run(Command("printf 'one\\ntwo\\nthree\\n'", 0, shown), tmp_path) is None) is fine


def test_a_directory_is_shown_as_the_readers_own(tmp_path: Path) -> None:
    assert run(Command("pwd -P", 0, (SHOWN_DIRECTORY,)), tmp_path.resolve()) is None


@pytest.mark.parametrize(("text", "fine"), [("assert 1\n", True), ("assert 0\n", False), ("nothing\n", False)])
def test_a_program_that_fails_is_noticed(text: str, fine: bool, tmp_path: Path) -> None:
    assert (run_program(text, tmp_path) is None) is fine
    assert PROGRAM.findall(f"```python\n# run\n{text}```\n```python\n{text}```\n") == [f"# run\n{text}"]
