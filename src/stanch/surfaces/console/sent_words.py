"""A message as it is stored, and as a model is sent it, side by side.

Settles how the parts of both read, and that the placeholders in what is sent are marked. Does not settle what a model
may see (`tiers.history`). INVARIANT: only a text that really stands for something withheld is marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from stanch.app.switching import Shown
from stanch.surfaces.console.cutting import Cut, cut, whole
from stanch.surfaces.console.showing import Line, as_json, shown
from stanch.surfaces.console.timeline_calls import others_of, text_of
from stanch.tiers.history_parts import LEFT_OUT
from stanch.tiers.history_verdicts import Verdicts, reading
from stanch.values.message import Call, Fragment, Message, Part, Reasoning, Result, Role, Text

SOME_LINES = 24
_WHO = {Role.SYSTEM: "system", Role.USER: "user", Role.ASSISTANT: "assistant", Role.TOOL: "tool"}
_MARK = Markup('<mark class="withheld">{}</mark>')
MOST_ENDS = 3


class Piece(NamedTuple):
    """One part of a message: what it is, its text, and what is said of what is no text. `same`: as it is stored."""

    what: str
    cut: Cut
    others: list[str]
    same: bool = False


class Row(NamedTuple):
    """One message, the `at`-th from 1: who speaks, what is stored and, where that differs, what is sent."""

    at: int
    who: str
    model: str
    stored: list[Piece]
    sent: list[Piece] | None
    is_cut: bool
    left_out: int


class Marks:
    """The placeholders of one model's view of a conversation."""

    def __init__(self, shown_: Shown) -> None:
        tier, report = shown_.tier, shown_.report
        verdicts = Verdicts(reading(tier), tier.label, ())
        names = {*report.pieces, *report.quotes}
        self._known = frozenset(str(shown(verdicts.line(name))) for name in names)
        self._begin, _, self._end = str(shown(verdicts.line(""))).partition("  ")

    def on(self, part: Part, text: Cut) -> Cut:
        """The same lines of a part, with the placeholders in them marked."""
        if part is LEFT_OUT:
            return text._replace(lines=[Line(line.kind, _MARK.format(line.text)) for line in text.lines])
        return text._replace(lines=[Line(line.kind, self._marked(line.text)) for line in text.lines])

    def _marked(self, line: Markup) -> Markup:
        text, found, at = str(line), list[str](), 0
        while (start := text.find(self._begin, at)) >= 0:
            end = self._ends(text, start)
            found.append(text[at:start])
            if end is None:
                at = start + len(self._begin)
                found.append(self._begin)
            else:
                at = end
                found.append(_MARK.format(Markup(text[start:end])))  # noqa: S704 - a piece of what is escaped already
        return Markup("".join([*found, text[at:]]))  # noqa: S704 - the same, and marks around some of it

    def _ends(self, text: str, start: int) -> int | None:
        """Where the placeholder that begins there ends; None where it is none of those that were put in."""
        end = start
        for _ in range(MOST_ENDS):  # WHY bounded: whoever wrote the text may have written many
            end = text.find(self._end, end)
            if end < 0:
                return None
            end += len(self._end)
            if text[start:end] in self._known:
                return end
        return None


def rows(shown_: Shown, wanted: Sequence[int], *, all_of_it: bool = False) -> list[Row]:
    """The rows of the messages with these numbers, from 0."""
    marks = Marks(shown_)
    return [_row(at, shown_.stored[at], shown_.messages[at], marks, all_of_it) for at in wanted]


def differing(shown_: Shown) -> list[int]:
    """The numbers, from 0, of the messages that the model is sent otherwise than they are stored."""
    return [at for at, (one, two) in enumerate(zip(shown_.stored, shown_.messages, strict=True)) if one is not two]


def _row(at: int, stored: Message, sent: Message, marks: Marks, all_of_it: bool) -> Row:
    left = [_piece(part, all_of_it) for part in stored.parts]
    right: list[Piece] | None = None
    if sent is not stored:
        kept = {id(part) for part in stored.parts}
        right = []
        for part in sent.parts:
            one = _piece(part, all_of_it)
            same = id(part) in kept
            right.append(one._replace(same=True) if same else one._replace(cut=marks.on(part, one.cut)))
    is_cut = any(one.cut.is_cut for one in (*left, *(right or ())))
    left_out = max(0, len(stored.parts) - len(sent.parts))
    return Row(at + 1, _WHO[stored.role], stored.model or "", left, right, is_cut, left_out)


def _piece(part: Part, all_of_it: bool) -> Piece:
    text = _text(part).removesuffix("\n")
    return Piece(_what(part), whole(text) if all_of_it else cut(text, SOME_LINES), _others(part))


def _text(part: Part) -> str:
    match part:
        case Text() | Fragment() | Reasoning():
            return part.text
        case Result():
            return text_of(part)
        case Call():
            return _arguments(part.arguments)
        case _:
            return ""


def _arguments(arguments: Mapping[str, object] | str) -> str:
    """The arguments as a person reads them: a text of several lines stands in them as it is."""
    if isinstance(arguments, str):
        return arguments
    given = ((name, value if isinstance(value, str) else as_json(value)) for name, value in arguments.items())
    return "\n".join(f"{name}: {value}" for name, value in given)


def _what(part: Part) -> str:
    match part:
        case Call():
            return f"calls {part.tool}"
        case Result():
            return f"result of {part.tool}" if part.tool else "result"
        case Reasoning():
            return "thought"
        case Fragment():
            return part.name
        case _:
            return ""


def _others(part: Part) -> list[str]:
    parts: Iterable[Part] = part.content if isinstance(part, Result) else (part,)
    return others_of(tuple(parts))
