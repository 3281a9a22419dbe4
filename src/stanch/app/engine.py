"""The one engine that every door calls: sessions bound to a policy, and the gate's answer to a call.

Settles how the pieces are driven. Decides nothing itself: the walk, relaxation and the decision are pure and stand
below.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from stanch.app.driving import drive
from stanch.app.session_rules import Who, rules_for
from stanch.app.stamping import Stamper
from stanch.app.tracing import Tracing
from stanch.app.written import Written
from stanch.gate.context import ContextSources, EffectiveContext, context_for
from stanch.gate.decide import decide
from stanch.gate.relax import Bypass, relax
from stanch.paths.canonical import Canonicaliser
from stanch.policy.document import Policy
from stanch.policy.index import RuleIndex
from stanch.policy.layers import ORDER, Integrity, Layer, Unbuilt
from stanch.policy.persisted import PersistedRules
from stanch.policy.rule import DEFAULT_GROUP, in_order
from stanch.tiers.answers import NO_ANSWERS, Answers
from stanch.tiers.layer import Seeing, Seen, TierLayer, tier_layer
from stanch.tiers.tier import Tiers
from stanch.values.call import EffectClass, JudgedCall, ToolCall
from stanch.values.context import RunContext
from stanch.values.decision import Decision
from stanch.values.fault import BadCall, BadContext, BadInput
from stanch.values.identity import Source
from stanch.values.reason import Code, LayerId

if TYPE_CHECKING:
    from stanch.app.redacting import Redaction

Audit = Callable[[JudgedCall, Decision], None]
INTEGRITY = Integrity()
ANCHOR_SECONDS = 1.0


class _Unset:
    """Stands for a parameter that was not given, where None means something."""


UNSET: Final = _Unset()


class Engine:
    """A policy, ready to judge. Make one per policy version; sessions are bound from it."""

    def __init__(
        self,
        policy: Policy,
        canonicaliser: Canonicaliser,
        audit: Audit | None = None,
        rebuilt: Callable[[], Policy | None] | None = None,
    ) -> None:
        """`rebuilt` gives the policy anew where a link that its patterns lead through has been changed, else None."""
        self.policy = policy
        self._rebuilt = rebuilt
        self._looked = time.monotonic()
        self.canonicaliser = canonicaliser
        self.audit = audit
        self.stamper = Stamper(policy.tools, canonicaliser, policy.workspace)
        self._indexes: dict[str, tuple[Policy, RuleIndex]] = {}
        self._tiers: tuple[Policy, Tiers] | None = None

    def session(
        self,
        *,
        context: RunContext | _Unset | None = UNSET,
        agent: str | None = None,
        source: Source | str | None = None,
        group: str | None = None,
        model: str | None = None,
        also: Sequence[str] = (),
        answers: Answers = NO_ANSWERS,
        cwd: str | None = None,
        layers: Sequence[Layer] = (),
        bypasses: Sequence[Bypass] = (),
        unreadable: str | None = None,
    ) -> Session:
        """A session bound to this policy.

        `context`: left out, the default of the agent, else of the source; None means none. `group` wins over the
        context's. `model` is the session's own, `also` names others that will see what its calls give; each is judged
        by its trust tier, and the strictest counts. `answers` are what a person has said where a tier asks.
        `cwd` is where the session works where its context names no directory. `layers` are further layers, asked in
        the gate's own order. `unreadable` says what of the session cannot be read, and why: then nothing is
        allowed. Raises `BadContext` or `BadGrant` for a context that cannot be read.
        """
        self.fresh_policy()
        policy = self.policy
        source = _source(source)
        sources = ContextSources(
            () if isinstance(context, _Unset) else (context,),
            policy.agent_defaults.get(agent) if agent is not None else None,
            policy.source_defaults.get(source.value) if source is not None else None,
        )
        effective = EffectiveContext(context_for(sources), policy.workspace, self.canonicaliser.directory, cwd)
        who = Who(group if group is not None else effective.tool_group_id(), agent, source, unreadable)
        for layer in layers:
            if not isinstance(getattr(layer, "id", None), LayerId) or layer.id not in ORDER:
                raise BadInput("a layer needs an id out of the gate's layers")
            if not isinstance(getattr(layer, "immediate", None), bool):
                raise BadInput("a layer needs to say whether it is immediate; False for any that is not Stanch's own")
        stack: list[Layer] = [INTEGRITY, self.rules(policy, who), *layers]
        seen = Seeing((*(() if model is None else (model,)), *also), answers)
        if seen.models:
            stack.append(self.tiers(policy, seen))
        if policy.organization is not None or _is_broken(policy, "organization"):
            stack.append(Unbuilt(LayerId.ORG_RULES))
        stack.sort(key=lambda layer: ORDER.index(layer.id))
        return Session(self, effective, tuple(stack), tuple(bypasses), who=who, seen=seen, policy=policy)

    def refresh(self) -> None:
        """Reads the policy's patterns against the disk again: a link in one may lead elsewhere by now."""
        self._looked = time.monotonic()
        policy = self._rebuilt() if self._rebuilt is not None else None
        if policy is not None:
            self.policy = policy

    def fresh_policy(self) -> Policy:
        """The policy, read against the disk again where that was more than a second ago."""
        if time.monotonic() - self._looked > ANCHOR_SECONDS:
            self.refresh()
        return self.policy

    def check(self, tool: str, arguments: Mapping[str, Any], *, trace: bool = False, **session: Any) -> Decision:
        """The gate's answer to one call of a session made for it alone; takes what `session` takes."""
        return self.session(**session).check(tool, arguments, trace=trace)

    def index(self, policy: Policy, group: str) -> RuleIndex:
        """The index over the rules of a group, then those of `default`."""
        # WHY kept with its policy: several threads ask, and one of them may find a policy that is newer than another's.
        found = self._indexes.get(group)
        if found is None or found[0] is not policy:
            chain = in_order(policy.groups[group].rules)
            if group != DEFAULT_GROUP:
                chain += in_order(policy.groups[DEFAULT_GROUP].rules)
            found = self._indexes[group] = (policy, RuleIndex(chain))
        return found[1]

    def rules(self, policy: Policy, who: Who) -> Layer:
        """The layer of the persisted rules for such a session."""
        memory = self.canonicaliser.stamp(policy.workspace, "/").key.rstrip("/") + "/memory"
        return rules_for(policy, lambda group: self.index(policy, group), memory, who)

    def tiers(self, policy: Policy, seen: Seeing) -> Layer:
        """The layer of the trust tiers for such a session."""
        return tier_layer(self.tiers_of(policy), seen)

    def tiers_of(self, policy: Policy) -> Tiers:
        """The trust tiers of the policy."""
        if self._tiers is None or self._tiers[0] is not policy:
            self._tiers = (policy, Tiers(policy))
        return self._tiers[1]

    def redact_history(self, messages: Any, model: str, **given: Any) -> Redaction:
        """A conversation as a model may have it, and what was kept back; takes what `redacting.redacted` takes."""
        from stanch.app.redacting import Surroundings, redacted

        policy = self.fresh_policy()
        return redacted(Surroundings(policy, self.tiers_of(policy), self.canonicaliser), messages, model, **given)

    def warm_like(self, other: Engine) -> None:
        """Makes the indexes that another engine has in use, so that no call has to wait for them."""
        policy = self.policy
        for group in list(other._indexes):
            own, default = policy.groups.get(group), policy.groups[DEFAULT_GROUP]
            if own is not None and not (own.broken or own.unreadable or default.broken or default.unreadable):
                self.index(policy, group)


