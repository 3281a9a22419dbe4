"""Do the commands that the documents show run, and end as the documents say?

In a fenced block marked `console`, each line that begins with `$ ` is a command. Those that run `stanch` are run, one
after the other, in a directory per document that holds a copy of docs/examples. `# exit N`, behind the command or on
a line below it, says how it ends; without it, a command ends with 0. All other commands are left alone.
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

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60

BLOCK = re.compile(r"^```console[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"\s*# exit (\d+)\s*$")
RUNS_STANCH = re.compile(r"(?:^|[|&;]\s*)stanch(?:\s|$)")


@dataclass(frozen=True)
class Command:
    """A command that a document shows, and the exit code that it promises."""

    line: str
    code: int = 0


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
                shown[-1] = Command(shown[-1].line, code)
        found += [one for one in shown if RUNS_STANCH.search(one.line)]
    return found


def run(command: Command, directory: Path) -> str | None:
    """Runs a command as a reader would; returns what is wrong with how it ended."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    environment = {"PATH": path, "HOME": str(directory), "LANG": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "120"}
    ended = subprocess.run(
        ["/bin/sh", "-c", command.line],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if ended.returncode == command.code:
        return None
    said = (ended.stdout + ended.stderr).strip()
    return f"$ {command.line}\nended with {ended.returncode}, the document says {command.code}:\n{said}"


DOCUMENTS = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if path.is_file()]
SHOWN = {path.relative_to(ROOT).as_posix(): commands(path.read_text("utf-8")) for path in DOCUMENTS}


def test_the_readme_shows_stanch_at_work() -> None:
    assert SHOWN.get("README.md"), "README.md has no console block with a `$ stanch` command"


@pytest.mark.parametrize("document", [name for name, shown in SHOWN.items() if shown])
def test_commands_end_as_the_document_says(document: str, root: Path, tmp_path: Path) -> None:
    directory = tmp_path / "project"
    shutil.copytree(root / "docs" / "examples", directory)
    assert (directory / "stanch.toml").is_file()
    problems = [problem for one in SHOWN[document] if (problem := run(one, directory))]
    assert not problems, "\n\n".join(problems)


def test_commands_are_found_with_their_codes() -> None:
    page = """
```console
$ ./run up
$ pip install stanch
$ stanch check read_file a   # exit 3
Ask: no rule matched
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
        Command("stanch check read_file a", 3),
        Command("echo '{}' | stanch check --stdin", 2),
        Command("stanch explain", 0),
    ]


@pytest.mark.parametrize(("line", "code", "fine"), [("exit 3", 3, True), ("exit 3", 0, False), ("true", 1, False)])
def test_a_wrong_exit_code_is_noticed(line: str, code: int, fine: bool, tmp_path: Path) -> None:
    assert (run(Command(line, code), tmp_path) is None) is fine
