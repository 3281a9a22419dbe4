"""A session bound to a policy: what it may do, asked call by call.

Settles what is asked for a call that is made, and what for one that nobody makes. Does not settle which layers a
session has (`app.engine`), nor what they say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from stanch.app.driving import drive, refusing
from stanch.app.further import NOTHING, Further, Gone
from stanch.app.given_layers import Closing, as_asked
from stanch.app.organization import Organization
from stanch.app.session_rules import Who
from stanch.app.stamping import Stamper
from stanch.app.tracing import Tracing
from stanch.app.written import Written
from stanch.gate.context import EffectiveContext
from stanch.gate.decide import decide
from stanch.gate.relax import Bypass, relax
from stanch.paths.canonical import Canonicaliser
from stanch.paths.pattern import PathPattern
from stanch.policy.document import Policy
from stanch.policy.index import RuleIndex
from stanch.policy.layers import Layer
from stanch.policy.persisted import PersistedRules
from stanch.policy.policies import Policy as Caller
from stanch.policy.policies import combined
from stanch.tiers.layer import Seeing, Seen, TierLayer
from stanch.values.call import LIVE, EffectClass, JudgedCall, Manner, Reach, ToolCall
from stanch.values.decision import Decision
from stanch.values.fault import BadCall
from stanch.values.reason import Code, LayerId

Audit = Callable[[JudgedCall, Decision], None]
_NOBODY_ASKED = Manner(Reach.NONE)


class Engine(Protocol):
    """What a session needs of the engine that it was bound by, and what others find out about that through it."""

    policy: Policy
    canonicaliser: Canonicaliser
    stamper: Stamper
    audit: Audit | None

    def fresh_policy(self) -> Policy:
        """The policy as it is now."""

    def stack(self, policy: Policy, held: Held, /) -> tuple[Layer, ...]:
        """The layers of such a session."""

    def index(self, policy: Policy, group: str, /) -> RuleIndex:
        """The index over the rules of a group."""

    def patterns(self, path: str, /) -> tuple[PathPattern, ...]:
        """The patterns that a path stands for. Raises `BadPattern`."""


class Held(NamedTuple):
    """What layers are made of for a session: whose it is, who sees what it gives, and what it has besides."""

    who: Who
    seen: Seeing
    further: Further = NOTHING
    layers: tuple[Layer, ...] = ()
    organizations: tuple[Organization, ...] = ()
    approver: bool = True


class Session:
    """One session bound to one policy version: what it may do, asked call by call.

    `above` are the sessions that it stands below, the nearest first: it may do what they all may, and nothing else.
    """

    def __init__(
        self,
        engine: Engine,
        context: EffectiveContext,
        bypasses: tuple[Bypass, ...],
        held: Held,
        *,
        policy: Policy,
        above: Sequence[Session] = (),
    ) -> None:
        self.engine, self.context, self.bypasses = engine, context, bypasses
        self.above = tuple(above)
        self._held, self._ended = held, False
        self._judging = tuple(one.as_ancestor(held.who) for one in above)
        self.written = Written()
        self._base = context.effective_working_dir()
        self._judged = engine.stamper.judged
        self._manner = LIVE if held.approver else _NOBODY_ASKED
        self._bind(policy)

    def check(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        trace: bool = False,
        cwd: str | None = None,
        bypasses: Sequence[Bypass] = (),
        hooks: bool = True,
    ) -> Decision:
        """The gate's answer to a call: nothing is run, nothing stored but the audit line.

        `bypasses` hold besides the session's own.
        `cwd` is where this one call's relative paths start, for an agent that has moved since the session began; what
        the session was granted does not move along. Raises `BadCall` where the call cannot be read at all. Tracing
        never changes the answer. The call that was judged, which a policy or a hook may have given other arguments, is
        the decision's `call`. Without `hooks` none is asked, policies are told that nobody can be asked, nothing
        counts as written, and no audit line is left: for whoever only explains an answer.
        """
        decision = self._decided(ToolCall(tool, arguments, call_id), cwd, bypasses, trace=trace, made=True, hooks=hooks)
        if self._judging:
            decision = self._strictest(decision, cwd, bypasses, trace=trace, made=True, hooks=hooks)
        if hooks:
            self.written.take(decision)
            if self.engine.audit is not None:
                self.engine.audit(decision.call, decision)
        return decision

    def probe(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        trace: bool = False,
        cwd: str | None = None,
        bypasses: Sequence[Bypass] = (),
    ) -> Decision:
        """What `check` says, of a call that nobody makes: it leaves no audit line, and counts as nothing written.

        No hook is asked, policies are told that nobody can be asked about it, and one that would change its arguments
        has given no answer.
        """
        decision = self._decided(ToolCall(tool, arguments, call_id), cwd, bypasses, trace=trace, made=False)
        if self._judging:
            decision = self._strictest(decision, cwd, bypasses, trace=trace, made=False)
        return decision

    def _decided(
        self,
        asked: ToolCall,
        cwd: str | None,
        bypasses: Sequence[Bypass],
        *,
        trace: bool,
        made: bool,
        hooks: bool = True,
        above: bool = False,
    ) -> Decision:
        """The answer of the session's own layers, which may stand `above` the one that makes the call.

        WHY nothing is rewritten from above: what runs is the call as the one below has it, and not what was judged.
        """
        self.layers_now()
        base = self.base(cwd)
        manner = self._manner if made and hooks else _NOBODY_ASKED
        foreign = self._foreign

        def judged(call: ToolCall) -> JudgedCall:
            found = self._judged(call, base, self._matters, self.written.has)
            return found._replace(manner=manner) if foreign else found

        tracing = Tracing() if trace else None
        layers = self.layers if made and hooks else self._probed
        restamp = refusing if above or not made else judged
        call, standing = drive(judged(asked), layers, self.on_failure, restamp, tracing, seconds=self.patience)
        held = (*self.bypasses, *bypasses) if bypasses else self.bypasses
        now = time.time() if held else 0.0
        answers = relax(call, standing, self.context, held, now)
        steps = () if tracing is None else tracing.steps(answers if answers is not standing else ())
        return decide(call, answers, self._version, steps)

    def _strictest(
        self, own: Decision, cwd: str | None, bypasses: Sequence[Bypass], **how: bool
    ) -> Decision:  # fmt: skip
        """The strictest answer of the session and those above it to the call as its own layers left it."""
        call, where = own.call.call, self.base(cwd)
        line = [own]
        line += [one._decided(call, where, bypasses, above=True, **how) for one in self._judging]
        return max(line, key=lambda one: one.answer.strength)

    def stamped(self, call: ToolCall, cwd: str | None = None, also_wrote: Collection[str] = ()) -> JudgedCall:
        """The call, stamped as it is when it is made, where the session wrote these files besides. Raises `BadCall`."""
        wrote = self.written.has
        if also_wrote:
            return self._judged(call, self.base(cwd), self._matters, lambda path: path in also_wrote or wrote(path))
        return self._judged(call, self.base(cwd), self._matters, wrote)

    def layers_now(self) -> tuple[Layer, ...]:
        """The session's layers, those of the policy as it is now."""
        policy = self.engine.fresh_policy()
        if policy is not self._policy:
            self._bind(policy)
        return self.layers

    def base(self, cwd: str | None = None) -> str:
        """Where relative paths start, for a call that names this directory, or none. Raises `BadCall`."""
        return self._base if cwd is None else self._moved(cwd)

    @property
    def seen(self) -> Sequence[Seen]:
        """The models that see what the session's calls give, each with its tier; none where tiers say nothing here."""
        return self._tiers.seen if self._tiers is not None else ()

    @property
    def line(self) -> tuple[Session, ...]:
        """The sessions whose layers judge a call of this one: itself, then those above it, as its ancestors."""
        return (self, *self._judging)

    @property
    def version(self) -> str:
        """The version of the policy that the session is bound to now."""
        return self._version

    @property
    def who(self) -> Who:
        """Whose session it is."""
        return self._held.who

    @property
    def further(self) -> Further:
        """What it has besides its rules and its tier."""
        return self._held.further

    def replace_policy(self, *policies: Caller) -> None:
        """Has other policies speak for the session from now on, and for every session below it."""
        self._held = self._held._replace(further=self.further._replace(policies=policies))
        self._bind(self._policy)

    def end(self) -> None:
        """Says that the session has ended: where it had a policy, sessions below it get no answer from that."""
        self._ended = True

    def policy_now(self) -> Caller | None:
        """The policy that speaks for the session now, as those below it are under it. Raises `Gone`."""
        policies = self.further.policies
        if self._ended and policies:
            raise Gone
        return combined(*policies) if policies else None

    def as_ancestor(self, of: Who) -> Session:
        """The session as it judges a call of one below it, which is told its policies by itself."""
        further = self.further._replace(policies=(), inherited=(), hooks=(), below=of)
        held = self._held._replace(further=further)
        return Session(self.engine, self.context, self.bypasses, held, policy=self._policy)

    def under(self, engine: Engine, context: EffectiveContext | None = None) -> Session:
        """The same session as another engine would have it, perhaps with another context: judged by itself alone."""
        context = self.context if context is None else context
        other = Session(engine, context, self.bypasses, self._held, policy=engine.policy)
        other.written = self.written
        return other

    def judging(self, call: JudgedCall, bypasses: Sequence[Bypass] = (), beside: Sequence[Layer] = ()) -> Decision:
        """What the session's own layers say of a call that is stamped already, and those `beside` them.

        No program and no policy is asked: `beside` are layers that say again what such a one has said.
        """
        layers = as_asked((*(layer for layer in self.layers if layer.immediate), *beside))
        _, standing = drive(call, layers, self.on_failure, seconds=self.patience)
        held = (*self.bypasses, *bypasses)
        return decide(call, relax(call, standing, self.context, held, time.time()), self._version)

    def _bind(self, policy: Policy) -> None:
        layers = self.engine.stack(policy, self._held)
        self._rules = next((layer for layer in layers if isinstance(layer, PersistedRules)), None)
        self._tiers = next((layer for layer in layers if isinstance(layer, TierLayer)), None)
        self._closing = Closing(layers)
        self._probed = tuple(layer for layer in layers if layer.id is not LayerId.HOOKS)
        self._foreign = any(not layer.immediate for layer in layers)
        self.layers = layers
        self._version = policy.version
        self.on_failure = policy.on_layer_failure
        self.patience = policy.layer_seconds
        # WHY last: another thread that finds the policy to be the newest must not judge by the layers of an older one.
        self._policy = policy

    def _matters(self, tool: str, cls: EffectClass) -> bool:
        rules, tiers = self._rules, self._tiers
        if tiers is not None and tiers.matters(cls):
            return True
        if rules is not None and (rules.index.last_closing >= 0 or rules.may_refuse(tool, cls, declared=True)):
            return True
        return self._closing.may_refuse(tool, cls)

    def _moved(self, cwd: str) -> str:
        stamp = self.engine.canonicaliser.stamp(cwd, self._base)
        if stamp.refusal is Code.PATH_UNREADABLE:
            raise BadCall(f"the directory of the call cannot be read: {stamp.detail}")
        return stamp.path
