"""The organizations that an engine asks: what their rules mean in its workspace, and a layer of them for each session.

Settles who is asked for which session, and that rules are made sense of before a call comes. Does not settle what they
say (`policy.organization`) nor how they come here (`app.organization`).
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence

from stanch.app.organization import Organization
from stanch.policy.document import Policy
from stanch.policy.layers import Layer
from stanch.policy.organization import NoOrganization, OrganizationLayer, Ready, Standing, Trouble
from stanch.policy.organization_rules import Row, rules_of
from stanch.policy.rows import RowsLayer
from stanch.policy.rule import Rule
from stanch.values.reason import LayerId

Moved = Callable[[], bool]
Meant = Callable[[Sequence[Row]], tuple[tuple[Rule, ...], Moved]]
"""What rules mean where an engine works, and what says whether they may mean something else by now.

Raises `Unreadable`.
"""
SHARE = 50.0
"""Looking whether rules still mean the same takes no more than one part in so many of the time."""


def _never() -> bool:
    return False


class Reading:
    """One organization's rules as one engine reads them."""

    def __init__(self, organization: Organization, meant: Meant) -> None:
        self.organization, self._meant, self._moved = organization, meant, _never
        self._looks_at = 0.0
        self._lock = threading.Lock()
        self._made: tuple[Sequence[Row], RowsLayer | None] | None = None
        self.ready = Ready(organization.standing, None)
        organization.read_by(self)

    def take(self, standing: Standing) -> None:
        """Takes what is known from now on; rules that are new are made sense of first."""
        with self._lock:
            self.ready = Ready(standing, self._rows(standing))

    def anew(self) -> None:
        """Reads the patterns against the disk again."""
        with self._lock:
            self._made = None
            self.ready = Ready(self.ready.standing, self._rows(self.ready.standing))

    def look(self) -> None:
        """Reads the patterns anew where a link that one leads through has been changed.

        WHY not in the call, as with the policy's own: an organization may have thousands of patterns. For so many it is
        done less often.
        """
        began = time.monotonic()
        if began < self._looks_at:
            return
        if self._moved():
            self.anew()
        self._looks_at = time.monotonic() + SHARE * (time.monotonic() - began)

    def layer(self, agent: str | None, source: str | None) -> OrganizationLayer:
        """The layer for a session of this agent and source."""
        return OrganizationLayer(lambda: self.ready, self.organization.now, agent, source)

    def _rows(self, standing: Standing) -> RowsLayer | None:
        if standing.copy is None:
            return None
        rows = standing.copy.rows
        if self._made is None or self._made[0] is not rows:
            try:
                rules, self._moved = self._meant(rows)
                made = RowsLayer(LayerId.ORG_RULES, rules)
            except Exception:  # whatever it met: rules that mean nothing here are never none
                made = None
            self._made = rows, made
        return self._made[1]


class Organizations:
    """Those whose rules an engine asks: the policy's own, and those that the program gives besides."""

    def __init__(
        self, meant: Meant, own: Organization | None = None, given: Sequence[Organization] = ()
    ) -> None:  # fmt: skip
        """`own` is the one that the policy names."""
        self._meant = meant
        self.own = None if own is None else Reading(own, meant)
        self.given = tuple(Reading(one, meant) for one in given)
        # WHY weak: a session's own organization goes with its sessions. A reading holds the organization that it is of.
        self._others: weakref.WeakValueDictionary[int, Reading] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    @classmethod
    def none(cls, policy: Policy) -> Organizations:
        """Nobody: one that the policy names is one that nobody fetches."""
        return cls(lambda rows: (rules_of(rows, workspace=policy.workspace, home="/"), _never))

    def layers(
        self, policy: Policy, agent: str | None, source: str | None, also: Sequence[Organization] = ()
    ) -> list[Layer]:
        """The layers for a session. Where the policy wants one that cannot be, it is there and fails."""
        found: list[Layer] = []
        if self.own is not None:
            found.append(self.own.layer(agent, source))
        elif policy.organization is not None:
            found.append(NoOrganization(Trouble.NOBODY))
        elif any(problem.scope == "organization" and not problem.warning for problem in policy.problems):
            found.append(NoOrganization(Trouble.MISTAKEN))
        found += [one.layer(agent, source) for one in (*self.given, *map(self._other, also))]
        return found

    def all(self) -> tuple[Organization, ...]:
        """Every organization that is asked for each session: the policy's first."""
        readings = self.given if self.own is None else (self.own, *self.given)
        return tuple(one.organization for one in readings)

    def wait(self, seconds: float) -> None:
        """Waits until each of them was fetched, or not, once: at most so many seconds."""
        until = time.monotonic() + seconds
        for one in self.all():
            one.wait(max(0.0, until - time.monotonic()))

    def _other(self, organization: Organization) -> Reading:
        with self._lock:
            found = self._others.get(id(organization))
            if found is None:
                found = self._others[id(organization)] = Reading(organization, self._meant)
            return found
