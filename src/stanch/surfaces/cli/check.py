"""`stanch check`: the gate's answer to one call, nothing run and nothing stored.

Settles how an answer is shown and which exit code it has. Does not settle the answer.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stanch.explain import sentence, visible
from stanch.surfaces.cli import question, terminal
from stanch.surfaces.cli.question import Answered, Question
from stanch.values.decision import Decision, EffectAnswer, LayerStep
from stanch.values.reason import RuleRef

LONGEST_COMMAND = 200


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("check", cls=question.CallCommand)(check)


def check(  # noqa: PLR0917 - a person gives options by name
    tool: question.ToolOption,
    args: question.ArgsOption,
    policy: question.PolicyOption = None,
    group: question.GroupOption = None,
    agent: question.AgentOption = None,
    source: question.SourceOption = None,
    model: question.ModelOption = None,
    cwd: question.CwdOption = None,
    context: question.ContextOption = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show what each layer said.")] = False,
    as_json: question.JsonOption = False,
) -> None:
    """Say what the gate answers to one call. Nothing is run.

    Exit code: 0 allow, 10 ask, 11 deny, 2 for a call or an option that cannot be read.
    """
    answered = question.answer(Question(policy, group, agent, source, model, cwd, context, tool, args))
    if as_json:
        terminal.out_json(answer_json(answered))
    else:
        show_answer(answered)
        if trace:
            show_trace(answered)
        terminal.out(f"policy: {visible(answered.used)}")
    question.note_problems(answered.session.engine)
    raise typer.Exit(question.EXITS[answered.decision.effect])


def answer_json(answered: Answered) -> dict[str, Any]:
    """The answer with its whole trace, as every door gives it, and which policy spoke."""
    from stanch.surfaces import wire

    return wire.answer_json(answered.decision, answered.policy)


def show_answer(answered: Answered) -> None:
    """Prints the effect, its sentence, the place of its rule, the command, and a line for each of several effects."""
    decision = answered.decision
    word = terminal.coloured(decision.effect.value)
    terminal.out(f"{word}  {sentence(decision.reason, decision.effect)}")
    if decision.reason.rule is not None:
        terminal.out(f"  rule {decision.reason.rule.id}: {visible(place_of(decision.reason.rule))}")
    for command in commands_of(decision):
        terminal.out(f"  command: {command}")
    if len(decision.effects) > 1:
        for each in decision.effects:
            terminal.out(f"  {effect_line(decision, each)}")


def place_of(rule: RuleRef) -> str:
    """Where the rule is written, in words."""
    return "one of the built-in rules" if rule.place == "seeded" else rule.place


def effect_line(decision: Decision, each: EffectAnswer) -> str:
    """One effect of a call, and what stands for it."""
    what = effect_words(each)
    if each.answer is None:
        return f"{what}: not judged, since the call is denied already"
    said = sentence(decision.reason_of(each.answer, each.effect), each.answer.effect)
    return f"{what}: {terminal.coloured(each.answer.effect.value)}  {said}"


def effect_words(each: EffectAnswer) -> str:
    """What the effect does to what, for a person: `write to /w/notes.md (path)`."""
    effect = each.effect
    if effect.cls is None:
        return "a call without effects"
    argument = f" ({visible(effect.argument)})" if effect.argument else ""
    if effect.stamp is not None:
        target = f" {visible(effect.stamp.path or effect.stamp.requested)}"
    else:
        target = f" {visible(effect.subject)}" if effect.subject else ""
    return f"{effect.cls.value}{target}{argument}"


def commands_of(decision: Decision) -> list[str]:
    """Every command that the call would run, on one line each, cut short, with nothing invisible in it."""
    from stanch.surfaces.replay.calls import command_line
    from stanch.surfaces.replay.text import one_line

    arguments = decision.call.call.arguments
    keys = dict.fromkeys(each.effect.argument for each in decision.effects if each.effect.command)
    return [one_line(said, LONGEST_COMMAND) for key in keys if (said := command_line(arguments.get(key)))]


def show_trace(answered: Answered) -> None:
    """Prints what each layer said, in the order in which layers are asked, and which layers there are not."""
    there = {layer.id for layer in answered.session.layers}
    steps = [step for step in answered.decision.trace if step.asked or step.layer in there]
    away = [step.layer.value for step in answered.decision.trace if step not in steps]
    terminal.out("layers, in the order they are asked:")
    for step in steps:
        took = f"  {step.microseconds:.1f} µs" if step.microseconds else ""
        terminal.out(f"  {step.layer.value:<20}  {_step_words(answered.decision, step)}{took}")
    if away:
        are = "layer is" if len(away) == 1 else "layers are"
        terminal.out(f"  {len(away)} {are} not configured: {', '.join(away)}")


def _step_words(decision: Decision, step: LayerStep) -> str:
    if not step.asked:
        return "not asked, since a deny stands already"
    if step.answer is None:
        return "asked, no objection"
    from stanch.surfaces.wire import step_reason

    said = sentence(step_reason(decision, step.answer), step.answer.effect)
    return f"{terminal.coloured(step.answer.effect.value)}  {said}"
