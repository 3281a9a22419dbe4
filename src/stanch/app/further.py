"""What a session has of further layers, and the layers that are made of it and of the policy file.

Settles which rows and which policies speak for a session, and for one that is judged as an ancestor of another's. Does
not settle what they say (`policy.rows`, `app.caller_policies`), nor where a session has them from (`app.sessions`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from stanch.app.caller_policies import PolicyLayer
from stanch.app.programs import ProgramPolicy
from stanch.app.session_rules import Who
from stanch.paths.pattern import BadPattern
from stanch.policy import shapes
from stanch.policy.document import Policy as PolicyFile
from stanch.policy.layer_shapes import ROW, RowShape
from stanch.policy.layer_tables import Patterns, row_problems, rule_of
from stanch.policy.layers import Failed, Layer, LayerAnswer
from stanch.policy.meant import unknown
from stanch.policy.policies import Asker, Hook, Policy, PolicyRequest, Said
from stanch.policy.rows import RowsLayer
from stanch.policy.rule import ACTIONS, Rule
from stanch.values.call import JudgedCall
from stanch.values.fault import BadFields
from stanch.values.narrowing import Row
from stanch.values.reason import LayerId


class Further(NamedTuple):
    """What a session has besides its rules and its tier.

    `skills` are those that are active. `policies` are the session's own, each a layer; `inherited` those of its
    ancestors. `session` is its id, for policies to know it by. `below` says whose call it judges where it does so as an
    ancestor: what is asked about that call already is not asked again.
    """

    skills: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    policies: tuple[Policy, ...] = ()
    inherited: tuple[Policy, ...] = ()
    hooks: tuple[Hook, ...] = ()
    session: str | None = None
    below: Who | None = None


NOTHING = Further()


class Unknown(NamedTuple):
    """A layer of which something is not there that somebody counts on: it gives no answer."""

    id: LayerId
    why: str
    immediate: bool = True

    def ask(self, call: JudgedCall) -> LayerAnswer:  # noqa: ARG002 - whatever the call
        """No answer, whatever the call."""
        return Failed(self.why)


def layers_of(policy: PolicyFile, who: Who, further: Further, patterns: Patterns) -> Iterator[Layer]:
    """The layers of skills, narrowing, policies and hooks for such a session."""
    if further.skills:
        yield from _skills(policy, who, further.skills)
    yield from _narrowing(policy, who, further, patterns)
    usual = policy.layer_seconds
    asker = Asker(who.agent, None if who.source is None else who.source.value, further.session)
    for one in further.policies:
        yield PolicyLayer(LayerId.CALLER_POLICY, one, asker, usual=usual)
    for one in further.inherited:
        yield PolicyLayer(LayerId.INHERITED_CONSTRAINT, one, asker, usual=usual)
    for hook in further.hooks:
        yield PolicyLayer(LayerId.HOOKS, hook.policy, asker, fits=hook.fits, usual=usual)
    if further.below is not None:
        return
    tables = policy.tables
    if tables.caller_policy is not None:
        yield PolicyLayer(LayerId.CALLER_POLICY, ProgramPolicy(tables.caller_policy, policy.workspace, usual), asker)
    for filed in tables.hooks:
        program = ProgramPolicy(filed.program, policy.workspace, usual)
        yield PolicyLayer(LayerId.HOOKS, program, asker, fits=filed.fits)


def _skills(policy: PolicyFile, who: Who, names: Sequence[str]) -> Iterator[Layer]:
    """The rows of all active skills in one layer: what one of them denies, no other opens."""
    known = policy.tables.skills
    rules = [rule for name in names if name in known for rule in known[name].rules]
    if rules:
        yield _rows(LayerId.SKILL_ROWS, rules, who)
    missing = [name for name in names if name not in known]
    if missing:
        yield Unknown(LayerId.SKILL_ROWS, f"there is no skill {missing[0]!r} in the policy any more")


def _narrowing(policy: PolicyFile, who: Who, further: Further, patterns: Patterns) -> Iterator[Layer]:
    """One layer of the rows of the file and of the session: the strictest that fits counts, whoever wrote it.

    An ancestor's asks are mandated; of the file's rows it has those alone that do not speak of the call itself.
    """
    source = None if who.source is None else who.source.value
    below = further.below
    filed = [rule for rule in policy.tables.narrowing if _speaks(rule, who)]
    rules = [_mandated(rule) for rule in filed if not _speaks(rule, below)] if below is not None else filed
    try:
        rules += [rule_of(row, patterns, mandated=below is not None) for row in further.rows]
    except BadPattern:
        yield Unknown(LayerId.NARROWING, "a row of the session names a path that cannot be read")
    if rules:
        yield RowsLayer(LayerId.NARROWING, rules, agent=who.agent, source=source)


def _rows(layer: LayerId, rules: Sequence[Rule], who: Who) -> Layer:
    return RowsLayer(layer, rules, agent=who.agent, source=None if who.source is None else who.source.value)


def _speaks(rule: Rule, who: Who) -> bool:
    source = None if who.source is None else who.source.value
    return rule.agent in (None, who.agent) and rule.source in (None, source)


def _mandated(rule: Rule) -> Rule:
    return replace(rule, mandatory=True)


class Gone(Exception):
    """A session that has ended, or whose process has, and the policy that it had."""


class Referred:
    """A session's policy as others have it: whatever it is when it is asked, and no answer once it is gone."""

    def __init__(self, find: Callable[[], Policy | None]) -> None:
        """`find` gives the policy of the moment, None for none, and raises `Gone`."""
        self._find = find

    @property
    def seconds(self) -> float | None:
        """How long the policy of the moment says that it takes."""
        try:
            return getattr(self._find(), "seconds", None)
        except Gone:
            return None

    @property
    def authority(self) -> Policy | None:
        """The policy of the moment."""
        try:
            return self._find()
        except Gone:
            return None

    def __call__(self, request: PolicyRequest) -> Said | Awaitable[Said]:
        """What the policy of the moment says."""
        try:
            policy = self._find()
        except Gone:
            return GONE
        return None if policy is None else policy(request)


