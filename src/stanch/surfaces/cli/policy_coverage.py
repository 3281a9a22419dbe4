"""`stanch policy coverage`: the tools that nobody has declared, and what would declare them.

Settles how they are shown and which exit code that has. Does not settle which they are (`policy.coverage`), nor what a
call of one is answered (`app.session`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from stanch.explain import sentence, visible
from stanch.explain.written import reason_json
from stanch.surfaces.cli import question, terminal
from stanch.surfaces.cli.question import Question
from stanch.surfaces.cli.tool_names import tools_given
from stanch.values.call import ToolCall
from stanch.values.fault import BadInput

if TYPE_CHECKING:
    from stanch.app.session import Session
    from stanch.policy.coverage import Coverage, Declared, Undeclared
    from stanch.policy.document import Policy
    from stanch.values.decision import Decision

EXIT_UNDECLARED = 10
COUNTS = "a call of such a tool counts as doing everything to whatever in it looks like a path"

ToolsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TOOL",
        help="Further tools; - reads them from standard input, one a line or as JSON: a list of names or of objects "
        "with 'name', or what an MCP server answers to tools/list.",
        show_default=False,
    ),
]
ServerOption = Annotated[
    str | None,
    typer.Option("--server", metavar="NAME", help="The MCP server whose tools are on standard input."),
]


def register(commands: typer.Typer) -> None:
    """Adds the command to the group of policy commands."""
    commands.command("coverage")(coverage)


def coverage(  # noqa: PLR0917 - a person gives options by name
    tools: ToolsArgument = None,
    policy: question.PolicyOption = None,
    server: ServerOption = None,
    group: question.GroupOption = None,
    agent: question.AgentOption = None,
    source: question.SourceOption = None,
    as_json: question.JsonOption = False,
) -> None:
    """List the tools that nobody has declared, of those that the policy names and those that are given.

    Each is shown with where it is named, what a call of it without arguments is answered (programs that have a say are
    not asked), and the lines that declare it once somebody has filled them in.

    Exit code: 0 where all are declared, 10 where some are not, 2 where the policy or the names cannot be read.
    """
    from stanch.policy.coverage import coverage as covered

    given = list(tools_given(tools or (), server))
    session, file = question.session_for(Question(policy, group, agent, source, None, None, None))
    spoken = session.engine.policy
    _readable(spoken)
    found = covered(spoken, given)
    answers = [_answer(session, one.tool) for one in found.undeclared]
    name = "the built-in rules" if file is None else str(file)
    if as_json:
        of = {"file": None if file is None else name, "workspace": spoken.workspace, "version": spoken.version}
        terminal.out_json(
            {
                "policy": of,
                "undeclared": [_undeclared_json(*pair) for pair in zip(found.undeclared, answers, strict=True)],
                "declared": [_declared_json(one) for one in found.declared],
            }
        )
    else:
        _show(found, answers, name)
    question.note_problems(session.engine)
    raise typer.Exit(EXIT_UNDECLARED if found.undeclared else 0)


def _readable(policy: Policy) -> None:
    """Raises `BadInput` where a mistake hides which tools the policy names, or which it declares."""
    for group in policy.groups.values():
        if group.unreadable is not None:
            raise BadInput(f'the group "{group.id}" cannot be read: {group.unreadable}')
    for one in policy.problems:
        if not one.warning and (one.scope == "policy" or one.scope.startswith("group:")):
            raise BadInput(f"{policy.file}:{one.line}: {one.message}; stanch policy check names every mistake")


def _answer(session: Session, tool: str) -> Decision:
    """What a call without arguments is answered. WHY without programs: to list a tool is no use of it."""
    return session.judging(session.stamped(ToolCall(tool, {})))


def _show(found: Coverage, answers: list[Decision], name: str) -> None:
    from stanch.policy.coverage import TO_FILL_IN, declaration

    whole = len(found.undeclared) + len(found.declared)
    if not found.undeclared:
        said = f"{_tools(whole)}, each declared" if whole else "no tool is named"
        terminal.out(f"{visible(name)}: {said}")
        return
    terminal.out(f"{visible(name)}: {_tools(whole)}, {len(found.undeclared)} not declared")
    terminal.out(COUNTS)
    for one, decision in zip(found.undeclared, answers, strict=True):
        word = terminal.coloured(decision.effect.value)
        terminal.out()
        terminal.out(visible(one.tool))
        terminal.out(f"  named    {visible(', '.join(one.places))}")
        terminal.out(f"  answer   {word}  {sentence(decision.reason, decision.effect)}")
        if one.meant is not None:
            terminal.out(f"  perhaps  {visible(one.meant)} is meant")
    terminal.out()
    terminal.out(terminal.dimmed("# To be filled in, then added to the policy file."))
    for line in TO_FILL_IN.splitlines():
        terminal.out(terminal.dimmed(line))
    for one in found.undeclared:
        terminal.out()
        for line in declaration(one.tool) or (f"# {visible(one.tool)} cannot be declared: its name is no valid text",):
            terminal.out(line)


def _undeclared_json(one: Undeclared, decision: Decision) -> dict[str, Any]:
    from stanch.policy.coverage import TO_FILL_IN, declaration

    lines = declaration(one.tool)
    return {
        "tool": one.tool,
        "named": list(one.places),
        "answer": {"effect": decision.effect.value, "reason": reason_json(decision.reason, decision.effect)},
        "meant": one.meant,
        "declaration": "\n".join((TO_FILL_IN, *lines, "")) if lines else None,
    }


def _declared_json(one: Declared) -> dict[str, Any]:
    return {
        "tool": one.tool,
        "named": list(one.places),
        "declared": one.source.value,
        "as": one.by.name,
        "effects": [
            {"class": effect.cls.value, "argument": effect.argument or None, "form": effect.form.value}
            for effect in one.by.effects
        ],
    }


def _tools(number: int) -> str:
    return "1 tool" if number == 1 else f"{number} tools"
