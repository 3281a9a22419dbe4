"""`stanch check`: the gate's answer to one call, nothing run and nothing stored.

Settles how an answer is shown and which exit code it has. Does not settle the answer.
"""

from __future__ import annotations

import json
import shlex
from typing import Annotated, Any

import typer

from stanch.explain import sentence, visible
from stanch.surfaces import parts
from stanch.surfaces.cli import question, terminal
from stanch.surfaces.cli.question import Answered, Question
from stanch.surfaces.parts import Line, parts_of, shown_parts
from stanch.values.decision import Decision, Effect, EffectAnswer, LayerStep
from stanch.values.reason import LayerId, RuleRef

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
    skill: question.SkillOption = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show what each layer said.")] = False,
    as_json: question.JsonOption = False,
) -> None:
    """Say what the gate answers to one call. Nothing is run.

    Exit code: 0 allow, 10 ask, 11 deny, 2 for a call or an option that cannot be read.
    """
    answered = question.answer(
        Question(policy, group, agent, source, model, cwd, context, tool, args, tuple(skill or ()))
    )
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
    """Prints the effect, its sentence, the place of its rule, the parts of a command, and a line for other effects."""
    decision = answered.decision
    word = terminal.coloured(decision.effect.value)
    terminal.out(f"{word}  {sentence(decision.reason, decision.effect)}")
    if decision.reason.rule is not None:
        terminal.out(f"  rule {decision.reason.rule.id}: {visible(place_of(decision.reason.rule))}")
    if any(step.rewrote for step in decision.trace):
        changed = json.dumps(dict(decision.call.call.arguments), ensure_ascii=False)
        terminal.out(f"  arguments, as a policy or a hook changed them: {visible(changed)}")
    show_parts(decision)
    others = [each for each in decision.effects if each.effect.command is None]
    if len(decision.effects) > 1:
        for each in others:
            terminal.out(f"  {effect_line(decision, each)}")


def show_parts(decision: Decision) -> None:
    """Prints the commands of a call as they were written, and each part with its answer and what it touches.

    A command of one word is in the sentence already, and so is the answer to one of one part that touches nothing.
    """
    found = parts_of(decision)
    if not found:
        return
    written = commands_of(decision)
    one = len(found) == 1
    alone = one and found[0].line.decides and not found[0].found
    if not one or written != [visible(decision.reason.subject) if alone else found[0].line.text]:
        for command in written:
            terminal.out(f"  command: {command}")
    if alone:
        return
    shown, further = shown_parts(found)
    wide = len(str(shown[-1].number))
    for part in shown:
        number = "" if one else f"{part.number:>{wide}}  "
        terminal.out(_line(part.line, number, quiet=part.quiet))
        for line in part.found:
            terminal.out(_line(line, " " * len(number) + "  "))
        if part.further:
            terminal.out(f"{' ' * (len(number) + 14)}and {part.further} more, none of them stricter")
    if further:
        terminal.out(f"    and {further} more parts")


def _line(line: Line, before: str, *, quiet: bool = False) -> str:
    """A part or an effect, with the mark of the one that decides: `→ 2  ask    git push  decides`."""
    mark = "→" if line.decides else " "
    word = line.word or "-"
    text = f"{line.text:<32}  {line.why}" if line.why else line.text
    if quiet:
        return terminal.dimmed(f"  {mark} {before}{word:<5}  {text}")
    return f"  {mark} {before}{terminal.coloured(word)}{' ' * (5 - len(word))}  {text}"


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
    """What the effect does to what, for a person: `write /w/notes.md (path)`, or the command that runs."""
    effect = each.effect
    if effect.cls is None:
        return "a call without effects"
    if effect.command is not None:
        return " ".join(parts.effect_words(effect)).strip()
    argument = f" ({visible(effect.argument)})" if effect.argument else ""
    if effect.stamp is not None:
        target = f" {visible(effect.stamp.path or effect.stamp.requested)}"
    else:
        target = f" {visible(effect.subject)}" if effect.subject else ""
    return f"{effect.cls.value}{target}{argument}"


def commands_of(decision: Decision) -> list[str]:
    """Every command as the call gives it, on one line each, cut short, with nothing invisible in it."""
    arguments = decision.call.call.arguments
    keys = dict.fromkeys(each.effect.argument for each in decision.effects if each.effect.command is not None)
    return [_one_line(said) for key in keys if (said := _written(arguments.get(key)))]


def _written(command: Any) -> str:
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return shlex.join(command)
    return command if isinstance(command, str) else ""


def _one_line(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= LONGEST_COMMAND else shown[: LONGEST_COMMAND - 1] + "…"


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
    if not step.asked and step.layer is LayerId.HOOKS and decision.effect is not Effect.DENY:
        return "not asked; hooks have their say when a call is made"
    if not step.asked:
        return "not asked, since a deny stands already"
    if step.answer is None:
        return "asked, no objection"
    from stanch.surfaces.wire import step_reason

    said = sentence(step_reason(decision, step.answer), step.answer.effect)
    return f"{terminal.coloured(step.answer.effect.value)}  {said}"
