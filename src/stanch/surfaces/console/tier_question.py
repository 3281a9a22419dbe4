"""The one question of a switch: may the session's model be sent what its tier asks about?

Settles how the question is shown and how a form becomes an answer. Does not settle how far an answer reaches
(`tiers.answers`). INVARIANT: an answer names the question that it answers, so that nothing is sent which the page did
not ask about.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

from stanch.app.service import Service
from stanch.app.switching import Shown
from stanch.surfaces.console.guard import Asked, Said
from stanch.tiers.tier import Tier, Tiers, TiersBroken
from stanch.values.call import EffectClass
from stanch.values.decision import Effect
from stanch.values.fault import BadInput, Conflict, StoreUnreadable
from stanch.values.records import AuditRecord, SessionRecord

MOST_CHOICES = 150
MOST_LISTED = 2_000


class Choice(NamedTuple):
    """A path that is asked about, by its number in the question, with how many pieces came from it."""

    at: int
    name: str
    pieces: int


@dataclass(frozen=True, slots=True)
class TierQuestion:
    """What a tier asks about a conversation. `choices` are the first of it, `rest` are names of what comes after them.

    `mark` stands for all of it: another one is another question.
    """

    session: str
    model: str
    tier: str
    label: str
    choices: list[Choice]
    rest: tuple[str, ...]
    total: int
    mark: str


def question_of(service: Service, session: SessionRecord) -> TierQuestion | None:
    """The question that waits for a person; None where the session's model has none, or nobody can tell."""
    if session.model is None or session.ended_at is not None:
        return None
    try:
        # WHY first: most tiers never ask, and then the conversation need not be gone through.
        return _question(session.id, _shown(service, session.id, session.model))
    except (Conflict, TiersBroken, StoreUnreadable):
        return None


def _shown(service: Service, session_id: str, model: str) -> Shown | None:
    if not _may_ask(Tiers(service.policy).of(model)):
        return None
    return service.switching.shown(session_id)


def _may_ask(tier: Tier) -> bool:
    """True where the tier asks about reading anything at all."""
    cls = EffectClass.READ
    said = [tier.otherwise[cls], *(entry.effect for entry in tier.columns[cls].entries)]
    return Effect.ASK in said


def _question(session_id: str, shown: Shown | None) -> TierQuestion | None:
    if shown is None or not shown.report.asks:
        return None
    pieces, asks = shown.report.pieces, shown.report.asks
    choices = [Choice(at, name, pieces.get(name, 0)) for at, name in enumerate(asks[:MOST_CHOICES])]
    rest = asks[MOST_CHOICES:MOST_LISTED]
    tier = shown.tier
    return TierQuestion(session_id, shown.model, tier.id, tier.label, choices, rest, len(asks), _mark(shown))


def _mark(shown: Shown) -> str:
    told = repr((shown.model, shown.tier.id, shown.report.asks))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def answered(asked: Asked) -> tuple[Said, int]:
    """What a person is told of the answer that they sent, with its status."""
    service, session_id = asked.service, asked.parameters["session_id"]
    try:
        shown = service.switching.shown(session_id)
        if not shown.report.asks:
            return Said("", "ask", _too_late(asked)), 409
        if asked.get("question") != _mark(shown):
            return Said("", "ask", "What is asked has changed since. Look at it again before you answer."), 409
        send, withhold = _meant(asked, shown.report.asks)
        service.switching.answer(session_id, send=send, withhold=withhold, by=asked.login.by)
    except Conflict as why:
        return Said("", "deny", asked.failing.sentence(why)), 409
    except BadInput as why:
        return Said("", "deny", asked.failing.sentence(why)), 422
    tone = "allow" if not withhold else "deny" if not send else "ask"
    return Said("", tone, _words(shown.model, len(send), len(withhold))), 200


def _meant(asked: Asked, asks: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is to be sent and what is to be withheld. Raises `BadInput` for a form that says neither."""
    match asked.get("action"):
        case "send":
            return asks, ()
        case "withhold":
            return (), asks
        case "choose":
            shown = asks[:MOST_CHOICES]
            ticked = {text for text in asked.fields.get("chosen", ()) if text.isascii() and text.isdigit()}
            chosen = tuple(name for at, name in enumerate(shown) if str(at) in ticked)
            return chosen, tuple(name for at, name in enumerate(shown) if str(at) not in ticked)
        case _:
            raise BadInput("this is no answer to what is asked")


def _words(model: str, sent: int, withheld: int) -> str:
    def count(number: int) -> str:
        return f"{number:,} {'path is' if number == 1 else 'paths are'}"

    said = [f"{count(sent)} sent to {model}"] if sent else []
    said += [f"{count(withheld)} withheld" + ("" if sent else f" from {model}")] if withheld else []
    return f"{', '.join(said)}. That holds for this session."


def _too_late(asked: Asked) -> str:
    rows = asked.service.audit.list(
        subject=asked.parameters["session_id"], action="tier.answer", newest_first=True, limit=1
    ).items
    last = rows[0] if rows else None
    by = f" by {last.actor} ({last.surface})" if isinstance(last, AuditRecord) else ""
    return f"This is answered already{by}. Your answer changed nothing."
