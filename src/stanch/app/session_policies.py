"""The policies that a program gives the sessions of a store: its own for each, in this process, and hooks for all.

Settles which policy a stored session has here, and what those below it hear once it is gone. Does not settle what a
policy says (`policy.policies`). ABSENT: a policy is code, and outlives no process: a session that was given one has no
answer from it in any other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

from stanch.app.further import GONE, Gone, Referred
from stanch.policy.policies import Hook, Policy, PolicyRequest, Said
from stanch.values.records import SessionRecord

PolicyFor = Callable[[SessionRecord], "Policy | None"]


class SessionPolicies:
    """What programs have given. Safe to use from any thread."""

    def __init__(self) -> None:
        self._kept: dict[str, Policy] = {}
        self.policy_for: PolicyFor | None = None
        self.hooks: tuple[Hook, ...] = ()

    def keep(self, session_id: str, policy: Policy) -> None:
        """Has the policy speak for the session from now on, in the place of the one before."""
        self._kept[session_id] = policy

    def forget(self, session_id: str) -> None:
        """Lets the session's policy go."""
        self._kept.pop(session_id, None)

    def of(self, record: SessionRecord) -> tuple[Policy, ...]:
        """The session's own, as they are whenever they are asked."""
        return tuple(self._own(record))

    def above(self, records: Sequence[SessionRecord]) -> tuple[Policy, ...]:
        """Those of its ancestors, the nearest first. One that has ended gives no answer, where it had a policy."""
        found: list[Policy] = []
        for record in records:
            if record.ended_at is None:
                found += self._own(record)
                continue
            if record.has_policy:
                found.append(_gone)
            if self.policy_for is not None:
                found.append(_Asked(self.policy_for, record, ended=True))
        return tuple(found)

    def _own(self, record: SessionRecord) -> Iterator[Policy]:
        if record.has_policy or record.id in self._kept:
            yield Referred(lambda: self._now(record.id))
        if self.policy_for is not None:
            yield _Asked(self.policy_for, record)

    def _now(self, session_id: str) -> Policy:
        kept = self._kept.get(session_id)
        if kept is None:
            raise Gone
        return kept


class _Asked:
    """The policy that a program has for a session, asked for whenever it is asked about a call."""

    def __init__(self, policy_for: PolicyFor, record: SessionRecord, *, ended: bool = False) -> None:
        self._policy_for, self._record, self._ended = policy_for, record, ended
        self.authority = policy_for
        self.seconds: float | None = getattr(policy_for, "seconds", None)

    def __call__(self, request: PolicyRequest) -> Said | Awaitable[Said]:
        policy = self._policy_for(self._record)
        if policy is None:
            return None
        return GONE if self._ended else policy(request)


def _gone(_: PolicyRequest) -> Said:
    return GONE
