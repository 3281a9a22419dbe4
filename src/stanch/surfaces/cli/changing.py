"""What would change an answer, on the command line: the options of `stanch explain` for it, and how it is shown.

Settles which recorded calls are looked at, and the lines. Does not settle which change it is (`app.flipping`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stanch.explain import visible
from stanch.policy.meant import unknown
from stanch.surfaces.cli import question, terminal
from stanch.values.decision import Effect
from stanch.values.fault import BadInput

if TYPE_CHECKING:
    from stanch.app.flipping import Flips, Suggested
    from stanch.app.recorded import Recorded
    from stanch.surfaces.cli.question import Answered, Question

MOST_RECORDED = 1000

ToOption = Annotated[
    str | None,
    typer.Option("--to", metavar="EFFECT", help="Say what would make it this: allow (without it), ask or deny."),
]
RecordedOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--recorded",
        metavar="FILE",
        help="Say what the change does to the calls of this recorded session too, as `stanch replay` reads it; can be "
        f"given again. The last {MOST_RECORDED:,} calls are looked at.",
        show_default=False,
    ),
]


def wanted(word: str | None) -> Effect:
    """The effect of `--to`. Raises `BadInput` for a word that is none."""
    try:
        return Effect.ALLOW if word is None else Effect(word)
    except ValueError:
        raise BadInput(f"--to: {unknown('effect', str(word), [one.value for one in Effect])}") from None


def flips_of(asked: Question, answered: Answered, to: Effect, files: list[Path]) -> Flips:
    """What would make the answer `to`. Raises `BadInput` for a recorded session that cannot be read."""
    from stanch.app.beside import Party
    from stanch.app.flipping import Flipping, owner_of
    from stanch.app.loading import DEFAULT_TEXT, read_document
    from stanch.policy.document import parse
    from stanch.surfaces.finding import POLICY_FILE

    file, session = answered.file, answered.session
    document = parse(DEFAULT_TEXT, POLICY_FILE) if file is None else read_document(file)
    owner = None if asked.context is not None else owner_of(session)
    parties = [Party(one) for one in session.line]
    recorded = _recorded(asked, answered, files) if files else []
    return Flipping(parties, answered.decision, document, owner=owner, recorded=recorded).flips(to)


def _recorded(asked: Question, answered: Answered, files: list[Path]) -> list[Recorded]:
    from stanch.app.engine import Engine
    from stanch.surfaces import wire
    from stanch.surfaces.replay.asking import Asking, recorded_calls, transcripts_of
    from stanch.surfaces.replay.policies import Policies

    engine, given = answered.session.engine, asked.context
    if not isinstance(engine, Engine):
        return []
    context = () if given is None else (wire.context_of(given),)
    source = question.source_of(asked.source)
    asking = Asking(asked.group, asked.agent, source, asked.model, None, context)
    transcripts, warnings = transcripts_of(files)
    found, more = recorded_calls(transcripts, Policies.of(engine, answered.file), asking, MOST_RECORDED)
    for warning in [*warnings, *more][: question.MOST_NOTES]:
        terminal.note(str(warning))
    return found


def show(flips: Flips, *, asked_for: bool) -> None:
    """Prints the smallest change with its lines, or what stands in the way; nothing where nobody asked for more."""
    from stanch.surfaces.changing import objection_said, said

    word = terminal.coloured(flips.to.value)
    if flips.now is flips.to:
        if asked_for:
            terminal.out(f"it is {word} already")
            terminal.out()
        return
    if flips.suggested:
        first, *others = flips.suggested
        terminal.out(f"the smallest change that would make it {word}:")
        _show_change(first, flips.looked_at)
        for other in others:
            terminal.out(terminal.dimmed(f"  or {said(other)}{_beside(other, flips.looked_at)}"))
    else:
        terminal.out(f"no single change of a rule, a grant or a tier is suggested that would make it {word}")
        for objection in flips.objections:
            terminal.out(f"  in the way    {objection_said(objection)}")
    for why in flips.cannot:
        terminal.out(f"  {visible(why)}")
    terminal.out()


def _show_change(one: Suggested, looked_at: int) -> None:
    from stanch.surfaces.changing import others_said, otherwise_said, said

    terminal.out(f"  {said(one)}")
    terminal.out(f"  {visible(one.patch.place)}: {visible(one.patch.how)}")
    for line in one.patch.lines:
        terminal.out(f"    {visible(line)}".rstrip())
    for warning in one.warnings:
        terminal.out(f"  {terminal.coloured('ask', 'mind:')} {visible(warning)}")
    if looked_at:
        terminal.out(f"  {others_said(one, looked_at)}")
    for other in one.first:
        terminal.out(f"    {otherwise_said(other)}")
    if one.others > len(one.first):
        terminal.out(f"    and {one.others - len(one.first)} more")


def _beside(one: Suggested, looked_at: int) -> str:
    calls = "1 more call" if one.others == 1 else f"{one.others} more calls"
    return f" ({one.patch.place}; {calls} otherwise)" if looked_at and one.others else f" ({one.patch.place})"
