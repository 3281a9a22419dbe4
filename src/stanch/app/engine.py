"""The one engine that every door calls: sessions bound to a policy, and the gate's answer to a call.

Settles how the pieces are driven. Decides nothing itself: the walk, relaxation and the decision are pure and stand
below.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from stanch.app.further import Further, Referred, given_further, layers_of
from stanch.app.given_layers import as_asked, usable
from stanch.app.organization import Organization
from stanch.app.organization_reading import Organizations
from stanch.app.session import Audit, Held, Session
from stanch.app.session_rules import Who, rules_for
from stanch.app.stamping import Stamper
from stanch.gate.context import ContextSources, EffectiveContext, context_for
from stanch.gate.relax import Bypass
from stanch.paths.canonical import Canonicaliser
from stanch.paths.pattern import PathPattern, parse
from stanch.policy.building import Anchor, anchored
from stanch.policy.document import Policy
from stanch.policy.index import RuleIndex
from stanch.policy.layers import Integrity, Layer
from stanch.policy.policies import Hook
from stanch.policy.policies import Policy as Caller
from stanch.policy.rule import DEFAULT_GROUP, in_order
from stanch.tiers.answers import NO_ANSWERS, Answers
from stanch.tiers.layer import Seeing, tier_layer
from stanch.tiers.tier import Tiers
from stanch.values.context import RunContext
from stanch.values.decision import Decision
from stanch.values.fault import BadContext
from stanch.values.identity import Source

if TYPE_CHECKING:
    from stanch.app.redacting import Redaction

INTEGRITY = Integrity()
ANCHOR_SECONDS = 1.0


__all__ = ["INTEGRITY", "UNSET", "Audit", "Engine", "Session"]


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
        organizations: Organizations | None = None,
        *,
        home: str = "/",
        anchor: Anchor = str,
    ) -> None:
        """`rebuilt` gives the policy anew where a link that its patterns lead through has been changed, else None.

        `organizations` are those whose rules are asked; left out, one that the policy names is one that nobody fetches.
        `home` and `anchor` are as for `policy.building.build`: by them the rows of sessions are read.
        """
        self._home, self._anchor = home, anchor
        self.policy = policy
        self._rebuilt = rebuilt
        self._looked = time.monotonic()
        self.canonicaliser = canonicaliser
        self.audit = audit
        self.stamper = Stamper(policy.tools, canonicaliser, policy.workspace)
        self._indexes: dict[str, tuple[Policy, RuleIndex]] = {}
        self._tiers: tuple[Policy, Tiers] | None = None
        self.organizations = Organizations.none(policy) if organizations is None else organizations

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
        organization: Organization | None = None,
        policy: Caller | Sequence[Caller] = (),
        hooks: Sequence[Hook | Caller] = (),
        skills: Sequence[str] = (),
        narrowing: Sequence[Mapping[str, Any]] = (),
        under: Session | None = None,
        approver: bool = True,
        further: Further | None = None,
    ) -> Session:
        """A session bound to this policy.

        `context`: left out, the default of the agent, else of the source; None means none. `group` wins over the
        context's. `model` is the session's own, `also` names others that will see what its calls give; each is judged
        by its trust tier, and the strictest counts. `answers` are what a person has said where a tier asks.
        `cwd` is where the session works where its context names no directory. `layers` are further layers, asked in
        the gate's own order. `organization` is one whose rules are asked besides the policy's. `unreadable` says what
        of the session cannot be read, and why: then nothing is allowed. Raises `BadContext` or `BadGrant` for a context
        that cannot be read.

        `policy` is the application's own, or several; `hooks` screen calls as they are made; `skills` are those that
        are active; `narrowing` are rows that deny or ask. `under` is the session that it is a subagent's of. Without an
        `approver` policies are told that nobody can be asked. Raises `BadFields` for a skill or a row that is none.
        `further` takes the place of the first four.
        """
        file = self.fresh_policy()
        source = _source(source)
        sources = ContextSources(
            () if isinstance(context, _Unset) else (context,),
            file.agent_defaults.get(agent) if agent is not None else None,
            file.source_defaults.get(source.value) if source is not None else None,
        )
        effective = EffectiveContext(context_for(sources), file.workspace, self.canonicaliser.directory, cwd)
        own = group if group is not None else effective.tool_group_id()
        who = Who(own if own is not None or under is None else under.who.group, agent, source, unreadable)
        if further is None:
            further = given_further(file, self.patterns, policy=policy, hooks=hooks, skills=skills, narrowing=narrowing)
        above = () if under is None else (under, *under.above)
        further = further._replace(inherited=(*further.inherited, *(Referred(one.policy_now) for one in above)))
        held = Held(
            who,
            Seeing((*(() if model is None else (model,)), *also), answers),
            further,
            tuple(usable(layers)),
            () if organization is None else (organization,),
            approver,
        )
        return Session(self, effective, tuple(bypasses), held, policy=file, above=above)

    def stack(self, policy: Policy, held: Held) -> tuple[Layer, ...]:
        """The layers of such a session, in the order in which they are asked."""
        who = held.who
        stack: list[Layer] = [INTEGRITY, self.rules(policy, who), *held.layers]
        if held.seen.models:
            stack.append(self.tiers(policy, held.seen))
        stack += layers_of(policy, who, held.further, self.patterns)
        stack += self.organizations.layers(policy, who.agent, who.source, held.organizations)
        return as_asked(stack)

    def patterns(self, path: str) -> tuple[PathPattern, ...]:
        """The patterns that a path stands for, in this workspace. Raises `BadPattern`."""
        return anchored(parse(path, self.policy.workspace, self._home), self._anchor)

    def with_policy(self, policy: Policy) -> Engine:
        """An engine that is as this one but for its policy: it keeps no audit, and never reads its policy anew."""
        home, anchor = self._home, self._anchor
        return Engine(policy, self.canonicaliser, organizations=self.organizations, home=home, anchor=anchor)

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


def _source(given: Source | str | None) -> Source | None:
    try:
        return None if given is None else Source(given)
    except ValueError:
        raise BadContext(f"unknown source '{given}' (known: {', '.join(Source)})") from None
