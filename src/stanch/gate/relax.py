"""What may answer an ordinary ask in a person's place: a session bypass, then a grant on the file system.

Settles when an ask becomes an allow. INVARIANT: a deny and a mandated ask are never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stanch.gate.context import EffectiveContext
from stanch.values.call import CallEffect, Category, EffectClass, JudgedCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId


@dataclass(frozen=True, slots=True)
class Bypass:
    """A person's word that ordinary asks of one session need no answer for a while.

    One of `everything`, `category` and `server` gives the scope. `until` is epoch seconds; None lasts until the session
    ends.
    """

    everything: bool = False
    category: Category | None = None
    server: str | None = None
    until: float | None = None

    def answers(self, call: JudgedCall, now: float) -> bool:
        """True while the bypass holds and its scope has the call."""
        if self.until is not None and now >= self.until:
            return False
        if self.everything:
            return True
        if self.category is not None:
            return call.category is self.category
        return self.server is not None and call.server == self.server


BYPASSED = Answer(Effect.ALLOW, Code.BYPASS, LayerId.RELAXATION)
_ORDINARY_ASK = 1
MAY_READ = Answer(Effect.ALLOW, Code.READ_GRANT, LayerId.RELAXATION)
MAY_WRITE = Answer(Effect.ALLOW, Code.WRITE_GRANT, LayerId.RELAXATION)


def relax(
    call: JudgedCall,
    standing: Sequence[Answer | None],
    context: EffectiveContext,
    bypasses: Sequence[Bypass] = (),
    now: float = 0.0,
) -> Sequence[Answer | None]:
    """The answers with every ordinary ask that something may answer turned into an allow, effect by effect.

    Changes nothing where a deny or a mandated ask stands. A write to a file with more than one name stays an ask, since
    the grant speaks for one of the names only. An undeclared tool is relaxed by a bypass alone.
    """
    strongest = 0
    for answer in standing:
        if answer is not None and answer.strength > strongest:
            strongest = answer.strength
    if strongest != _ORDINARY_ASK:
        return standing
    if bypasses and any(bypass.answers(call, now) for bypass in bypasses):
        return [a if a is None or a.strength == 0 else BYPASSED for a in standing]
    if not call.declared:
        return standing
    if len(standing) == 1 and standing[0] is not None:
        return (_granted(call.effects[0], standing[0], context),)
    return [
        answer if answer is None or answer.strength == 0 else _granted(effect, answer, context)
        for effect, answer in zip(call.effects, standing, strict=True)
    ]


def _granted(effect: CallEffect, ask: Answer, context: EffectiveContext) -> Answer:
    stamp = effect.stamp
    if stamp is None:
        return ask
    if effect.cls is EffectClass.READ:
        return MAY_READ if context.is_read_allowed(stamp) else ask
    if effect.cls is EffectClass.WRITE and context.is_write_allowed(stamp):
        if stamp.links > 1:
            return Answer(Effect.ASK, Code.FILE_HAS_LINKS, ask.layer, ask.rule)
        return MAY_WRITE
    return ask
