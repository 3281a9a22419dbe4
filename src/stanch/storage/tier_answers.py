"""What persons have answered where a trust tier asks, kept for the session that it was asked in.

Settles that of two answers about the very same thing the newer one is kept. Does not settle how far one reaches
(`tiers.answers`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select

from stanch.storage.conversation_schema import TIER_ANSWERS
from stanch.storage.nouns import SESSION
from stanch.storage.rows import Fields, Noun, written_moment
from stanch.storage.transactions import Transactions
from stanch.tiers.answers import Given
from stanch.values.call import EffectClass
from stanch.values.fault import Conflict, quoted
from stanch.values.records import Actor


def _given(row: Fields) -> Given:
    return Given(
        tier=row.key("tier"),
        cls=row.word("cls", EffectClass),
        path=row.text("path", empty=True),
        send=row.flag("send"),
        below=row.flag("below"),
    )


TIER_ANSWER = Noun("answer to a tier", TIER_ANSWERS, _given)


class TierAnswers(Transactions):
    """The part of a store that keeps answers to tiers."""

    def add_tier_answers(self, session_id: str, given: Sequence[Given], *, by: Actor) -> None:
        """Keeps these answers of a person. Raises `NotFound`, and `Conflict` where the session has ended."""
        if not given:
            return
        with self._changing(by, "tier.answer", session_id) as change:
            if change.find(SESSION, session_id)["ended_at"] is not None:
                raise Conflict(f"the session {quoted(session_id)} has ended")
            for one in given:
                key = _key(session_id, one)
                change.remove(TIER_ANSWER, TIER_ANSWERS.c.id == key)
                change.add(
                    TIER_ANSWER,
                    {
                        "id": key,
                        "session_id": session_id,
                        "tier": one.tier,
                        "cls": one.cls.value,
                        "path": one.path,
                        "send": int(one.send),
                        "below": int(one.below),
                        "created_by": by.principal,
                        "created_at": written_moment(change.at),
                    },
                )
            change.detail["answers"] = [
                {"tier": one.tier, "class": one.cls.value, "path": one.path, "send": one.send} for one in given
            ]

    def note_switch(self, session_id: str, detail: Mapping[str, Any], *, by: Actor) -> None:
        """Tells of a switch of model, with what it hides."""
        with self._changing(by, "session.switch", session_id) as change:
            change.detail.update(detail)

    def tier_answers(self, session_id: str) -> tuple[Given, ...]:
        """The answers that hold in the session. Raises `BrokenRow` where one cannot be read: no answer is skipped."""
        wanted = select(TIER_ANSWERS).where(TIER_ANSWERS.c.session_id == session_id)
        with self._reading() as connection:
            rows = connection.execute(wanted).mappings().all()
        return tuple(TIER_ANSWER.readable(row) for row in rows)


def _key(session_id: str, one: Given) -> str:
    """What tells one answer from another. WHY a digest: a path may be longer than an index takes."""
    told = "\0".join((session_id, one.tier, one.cls.value, one.path))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
