"""`stanch explain`: the gate's answer to one call with everything that led to it.

Settles how a trace, the winning rule and every loser are shown. Does not settle who lost or why (`policy.losers`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from stanch.explain import visible
from stanch.surfaces.cli import changing, question, terminal
from stanch.surfaces.cli.check import answer_json, effect_words, place_of, show_answer, show_trace
from stanch.surfaces.cli.question import Question
from stanch.surfaces.parts import is_shown, part_numbers
from stanch.values.call import EffectClass
from stanch.values.decision import Decision, EffectAnswer
from stanch.values.reason import Code

if TYPE_CHECKING:
    from stanch.policy.losers import Contest, Loser
    from stanch.policy.rule import Rule

# Of the rules that nearly fit what a command touches, so many are shown.
MOST_BELOW = 3


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("explain", cls=question.CallCommand)(explain)


def explain(  # noqa: PLR0917 - a person gives options by name
    tool: question.ToolOption,
    args: question.ArgsOption,
    policy: question.PolicyOption = None,
    group: question.GroupOption = None,
    agent: question.AgentOption = None,
    source: question.SourceOption = None,
    model: question.ModelOption = None,
    cwd: question.CwdOption = None,
    context: question.ContextOption = None,
    skill: question.SkillOption = None,
    to: changing.ToOption = None,
    recorded: changing.RecordedOption = None,
    as_json: question.JsonOption = False,
) -> None:
    """Say what the gate answers to one call, why every other rule did not decide, and what would change the answer.

    Exit code: 0 allow, 10 ask, 11 deny, 2 for a call or an option that cannot be read.
    """
    from stanch.app.explaining import contests

    asked = Question(policy, group, agent, source, model, cwd, context, tool, args, tuple(skill or ()))
    wanted = changing.wanted(to)
    answered = question.answer(asked, hooks=False)
    decision = answered.decision
    found = contests(answered.session, decision)
    flips = changing.flips_of(asked, answered, wanted, recorded or [])
    if as_json:
        from stanch.surfaces.changing import flips_json
        from stanch.surfaces.wire import contest_json

        rules = [contest_json(one) for one in found]
        terminal.out_json(answer_json(answered) | {"rules": rules, "change": flips_json(flips)})
    else:
        show_answer(answered)
        terminal.out()
        show_trace(answered)
        _show_contests(answered.decision, found)
        terminal.out()
        changing.show(flips, asked_for=to is not None)
        terminal.out(f"policy: {visible(answered.used)}")
    question.note_problems(answered.session.engine)
    raise typer.Exit(question.EXITS[decision.effect])


_ASIDE = {
    Code.MEMORY_EXCEPTION: "the memory exception is read after the mandatory rules and before all others",
    Code.GROUP_MISSING: "the session's group does not exist, so of these rules only a deny counts",
    Code.COMMAND_UNREAD: "a part of the command cannot be known, so of these rules only a deny counts",
    Code.NOTHING_BY_ITSELF: "by itself it does nothing: only a rule that names it, and denies or asks, counts",
    Code.COVERS_REFUSED: "what lies below counts too, and there a rule denies or has a person asked",
    Code.MAY_WRITE_CLOSED: "nobody knows whether it writes there, so that a deny is a question",
    Code.READ_GRANT: "a read grant answers the question that the rules would ask",
    Code.WRITE_GRANT: "a write grant answers the question that the rules would ask",
    Code.FILE_HAS_LINKS: "a write grant would have answered for the rules, but the file has other names",
}


def _show_contests(decision: Decision, found: tuple[Contest, ...]) -> None:
    """Prints the rules for each effect; parts of a command are numbered, with what they touch below them."""
    numbers = part_numbers(decision.call.effects)
    several = max((number or 0 for number in numbers), default=0) > 1
    for at, (each, one) in enumerate(zip(decision.effects, found, strict=False)):
        if not is_shown(decision, at):
            continue
        word = "not judged" if each.answer is None else terminal.coloured(each.answer.effect.value)
        if each.effect.command is None:
            before = ""
        else:
            before = f"{numbers[at]}  " if several else ""
            before += "  " if each.effect.found is not None else ""
        if each.answer is not None and each.answer.code is Code.NOTHING_BY_ITSELF and one.first is None:
            terminal.out()
            terminal.out(
                terminal.dimmed(f"{before}{effect_words(each)}: {each.answer.effect.value}, nothing by itself")
            )
            continue
        terminal.out()
        mark = ", which decides" if at == decision.at and len(decision.effects) > 1 else ""
        terminal.out(f"{before}{effect_words(each)}: {word}{mark}")
        _show_contest(one, each)


def _show_contest(found: Contest, each: EffectAnswer) -> None:
    """Prints the rules for one effect: the first that fits, those behind it, those that nearly fit."""
    stamp = each.effect.stamp
    if stamp is not None and stamp.refusal is not None:
        terminal.out("  no rule was read: the path is refused whatever they say")
        return
    if each.answer is not None and each.answer.code in _ASIDE:
        terminal.out(f"  {_ASIDE[each.answer.code]}")
    if found.first is not None:
        terminal.out(f"  fits first    {_said(found.first)}")
    elif found.as_command:
        what = "what it reaches" if each.effect.cls is EffectClass.NETWORK else "what it reads"
        terminal.out(f"  as the command: no rule speaks of {what}")
    else:
        terminal.out("  fits first    no rule")
    for loser in found.behind:
        terminal.out(f"  fits too      {_lost(loser)}")
    most = MOST_BELOW if each.effect.found is not None else len(found.nearly)
    for loser in found.nearly[:most]:
        terminal.out(f"  nearly fits   {_lost(loser)}")
    further = found.further + len(found.nearly[most:])
    if further:
        terminal.out(f"  and {further} more that fail one condition")


def _said(rule: Rule) -> str:
    mandatory = "mandatory " if rule.mandatory else ""
    ref = rule.answer().rule
    place = "" if ref is None else f", {visible(place_of(ref))}"
    return f'{mandatory}rule {rule.id} in group "{visible(rule.group)}" ({visible(rule.words)}){place}'


def _lost(loser: Loser) -> str:
    return f"{_said(loser.rule)}: {visible(loser.why)}"
