"""The parts of a shell command with their answers, as every door shows them: what runs, what it touches, what decides.

Settles which lines there are and what stands in them. Does not settle how a line looks (the command line, the reports).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stanch.explain import brief, visible
from stanch.values.call import CallEffect, EffectClass
from stanch.values.command import Weight
from stanch.values.decision import Answer, Decision

LONGEST_TEXT = 120
MOST_FOUND = 6
MOST_PARTS = 20
NOT_JUDGED = "not judged"
AS_THE_COMMAND = "as the command"
DECIDES = "decides"
_AS_ITS_COMMAND = (EffectClass.READ, EffectClass.NETWORK)


class Line(NamedTuple):
    """One line: the answer's word ("" where none was given), what is done ("" for the command itself), and why."""

    word: str
    does: str
    on: str
    why: str
    decides: bool

    @property
    def text(self) -> str:
        """What the line is about: `git push`, `read /w/a`."""
        return f"{self.does} {self.on}".strip()


class PartShown(NamedTuple):
    """One simple command, and below it what it was found to touch; `further` counts what is left out of that.

    `quiet`: it does nothing by itself, and decided nothing. `plain`: nothing stands below it that has an answer of its
    own. `at` is the place of its effect in the call.
    """

    number: int
    line: Line
    found: tuple[Line, ...]
    further: int
    quiet: bool
    at: int

    @property
    def plain(self) -> bool:
        """True where nothing below the command has an answer that is not the command's own."""
        return all(one.why == AS_THE_COMMAND for one in self.found)

    @property
    def decides(self) -> bool:
        """True where the command, or what it was found to touch, decided the call."""
        return self.line.decides or any(one.decides for one in self.found)


def part_numbers(effects: Sequence[CallEffect]) -> list[int | None]:
    """For each effect, the number of the simple command that it runs or belongs to; None for any other effect."""
    numbers: list[int | None] = []
    number = 0
    for effect in effects:
        if effect.command is not None and effect.found is None:
            number += 1
        numbers.append(number if effect.command is not None else None)
    return numbers


def parts_of(decision: Decision) -> list[PartShown]:
    """Every part of the call's commands, in order."""
    parts: list[PartShown] = []
    for at, number in enumerate(part_numbers(decision.call.effects)):
        effect = decision.call.effects[at]
        if number is None or effect.command is None or effect.found is not None:
            continue
        own = decision.answers[at]
        decides = at == decision.at
        found, further = _found(decision, at, own)
        line = Line(_word(own), *effect_words(effect), _why(decision, effect, own, decides=decides), decides)
        quiet = effect.command.inert and not decides and own is not None and own.strength == 0
        parts.append(PartShown(number, line, found, further, quiet, at))
    return parts


def shown_parts(parts: list[PartShown]) -> tuple[list[PartShown], int]:
    """The parts that are shown of a command with very many, the one that decides among them, and how many are not."""
    if len(parts) <= MOST_PARTS:
        return parts, 0
    must = [part for part in parts[MOST_PARTS:] if part.decides]
    shown = [*parts[: MOST_PARTS - len(must)], *must]
    return shown, len(parts) - len(shown)


def is_shown(decision: Decision, at: int) -> bool:
    """True for an effect worth a line: not for what nobody knows to happen, and what no rule speaks against."""
    effect, own = decision.call.effects[at], _own(decision, at)
    if effect.found is None or at == decision.at:
        return True
    answer = decision.answers[at]
    if effect.found is Weight.POSSIBLE:
        return answer is not None and own is not None and answer.strength > own.strength
    inert = effect.command is not None and effect.command.inert
    return not (inert and effect.cls in _AS_ITS_COMMAND and answer == own)


def effect_words(effect: CallEffect) -> tuple[str, str]:
    """What an effect of a command does, and to what: `write` and a path, or "" and the command that runs."""
    if effect.found is None:
        return "", visible_line(effect.subject if effect.command is None else effect.command.text)
    may = "may " if effect.found is Weight.POSSIBLE else ""
    does = f"{may}{'' if effect.cls is None else effect.cls.value}"
    if effect.stamp is not None:
        return does, visible_line(effect.stamp.path or effect.stamp.requested)
    return does, visible_line("" if effect.subject == "the network" else effect.subject)


def visible_line(text: str) -> str:
    """The text on one line, cut short, with nothing invisible in it."""
    shown = visible(text)
    return shown if len(shown) <= LONGEST_TEXT else shown[: LONGEST_TEXT - 1] + "…"


def _own(decision: Decision, at: int) -> Answer | None:
    """The answer of the command that the effect belongs to."""
    while at > 0 and decision.call.effects[at].found is not None:
        at -= 1
    return decision.answers[at]


def _found(decision: Decision, at: int, own: Answer | None) -> tuple[tuple[Line, ...], int]:
    """The lines below a command. Of very many, those with the strictest answers, in their order."""
    lines: list[tuple[int, int, Line]] = []
    seen: set[Line] = set()
    for place in range(at + 1, len(decision.call.effects)):
        effect = decision.call.effects[place]
        if effect.found is None:
            break
        if not is_shown(decision, place):
            continue
        answer, decides = decision.answers[place], place == decision.at
        same = answer is not None and answer == own and effect.cls in _AS_ITS_COMMAND and not decides
        why = AS_THE_COMMAND if same else _why(decision, effect, answer, decides=decides)
        line = Line(_word(answer), *effect_words(effect), why, decides)
        if line not in seen:
            seen.add(line)
            lines.append((-4 if decides else -(answer.strength if answer is not None else 0), place, line))
    kept = sorted(sorted(lines)[:MOST_FOUND], key=lambda one: one[1])
    return tuple(line for _, _, line in kept), len(lines) - len(kept)


def _word(answer: Answer | None) -> str:
    return "" if answer is None else answer.effect.value


def _why(decision: Decision, effect: CallEffect, answer: Answer | None, *, decides: bool) -> str:
    if decides:
        return DECIDES
    if answer is None:
        return NOT_JUDGED
    if answer.code.value == "nothing_by_itself":
        return "nothing by itself"
    return brief(decision.reason_of(answer, effect), answer.effect)
