"""What is noted of a request through the model proxy once it was answered.

Settles three things, none of which holds the answer up: which opaque pieces a model made under which tier, so that it
gets its own thoughts back and no other's; that what was withheld is told; and that a tool call which the session's
rules deny is told as soon as a model asks for it. Does not settle what the gate answers (`app.asking`).
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stanch.app.answer_copies import read_copy
from stanch.app.asking import Answered, Asking, strictest
from stanch.app.live import Live
from stanch.app.proxy_own_words import OwnWords, own
from stanch.app.proxy_sessions import AGENT, SURFACE, ProxySession, ProxySessions
from stanch.app.proxy_talks import Talk, lent
from stanch.policy.routing import Routed
from stanch.storage.store import Store
from stanch.tiers.answers import Answers, Given
from stanch.tiers.dialects.telling import Shape
from stanch.tiers.report import Report
from stanch.tiers.tier import Tier
from stanch.values.call import EffectClass
from stanch.values.decision import Effect
from stanch.values.fault import Fault
from stanch.values.identity import Source
from stanch.values.message import Call, Message
from stanch.values.records import Actor, SessionRecord

MOST_SESSIONS = 256
MOST_MARKS = 4_096
MOST_NAMED = 50
MOST_CALLS = 64
WAIT_SECONDS = 2.0
OWN_WORDS = "\0own words"
# What stands in an answer that has a call in it, or something opaque.
NOTED = (b"tool_use", b"tool_calls", b"_call", b"signature", b"encrypted_content", b"compaction", b"redacted_thinking")
_LOG = logging.getLogger(__name__)


class Made(NamedTuple):
    """Who made an opaque piece, and by what was decided what it could be made of."""

    model: str
    reading: Hashable
    sends: frozenset[Given]


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that is under way."""

    session: ProxySession
    shape: Shape
    to: Routed
    made: Made
    tier: Tier
    report: Report
    offers_tools: bool
    directory: str | None


