"""Requests of one plan in the inbox: shown together, in the plan's order, and answered together.

Settles that a plan can be answered as one where every call of it that waits is shown above the answer, and what is then
told. Does not settle what an answer does (`app.plans`). INVARIANT: a form names each request with what its card showed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from starlette.responses import Response

from stanch.app.plans import Answered, Outcome, Shown
from stanch.app.service import Service
from stanch.gate.plans import PlanRequests, grouped, plan_of
from stanch.surfaces.console.cards import Card, card_of
from stanch.surfaces.console.failing import Refused
from stanch.surfaces.console.guard import Asked, Said
from stanch.surfaces.console.logins import SURFACE
from stanch.values.approval import ApprovalRecord, ApprovalState
from stanch.values.fault import NotFound, StoreUnreadable

MOST_TOGETHER = 100
"""Calls of a plan above which it is not answered as one: nobody has looked at so many."""
MOST_DRAWN = 200
_TO = {"approve": ApprovalState.APPROVED, "reject": ApprovalState.REJECTED}
Told = Callable[[ApprovalRecord, str], str]
_TONES = {Outcome.APPROVED: "allow", Outcome.REJECTED: "deny"}


@dataclass(frozen=True, slots=True)
class Group:
    """A card by itself, or those of one plan. `form` names the form of its answer; empty where it has none.

    `total` is how many calls of the plan wait, also those that are not shown.
    """

    cards: tuple[Card, ...]
    plan_id: str = ""
    form: str = ""
    total: int = 0


class Laid(NamedTuple):
    """The requests as they stand on the page, before any is left out: each plan's together."""

    order: list[ApprovalRecord]
    waiting: dict[str, tuple[str, ...]]


def laid_out(service: Service, requests: Sequence[ApprovalRecord]) -> Laid:
    """The requests in their order; those of a plan follow its first one, also those that wait behind this page."""
    plans = {at.plan_id for one in requests if (at := plan_of(one.call_id)) is not None}
    waiting = service.plans.waiting(sorted(plans))
    here = {one.request_id for one in requests}
    behind = [one for ids in waiting.values() for one in ids[:MOST_TOGETHER] if one not in here]
    found = [one for request_id in behind[:MOST_DRAWN] if (one := _open(service, request_id)) is not None]
    order: list[ApprovalRecord] = []
    for each in grouped([*requests, *found]):
        order += each.requests if isinstance(each, PlanRequests) else (each,)
    return Laid(order, waiting)


def _open(service: Service, request_id: str) -> ApprovalRecord | None:
    try:
        found = service.inbox.approval(request_id)
    except (NotFound, StoreUnreadable):
        return None
    return service.projecting.records().approval(found) if found.state is ApprovalState.OPEN else None


def cards_of(service: Service, laid: Laid) -> Iterable[Card]:
    """The cards, in their order."""
    return (card_of(one, service.policy) for one in laid.order)


def groups_of(cards: Sequence[Card], laid: Laid) -> list[Group]:
    """The cards that are shown, those of a plan together. A plan has a form where all that wait are among them."""
    plans: dict[str, list[Card]] = {}
    for card in cards:
        plans.setdefault(card.plan_id or card.id, []).append(card)
    return [_group(name, mine, laid) if mine[0].plan_id else Group(tuple(mine)) for name, mine in plans.items()]


def _group(plan_id: str, cards: list[Card], laid: Laid) -> Group:
    waiting = laid.waiting.get(plan_id, ())
    shown = [card.id for card in cards]
    whole = set(waiting) == set(shown) and 1 < len(shown) <= MOST_TOGETHER
    # WHY a name of its own for each state: what somebody has ticked stays while nothing comes or goes.
    form = hashlib.sha256("\n".join(shown).encode()).hexdigest()[:12] if whole else ""
    return Group(tuple(cards), plan_id, form, len(waiting))


def answer(asked: Asked, told: Told, shown: Callable[[list[Said], int], Response]) -> Response:
    """An answer to the requests of a plan that are ticked.

    `told` says how a request stands that was not answered, and why; `shown` is the whole page, for who has no scripts.
    """
    to = _TO.get(asked.get("action"))
    if to is None:
        raise Refused(400, "This is no answer that the inbox knows.")
    named = [_shown(one) for one in asked.fields.get("call", [])]
    if not named:
        raise Refused(422, "Tick the calls that you answer for.")
    plan_id, note = asked.parameters["plan_id"], asked.get("note").strip() or None

    def digest(one: Shown) -> str:
        who = asked.login.caller.principal
        said = [SURFACE, who.kind.value, who.id, "plan", list(one), to.value, note]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    done = asked.service.plans.answer(plan_id, to, named, note=note, digest=digest, by=asked.login.by)
    taken = [one for one in done.answered if one.outcome in _TONES]
    said = [_said(plan_id, outcome, done.answered, told) for outcome in Outcome if _of(done.answered, outcome)]
    status = 200 if taken else 409
    if not asked.in_page:
        return shown(said, status)
    gone = [one.request_id for one in done.answered if one.outcome is not Outcome.NOT_SHOWN]
    return asked.page("plan_answered.html.j2", status=status, said=said, gone=gone)


def _shown(text: str) -> Shown:
    request_id, _, fingerprint = text.partition(" ")
    if not request_id or not fingerprint:
        raise Refused(400, "This form cannot be read.")
    return Shown(request_id, fingerprint)


def _of(answered: Sequence[Answered], outcome: Outcome) -> list[Answered]:
    return [one for one in answered if one.outcome is outcome]


def _said(plan_id: str, outcome: Outcome, answered: Sequence[Answered], told: Told) -> Said:
    """One line for all the calls of which the same came."""
    mine = _of(answered, outcome)
    places = [at.place + 1 for one in mine if one.approval and (at := plan_of(one.approval.call_id))]
    which = f"call{'' if len(places) == 1 else 's'} {', '.join(map(str, places))} of a plan"
    late = mine if outcome is Outcome.TOO_LATE else []
    how = " ".join(dict.fromkeys(told(one.approval, one.why) for one in late if one.approval))
    words = {
        Outcome.APPROVED: f"You approved {which}.",
        Outcome.REJECTED: f"You rejected {which}.",
        Outcome.NOT_SHOWN: f"Nothing was answered for {which}: it is not what your page showed. Look again.",
        Outcome.UNREADABLE: f"Of a plan, {len(mine)} cannot be read and had no answer.",
        Outcome.TOO_LATE: f"Your answer came too late for {which}, and changed nothing there. {how}",
    }
    return Said(f"{plan_id}-{outcome.value}", _TONES.get(outcome, "ask"), words[outcome])
