"""A report for a terminal: each call with its answer, then the sums.

Settles the wording and the order on a terminal. Whatever a session file holds is shown with its invisible characters as
escapes, so that no recorded text can drive the terminal it is shown on.
"""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from stanch.explain import visible
from stanch.surfaces.parts import Line, PartShown, parts_of, shown_parts
from stanch.surfaces.replay.report import FileReport, Report, Row, Tally
from stanch.values.decision import Effect
from stanch.values.reason import Code, RuleRef

STYLES = {Effect.ALLOW: "green", Effect.ASK: "yellow", Effect.DENY: "bold red"}
_PAST = {Effect.ALLOW: "allowed", Effect.ASK: "asked", Effect.DENY: "denied"}
_ASKED_WIDTH = 100
_SENTENCE_WIDTH = 300
_MOST_PATHS = 30


def print_report(report: Report, console: Console, *, calls: bool = True) -> None:
    """Prints every call, unless `calls` is false, and the sums."""
    if calls:
        for file in report.files:
            if file.rows or len(report.files) == 1:
                _file(file, console)
    _summary(report, console)


def one_line(text: str, width: int = _ASKED_WIDTH) -> str:
    """The text on one line, cut to a width, with nothing invisible in it."""
    shown = visible(text)
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def how_many(count: int, noun: str) -> str:
    """The count with its noun: `1 call`, `2 calls`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def counted(tally: Tally) -> list[tuple[Effect, int]]:
    """The answers that a tally has any of, the strictest first."""
    order = (Effect.DENY, Effect.ASK, Effect.ALLOW)
    return [(effect, tally.counts[effect]) for effect in order if tally.counts[effect]]


def rule_words(rule: RuleRef) -> str:
    """A rule as a person finds it: its group, its number, its words, its place."""
    place = "built in" if rule.place == "seeded" else rule.place
    return f"{rule.group} {rule.id}: {rule.words} ({place})"


def answer_words(about: RuleRef | Code) -> str:
    """What decided calls: a rule in its words, or the reason where no rule spoke."""
    return rule_words(about) if isinstance(about, RuleRef) else about.value.replace("_", " ")


def place_words(row: Row) -> list[str]:
    """Where a call stands and who made it, where that was not the session itself."""
    found = [f"line {row.call.where.rpartition(':')[2]}"]
    if row.call.subagent:
        found.append(f"by {visible(row.call.subagent)}")
    if row.call.inside:
        found.append(f"from a script of {visible(row.call.inside)}")
    return found


def _file(file: FileReport, console: Console) -> None:
    title = Text(visible(file.name), style="bold")
    title.append(f"  {file.kind}, {how_many(len(file.rows), 'call')}", style="dim")
    _print(console, title)
    wide = min(max((len(visible(row.call.tool)) for row in file.rows), default=0), 24)
    for row in file.rows:
        _row(row, wide, console)
    console.print()


def _row(row: Row, wide: int, console: Console) -> None:
    line = Text("  ")
    line.append(f"{row.effect.value:<5}", style=STYLES[row.effect])
    line.append(f"  {visible(row.call.tool) or '(unnamed)':<{wide}}  ")
    line.append(one_line(row.asked))
    line.append("  " + ", ".join(place_words(row)), style="dim")
    _print(console, line)
    _print(console, Text(" " * 9 + one_line(row.sentence, _SENTENCE_WIDTH), style="dim"))
    if row.decision is not None:
        _parts(parts_of(row.decision), console)


def _parts(parts: list[PartShown], console: Console) -> None:
    """The parts of a command, where they say more than the line and the sentence above them."""
    if not parts or (len(parts) == 1 and parts[0].line.decides and parts[0].plain):
        return
    shown, further = shown_parts(parts)
    wide = len(str(shown[-1].number)) if len(parts) > 1 else 0
    for part in shown:
        _part_line(part.line, f"{part.number:>{wide}}  " if wide else "", console, quiet=part.quiet)
        for line in part.found if not part.plain else ():
            _part_line(line, " " * (wide + 2) + "  ", console)
        if part.further:
            _print(console, Text(" " * (wide + 21) + f"and {part.further} more, none of them stricter", style="dim"))
    if further:
        _print(console, Text(" " * 11 + f"and {further} more parts", style="dim"))


def _part_line(line: Line, before: str, console: Console, *, quiet: bool = False) -> None:
    text = Text(f"         {'→' if line.decides else ' '} {before}")
    text.append(f"{line.word or '-':<5}", style=STYLES.get(Effect(line.word), "") if line.word and not quiet else "dim")
    text.append(f"  {line.text}", style="dim" if quiet else "")
    text.append(f"  {line.why}", style="dim")
    _print(console, text)


def _summary(report: Report, console: Console) -> None:
    head = Text(how_many(len(report.rows), "call") + ": ", style="bold")
    for at, effect in enumerate(Effect):
        head.append(", " if at else "")
        head.append(f"{report.count(effect)} {_PAST[effect]}", style=STYLES[effect])
    head.append(f". A person would have been asked {how_many(report.questions, 'question')}.")
    _print(console, head)
    _tallies("by rule, or by reason where no rule spoke", report.by_answer(), console)
    _withheld(report, console)
    _secrets(report, console)
    repeated = sum(file.repeated for file in report.files)
    if repeated:
        _print(
            console, Text(f"{how_many(repeated, 'call')} stood in a file more than once and counted once.", style="dim")
        )
    _print(console, Text(policy_words(report), style="dim"))


def withheld_words(report: Report) -> list[tuple[str, str]]:
    """Each path of which something would have been withheld from the model, with how many messages that is."""
    return [(row.path, how_many(row.messages, "message")) for row in report.withheld or ()]


def _withheld(report: Report, console: Console) -> None:
    if report.model is None or report.withheld is None:
        return
    rows, model = withheld_words(report), visible(report.model)
    if not rows:
        _print(console, Text(f"\n{model} would have been sent everything.", style="bold"))
        return
    _print(console, Text(f"\nwithheld from {model} ({visible(report.withheld[0].tier)})", style="bold"))
    for path, count in rows[:_MOST_PATHS]:
        _print(console, Text(f"  {count:>12}  {one_line(path)}"))
    if len(rows) > _MOST_PATHS:
        _print(console, Text(f"  and {len(rows) - _MOST_PATHS} more paths; --json lists them all", style="dim"))


def secret_words(report: Report) -> list[tuple[str, str, str]]:
    """Each known secret in the files: its name, in how many messages it is, and who was sent it."""
    found = []
    for row in report.secrets or ():
        where = how_many(row.messages, "message") if row.messages else "no message, but the file"
        found.append((row.name, where, ", ".join(row.models) if row.models else "no model"))
    return found


def _secrets(report: Report, console: Console) -> None:
    if report.secrets is None:
        return
    rows = secret_words(report)
    if not rows:
        _print(console, Text("\nNone of the known secrets is in it.", style="bold"))
        return
    _print(console, Text("\nknown secrets, and who was sent them", style="bold"))
    for name, where, models in rows:
        _print(console, Text(f"  {visible(name)}: in {where}, to {one_line(models, _SENTENCE_WIDTH)}"))


def policy_words(report: Report) -> str:
    """Which policy the answers are from."""
    spaces = list(dict.fromkeys(file.workspace for file in report.files if file.workspace))
    where = visible(spaces[0]) if len(spaces) == 1 else f"{len(spaces)} directories"
    return f"Policy: {visible(str(report.policy['name']))}" + (f", workspace {where}" if spaces else "")


def _tallies(title: str, rows: list[Tally], console: Console) -> None:
    if not rows:
        return
    _print(console, Text(f"\n{title}", style="bold"))
    for tally in rows:
        line = Text("  ")
        line.append(f"{tally.total:>5}  {visible(answer_words(tally.about))}  ")
        for at, (effect, count) in enumerate(counted(tally)):
            line.append(", " if at else "")
            line.append(f"{count} {_PAST[effect]}", style=STYLES[effect])
        _print(console, line)


def _print(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=True, highlight=False)
