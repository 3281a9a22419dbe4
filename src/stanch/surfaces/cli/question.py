"""One call as a person types it: the options that `check` and `explain` share, and the answer to them.

Settles how words on the command line become a session and a call, and how each mistake in them is named. Does not
settle the answer (`app.engine`) nor how it is shown.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from stanch.policy.meant import unknown
from stanch.surfaces import finding
from stanch.surfaces.cli import terminal
from stanch.surfaces.cli.json_typed import read_json, read_text, type_name
from stanch.values.decision import Decision, Effect
from stanch.values.fault import BadCall, BadContext, BadInput
from stanch.values.identity import Source

if TYPE_CHECKING:
    from stanch.app.engine import Engine, Session
    from stanch.app.session import Engine as Bound

MOST_NOTES = 5
_PAIR = re.compile(r"\s*(?P<key>[A-Za-z_]\w*)\s*=")  # an argument that was written as words: `path=notes.md`
EXITS = {Effect.ALLOW: 0, Effect.ASK: 10, Effect.DENY: 11}

PolicyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help=f"The policy file. Without it: {finding.WITHOUT}, else the built-in rules over the current directory.",
        show_default=False,
    ),
]
GroupOption = Annotated[
    str | None, typer.Option("--group", metavar="ID", help="The permission group; wins over the context's.")
]
AgentOption = Annotated[str | None, typer.Option("--agent", metavar="ID", help="The agent that makes the call.")]
SourceOption = Annotated[
    str | None,
    typer.Option("--source", metavar="SOURCE", help=f"How the session is reached: {', '.join(Source)}."),
]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="NAME", help="The session's current model.")]
CwdOption = Annotated[
    str | None,
    typer.Option("--cwd", metavar="DIR", help="Where the session works, where its context names no directory."),
]
ContextOption = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="JSON",
        help="The session's run context, or null for none. Without it: the policy's default for the agent, else for "
        "the source.",
    ),
]
ToolOption = Annotated[str, typer.Option("--tool", metavar="NAME", help="The tool that the call names.")]
ArgsOption = Annotated[
    str,
    typer.Option(
        "--args", metavar="JSON", help="The call's arguments, a JSON object; @FILE reads a file, - standard input."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SkillOption = Annotated[
    list[str] | None, typer.Option("--skill", metavar="ID", help="A skill that is active; may be given several times.")
]


class CallCommand(TyperCommand):
    """A command that asks about one call. Words that belong to no option end it with the options to write instead."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the options."""
        options, words, _ = self.make_parser(ctx).parse_args(list(args))
        if words and not options.get("help"):
            terminal.refuse(f"{self.name} takes options, not words; use {_options_for(options.get('tool'), words)}")
        return super().parse_args(ctx, args)


@dataclass(frozen=True, slots=True)
class Question:
    """The options as typed."""

    policy: Path | None
    group: str | None
    agent: str | None
    source: str | None
    model: str | None
    cwd: str | None
    context: str | None
    tool: str = ""
    args: str = ""
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """The session that was made for the question, and its answer. `file` is the policy file that spoke, if one did."""

    session: Session
    decision: Decision
    file: Path | None

    @property
    def used(self) -> str:
        """Which policy spoke, in words; and where relative paths start, where that is not here."""
        policy = self.session.engine.policy
        if self.file is None:
            return f"the built-in rules over {policy.workspace}, since there is no {finding.POLICY_FILE} here or above"
        base = self.session.context.effective_working_dir()
        away = "" if base == str(finding.current_directory()) else f"; relative paths start in {base}"
        return f"{self.file}, version {policy.version}{away}"

    @property
    def policy(self) -> dict[str, Any]:
        """Which policy spoke, for JSON; `file` is null for the built-in rules."""
        policy = self.session.engine.policy
        file = None if self.file is None else str(self.file)
        return {"file": file, "workspace": policy.workspace, "version": policy.version}


def answer(question: Question, *, hooks: bool = True) -> Answered:
    """The answer to the question, with a trace; without `hooks` none is asked.

    Raises a `Fault` that says what to write instead.
    """
    if question.tool == "":
        raise BadCall("--tool is empty")
    arguments = _arguments(question.args, question.tool)
    session, file = session_for(question)
    try:
        return Answered(session, session.check(question.tool, arguments, trace=True, hooks=hooks), file)
    except RecursionError:
        raise BadCall("--args is nested too deeply") from None


