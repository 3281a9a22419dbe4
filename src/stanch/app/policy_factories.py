"""Policies that ship: one that asks a person, one that an ancestor's hook makes, and fences around directories.

Settles what each answers, and that it reads whether anybody can be asked before it asks. Does not settle who puts one
into a session (`app.sessions`, `app.engine`).
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from stanch.app.bounded import Ended, asked
from stanch.policy.layers import Failed
from stanch.policy.policies import (
    SECONDS,
    THREW,
    UNREADABLE,
    Hook,
    Policy,
    PolicyRequest,
    Said,
    Says,
    Settled,
    settlement,
)
from stanch.values.call import EffectClass, Reach
from stanch.values.decision import Effect
from stanch.values.verdict import Cause

APPROVE, REJECT = "approve", "reject"
_MARGIN = 0.5
_LATE = Failed("its look-up took too long", Cause.TIMED_OUT)
_WRITES = frozenset({EffectClass.WRITE})
LookUp = Callable[[PolicyRequest], Any]


class approval:  # noqa: N801 - it is called, and reads as a function
    """A policy that asks a person: `ask` gets the request, and returns `"approve"` or `"reject"`, or comes to it.

    APPROVAL REACH: where the request says that nobody can be asked, `ask` is not called, and the answer is a deny
    settled `no_approver`. One that nobody answers within `seconds` is settled `expired`; once nobody waits for the
    answer any more it is settled `cancelled`, and the request that `ask` was given has its signal set: that is when to
    take the question back. A rejection is a deny of the person's. Any other return is no answer. `only` says which
    calls are asked about.
    """

    def __init__(
        self,
        ask: Callable[[PolicyRequest], Any],
        *,
        seconds: float = 60.0,
        only: Callable[[PolicyRequest], bool] = lambda _: True,
    ) -> None:
        self._ask, self._seconds, self._only = ask, seconds, only
        self.seconds = seconds + _MARGIN

    def __call__(self, request: PolicyRequest) -> Said:
        """What the person says."""
        if not self._only(request):
            return None
        if request.approval_reach is not Reach.PERSON:
            return settlement(Settled.NO_APPROVER)
        said = asked(lambda signal: self._ask(replace(request, signal=signal)), self._seconds, request.signal)
        if said is Ended.TOO_LATE:
            return settlement(Settled.EXPIRED)
        if said is Ended.NOT_WANTED:
            return settlement(Settled.CANCELLED)
        if said is Ended.THREW:
            return THREW
        if said == APPROVE and isinstance(said, str):
            return None
        return Says(Effect.DENY, "a person rejected it") if said == REJECT and isinstance(said, str) else UNREADABLE


class inherited_hook:  # noqa: N801 - it is called, and reads as a function
    """A hook as a policy, for the sessions below the one whose calls it screens.

    APPROVAL REACH: where the request says that nobody can be asked, the hook is not called, and the answer is a deny
    settled `no_approver`. Tools that the hook does not fit are not objected to.
    """

    def __init__(self, hook: Hook | Policy) -> None:
        self._hook = hook if isinstance(hook, Hook) else Hook(hook)
        self.seconds = getattr(self._hook.policy, "seconds", None)

    def __call__(self, request: PolicyRequest) -> Said | Awaitable[Said]:
        """What the hook says."""
        if not self._hook.fits(request.tool):
            return None
        if request.approval_reach is not Reach.PERSON:
            return settlement(Settled.NO_APPROVER)
        return self._hook.policy(request)


class guards:  # noqa: N801 - it is called, and reads as a function
    """A fence: effects of some classes, writes unless it says otherwise, may be on places below some directories only.

    Those are the ones given, and those that `look_up` comes to, or that the request's facts say are `writable`. What
    lies below an `exempt` directory, given or among the facts, is not fenced off. A write of which nobody can say where
    it goes is outside.
    APPROVAL REACH: none is needed. It asks nobody, and judges a question as it judges a call; `look_up` is waited for
    `seconds`, and no longer than anybody waits for the answer. Where it gives none, neither does the fence.
    """

    def __init__(
        self,
        *below: str | os.PathLike[str],
        exempt: Iterable[str | os.PathLike[str]] = (),
        look_up: LookUp | None = None,
        effects: Collection[EffectClass] = _WRITES,
        seconds: float = SECONDS,
    ) -> None:
        self._below = tuple(os.fspath(one) for one in below)
        self._exempt = tuple(os.fspath(one) for one in exempt)
        self._look_up, self._effects, self._seconds = look_up, frozenset(effects), seconds
        self.seconds = seconds + _MARGIN

    def __call__(self, request: PolicyRequest) -> Said:
        """A deny for the first place that lies outside."""
        fenced = [one for one in request.touches if one.effect in self._effects]
        if not fenced:
            return None
        found: Any = ()
        look_up = self._look_up
        if look_up is not None:
            found = asked(lambda signal: look_up(replace(request, signal=signal)), self._seconds, request.signal)
            if isinstance(found, Ended):
                return THREW if found is Ended.THREW else _LATE
        places = _places(found)
        if places is None:
            return UNREADABLE
        facts = request.facts
        roots = [*_real(self._below), *_real(places), *_real(_places(facts.get("writable", ())) or ())]
        exempt = [*_real(self._exempt), *_real(_places(facts.get("exempt", ())) or ())]
        for one in fenced:
            if one.path is None:
                return Says(Effect.DENY, "nobody can say which place it writes to")
            if not any(_lies(one.path, root) for root in (*roots, *exempt)):
                return Says(Effect.DENY, "it is outside of the directories that are open to it")
        return None


def _places(found: Any) -> tuple[str, ...] | None:
    """The directories that somebody names; None where that is no list of them."""
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        return None
    places = tuple(os.fspath(one) if isinstance(one, os.PathLike) else one for one in found)
    return places if all(isinstance(one, str) and one.startswith("/") for one in places) else None


def _real(places: Iterable[str]) -> Iterator[str]:
    """Where the places really lie, links followed."""
    for place in places:
        yield os.path.realpath(place)


def _lies(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