GONE = Failed("the session that it belongs to has ended, or its process has")


def given_further(
    file: PolicyFile,
    patterns: Patterns,
    *,
    policy: Policy | Sequence[Policy],
    hooks: Sequence[Hook | Policy],
    skills: Sequence[str],
    narrowing: Sequence[Mapping[str, Any]],
) -> Further:
    """What a program gives a session of its own. Raises `BadFields` for a skill that there is not, and for odd rows."""
    return Further(
        skills=known_skills(file, skills),
        rows=tuple(rows_of(narrowing, patterns)),
        policies=(policy,) if callable(policy) else tuple(policy),
        hooks=tuple(hook if isinstance(hook, Hook) else Hook(hook) for hook in hooks),
    )


def known_skills(file: PolicyFile, names: Sequence[str]) -> tuple[str, ...]:
    """The same skills, each once. Raises `BadFields` for one that the policy does not have."""
    known = file.tables.skills
    for name in names:
        if name not in known:
            raise BadFields(("skills", unknown("skill", str(name), known)))
    return tuple(dict.fromkeys(names))


def rows_of(given: Sequence[Mapping[str, Any]], patterns: Patterns, first: int = 1) -> Iterator[Row]:
    """The rows that somebody gives, numbered from `first`. Raises `BadFields` for the first that is none."""
    for at, row in enumerate(given):
        for where, message in shapes.violations(ROW, row, RowShape):
            raise BadFields((".".join(("narrowing", str(at), *map(str, where))), message))
        for key, message in row_problems(row, patterns):
            raise BadFields((f"narrowing.{at}.{key}", message))
        yield Row(
            first + at,
            row["tool"],
            ACTIONS[row["action"]],
            row.get("path"),
            row.get("command"),
            row.get("note"),
            row.get("real_approval", False),
            row.get("frozen", False),
        )
