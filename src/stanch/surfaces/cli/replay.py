"""`stanch replay`: what the gate would have said to every call in recorded sessions. Nothing is run.

Settles options, streams and progress. Does not settle how sessions are read, nor the answers (`surfaces.replay`).
"""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from stanch.surfaces import finding, wire
from stanch.surfaces.cli import question, terminal
from stanch.values.context import RunContext
from stanch.values.fault import BadContext, BadInput

if TYPE_CHECKING:
    from stanch.secrets.projection import Projector
    from stanch.surfaces.replay.asking import Asking
    from stanch.surfaces.replay.detect import Transcript
    from stanch.surfaces.replay.policies import Policies
    from stanch.surfaces.replay.records import Warned
    from stanch.surfaces.replay.report import Report

T = TypeVar("T")
MOST_NOTES = 20
LONG = 8 << 20
SAMPLE = ("claude-code.jsonl", "stanch.toml")
NEXT = """\
What next:
  stanch replay ~/.claude/projects ~/.codex/sessions           your own sessions, by the built-in rules
  stanch policy init                                           a policy of your own, to change and replay again
  stanch check --tool Read --args '{"file_path": "notes.md"}'  the answer to a single call"""

FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="Session files of Claude Code or Codex, message lists, or directories with .jsonl files below them.",
        show_default=False,
    ),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help=f"The policy file. Without it: {finding.WITHOUT}, else the built-in rules over the directory that each "
        "session started in.",
        show_default=False,
    ),
]
CwdOption = Annotated[
    str | None, typer.Option("--cwd", metavar="DIR", help="Where a call worked, where its record does not say.")
]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="OUT", help="Write the report to this file, as one HTML page.")
]
SampleOption = Annotated[bool, typer.Option("--sample", help="Replay the recorded session that comes with Stanch.")]
SecretsOption = Annotated[
    Path | None,
    typer.Option(
        "--secrets",
        metavar="FILE",
        help='Say which of these secrets are in the files, and which models were sent them. TOML: NAME = "value".',
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("replay")(replay)


def replay(  # noqa: PLR0917 - typer calls it by name
    files: FilesArgument = None,
    policy: PolicyOption = None,
    group: question.GroupOption = None,
    agent: question.AgentOption = None,
    source: question.SourceOption = None,
    model: question.ModelOption = None,
    cwd: CwdOption = None,
    context: question.ContextOption = None,
    as_json: question.JsonOption = False,
    html: HtmlOption = None,
    sample: SampleOption = False,
    secrets: SecretsOption = None,
) -> None:
    """Say what the gate would have answered to every call in recorded sessions. Nothing is run.

    Exit code: 0 where the files could be read, whatever the answers; 2 where not.
    """
    from stanch.surfaces.replay.asking import Asking
    from stanch.surfaces.replay.policies import Policies
    from stanch.surfaces.secrets_file import secrets_of

    for name, value in (("group", group), ("agent", agent), ("model", model), ("cwd", cwd)):
        if value == "":
            raise BadInput(f"--{name} is empty")
    given = () if context is None else (_context(context),)
    who = question.source_of(source)
    known = None if secrets is None else secrets_of(secrets)
    projector = None if known is None else known.projector
    asking = Asking(group, agent, who, model, None if cwd is None else _absolute(cwd), given, projector)
    transcripts, warnings = _transcripts(files or [], sample)
    policies = _sample_policy() if sample and policy is None else Policies(policy)
    report = _run(transcripts, policies, asking)
    report.warnings[:0] = [*([] if known is None else _short(secrets, known.warnings)), *warnings]
    if html is not None:
        _write_page(html, report, transcripts, projector)
    if as_json:
        _print_json(report, projector)
    else:
        _print_text(report, projector, calls=html is None)
    for warning in report.warnings[:MOST_NOTES]:
        terminal.note(str(warning) if projector is None else projector.text(str(warning)))
    if len(report.warnings) > MOST_NOTES:
        terminal.note(f"and {len(report.warnings) - MOST_NOTES} more; --json lists them all")
    if html is not None:
        terminal.note(f"the report is in {html}")
    if sample and not as_json:
        terminal.out(f"\n{NEXT}")


def _transcripts(files: list[Path], sample: bool) -> tuple[list[Transcript], list[Warned]]:
    from stanch.surfaces.replay.asking import transcripts_of
    from stanch.surfaces.replay.detect import recognise

    if sample and files:
        raise BadInput("give files or --sample, not both")
    if sample:
        return [replace(recognise(_sample(SAMPLE[0])), name=f"sample/{SAMPLE[0]}")], []
    if not files:
        raise BadInput("give at least one session file, or --sample to see how a replay looks")
    return transcripts_of(files)


def _sample(name: str) -> Path:
    return Path(str(resources.files("stanch.surfaces.replay") / "sample" / name))


def _sample_policy() -> Policies:
    from stanch.surfaces.replay.policies import Policies

    return Policies(_sample(SAMPLE[1]), f"sample/{SAMPLE[1]}")


def _context(text: str) -> RunContext | None:
    try:
        return wire.context_of(text)
    except BadContext as why:
        raise BadContext(f"--context: {why}") from None


def _absolute(directory: str) -> str:
    """`--cwd`, read against the directory in which the command was typed. It need not exist here any more."""
    return os.path.join(finding.current_directory(), directory)


def _run(transcripts: list[Transcript], policies: Policies, asking: Asking) -> Report:
    """The report, with a progress bar on standard error where that is a terminal and there is much to read."""
    from stanch.surfaces.replay import asking as gate

    # What a model would not have been sent takes another look at each file.
    size = sum(transcript.size for transcript in transcripts) * (1 if asking.model is None else 2)
    if size < LONG or not sys.stderr.isatty():
        return gate.replay(transcripts, policies, asking)
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("reading", total=size)
        return gate.replay(transcripts, policies, asking, lambda read: progress.advance(task, read))


def _print_json(report: Report, projector: Projector | None) -> None:
    """One call to a line, so that a long report is neither held twice nor hard to search."""
    terminal.out('{"calls": [')
    rows = report.rows
    for at, row in enumerate(rows):
        terminal.out(json.dumps(_without(row.json(), projector)) + ("," if at + 1 < len(rows) else ""))
    terminal.out(f"], {json.dumps(_without(report.sums(), projector))[1:]}")


def _without(value: T, projector: Projector | None) -> T:
    """The value without the secrets that were looked for."""
    return value if projector is None else projector.structure(value)


def _short(file: Path | None, warnings: tuple[str, ...]) -> list[Warned]:
    from stanch.surfaces.replay.records import Warned

    return [Warned(str(file), 0, warning) for warning in warnings]


def _print_text(report: Report, projector: Projector | None, *, calls: bool) -> None:
    from rich.console import Console

    from stanch.surfaces.replay.text import print_report

    colour = terminal.wants_colour(sys.stdout)
    written = io.StringIO()
    console = Console(file=written, force_terminal=colour, no_color=not colour, width=200)
    print_report(report, console, calls=calls)
    terminal.out(_without(written.getvalue(), projector).rstrip("\n"))


def _write_page(out: Path, report: Report, transcripts: list[Transcript], projector: Projector | None) -> None:
    """Writes the page beside its place first and then moves it there, so that no half page is ever left."""
    from stanch.surfaces.replay.html import page

    if out.name in ("", "..") or out.is_dir():
        raise BadInput(f"--html {out} is a directory; name a file in it")
    for transcript in transcripts:
        for path in (transcript.path, *transcript.beside):
            if out.exists() and out.samefile(path):
                raise BadInput(f"--html {out} would overwrite a session file")
    fresh = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with fresh.open("x", encoding="utf-8") as file:
            # WHY at once where secrets are looked for: one may lie across two pieces of the page.
            file.writelines(page(report) if projector is None else [projector.text("".join(page(report)))])
        fresh.replace(out)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        raise BadInput(f"--html {out} cannot be written: {(error.strerror or 'unknown').lower()}") from None
