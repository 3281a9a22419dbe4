"""Policies: code of the embedding application that is asked about a call, and how several of them make one.

Settles what a policy is told, what it may say, and which answer counts of several. Does not settle who waits for one,
nor how its answer becomes a layer's (`app.caller_policies`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from stanch.paths.pattern import glob
from stanch.policy.layers import Failed, Rewrite
from stanch.values.call import EffectClass, JudgedCall, Reach, Signal
from stanch.values.decision import Effect

LONGEST_WORDS = 300
"""How much of a policy's own words is shown, in letters."""
SECONDS = 5.0
"""How long a policy is waited for that does not say otherwise."""
LONGEST = 31_536_000.0
"""How long anybody is waited for at most, in seconds: a year. WHY: no thread can be waited for without an end."""


_NO_FACTS: Final[Mapping[str, Any]] = MappingProxyType({})


class Touched(NamedTuple):
    """One effect of the call: its class, the canonical path that it touches or None, and the argument it came from.

    `effect` is None only for a call that has no effects.
    """

    effect: EffectClass | None
    path: str | None
    argument: str


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """What a policy is asked. `arguments` is a copy: whatever is done to it changes the call for nobody.

    `approval_reach` says whether anybody can be asked about this call: a policy that would ask a person reads it before
    it does. `signal` is set once nobody waits for the answer any more; it says nothing else. `facts` are what the
    caller says of a write besides.
    """

    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    call_id: str = ""
    touches: tuple[Touched, ...] = ()
    agent: str | None = None
    source: str | None = None
    session: str | None = None
    approval_reach: Reach = Reach.PERSON
    signal: Signal | None = None
    facts: Mapping[str, Any] = field(default_factory=lambda: _NO_FACTS, repr=False)


class Asker(NamedTuple):
    """Whose call a policy is asked about: the agent, how its session is reached, and the session's id."""

    agent: str | None = None
    source: str | None = None
    session: str | None = None


NOBODY: Final = Asker()


class Settled(StrEnum):
    """How a question to a person ended that nobody answered."""

    NO_APPROVER = "no_approver"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class _Attested:
    """The mark of a settlement that Stanch's own factories made."""


_BY_STANCH: Final = _Attested()


@dataclass(frozen=True, slots=True)
class Says:
    """What a policy says of a call. `message` is shown as its own words: one line, at most 300 letters of it.

    `settled` counts only where one of Stanch's own factories made it (`settlement`): from anybody else a deny is a
    rule's.
    """

    effect: Effect
    message: str = ""
    settled: Settled | None = None
    by: _Attested | None = field(default=None, repr=False, compare=False)

    @property
    def is_settlement(self) -> bool:
        """True for a deny that is none of a rule's: a person would have been asked, and nobody answered."""
        return self.effect is Effect.DENY and self.settled is not None and self.by is _BY_STANCH


def settlement(settled: Settled) -> Says:
    """The deny of a policy that would ask a person and got no answer. For Stanch's own factories alone."""
    return Says(Effect.DENY, "", settled, _BY_STANCH)


Said = Says | Rewrite | Failed | None
"""What a policy may say. None is no objection, and so is an allow: a policy only narrows."""
Policy = Callable[[PolicyRequest], "Said | Awaitable[Said]"]


class Hook(NamedTuple):
    """A policy that screens the calls of the tools that a pattern fits, `*` for all, as they are made: a hook."""

    policy: Policy
    tools: str = "*"

    def fits(self, tool: str) -> bool:
        """True where the hook is asked about calls of this tool."""
        return self.tools == "*" or glob(self.tools)(tool)


THREW = Failed("it threw")
UNREADABLE = Failed("it gave nothing that can be read")


def request_of(call: JudgedCall, who: Asker = NOBODY) -> PolicyRequest:
    """What a policy is asked about a judged call."""
    return PolicyRequest(
        call.call.tool,
        call.call.arguments,
        call.call.id,
        tuple(
            Touched(each.cls, each.stamp.path or None if each.stamp is not None else None, each.argument)
            for each in call.effects
        ),
        *who,
        call.manner.reach,
        call.manner.signal,
        call.manner.facts,
    )


def read(said: object) -> Said:
    """What a policy returned, if it is one of the things that it may say; else that it gave no answer."""
    if said is None or type(said) is Rewrite or type(said) is Failed:
        return said
    if type(said) is not Says or type(said.effect) is not Effect or not isinstance(said.message, str):
        return UNREADABLE
    return said


def line_of(message: str) -> str:
    """A policy's own words as a reason shows them: one line, cut."""
    said = " ".join(message[: LONGEST_WORDS * 4].split())
    return said if len(said) <= LONGEST_WORDS else said[: LONGEST_WORDS - 1] + "…"


def seconds_of(policy: object, usual: float = SECONDS) -> float:
    """How long the policy is waited for: what its attribute `seconds` says, else what is usual."""
    if isinstance(policy, _Combined):
        return sum(seconds_of(one, usual) for one in policy.policies) or usual
    said = getattr(policy, "seconds", None)
    if not isinstance(said, int | float) or isinstance(said, bool) or not said > 0:
        return usual
    return float(min(said, LONGEST))


def combined(*policies: Policy) -> Policy:
    """One policy of several. Every one is asked, in order, each about the call as it came.

    A rule's deny counts wherever it stands; then a rewrite, a deny that is a settlement, that one gave no answer, an
    ask; of equals the first. Where one raises, or says what cannot be read, the others are asked all the same.
    """
    return policies[0] if len(policies) == 1 else _Combined(policies)


class _Combined:
    """Several policies as one."""

    __slots__ = ("policies",)

    def __init__(self, policies: tuple[Policy, ...]) -> None:
        self.policies = policies

    @property
    def seconds(self) -> float:
        """How long they are waited for together, each for what is usual where it does not say."""
        return seconds_of(self)

    @property
    def authority(self) -> Policy | None:
        """Who is asked first, for whoever tells one that hangs from others."""
        return self.policies[0] if self.policies else None

    def __call__(self, request: PolicyRequest) -> Said | Awaitable[Said]:
        heard: list[Said] = []
        for at, policy in enumerate(self.policies):
            try:
                said = policy(request)
            except (Exception, SystemExit, KeyboardInterrupt):
                heard.append(THREW)
                continue
            if isinstance(said, Awaitable):
                return self._later(request, heard, at, said)
            heard.append(read(said))
        return strictest(heard)

    async def _later(self, request: PolicyRequest, heard: list[Said], at: int, first: Awaitable[Said]) -> Said:
        """The same from the first policy on that has to be awaited."""
        waits: object = first
        while True:
            try:
                heard.append(read((await waits) if isinstance(waits, Awaitable) else waits))
            except (Exception, SystemExit, KeyboardInterrupt):
                heard.append(THREW)
            at += 1
            if at >= len(self.policies):
                return strictest(heard)
            try:
                waits = self.policies[at](request)
            except (Exception, SystemExit, KeyboardInterrupt):
                waits = THREW


def strictest(heard: list[Said]) -> Said:
    """The one answer of several, the first of equals; None where nobody objects."""
    return max(heard, key=_weight, default=None)


def _weight(said: Said) -> int:
    if said is None or (isinstance(said, Says) and said.effect is Effect.ALLOW):
        return 0
    if isinstance(said, Rewrite):
        return 4
    if isinstance(said, Failed):
        return 2
    if said.effect is Effect.ASK:
        return 1
    return 3 if said.is_settlement else 5
