"""What a door said of a call, held against what a case expects of it.

Settles when the two differ and how that is shown. Does not settle who is asked (`app.case_runner`, `app.case_calls`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from stanch.app.case_places import Place
from stanch.app.case_records import Because, Expected
from stanch.explain import sentence
from stanch.values.decision import Decision

MAX_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Told:
    """What a door said of a call. A fault has its message and nothing else; None stands for what a door does not tell.

    `everything` is the whole answer as text, where nothing hidden may show.
    """

    effect: str | None = None
    code: str | None = None
    layer: str | None = None
    rule: int | None = None
    group: str | None = None
    about: str | None = None
    at: str | None = None
    sentence: str | None = None
    mandated: bool | None = None
    everything: str = ""
    fault: str | None = None


class Mismatch(NamedTuple):
    """Where a case came out otherwise: what was wanted and what was got."""

    wanted: str
    got: str


def told(decision: Decision) -> Told:
    """A decision in the form that cases are held against."""
    reason = decision.reason
    rule = reason.rule
    text = sentence(reason, decision.effect)
    where = (None, None, None) if rule is None else (rule.id, rule.group, rule.place)
    everything = f"{text} {reason!r} {decision.answers!r} {decision.trace!r}"
    return Told(
        decision.effect.value, reason.code.value, reason.layer.value, where[0], where[1], reason.subject, where[2],
        text, decision.mandated, everything,
    )  # fmt: skip


def held(place: Place, expected: Expected, told: Told, about: str = "") -> list[Mismatch]:
    """What a door told, held against what was expected; what the door does not tell is not compared."""
    got = short(place.shown(f"fault: {told.fault}" if told.fault is not None else told.sentence or ""))
    hidden = (text for text in expected.hides if text in told.everything)
    found = [Mismatch(f"{about}an answer without {text!r}", short(place.shown(told.everything))) for text in hidden]
    if expected.fault is not None or told.fault is not None:
        fits = told.fault is not None and expected.fault is not None and expected.fault in place.shown(told.fault)
        fits = fits and (expected.because is None or told.code in (None, expected.because.code))
        wanted = expected.effect or f"fault: ...{expected.fault}..."
        return found if fits else [*found, Mismatch(about + wanted, got)]
    because = expected.because
    if told.effect != expected.effect or (because is not None and not _fits(because, told)):
        reason = f" because {because.text}" if because else ""
        found.append(Mismatch(f"{about}{expected.effect}{reason}", f"{told.effect} because {_reason(told)}; {got}"))
    if None not in (expected.mandated, told.mandated) and told.mandated is not expected.mandated:
        found.append(Mismatch(f"{about}mandated: {expected.mandated}", f"mandated: {told.mandated}"))
    if expected.about is not None and told.about is not None:
        subject = place.shown(told.about)
        if subject != expected.about:
            found.append(Mismatch(f"{about}about {expected.about}", f"about {subject}"))
    if None not in (expected.at, told.at) and expected.at != told.at:
        found.append(Mismatch(f"{about}a rule at {expected.at}", f"a rule at {told.at}"))
    said = place.shown(told.sentence or "")
    return found + [Mismatch(f"{about}a sentence with {text!r}", said) for text in expected.says if text not in said]


def short(text: str) -> str:
    """As much of a text as is shown."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _fits(because: Because, told: Told) -> bool:
    pairs = (
        (because.code, told.code),
        (because.layer, told.layer),
        (because.rule, told.rule),
        (because.group, told.group),
    )
    return all(wanted is None or wanted == got for wanted, got in pairs)


def _reason(told: Told) -> str:
    if told.rule is not None:
        return f"rule {told.rule} of {told.group}"
    return f"{told.code} by {told.layer}"
