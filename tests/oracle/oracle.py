"""The naive second engine: what must the gate answer to this call, by the plain words of the specification?

Settles, for one call under one policy and one context: the path refusals of the integrity layer, the persisted rules
(mandatory rules, groups, a missing or a broken group, the memory exception, no match, an unread command), and the
relaxation of an ordinary ask by a grant. Does not settle the other layers, bypasses, what a path means, or what a
command does: paths arrive stamped, and a command counts as unread. Written to be read beside the specification, not to
be fast: it loops over lists, keeps nothing, and shares no code with the engine but the vocabulary.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from stanch.values.call import CallEffect, EffectClass, JudgedCall
from stanch.values.reason import Code

EffectWord = Literal["allow", "ask", "deny"]

DEFAULT = "default"

# The tool patterns that name a class of effects (gate 2.0).
CLASS_PATTERNS = {
    "@read": EffectClass.READ,
    "@write": EffectClass.WRITE,
    "@execute": EffectClass.EXECUTE,
    "@network": EffectClass.NETWORK,
}

# A deny or ask rule that names one of these tools reaches every tool's call with that effect (gate 2.0).
FAR_REACHING = {
    "read_file": EffectClass.READ,
    "write_file": EffectClass.WRITE,
    "execute_cmd": EffectClass.EXECUTE,
}


@dataclass(frozen=True, slots=True)
class OracleRule:
    """One rule (gate 2.1). `path`, where there is one, is absolute and may hold `*`, `?` and `**`."""

    id: int
    group: str
    tool: str
    action: EffectWord
    priority: int = 100
    path: str | None = None
    command: str | None = None
    agent: str | None = None
    source: str | None = None
    mandatory: bool = False


@dataclass(frozen=True, slots=True)
class OraclePolicy:
    """The groups by id; None stands for a broken group, one of whose rules cannot be read. `default` is always a key.

    No layer fails here, so `on_layer_failure` decides nothing.
    """

    groups: Mapping[str, tuple[OracleRule, ...] | None]
    on_layer_failure: Literal["ask"] = "ask"


@dataclass(frozen=True, slots=True)
class OracleContext:
    """Who asks and what they were granted; every grant and directory is a canonical absolute path."""

    group: str | None
    agent: str | None
    source: str | None
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    working_directory: str
    workspace: str


@dataclass(frozen=True, slots=True)
class OracleDecision:
    """An answer: to one effect while the oracle works, to the whole call when `decide` returns it.

    `rule` is the (group, id) of the rule that decided, None where no rule did.
    """

    effect: EffectWord
    code: str
    mandated: bool = False
    rule: tuple[str, int] | None = None


def decide(policy: OraclePolicy, context: OracleContext, call: JudgedCall) -> OracleDecision:
    """Return the gate's answer to a call: of all layers and effects the strictest, of equals the earliest (2.3)."""
    # A call that has no effects is judged once, by its tool's name (gate 2.0).
    effects = call.effects or (CallEffect(cls=None),)

    # The integrity layer is asked first, so its denial is the earliest of the denials.
    for effect in effects:
        if effect.stamp is not None and effect.stamp.refusal is not None:
            return OracleDecision("deny", effect.stamp.refusal)

    answers = [persisted_answer(policy, context, call, effect) for effect in effects]
    strongest = strictest(answers)
    if strongest.effect == "deny" or strongest.mandated:
        return strongest

    said_by_rules: list[OracleDecision] = []
    said_by_grants: list[OracleDecision] = []
    for effect, answer in zip(effects, answers, strict=True):
        relaxed = relaxed_answer(context, call, effect, answer)
        if answer.effect == "ask" and relaxed.effect == "allow":
            said_by_grants.append(relaxed)
        else:
            said_by_rules.append(relaxed)
    return strictest(said_by_rules + said_by_grants)


def strictest(answers: Sequence[OracleDecision]) -> OracleDecision:
    """Return the strongest answer, the earliest of equals: deny, then a mandated ask, an ordinary ask, allow."""
    for kind in (("deny", False), ("ask", True), ("ask", False)):
        for answer in answers:
            if (answer.effect, answer.mandated) == kind:
                return answer
    return answers[0]


# --- Persisted rules (gate 2.1) --------------------------------------------------------------------------------------


def persisted_answer(
    policy: OraclePolicy, context: OracleContext, call: JudgedCall, effect: CallEffect
) -> OracleDecision:
    """Return what the persisted rules say of one effect."""
    names = [DEFAULT]
    if context.group is not None and context.group != DEFAULT:
        names = [context.group, DEFAULT]

    missing = False
    rules: list[OracleRule] = []
    for name in names:
        if name not in policy.groups:
            missing = True
            continue
        group = policy.groups[name]
        if group is None:
            return OracleDecision("deny", Code.POLICY_INVALID)
        rules.extend(sorted(group, key=lambda rule: (rule.priority, rule.id)))

    matching = [rule for rule in rules if rule_matches(rule, context, call, effect)]
    exempt = not missing and is_memory_write(context, call)
    answer = first_answer(matching, exempt=exempt)

    if answer.effect == "deny":
        return answer
    if effect.command is not None or (
        effect.cls == EffectClass.EXECUTE
        and any(
            rule.command and rule.action != "allow" and rule_matches(replace(rule, command=None), context, call, effect)
            for rule in rules
        )
    ):
        return OracleDecision("ask", Code.COMMAND_UNREAD, mandated=True)
    if missing:
        return OracleDecision("ask", Code.GROUP_MISSING, mandated=True)
    return answer


