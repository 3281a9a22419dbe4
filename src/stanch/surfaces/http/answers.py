"""What the gate's answers hold, as OpenAPI describes them.

Settles the description only: the answers themselves are made by `surfaces.wire`, which every door shares.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from stanch.surfaces.http.shown import Shown, Word

EffectWord = Literal["allow", "ask", "deny"]


class RuleOfReason(Shown):
    """The rule that spoke, and where it is written: a file and a line, or `database`."""

    id: int
    group: str
    note: str | None
    place: str
    words: str


class ReasonShown(Shown):
    """Why an answer is what it is."""

    code: Word
    layer: Word
    rule: RuleOfReason | None
    subject: str
    sentence: str


class EffectShown(Shown):
    """One effect of the call, and what stands for it.

    `command` and `part` (from 1) are the simple command of a shell call that the effect runs, or that was found to have
    it; `found` is then `sure` or `possible`. All three are null where there is no command.
    """

    class_: str | None = Field(alias="class")
    argument: str
    path: str | None
    requested: str | None
    command: str | None
    part: int | None
    found: Literal["sure", "possible"] | None
    effect: EffectWord | None
    reason: ReasonShown | None


class StepShown(Shown):
    """What one layer said."""

    layer: Word
    asked: bool
    effect: EffectWord | None
    code: str | None
    microseconds: float
    reason: ReasonShown | None


class PolicyOfAnswer(Shown):
    """The policy that spoke."""

    file: str | None
    workspace: str
    version: str


class AnswerShown(Shown):
    """The gate's answer to a call. Where a policy or a hook changed its `arguments`, they are there: run no others."""

    effect: EffectWord
    reason: ReasonShown
    effects: list[EffectShown]
    trace: list[StepShown]
    arguments: dict[str, Any] | None = None
    policy_version: str
    policy: PolicyOfAnswer


class ContestedRule(RuleOfReason):
    """A rule that was in it."""

    effect: EffectWord
    priority: int
    mandatory: bool


class LosingRule(ContestedRule):
    """A rule that did not decide, and why."""

    condition: str | None
    why: str


class ContestShown(Shown):
    """For one effect: the rule that fits first, those that fit too, those that nearly fit.

    `as_command`: no rule speaks of what a command reads or reaches, so that it is answered as the command is.
    """

    first: ContestedRule | None
    behind: list[LosingRule]
    nearly: list[LosingRule]
    further: int
    as_command: bool


class OtherwiseShown(Shown):
    """A recorded call that a change would give another answer: its tool, its id, and both answers."""

    tool: str
    asked: str
    where: str
    before: EffectWord
    after: EffectWord


class SuggestedShown(Shown):
    """A change that would make the answer the one that was asked for: the lines of TOML, their place, and the rest.

    `others` counts the recorded calls that would be answered otherwise, `first` are the first of them.
    """

    kind: Literal["grant", "rule", "tier_cell"]
    what: Literal["add", "edit", "remove"]
    group: str | None
    rule: int | None
    tier: str | None
    before: str | None
    after: str | None
    toml: str
    place: str
    how: str
    warnings: list[str]
    others: int
    first: list[OtherwiseShown]


class ObjectionShown(Shown):
    """What stands in the way. `since` says why no change of a rule, a grant or a tier helps, where that
    is so (`fixed`)."""

    layer: str
    effect: EffectWord
    sentence: str
    fixed: bool
    since: str | None


class ChangeShown(Shown):
    """What would make the answer `to`: changes, the smallest first; none where it is so `already`, or nothing helps.

    `looked_at` recorded calls were looked at. `cannot` says what no rule can name alone.
    """

    to: EffectWord
    already: bool
    suggested: list[SuggestedShown]
    in_the_way: list[ObjectionShown]
    cannot: list[str]
    looked_at: int


class ExplanationShown(AnswerShown):
    """The gate's answer to a call, with the rules that were in it, for each effect."""

    rules: list[ContestShown]
    change: ChangeShown
