"""What a person's yes to a call says to the trust tiers that asked, kept for the session.

Settles that a tier asks once for a directory and not once for a file. Does not settle how far an answer reaches
(`tiers.answers`), nor how it is kept (`storage.tier_answers`).
"""

from __future__ import annotations

import os

from stanch.app.asking import Asking
from stanch.storage.store import Store
from stanch.tiers.answers import Given, from_approval
from stanch.values.approval import CallRecord
from stanch.values.fault import BadCall, Conflict, NotFound
from stanch.values.records import Actor


def remember(store: Store, asking: Asking, call: CallRecord, by: Actor) -> None:
    """Keeps what the approval of the call answers, for its session and each ancestor's.

    WHY after the approval: were this process to die in between, the person would be asked once more.
    """
    try:
        for kin in asking.lineage(call.session_id):
            if not kin.session.seen:
                continue
            decision = kin.session.probe(call.tool, call.arguments, call_id=call.tool_call_id, cwd=call.cwd)
            given: dict[Given, None] = {}
            for one in kin.session.seen:
                for answer in from_approval(one.tier, decision.call.effects, is_folder=os.path.isdir):
                    given[answer] = None
            store.add_tier_answers(kin.session_id, tuple(given), by=by)
    except (BadCall, Conflict, NotFound):
        return  # WHY: the call cannot be judged any more, and will not run
