"""`stanch judge`: would these files be refused, or these calls of a plan? Asked of nobody, and nothing is stored.

Settles how verdicts are shown and which exit code they have. Does not settle the verdicts (`app.judging`).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stanch.explain import sentence, visible
from stanch.surfaces.cli import question, terminal
from stanch.surfaces.cli.question import Question
from stanch.surfaces.http import json_text
from stanch.values.fault import BadInput

if TYPE_CHECKING:
    from stanch.app.planning import Planned
    from stanch.app.session import Session
    from stanch.values.verdict import Verdict

EXITS = {"no_objection": 0, "deny": 11}
EXIT_OPEN = 10
MOST_DEADLINE_MS = 86_400_000
"""A deadline further away counts as this one."""
_COLOUR_OF = {"no_objection": "allow", "deny": "deny", "passes": "allow", "refused": "deny"}

PathsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH...", help="The files; relative ones start where the session works.", show_default=False
    ),
]
FaceOption = Annotated[
    str | None,
    typer.Option("--face", metavar="WORD", help="Who wants to know: lower case letters and hyphens, as in attachment."),
]
ReadOption = Annotated[bool, typer.Option("--read", help="Would a read be refused? A mandated ask counts as held.")]
WriteOption = Annotated[bool, typer.Option("--write", help="Would a write be refused? Every ask counts as held.")]
DeadlineOption = Annotated[
    int | None,
    typer.Option("--deadline-ms", metavar="N", min=0, help="How long to wait for all the answers, in milliseconds."),
]
PlanOption = Annotated[
    str | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help='Instead of files: calls that an agent means to make, as JSON [{"tool", "arguments", "cwd"}]; - reads '
        "standard input.",
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("judge")(judge)


def judge(  # noqa: PLR0917 - typer calls it by name
    paths: PathsArgument = None,
    policy: question.PolicyOption = None,
    group: question.GroupOption = None,
    agent: question.AgentOption = None,
    source: question.SourceOption = None,
    model: question.ModelOption = None,
    cwd: question.CwdOption = None,
    context: question.ContextOption = None,
    skill: question.SkillOption = None,
    face: FaceOption = None,
    read: ReadOption = False,
    write: WriteOption = False,
    deadline_ms: DeadlineOption = None,
    plan: PlanOption = None,
    as_json: question.JsonOption = False,
) -> None:
    """Say whether files would be refused, or what would come of a plan. No model, no hook and no person is asked.

    Exit code: 0 nobody objects, 10 an ask or a question that nobody can answer, 11 a deny, 2 for a bad call.
    """
    about = Question(policy, group, agent, source, model, cwd, context, skills=tuple(skill or ()))
    if plan is not None:
        if paths or face is not None or read or write:
            raise BadInput("--plan takes neither paths nor --face, --read and --write")
        _judge_plan(about, plan, deadline_ms, as_json=as_json)
    if face is None:
        raise BadInput("--face is missing: it says who wants to know, as in --face attachment")
    if read is write:
        raise BadInput("give one of --read and --write")
    if not paths:
        raise BadInput("name the files to ask about")
    _judge_files(about, paths, (face, read), deadline_ms, as_json=as_json)


def _judge_files(
    about: Question, paths: list[str], asks: tuple[str, bool], deadline_ms: int | None, *, as_json: bool
) -> None:
    from stanch.app.judging import Judge
    from stanch.explain.verdicts import verdict_json
    from stanch.judge.question import Probe
    from stanch.values.verdict import Face

    word, read = asks
    probes = [Probe(Face.READ if read else Face.WRITE, word, path) for path in paths]
    session, _ = question.session_for(about, _patience(deadline_ms))
    verdicts = Judge([session]).batch(probes, deadline_at=_deadline(deadline_ms))
    if as_json:
        terminal.out_json([verdict_json(one) for one in verdicts])
    else:
        for path, verdict in zip(paths, verdicts, strict=True):
            terminal.out(_line(path, verdict))
    question.note_problems(session.engine)
    raise typer.Exit(max(EXITS.get(one.state.value, EXIT_OPEN) for one in verdicts))


def _deadline(milliseconds: int | None) -> float | None:
    """The moment so many milliseconds from now. WHY from now: reading the policy takes up nobody's time to answer."""
    return None if milliseconds is None else time.time() * 1000 + min(milliseconds, MOST_DEADLINE_MS)


def _patience(milliseconds: int | None) -> float | None:
    """How long the rules of an organization are waited for besides, in seconds; None for as long as usual."""
    return None if milliseconds is None else min(milliseconds, MOST_DEADLINE_MS) / 1000


def _line(path: str, verdict: Verdict) -> str:
    """`deny  notes.md  Denied by rule 3 ...`, or for nobody's objection where the file really is."""
    from stanch.explain.verdicts import verdict_words

    word = _word(verdict.state.value)
    if verdict.reason is not None:
        return f"{word}  {visible(path)}  {verdict_words(verdict)}"
    elsewhere = verdict.judged is not None and not verdict.judged.endswith(f"/{path.removeprefix('./')}")
    return f"{word}  {visible(path)}" + (f"  (which is {visible(verdict.judged or '')})" if elsewhere else "")


def _judge_plan(about: Question, file: str, deadline_ms: int | None, *, as_json: bool) -> None:
    from stanch.app.asking import Kin
    from stanch.app.planning import planned
    from stanch.surfaces.planned import plan_of, planned_json, worst

    calls = plan_of(_plan(file))
    session, _ = question.session_for(about, _patience(deadline_ms))
    found = planned([Kin("", session, ())], calls, deadline_at=_deadline(deadline_ms))
    if as_json:
        terminal.out_json(planned_json(found))
    else:
        for place, one in enumerate(found):
            terminal.out(_planned_line(place, one))
    _note_unasked(session)
    question.note_problems(session.engine)
    raise typer.Exit(worst(found))


def _planned_line(place: int, one: Planned) -> str:
    """`2  asks  execute_cmd  Needs approval ...; may change after call 1`, calls counted from 1."""
    from stanch.surfaces.planned import effect_of

    said = sentence(one.reason, effect_of(one.outcome))
    after = ", ".join(str(earlier + 1) for earlier in one.after)
    later = f"; may be otherwise after call {after}" if after else ""
    return f"{place + 1:>3}  {_word(one.outcome.value)}  {visible(one.call.tool)}  {said}{later}"


def _note_unasked(session: Session) -> None:
    from stanch.values.reason import LayerId

    if any(layer.id is LayerId.HOOKS for layer in session.layers):
        terminal.note("hooks were not asked; they have their say when a call is made")


def _word(word: str) -> str:
    """The word, in the colour of the effect that it is like."""
    return terminal.coloured(_COLOUR_OF.get(word, "ask"), word)


def _plan(file: str) -> Any:
    name = "standard input" if file == "-" else file
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {(error.strerror or 'unknown').lower()}") from None
    try:
        return json_text.read(raw.removeprefix(b"\xef\xbb\xbf"))
    except json_text.BadJson as why:
        raise BadInput(f"{name} is no JSON: {why}") from None
