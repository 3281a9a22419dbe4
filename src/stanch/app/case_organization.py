"""An organization as a case describes it: its rules, and how well they are known.

Settles how a case's words become what `app.organization` knows, at a clock of its own. They are for cases only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stanch.app.organization import Organization
from stanch.app.organization_fetching import Fetched, from_program
from stanch.policy.organization import Known, Moment, Trouble, Unfetched
from stanch.values.fault import BadInput

STATES = (*Known, "expired")
_MAX_AGE_S = 300.0


def organization_of(row: Mapping[str, Any]) -> Organization:
    """The organization of a case: `rules`, and a `state`, else `current`. Raises `BadInput`.

    It is never started: what is known of it stays as it is.
    """
    state = row.get("state", Known.CURRENT)
    if unknown := sorted(row.keys() - {"rules", "state"}):
        raise BadInput(f"unknown key '{unknown[0]}' in 'organization_rules' (known: rules, state)")
    if state not in STATES:
        raise BadInput(f"'state' must be one of {', '.join(STATES)}, not '{state}'")
    steps = {"current": (True,), "stale": (True, False), "expired": (True, False), "unavailable": (False,)}
    left = list(steps.get(state, ()))
    moments = [Moment(1_800_000_000.0, 0.0)]
    fetch = from_program(lambda: row.get("rules", ()))

    def tried(etag: str) -> Fetched | None:
        if not left.pop(0):
            raise Unfetched(Trouble.TIMED_OUT)
        return fetch(etag)

    made = Organization(tried, source="case", max_age_s=_MAX_AGE_S, now=lambda: moments[0])
    while left:
        made.refresh()
    if state == "expired":
        moments[0] = Moment(moments[0].wall + _MAX_AGE_S, _MAX_AGE_S)
    return made