def session_for(question: Question, patience: float | None = None) -> tuple[Session, Path | None]:
    """The session that the options describe, and the policy file that speaks, if one does. Raises a `Fault`.

    An organization's rules are waited for no longer than `patience`, in seconds.
    """
    from stanch.app.engine import UNSET
    from stanch.paths.grants import BadGrant

    for name in ("group", "agent", "model", "cwd"):
        if getattr(question, name) == "":
            raise BadCall(f"--{name} is empty")
    engine, file = _engine(question.policy, patience)
    try:
        made = engine.session(
            context=UNSET if question.context is None else _context(question.context),
            agent=question.agent,
            source=source_of(question.source),
            group=question.group,
            model=question.model,
            cwd=None if question.cwd is None else _directory(engine, question.cwd),
            skills=question.skills,
        )
    except BadGrant as why:
        raise BadContext(f"a grant of the session's context cannot be used: {why}") from None
    return made, file


def source_of(word: str | None) -> Source | None:
    """The source of `--source`. Raises `BadInput` for a word that is none."""
    if word is None:
        return None
    try:
        return Source(word)
    except ValueError:
        raise BadInput(f"--source: {unknown('source', word, Source)}") from None


def note_problems(engine: Bound) -> None:
    """Names the policy's problems beside the answer, the first few of them."""
    policy = engine.policy
    for problem in policy.problems[:MOST_NOTES]:
        terminal.note(f"{policy.file}:{problem.line}: {problem.message}")
    further = len(policy.problems) - MOST_NOTES
    if further > 0:
        terminal.note(f"and {further} more; stanch policy check lists them all")


def _engine(policy: Path | None, patience: float | None = None) -> tuple[Engine, Path | None]:
    """The engine for the policy that is named, else for the nearest; with its file, None for the built-in rules."""
    from stanch.app.loading import open_engine
    from stanch.app.organization_fetching import FIRST_SECONDS

    file = finding.nearest_policy() if policy is None else policy
    longest = FIRST_SECONDS if patience is None else min(FIRST_SECONDS, patience)
    try:
        return open_engine(file, patience=longest), file
    except FileNotFoundError:
        raise BadInput("the current directory is gone; change to one that exists") from None


def _directory(engine: Engine, written: str) -> str:
    """The canonical form of `--cwd`, read against the directory in which the command was typed."""
    stamp = engine.canonicaliser.directory(written, str(finding.current_directory()))
    if stamp.refusal is not None:
        raise BadInput(f"--cwd {written} cannot be used: {stamp.detail or 'it belongs to Stanch itself'}")
    return stamp.path


def _options_for(named: Any, words: list[str]) -> str:
    """The options that say what somebody wrote as bare words: the tool's name, and what it is called with."""
    tool, *rest = [named, *words] if isinstance(named, str) else words
    value = " ".join(rest) or "..."
    pair = _PAIR.match(value)
    if value.startswith("{"):
        arguments = shlex.quote(value)
    elif pair is not None:
        arguments = _example({pair["key"]: value[pair.end() :]})
    else:
        arguments = _example_for(tool, value)
    return f"--tool {shlex.quote(tool)} --args {arguments}"


def _example_for(tool: str, value: str = "...") -> str:
    """What to give as `--args` for a tool: its first argument that names a target, with a value."""
    from stanch.policy.known_tools import known

    described = known().get(tool)
    keys = [effect.argument.split("|")[0] for effect in described.effects if effect.argument] if described else ["path"]
    return _example({keys[0]: value} if keys else {})


def _example(arguments: dict[str, str]) -> str:
    return shlex.quote(json.dumps(arguments, ensure_ascii=False))


def _arguments(text: str, tool: str) -> dict[str, Any]:
    read = read_text(text)
    pair = _PAIR.match(read)
    example = _example({pair["key"]: "..."}) if pair is not None else _example_for(tool)
    value = read_json("--args", read, f"; write an object, such as {example}" if read is text else "")
    if not isinstance(value, dict):
        raise BadCall(f'--args must be a JSON object such as {{"path": "notes.md"}}, got {type_name(value)}')
    return value


def _context(text: str) -> Any:
    from stanch.surfaces import wire

    value = read_json("--context", text)
    if value is not None and not isinstance(value, dict):
        raise BadContext(f"--context must be a JSON object, or null for none, got {type_name(value)}")
    try:
        return wire.context_of(text)
    except BadContext as why:
        raise BadContext(f"--context: {why}") from None