class Settling:
    """What is kept of answers. Safe to use from any thread."""

    def __init__(self, store: Store, live: Live, asking: Asking, sessions: ProxySessions) -> None:
        self._store, self._live, self._asking, self._sessions = store, live, asking, sessions
        self._made: OrderedDict[str, OrderedDict[str, Made]] = OrderedDict()
        self._under_way: dict[str, int] = {}
        self._told: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._own_words = OwnWords[Made]()
        self._changed = threading.Condition()
        self._naming = threading.Lock()

    def with_own_thoughts(self, talk: Talk, tier: Tier, answers: Answers) -> list[Message]:
        """The conversation, where what was made by no more than the tier reads now is its maker's: opaque pieces, and
        the words of summaries.

        All others stay what their tags make of them.
        """
        messages = [*talk.own, *talk.tagged]
        if not tier.objects(EffectClass.READ):
            return messages
        now, sends = _reading(tier), _sends(tier, answers)
        self._with_own_words(messages, talk, now, sends)
        if not talk.sealed:
            return messages
        wanted = {mark for marks in talk.sealed.values() for mark in marks}
        with self._changed:
            # WHY waited for: an agent may go on before the end of the answer was looked at.
            self._changed.wait_for(
                lambda: not self._under_way.get(talk.session_id) or wanted <= self._known(talk.session_id).keys(),
                WAIT_SECONDS,
            )
            known = {mark: self._known(talk.session_id)[mark] for mark in wanted & self._known(talk.session_id).keys()}
        for at, marks in talk.sealed.items():
            makers = [known.get(mark) for mark in marks]
            if all(one is not None and one.reading == now and one.sends <= sends for one in makers):
                models = {one.model for one in makers if one is not None}
                if len(models) == 1:
                    messages[len(talk.own) + at] = lent(talk, at, models.pop())
        return messages

    def _with_own_words(self, messages: list[Message], talk: Talk, now: Hashable, sends: frozenset[Given]) -> None:
        if not talk.summed:
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way.get(talk.session_id), WAIT_SECONDS)
            words = self._own_words.of(talk.session_id, lambda made: made.reading == now and made.sends <= sends)
        for at in talk.summed:
            # WHY kept: what is the same message as before need not be looked at again.
            known = talk.lent.get((at, OWN_WORDS))
            made = own(talk.tagged[at], words)
            if known is None or known[0] is not talk.tagged[at] or known[1].parts != made.parts:
                known = talk.lent[at, OWN_WORDS] = talk.tagged[at], made
            messages[len(talk.own) + at] = known[1]

    def begun(self, sent: Sent) -> Sent:
        """Takes down that a request is on its way."""
        with self._changed:
            self._under_way[sent.session.id] = self._under_way.get(sent.session.id, 0) + 1
        return sent

    def settled_at_once(self, sent: Sent, copy: bytes | None) -> bool:
        """True where nothing has to be noted of an answer: no call, nothing opaque, no own words, nothing untold."""
        if copy is not None and (sent.tier.objects(EffectClass.READ) or any(mark in copy for mark in NOTED)):
            return False
        if self._is_news(sent):
            return False
        self._end(sent)
        return True

    def settled(self, sent: Sent, copy: bytes | None) -> None:
        """Takes note of what came of it; `copy` is what was answered, None where nothing was or it cannot be had."""
        calls: Sequence[Call] = ()
        try:
            if copy is not None:
                calls, sealed, said = read_copy(copy, sent.shape)
                self._seal(sent, sealed)
                if said and not calls and sent.tier.objects(EffectClass.READ):
                    with self._changed:
                        self._own_words.note(sent.session.id, said, sent.made)
        finally:
            self._end(sent)
        try:
            self._tell(sent)
            for detail in self._denied(sent, calls[:MOST_CALLS]):
                self._note(sent, "call.foreseen", detail)
        except Fault as why:
            _LOG.warning("an answer through the model proxy could not be noted: %s", type(why).__name__)

    def _end(self, sent: Sent) -> None:
        with self._changed:
            left = self._under_way.pop(sent.session.id, 1) - 1
            if left > 0:
                self._under_way[sent.session.id] = left
            self._changed.notify_all()

    def _seal(self, sent: Sent, sealed: Sequence[str]) -> None:
        if not sealed:
            return
        with self._changed:
            known = self._made.setdefault(sent.session.id, OrderedDict())
            self._made.move_to_end(sent.session.id)
            known.update(dict.fromkeys(sealed, sent.made))
            while len(known) > MOST_MARKS:
                known.popitem(last=False)
            while len(self._made) > MOST_SESSIONS:
                self._made.popitem(last=False)

    def _known(self, session_id: str) -> OrderedDict[str, Made]:
        return self._made.get(session_id) or OrderedDict()

    def _tell(self, sent: Sent) -> None:
        """Tells what was withheld, where that is not what was told before, and a model that is another now."""
        report = sent.report
        if _has_another_model(sent, sent.session.stored):
            # WHY read again: another request of the session may have said so meanwhile.
            with self._naming:
                record = self._store.get_session(sent.session.id)
                if _has_another_model(sent, record):
                    self._store.set_model(record.id, sent.to.model, by=self._by(sent))
        key, said = _telling(sent)
        if self._was_told(sent):
            return
        self._told[key] = said
        while len(self._told) > MOST_SESSIONS:
            self._told.popitem(last=False)
        names = list(report.pieces)
        detail = {
            "model": sent.to.model,
            "tier": sent.tier.id,
            "withheld": sum(report.pieces.values()),
            "quotes": sum(report.quotes.values()),
            "unsent": report.unsent,
            "asks": len(report.asks),
            "paths": names[:MOST_NAMED],
            "more": max(0, len(names) - MOST_NAMED),
        }
        self._note(sent, "session.withheld", detail)

    def _was_told(self, sent: Sent) -> bool:
        key, said = _telling(sent)
        return bool(self._told.get(key, said if sent.report.empty else None) == said)

    def _is_news(self, sent: Sent) -> bool:
        return _has_another_model(sent, sent.session.stored) or not self._was_told(sent)

    def _denied(self, sent: Sent, calls: Sequence[Call]) -> Iterator[dict[str, Any]]:
        for call in calls:
            if isinstance(call.arguments, str):
                continue
            try:
                answered = self._answered(sent, call)
            except Fault:
                continue  # WHY: whoever runs the call asks the gate then, and is told
            decision = answered.decision
            if decision.effect is Effect.DENY:
                reason = decision.reason
                yield {
                    "tool": call.tool,
                    "tool_call_id": call.id,
                    "model": sent.to.model,
                    "code": reason.code.value,
                    "layer": reason.layer.value,
                }

    def _answered(self, sent: Sent, call: Call) -> Answered:
        arguments = dict(call.arguments) if not isinstance(call.arguments, str) else {}
        if sent.session.stored is None:
            bound = self._live.engine.session(agent=AGENT, source=Source.API, model=sent.to.model, cwd=sent.directory)
            return Answered(bound, bound.probe(call.tool, arguments, call_id=call.id))
        found = [
            Answered(
                kin.session,
                kin.session.probe(call.tool, arguments, call_id=call.id, cwd=sent.directory, bypasses=kin.bypasses),
            )
            for kin in self._asking.lineage(sent.session.id)
        ]
        return strictest(found)

    def _note(self, sent: Sent, action: str, detail: dict[str, Any]) -> None:
        session = self._sessions.kept(sent.session, sent.to.model)
        self._store.append_audit(action=action, subject=session.id, detail=detail, by=self._by(sent))

    @staticmethod
    def _by(sent: Sent) -> Actor:
        return Actor(sent.session.principal.id, SURFACE)


def _has_another_model(sent: Sent, record: SessionRecord | None) -> bool:
    """True where the session's model is another now. WHY by its tools: side requests go to any model."""
    if record is None or record.model == sent.to.model:
        return False
    return sent.offers_tools or record.model is None


def _telling(sent: Sent) -> tuple[tuple[str, str], tuple[Any, ...]]:
    report = sent.report
    return (sent.session.id, sent.to.model), (report.pieces, report.quotes, report.unsent)


def made_by(model: str, tier: Tier, answers: Answers) -> Made:
    """What a model of this tier makes, with these answers of persons."""
    return Made(model, _reading(tier), _sends(tier, answers))


def _reading(tier: Tier) -> Hashable:
    """What a tier says of reading, as a value: two that are equal read the same."""
    column = tier.columns.get(EffectClass.READ)
    cells = () if column is None else tuple((entry.pattern, entry.effect) for entry in column.entries)
    return tier.id, tier.otherwise[EffectClass.READ], cells


def _sends(tier: Tier, answers: Answers) -> frozenset[Given]:
    return frozenset(one for one in answers.given if one.tier == tier.id and one.send)
