"""What the gate's answers hold, as OpenAPI describes them.

Settles the description only: the answers themselves are made by `surfaces.wire`, which every door shares.
"""

from __future__ import annotations

from typing import Literal

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
    """The gate's answer to a call."""

    effect: EffectWord
    reason: ReasonShown
    effects: list[EffectShown]
    trace: list[StepShown]
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


class ExplanationShown(AnswerShown):
    """The gate's answer to a call, with the rules that were in it, for each effect."""

    rules: list[ContestShown]
