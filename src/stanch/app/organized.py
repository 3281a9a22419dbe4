"""The organization that a running server's policy names, from one version of the policy to the next.

Settles that rules which were fetched go on while the policy names the same source, and end when it does not. Does not
settle when they are fetched (`app.organization`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from stanch.app.organization import Organization, Status
from stanch.app.organization_opening import Told, opened
from stanch.policy.document import Organization as Named
from stanch.policy.document import Policy
from stanch.storage.store import Store
from stanch.values.records import Actor

_BY = Actor("stanch", "organization")
_Key = tuple[Named, str, str]


class Organized:
    """Keeps the organization of the policy of the moment, and those that the program gave. Safe from any thread.

    `data` is the directory in which a copy outlives this process; without it none does. `told` hears of each change.
    """

    def __init__(
        self, data: Path | None = None, told: Told | None = None, given: Sequence[Organization] = ()
    ) -> None:  # fmt: skip
        self._data, self._told, self.given = data, told, tuple(given)
        self._lock = threading.Lock()
        self._kept: dict[_Key, Organization] = {}

    def __call__(self, named: Named, workspace: str, home: str) -> Organization:
        """The organization that a policy names: the one there was, where it is the same."""
        key = (named, workspace, home)
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                # WHY: who only waits longer for a copy, or shows another token, has fetched from there all the same.
                same = (old for (other, *_), old in self._kept.items() if other.source == named.source)
                copy = next((old.standing.copy for old in same), None)
                found = opened(named, workspace, home, data=self._data, told=self._told, copy=copy)
                self._kept[key] = found
            return found

    def settle(self, policy: Policy) -> None:
        """Ends every other organization than the one that the policy names: their copies say nothing any more.

        WHY not where it has a mistake: then all that asks for it is refused, and once it is mended, nothing has to be
        fetched anew.
        """
        wrong = any(one.scope == "organization" and not one.warning for one in policy.problems)
        if policy.broken is None and not wrong:
            self._end(policy.organization)

    def _end(self, but: Named | None = None) -> None:
        with self._lock:
            ended = [key for key in self._kept if key[0] != but]
            closing = [self._kept.pop(key) for key in ended]
        for one in closing:
            one.close()

    def statuses(self) -> tuple[Status, ...]:
        """What is known of each now: of the policy's, then of those that the program gave."""
        with self._lock:
            kept = list(self._kept.values())
        return tuple(one.status() for one in (*kept, *self.given))

    def refresh(self) -> tuple[Status, ...]:
        """Fetches the rules of each anew, in this thread."""
        with self._lock:
            kept = list(self._kept.values())
        return tuple(one.refresh() for one in (*kept, *self.given))

    def close(self) -> None:
        """Ends the policy's organization. Those that the program gave are its own. Safe to repeat."""
        self._end()


def noting(store: Store) -> Told:
    """What writes each change of what is known into the audit log of the store."""

    def told(status: Status) -> None:
        store.append_audit(
            action=f"organization.{status.known}",
            subject=status.source,
            detail={"why": status.why, "rules": status.rules, "digest": status.digest},
            by=_BY,
        )

    return told
