"""Who judges probes and plans of a session: a stored one with its ancestors, or one that is described.

Settles whose layers are asked. Does not settle how a probe is judged (`app.judging`), nor a plan (`app.planning`).
Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stanch.app.asking import Asking, Described, Kin
from stanch.app.judging import Judge
from stanch.app.planning import Planned, PlannedCall, planned
from stanch.judge.question import Facts
from stanch.values.call import Signal


class Judges:
    """Makes judges, and looks through plans."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def of(
        self,
        session: str | Described,
        *,
        facts: Callable[[], Facts] | None = None,
        signal: Signal | None = None,
    ) -> Judge:
        """The judge of a stored session, by its id, and of its ancestors, or of one that is described.

        It is made for one question or one batch: what is stored of the session by then is not known to it. `facts` and
        `signal` are as `Judge` takes them. Raises `NotFound`, `Conflict` where the session has ended, `BadFields` for a
        description of no use.
        """
        if isinstance(session, Described):
            return Judge([self._asking.session_of(session)], facts=facts, signal=signal)
        return Judge([kin.session for kin in self._asking.lineage(session)], facts=facts, signal=signal)

    def plan(
        self, session: str | Described, calls: Sequence[PlannedCall], *, deadline_at: float | None = None
    ) -> list[Planned]:
        """What would come of each of these calls, in order, for such a session. Raises what `of` raises."""
        if isinstance(session, Described):
            lineage = [Kin("", self._asking.session_of(session), ())]
        else:
            lineage = self._asking.lineage(session)
        return planned(lineage, calls, deadline_at=deadline_at)
