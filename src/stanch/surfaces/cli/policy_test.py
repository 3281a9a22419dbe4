"""`stanch policy test`: a policy held against its owner's own table of cases.

Settles which files are read, what is printed, and the exit code. Does not settle the form of a case (`app.case_files`)
nor when one fails (`app.case_runner`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.question import JsonOption

if TYPE_CHECKING:
    from stanch.app.case_records import Case, CaseFile
    from stanch.app.case_told import Mismatch

EXIT_FINDING = 1
MANY = 100

FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="A directory with case tables (*.yaml), or one table.", show_default=False)
]


def register(policy_app: typer.Typer) -> None:
    """Adds the command to the group of policy commands."""
    policy_app.command("test")(run_cases)


def run_cases(folder: FolderArgument, as_json: JsonOption = False) -> None:
    """Judge every call in a table of cases, and name those that are not answered as the table says.

    Each case is played in an empty directory of its own: nothing is run, and no file of yours is touched. The policy
    that a table names is read as it is.

    Exit code: 0 where every case holds, 1 where one does not, 2 where a table cannot be read.
    """
    files = _tables(folder)
    cases = [case for file in files for case in file.cases]
    failed = [(case, found) for case in _shown(cases) if (found := _played(case))]
    if as_json:
        findings = [_finding(case, one) for case, found in failed for one in found]
        terminal.out_json({"files": len(files), "cases": len(cases), "failed": len(failed), "findings": findings})
    else:
        for case, found in failed:
            terminal.out(f"{visible(case.it)}  {visible(str(case.file))}:{case.line}")
            for one in found:
                terminal.out(f"  wanted: {visible(one.wanted)}")
                terminal.out(f"  got:    {visible(one.got)}")
            if case.why:
                terminal.out(f"  why:    {visible(' '.join(case.why.split()))}")
        terminal.out(f"{_count(len(cases), 'case')} in {_count(len(files), 'table')}, {len(failed)} failed")
    raise typer.Exit(EXIT_FINDING if failed else 0)


def _tables(folder: Path) -> list[CaseFile]:
    """Every table of the folder. Raises `BadInput` where there is none, or where one cannot be read."""
    from stanch.app.case_files import case_paths, read_cases
    from stanch.values.fault import BadInput

    if not folder.exists():
        raise BadInput(f"there is no directory {folder}")
    paths = case_paths(folder)
    if not paths:
        raise BadInput(f"there is no case table (*.yaml) in {folder}")
    files, wrong = [], []
    for path in paths:
        try:
            files.append(read_cases(path))
        except BadInput as why:
            wrong.append(str(why))
    if wrong:
        for message in wrong[:-1]:
            terminal.note(message)
        raise BadInput(wrong[-1])
    return files


def _played(case: Case) -> list[Mismatch]:
    """Everything that came out of the case otherwise than it says."""
    import tempfile

    from stanch.app.case_runner import LibraryDoor, run_case

    with tempfile.TemporaryDirectory(prefix="stanch-") as folder:
        return run_case(case, Path(folder), LibraryDoor())


def _shown(cases: list[Case]) -> Iterable[Case]:
    """The cases, with a bar on standard error where there are many and somebody looks on."""
    if len(cases) < MANY:
        return cases
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(cases, "judging", console=console, transient=True, disable=not console.is_terminal)


def _finding(case: Case, one: Mismatch) -> dict[str, Any]:
    return {
        "it": case.it,
        "file": str(case.file),
        "line": case.line,
        "why": " ".join(case.why.split()),
        "wanted": one.wanted,
        "got": one.got,
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