def first_answer(matching: Sequence[OracleRule], *, exempt: bool) -> OracleDecision:
    """Return the answer of rules that all match, in order: mandatory ones, the memory exception, the first match."""
    for action in ("deny", "ask"):
        for rule in matching:
            if rule.mandatory and rule.action == action:
                return answer_of(rule)
    if exempt:
        return OracleDecision("allow", Code.MEMORY_EXCEPTION)
    for rule in matching:
        return answer_of(rule)
    return OracleDecision("ask", Code.NO_MATCH)


def answer_of(rule: OracleRule) -> OracleDecision:
    """Return what a rule says once it decides."""
    mandated = rule.mandatory and rule.action == "ask"
    return OracleDecision(rule.action, Code.RULE, mandated, (rule.group, rule.id))


def rule_matches(rule: OracleRule, context: OracleContext, call: JudgedCall, effect: CallEffect) -> bool:
    """Return whether every condition of a rule holds for one effect."""
    if rule.agent not in (None, context.agent) or rule.source not in (None, context.source):
        return False
    if rule.command is not None:
        # There is no command, or there is one that nobody has read: nothing to hold the condition against.
        return False
    if rule.path is not None and (effect.stamp is None or not pattern_covers(rule.path, effect.stamp.key)):
        return False
    return tool_matches(rule, call, effect)


def tool_matches(rule: OracleRule, call: JudgedCall, effect: CallEffect) -> bool:
    """Return whether a rule's tool pattern reaches one effect of a call (gate 2.0)."""
    named = tool_glob_matches(rule.tool, call.call.tool)
    if rule.action == "allow" and not call.declared:
        # An undeclared tool has its effects for deny and for ask; an allow needs it named, and `*` alone names nothing.
        return named and rule.tool.strip("*") != ""
    if rule.tool in CLASS_PATTERNS:
        return effect.cls == CLASS_PATTERNS[rule.tool]
    return named or (rule.action != "allow" and effect.cls is not None and FAR_REACHING.get(rule.tool) == effect.cls)


def is_memory_write(context: OracleContext, call: JudgedCall) -> bool:
    """Return whether a built-in tool that writes, and may read, has its every target under the `memory/` there."""
    if not call.builtin:
        return False
    for effect in call.effects:
        if effect.cls not in (EffectClass.READ, EffectClass.WRITE):
            return False
        if effect.stamp is None or effect.stamp.links > 1:
            return False
        if not is_under(effect.stamp.key, context.workspace + "/memory"):
            return False
    return any(effect.cls == EffectClass.WRITE for effect in call.effects)


# --- Relaxation (gate 2.3) -------------------------------------------------------------------------------------------


def relaxed_answer(
    context: OracleContext, call: JudgedCall, effect: CallEffect, answer: OracleDecision
) -> OracleDecision:
    """Return the answer for one effect after the filesystem fast path; only an ordinary ask is ever changed."""
    if answer.effect != "ask" or answer.mandated or effect.stamp is None:
        return answer
    if not call.declared:
        # Nobody has said that this tool reads or writes, so it is neither a read tool nor a write tool.
        return answer
    if effect.cls == EffectClass.READ and is_read_allowed(context, effect.stamp.key):
        return OracleDecision("allow", Code.READ_GRANT)
    if effect.cls == EffectClass.WRITE and is_write_allowed(context, effect.stamp.key):
        if effect.stamp.links > 1:
            return replace(answer, code=Code.FILE_HAS_LINKS)
        return OracleDecision("allow", Code.WRITE_GRANT)
    return answer


def is_read_allowed(context: OracleContext, path: str) -> bool:
    """Return whether a path lies under the working directory (its `docs/` and `skills/` too) or under any grant."""
    return any(is_under(path, root) for root in (context.working_directory, *context.reads, *context.writes))


def is_write_allowed(context: OracleContext, path: str) -> bool:
    """Return whether a path lies under a write grant."""
    return any(is_under(path, directory) for directory in context.writes)


# --- Paths and patterns (ground 1.3) ---------------------------------------------------------------------------------


def components(path: str) -> list[str]:
    """Return the components of an absolute path, or of a pattern, in Unicode normal form C."""
    return [part for part in unicodedata.normalize("NFC", path).split("/") if part != ""]


def is_under(path: str, directory: str) -> bool:
    """Return whether a path is a directory or lies below it, by whole components."""
    above = components(directory)
    return components(path)[: len(above)] == above


def pattern_covers(pattern: str, path: str) -> bool:
    """Return whether a path pattern matches a path or a directory above it: any first few of the path's components."""
    return len(ends(components(pattern), components(path), "**", component_matches)) > 0


def component_matches(pattern: str, name: str) -> bool:
    """Return whether one component of a pattern matches one name: `*` any characters, `?` one, the rest itself."""
    return len(name) in ends(pattern, name, "*", lambda sign, character: sign in ("?", character))


def tool_glob_matches(pattern: str, tool: str) -> bool:
    """Return whether a tool pattern matches a tool's name: `*` any characters, the rest itself."""
    return len(tool) in ends(pattern, tool, "*", lambda sign, character: sign == character)


def ends(pattern: Sequence[str], items: Sequence[str], any_number: str, one: Callable[[str, str], bool]) -> set[int]:
    """Return every n for which the whole pattern matches exactly the first n items.

    A part of the pattern equal to `any_number` matches any number of items, none too; another part matches one item,
    where `one(part, item)` says so.
    """
    reached = {0}
    for part in pattern:
        following: set[int] = set()
        for n in reached:
            if part == any_number:
                following.update(range(n, len(items) + 1))
            elif n < len(items) and one(part, items[n]):
                following.add(n + 1)
        reached = following
    return reached
