"""Which rules were in it: for each effect of an answered call, the rule that fits first and every one that lost.

Settles where the rules of a session are found. Does not settle why a rule lost (`policy.losers`,
`policy.command_losers`).
"""

from __future__ import annotations

from stanch.app.engine import Session
from stanch.policy.command_losers import CommandContests
from stanch.policy.losers import Contest, contest
from stanch.policy.persisted import PersistedRules
from stanch.values.call import CallEffect
from stanch.values.decision import Decision


def contests(session: Session, decision: Decision) -> tuple[Contest, ...]:
    """One contest for each effect of the call, in order; none where the session's rules cannot be read."""
    rules = next((layer for layer in session.layers if isinstance(layer, PersistedRules)), None)
    if rules is None:
        return ()
    call = decision.call
    commands = CommandContests(rules.index, agent=rules.agent, source=rules.source)

    def held(effect: CallEffect) -> Contest:
        if effect.command is not None:
            return commands.contest(call, effect, effect.command)
        return contest(
            rules.index, call.call.tool, effect, declared=call.declared, agent=rules.agent, source=rules.source
        )

    return tuple(map(held, call.effects))
