"""Layer 8: what the organization's rules say of a call, and what is said where nobody knows them.

Settles when a copy of the rules may speak, and under which words it may not. Does not settle how a copy is fetched
(`app.organization`) nor what a text of rules means (`policy.organization_rules`).
INVARIANT: rules that cannot be had are never taken for rules that say nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from stanch.policy.layers import Failed, LayerAnswer
from stanch.policy.organization_rules import Row
from stanch.policy.rows import RowsLayer
from stanch.values.call import EffectClass, JudgedCall
from stanch.values.decision import Answer
from stanch.values.reason import LayerId
from stanch.values.verdict import Cause


class Known(StrEnum):
    """How well the rules are known. Where no organization is configured there is no layer, and none of these."""

    LOADING = "loading"
    UNAVAILABLE = "unavailable"
    STALE = "stale"
    CURRENT = "current"


class Trouble(StrEnum):
    """Why the rules could not be fetched: the closed list. Each is what a reason says of it."""

    REFUSED = "connection refused"
    UNREACHABLE = "cannot be reached"
    TIMED_OUT = "timed out"
    UNVERIFIED = "its certificate cannot be verified"
    STATUS = "HTTP status"
    REDIRECTED = "it leads to another place"
    TOO_LARGE = "the answer is too large"
    PACKED = "the answer is packed"
    UNREADABLE = "unreadable answer"
    NO_FILE = "no such file"
    FILE_UNREADABLE = "the file cannot be read"
    NO_TOKEN = "no token"  # noqa: S105 - why there is none
    NOT_INSTALLED = "stanch[server] is not installed"
    THREW = "the program's provider threw"
    MISTAKEN = "the policy has a mistake in [organization]"
    REPLACED = "the policy names another source by now"
    NOBODY = "nobody fetches it here"


class Unfetched(Exception):
    """The rules could not be had. `detail` is a number or a name of ours, nothing that a server said."""

    def __init__(self, trouble: Trouble, detail: str = "") -> None:
        self.trouble, self.detail = trouble, detail
        super().__init__(f"{trouble.value} {detail}".strip())


class Moment(NamedTuple):
    """Two clocks at once, in seconds: the calendar's, which may be set, and one that only goes forward."""

    wall: float
    steady: float


@dataclass(frozen=True, slots=True)
class Copy:
    """The rules as they were fetched once. `at` is when the fetching began; `etag` is the server's name for the
    text."""

    rows: tuple[Row, ...]
    digest: str
    at: Moment
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of the rules: the last good copy, and what went wrong since, with a number or a name of ours."""

    max_age_s: float
    copy: Copy | None = None
    trouble: Trouble | None = None
    detail: str = ""

    def known(self, now: Moment) -> Known:
        """How well the rules are known at this moment."""
        if self.copy is not None and age(self.copy, now) < self.max_age_s:
            return Known.CURRENT if self.trouble is None else Known.STALE
        return Known.LOADING if self.copy is None and self.trouble is None else Known.UNAVAILABLE

    def words(self, now: Moment) -> str:
        """How well, in the words of a reason: the state, and what is wrong, if anything is."""
        known, why = self.known(now), self.why
        if known is Known.LOADING:
            return "loading: ask again in a moment"
        if known is Known.UNAVAILABLE and self.copy is not None and self.trouble is not Trouble.REPLACED:
            why = f"expired since {_written(self.copy.at.wall + self.max_age_s)}{why and ', '}{why}"
        return f"{known}: {why}" if why else known.value

    @property
    def why(self) -> str:
        """What went wrong at the last try, in closed words; empty where nothing did."""
        return "" if self.trouble is None else f"{self.trouble.value}{self.detail and ' '}{self.detail}"


def age(copy: Copy, now: Moment) -> float:
    """How old the copy is, in seconds.

    WHY the longer of two: the calendar may be set back, and the other clock stands still while a machine sleeps.
    """
    return max(now.wall - copy.at.wall, now.steady - copy.at.steady)


class Ready(NamedTuple):
    """The rules as one engine reads them. `rows` is None where the copy's rules mean nothing in its workspace."""

    standing: Standing
    rows: RowsLayer | None


class OrganizationLayer:
    """Layer 8: the denies and asks of the organization, out of memory. It waits for nobody.

    Where no copy may speak it fails, and says why. What a stale copy says is said with that.
    """

    id = LayerId.ORG_RULES
    immediate = True

    def __init__(
        self,
        ready: Callable[[], Ready],
        clock: Callable[[], Moment],
        agent: str | None = None,
        source: str | None = None,
        also: str | None = None,
    ) -> None:
        """`ready` gives the rules as they are known now; `also` is another name of every tool that is asked about."""
        self._ready, self._clock = ready, clock
        self._agent, self._source, self._also = agent, source, also
        self._bound: tuple[RowsLayer, RowsLayer] | None = None

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """What the rules say of each effect of the call."""
        standing, rows = self._ready()
        now = self._clock()
        known = standing.known(now)
        if rows is None or known in (Known.LOADING, Known.UNAVAILABLE):
            return Failed(_unusable(standing, known, now), Cause.ORG_UNAVAILABLE)
        said = self._own(rows).ask(call)
        if known is Known.STALE and isinstance(said, list):
            return [answer and _aged(answer, standing.words(now)) for answer in said]
        return said

    def may_refuse(self, tool: str, cls: EffectClass, *, declared: bool = True) -> bool:
        """True where it matters what lies below a directory that such an effect reaches down from."""
        rows = self._ready().rows
        return rows is not None and self._own(rows).may_refuse(tool, cls, declared=declared)

    def probed(self, also: str) -> OrganizationLayer:
        """The same layer for a probe, whose tool is known by another name as well."""
        return OrganizationLayer(self._ready, self._clock, self._agent, self._source, also)

    def _own(self, rows: RowsLayer) -> RowsLayer:
        bound = self._bound
        if bound is None or bound[0] is not rows:
            own = rows.bound(self._agent, self._source)
            bound = self._bound = rows, own if self._also is None else own.probed(self._also)
        return bound[1]


class NoOrganization:
    """Layer 8 where the policy wants one and there is nobody to ask: it fails, always, and says why."""

    id = LayerId.ORG_RULES
    immediate = True

    def __init__(self, trouble: Trouble) -> None:
        self.trouble = trouble

    def ask(self, call: JudgedCall) -> LayerAnswer:  # noqa: ARG002 - whatever the call
        """No answer, whatever the call."""
        return Failed(f"{Known.UNAVAILABLE}: {self.trouble.value}", Cause.ORG_UNAVAILABLE)


def _unusable(standing: Standing, known: Known, now: Moment) -> str:
    if known in (Known.CURRENT, Known.STALE):
        return f"{Known.UNAVAILABLE}: {Trouble.UNREADABLE.value}"
    return standing.words(now)


def _aged(answer: Answer, words: str) -> Answer:
    return replace(answer, detail=f"{answer.detail}; {words}" if answer.detail else words)


def _written(moment: float) -> str:
    try:
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return "long ago"
