"""What a session's model is not shown of the conversation, and what a person says where its tier asks.

Settles the one question that a switch of model raises, and that the switch is told of with what it hides. Does not
settle what is withheld (`tiers.history`), nor how far an answer reaches (`tiers.answers`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from stanch.app.messages import Messages
from stanch.app.redacting import look_of
from stanch.app.sessions import Sessions
from stanch.app.sight import TierSight
from stanch.storage.store import Store
from stanch.tiers.answers import Answers, Given
from stanch.tiers.report import Report
from stanch.tiers.tier import Tier, TiersBroken
from stanch.values.call import EffectClass
from stanch.values.fault import BadFields, Conflict, quoted
from stanch.values.message import Message
from stanch.values.records import Actor, SessionRecord

MOST_NAMED = 10_000
LONGEST_NAME = 8_192


class Shown(NamedTuple):
    """A conversation as a model may have it: its messages beside those that are stored, and what was kept back."""

    model: str
    tier: Tier
    messages: list[Message]
    stored: list[Message]
    report: Report


class Switching:
    """What is asked about a session's model and what it may see."""

    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        messages: Messages,
        sight: TierSight,
        elsewhere: Callable[[str], Sequence[Message]] = lambda _: (),
    ) -> None:
        """`elsewhere` gives what is known of a conversation of which no message is stored, such as a proxied one."""
        self._store, self._sessions, self._messages, self._sight = store, sessions, messages, sight
        self._elsewhere = elsewhere

    def shown(self, session_id: str, model: str | None = None) -> Shown:
        """The conversation as a model may have it, the session's own where none is named.

        Raises `NotFound`, and `Conflict` where the session has no model, or the policy has a mistake in its tiers.
        """
        session = self._store.get_session(session_id)
        model = model or session.model
        if model is None:
            raise Conflict(f"the session {quoted(session_id)} has no model")
        tier = self._tier(model)
        stored = self._messages.all(session_id) or list(self._elsewhere(session_id))
        look = look_of(tier, model, Answers(self._store.tier_answers(session_id)))
        messages = look.at(stored)
        return Shown(model, tier, messages, stored, look.report())

    def switch(self, session_id: str, model: str | None, *, by: Actor) -> SessionRecord:
        """The session with this model from now on; what the switch hides is in the audit log, and told as an event.

        Raises `NotFound`, and `Conflict` where it has ended, or the policy has a mistake in its tiers.
        """
        before = self._store.get_session(session_id).model
        if model is not None:
            self._tier(model)
        session = self._sessions.set_model(session_id, model, by=by)
        if model is not None and model != before:
            shown = self.shown(session_id)
            detail = {"from": before, "to": model, "tier": shown.tier.id, **counts(shown.report)}
            self._store.note_switch(session_id, detail, by=by)
        return session

    def _tier(self, model: str) -> Tier:
        try:
            return self._sight.tiers().of(model)
        except TiersBroken as why:
            raise Conflict(str(why)) from None

    def answer(self, session_id: str, *, send: Sequence[str], withhold: Sequence[str], by: Actor) -> Shown:
        """What the session's model is shown once a person has said so of these names.

        They hold for its tier, in this session. Raises `BadFields` for names that it does not ask about, `NotFound`,
        and `Conflict` where the session has ended or has no model.
        """
        shown = self.shown(session_id)
        _check(shown, send=send, withhold=withhold)
        subtrees = {tag.name for message in shown.stored for part in message.parts for tag in part.tags if tag.below}
        given = [
            Given(shown.tier.id, EffectClass.READ, name, said, name in subtrees or _is_folder(name))
            for said, names in ((True, send), (False, withhold))
            for name in names
        ]
        self._store.add_tier_answers(session_id, given, by=by)
        return self.shown(session_id)


def counts(report: Report) -> dict[str, int]:
    """How much was kept back, for a log: no names, of which there may be many."""
    return {"withheld": sum(report.pieces.values()), "paths": len(report.pieces), "asks": len(report.asks)}


def _check(shown: Shown, **given: Sequence[str]) -> None:
    asked = set(shown.report.asks)
    for field, names in given.items():
        if len(names) > MOST_NAMED:
            raise BadFields((field, f"'{field}' may have at most {MOST_NAMED:,} names"))
        for name in names:
            if name not in asked:
                raise BadFields(
                    (field, f"'{field}' names {quoted(name[:LONGEST_NAME])}, which the tier does not ask about")
                )
    both = set(given["send"]) & set(given["withhold"])
    if both:
        raise BadFields(("withhold", f"'withhold' names {quoted(min(both))}, which 'send' names, too"))


def _is_folder(name: str) -> bool:
    return os.path.isabs(name) and os.path.isdir(name)
