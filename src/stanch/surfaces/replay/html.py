"""A report as one HTML page that stands alone: no script, nothing from elsewhere, no recorded text taken for markup.

Settles what the page shows. INVARIANT: every value goes through `visible` and then through HTML escaping, in one place.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from stanch.explain import visible
from stanch.surfaces.parts import Line, parts_of
from stanch.surfaces.replay.report import FileReport, Report, Row, Tally
from stanch.surfaces.replay.text import (
    answer_words,
    counted,
    how_many,
    place_words,
    policy_words,
    secret_words,
    withheld_words,
)
from stanch.values.decision import Effect
from stanch.values.reason import RuleRef

_LABELS = {Effect.DENY: "denied", Effect.ASK: "asked", Effect.ALLOW: "allowed"}
_SENTENCE = 400
_ONE_LINE = 80
_WARNINGS = 50


@dataclass(frozen=True, slots=True)
class _Shown:
    """A call as the page shows it."""

    word: str
    tool: str
    asked: str
    line: str
    said: str
    lines: list[str]
    facts: list[tuple[str, str]]
    effects: list[tuple[str, str, str, str, bool]]


@dataclass(frozen=True, slots=True)
class _ShownFile:
    """A file as the page shows it, its calls one at a time."""

    name: str
    about: str
    source: FileReport

    def rows(self) -> Iterator[_Shown]:
        """The calls."""
        return map(_shown, self.source.rows)


def page(report: Report) -> Iterator[str]:
    """The page, piece by piece."""
    style = _template("report.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = Environment(
        autoescape=True,
        finalize=_safe,
        loader=FunctionLoader(_template),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(
        "report.html.j2"
    ).generate(
        style=Markup(style),  # noqa: S704 - this is the package's own style sheet
        style_hash=Markup(f"sha256-{digest}"),  # noqa: S704 - a digest in base64
        newline=Markup("\n"),
        calls=how_many(len(report.rows), "call"),
        questions=how_many(report.questions, "question"),
        policy=policy_words(report),
        tiles=_tiles(report),
        bar=_bar(report),
        bar_words=", ".join(f"{count} {label}" for _, label, count in _tiles(report)[1:]),
        warnings=_warnings(report),
        rules=[_rule(tally) for tally in report.by_answer()],
        files=[_file(file) for file in report.files if file.rows or len(report.files) == 1],
        notes=report.notes,
        withheld=_withheld(report),
        secrets=_secrets(report),
        model=report.model or "",
    )


def _safe(value: Any) -> Any:
    return visible(value) if type(value) is str else value


def _template(name: str) -> str:
    return (resources.files("stanch.surfaces.replay") / "templates" / name).read_text("utf-8")


def _tiles(report: Report) -> list[tuple[str, str, int]]:
    found = [("all", "calls" if len(report.rows) != 1 else "call", len(report.rows))]
    return found + [(effect.value, label, report.count(effect)) for effect, label in _LABELS.items()]


def _bar(report: Report) -> list[tuple[str, float, float]]:
    found, start = [], 0.0
    for effect in _LABELS:
        width = 100 * report.count(effect) / max(len(report.rows), 1)
        if width:
            found.append((effect.value, round(start, 3), round(width, 3)))
        start += width
    return found


def _warnings(report: Report) -> list[str]:
    shown = [str(warning) for warning in report.warnings[:_WARNINGS]]
    more = len(report.warnings) - len(shown)
    return [*shown, f"and {more} more"] if more else shown


def _rule(tally: Tally) -> tuple[str, str, list[tuple[str, str]]]:
    rule = tally.about
    if not isinstance(rule, RuleRef):
        return answer_words(rule), "no rule spoke", _chips(tally)
    note = f" · {rule.note}" if rule.note else ""
    return rule.words, f"rule {rule.id} of {rule.group}, {_place(rule)}{note}", _chips(tally)


def _secrets(report: Report) -> list[tuple[str, str, list[tuple[str, str]]]] | None:
    if report.secrets is None:
        return None
    return [(name, models, [(Effect.DENY.value, where)]) for name, where, models in secret_words(report)]


def _withheld(report: Report) -> list[tuple[str, str, list[tuple[str, str]]]] | None:
    if report.withheld is None:
        return None
    return [(path, "", [(Effect.DENY.value, count)]) for path, count in withheld_words(report)]


def _place(rule: RuleRef) -> str:
    return "built in" if rule.place == "seeded" else f"at {rule.place}"


def _chips(tally: Tally) -> list[tuple[str, str]]:
    return [(effect.value, f"{count} {_LABELS[effect]}") for effect, count in counted(tally)]


def _file(file: FileReport) -> _ShownFile:
    about = [file.kind, how_many(len(file.rows), "call")]
    if file.repeated:
        about.append(f"{file.repeated} told of more than once")
    return _ShownFile(file.name, " · ".join(about), file)


def _shown(row: Row) -> _Shown:
    call, reason = row.call, row.reason
    facts = [("Why", row.sentence if len(row.sentence) > _SENTENCE else ""), ("Where", call.where)]
    facts.append(("Directory", row.cwd))
    if reason.rule is not None:
        facts.append(("Rule", f"{reason.rule.id} of {reason.rule.group}, {_place(reason.rule)}"))
    facts += [("Layer", reason.layer.value.replace("_", " ")), ("Made by", ", ".join(place_words(row)[1:]))]
    facts += [("Model", call.model), ("Time", call.time), ("Call", call.id)]
    return _Shown(
        row.effect.value,
        call.tool or "(unnamed)",
        row.asked,
        " · ".join(place_words(row)),
        _cut(row.sentence),
        row.asked.split("\n") if "\n" in row.asked or len(row.asked) > _ONE_LINE else [],
        [(term, value) for term, value in facts if value],
        list(_effects(row)),
    )


def _effects(row: Row) -> Iterator[tuple[str, str, str, str, bool]]:
    """What each effect does, to what, its answer, why, and whether it decided; those of a command part by part."""
    if row.decision is None:
        return
    parts = {part.at: part for part in parts_of(row.decision)}
    for at, effect in enumerate(row.answer["effects"]):
        part = parts.get(at)
        if part is not None:
            number = f"{part.number}  " if len(parts) > 1 else ""
            yield _line(part.line, f"{number}runs")
            yield from (_line(line, line.does) for line in part.found)
            if part.further:
                yield "", f"and {part.further} more, none of them stricter", "", "", False
        elif effect["part"] is None and effect["class"] is not None:
            yield _effect(effect)


def _line(line: Line, does: str) -> tuple[str, str, str, str, bool]:
    return does, line.on, line.word, line.why, line.decides


def _effect(effect: dict[str, Any]) -> tuple[str, str, str, str, bool]:
    reason = effect["reason"]
    why = "not judged, since another effect is denied" if reason is None else reason["code"].replace("_", " ")
    target = effect["path"] or ("" if reason is None else reason["subject"])
    return effect["class"], _cut(target), effect["effect"] or "", why, False


def _cut(text: str) -> str:
    return text if len(text) <= _SENTENCE else text[: _SENTENCE - 1] + "…"