class Session:
    """One session bound to one policy version: what it may do, asked call by call."""

    def __init__(
        self,
        engine: Engine,
        context: EffectiveContext,
        layers: tuple[Layer, ...],
        bypasses: tuple[Bypass, ...],
        *,
        who: Who,
        seen: Seeing,
        policy: Policy,
    ) -> None:
        self.engine, self.context, self.layers, self.bypasses = engine, context, layers, bypasses
        self._who, self._seen, self._policy = who, seen, policy
        self.written = Written()
        self._base = context.effective_working_dir()
        self._judged = engine.stamper.judged
        self._version = policy.version
        self._on_failure = policy.on_layer_failure
        self._rules = next((layer for layer in layers if isinstance(layer, PersistedRules)), None)
        self._tiers = next((layer for layer in layers if isinstance(layer, TierLayer)), None)

    def check(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str = "",
        trace: bool = False,
        cwd: str | None = None,
        bypasses: Sequence[Bypass] = (),
    ) -> Decision:
        """The gate's answer to a call: nothing is run, nothing stored but the audit line.

        `bypasses` hold besides the session's own.
        `cwd` is where this one call's relative paths start, for an agent that has moved since the session began; what
        the session was granted does not move along. Raises `BadCall` where the call cannot be read at all. Tracing
        never changes the answer.
        """
        decision = self.probe(tool, arguments, call_id=call_id, trace=trace, cwd=cwd, bypasses=bypasses)
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
        """What `check` says, of a call that nobody makes: it leaves no audit line, and counts as nothing written."""
        self.layers_now()
        base = self.base(cwd)
        call = self._judged(ToolCall(tool, arguments, call_id), base, self._matters, self.written.has)
        tracing = Tracing() if trace else None
        call, standing = drive(
            call,
            self.layers,
            self._on_failure,
            lambda new: self._judged(new, base, self._matters, self.written.has),
            tracing,
        )
        held = (*self.bypasses, *bypasses) if bypasses else self.bypasses
        now = time.time() if held else 0.0
        answers = relax(call, standing, self.context, held, now)
        steps = () if tracing is None else tracing.steps(answers if answers is not standing else ())
        return decide(call, answers, self._version, steps)

    def layers_now(self) -> tuple[Layer, ...]:
        """The session's layers, those of the policy as it is now."""
        policy = self.engine.fresh_policy()
        if policy is not self._policy:
            self._rebind(policy)
        return self.layers

    def base(self, cwd: str | None = None) -> str:
        """Where relative paths start, for a call that names this directory, or none. Raises `BadCall`."""
        return self._base if cwd is None else self._moved(cwd)

    @property
    def seen(self) -> Sequence[Seen]:
        """The models that see what the session's calls give, each with its tier; none where tiers say nothing here."""
        return self._tiers.seen if self._tiers is not None else ()

    def _rebind(self, policy: Policy) -> None:
        rules = self.engine.rules(policy, self._who)
        anew: dict[LayerId, Layer] = {LayerId.PERSISTED_RULES: rules}
        if self._seen.models:
            anew[LayerId.TIER] = tiers = self.engine.tiers(policy, self._seen)
            self._tiers = tiers if isinstance(tiers, TierLayer) else None
        self.layers = tuple(anew.get(layer.id, layer) for layer in self.layers)
        self._rules = rules if isinstance(rules, PersistedRules) else None
        self._version = policy.version
        # WHY last: another thread that finds the policy to be the newest must not judge by the layers of an older one.
        self._policy = policy

    def _matters(self, tool: str, cls: EffectClass) -> bool:
        rules, tiers = self._rules, self._tiers
        if tiers is not None and tiers.matters(cls):
            return True
        return rules is not None and (rules.index.last_closing >= 0 or rules.may_refuse(tool, cls, declared=True))

    def _moved(self, cwd: str) -> str:
        stamp = self.engine.canonicaliser.stamp(cwd, self._base)
        if stamp.refusal is Code.PATH_UNREADABLE:
            raise BadCall(f"the directory of the call cannot be read: {stamp.detail}")
        return stamp.path


def _source(given: Source | str | None) -> Source | None:
    try:
        return None if given is None else Source(given)
    except ValueError:
        raise BadContext(f"unknown source '{given}' (known: {', '.join(Source)})") from None


def _is_broken(policy: Policy, scope: str) -> bool:
    return any(problem.scope == scope and not problem.warning for problem in policy.problems)
