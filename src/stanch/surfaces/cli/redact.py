"""`stanch redact`: a conversation as a model may have it, from a file or standard input to standard output.

Settles options, streams and what is no conversation. Does not settle what is withheld (`app.redacting`).
INVARIANT: where anything goes wrong, nothing is printed: no half of a conversation, and none that was not filtered.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stanch.surfaces import finding
from stanch.surfaces.cli import question, terminal
from stanch.surfaces.http import json_text
from stanch.values.fault import BadInput

STDIN = "-"

FileArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="Messages, or a request with them, as JSON. Without it, or for -: standard input.",
        show_default=False,
    ),
]
ModelOption = Annotated[str, typer.Option("--model", metavar="NAME", help="Who is to read it, as provider/model.")]
CwdOption = Annotated[
    str | None,
    typer.Option(
        "--cwd",
        metavar="DIR",
        help="Where the conversation was had. Without it, relative paths are of unknown origin, unless the "
        "conversation says where.",
    ),
]
AnswersOption = Annotated[
    str | None,
    typer.Option(
        "--answers",
        metavar="JSON",
        help='What a person has said where the tier asks: {"send": [paths], "withhold": [paths]}.',
    ),
]
ReportOption = Annotated[
    bool, typer.Option("--report", help="Print an object with the messages, and what was withheld beside them.")
]
NoQuotesOption = Annotated[
    bool, typer.Option("--no-quotes", help="Do not search what models wrote for quotes of what is withheld.")
]


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("redact")(redact)


def redact(  # noqa: PLR0917 - typer calls it by name
    model: ModelOption,
    file: FileArgument = None,
    policy: question.PolicyOption = None,
    cwd: CwdOption = None,
    answers: AnswersOption = None,
    report: ReportOption = False,
    no_quotes: NoQuotesOption = False,
) -> None:
    """Print a conversation as a model may have it, in the shape that it came in.

    Exit code: 0; 2 for what cannot be read, and nothing is printed then.
    """
    from stanch.app.loading import open_engine

    for name, value in (("model", model), ("cwd", cwd)):
        if value == "":
            raise BadInput(f"--{name} is empty")
    said = None if answers is None else _json("--answers", answers.encode("utf-8", "surrogatepass"))
    given = _json(*_read(file))
    here = None if cwd is None else os.path.join(finding.current_directory(), cwd)
    engine = open_engine(finding.nearest_policy() if policy is None else policy)
    done = engine.redact_history(given, model, cwd=here, answers=said, quotes=False if no_quotes else None)
    print_value(done.as_json() if report else done.messages)
    question.note_problems(engine)
    if here is not None and not os.path.isdir(here):
        # WHY no mistake: a conversation may have been had on another machine.
        terminal.note(f"there is no directory {here}; relative paths of the conversation were taken to be below it")


def _read(file: str | None) -> tuple[str, bytes]:
    """What to call the input, and all of it."""
    name = "standard input" if file in (None, STDIN) else str(file)
    try:
        return name, sys.stdin.buffer.read() if file in (None, STDIN) else Path(name).read_bytes()
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {(error.strerror or 'unknown').lower()}") from None


def _json(name: str, raw: bytes) -> Any:
    try:
        return json_text.read(raw.removeprefix(b"\xef\xbb\xbf"))
    except json_text.BadJson as why:
        raise BadInput(f"{name} is no JSON: {why}") from None


def print_value(value: Any) -> None:
    """Prints the value as JSON in UTF-8, whatever the encoding of the terminal; with escapes where they are needed."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise BadInput("the conversation holds a number that is too large") from None
    shown = "".join(map(_escaped, text)) if sys.stdout.isatty() else text
    # WHY: half of a pair of surrogates has no form in UTF-8, and has one in JSON.
    terminal.out_bytes(f"{shown}\n".encode("utf-8", "backslashreplace"))


def _escaped(character: str) -> str:
    """A character that could act on a terminal, as JSON writes it by its number."""
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else json.dumps(character)[1:-1]
