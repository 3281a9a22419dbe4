"""The naive second engine: what must the gate answer to this call, by the plain words of the specification?

Settles path refusals, the persisted rules with groups, memory and commands, and grants. Does not settle other layers,
what a path means or a command does: paths arrive stamped, commands read. It shares no code with the engine.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from stanch.values.call import CallEffect, EffectClass, JudgedCall
from stanch.values.command import Command, Weight
from stanch.values.reason import Code

Rules = Sequence["OracleRule"]
Item = TypeVar("Item", str, "str | None")
EffectWord = Literal["allow", "ask", "deny"]
CLASS_PATTERNS = {f"@{cls.value}": cls for cls in EffectClass}
FAR_REACHING = {"read_file": EffectClass.READ, "write_file": EffectClass.WRITE, "execute_cmd": EffectClass.EXECUTE}


@dataclass(frozen=True, slots=True)
class OracleRule:
    """One rule (gate/order). `path`, where there is one, is absolute and may hold `*`, `?` and `**`."""

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
    """The groups by id; None stands for a broken group, which has a rule that cannot be read. `default` is a key."""

    groups: Mapping[str, tuple[OracleRule, ...] | None]


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
    """An answer to one effect or to the whole call. `rule` is the (group, id) of the rule that decided, if one did."""

    effect: EffectWord
    code: str
    mandated: bool = False
    rule: tuple[str, int] | None = None


NO_MATCH = OracleDecision("ask", Code.NO_MATCH)
UNREAD = OracleDecision("ask", Code.COMMAND_UNREAD, mandated=True)


def decide(policy: OraclePolicy, context: OracleContext, call: JudgedCall) -> OracleDecision:
    """Return the gate's answer to a call: of all layers and effects the strictest, of equals the earliest."""
    call = call._replace(effects=call.effects or (CallEffect(cls=None),))
    refused = [effect.stamp.refusal for effect in call.effects if effect.stamp is not None and effect.stamp.refusal]
    if refused:
        return OracleDecision("deny", refused[0])
    answers = persisted_answers(policy, context, call)
    if not is_closed(strictest(answers)):
        answers = [relaxed(context, call, *pair) for pair in zip(call.effects, answers, strict=True)]
        answers.sort(key=lambda answer: answer.code in (Code.READ_GRANT, Code.WRITE_GRANT))
    return strictest(answers)


def strictest(answers: Sequence[OracleDecision]) -> OracleDecision:
    """Return the strongest answer, the earliest of equals: deny, then a mandated ask, an ordinary ask, allow."""
    return min(answers, key=lambda answer: (answer.effect != "deny", not answer.mandated, answer.effect == "allow"))


def is_closed(answer: OracleDecision) -> bool:
    """Return whether an answer is one that nothing but a person can change."""
    return answer.effect == "deny" or answer.mandated


# --- Persisted rules (gate/order) ------------------------------------------------------------------------------------


def persisted_answers(policy: OraclePolicy, context: OracleContext, call: JudgedCall) -> list[OracleDecision]:
    """Return what the persisted rules say of each effect."""
    missing: OracleDecision | None = None
    rules: list[OracleRule] = []
    for name in dict.fromkeys((context.group or "default", "default")):
        group = policy.groups.get(name, ())
        if name not in policy.groups:
            missing = OracleDecision("ask", Code.GROUP_MISSING, mandated=True)
        if group is None:
            return [OracleDecision("deny", Code.POLICY_INVALID) for _ in call.effects]
        rules.extend(sorted(group, key=lambda rule: (rule.priority, rule.id)))
    rules.sort(key=lambda rule: (not rule.mandatory, rule.mandatory and rule.action == "ask"))
    rules = [r for r in rules if r.agent in (None, context.agent) and r.source in (None, context.source)]
    exempt = missing is None and is_memory_write(context, call)
    answers: list[OracleDecision] = []
    own = NO_MATCH
    for effect in call.effects:
        if effect.command is None:
            answer = plain_answer(rules, call, effect, exempt)
        elif effect.found is None:
            answer = own = command_answer(rules, call, effect.command)
        else:
            answer = found_answer(rules, call, effect, own)
        answers.append(answer if missing is None or answer.effect == "deny" or answer == UNREAD else missing)
    return answers


def plain_answer(rules: Rules, call: JudgedCall, effect: CallEffect, exempt: bool) -> OracleDecision:
    """Return the answer to an effect that is no command's: mandatory rules, the memory exception, the first match."""
    speaking = [rule for rule in rules if speaks(rule, call, call.call.tool, effect, None)]
    answers = [answer_of(rule) for rule in speaking if not rule.command and (rule.mandatory or not exempt)]
    answer = [*answers, OracleDecision("allow", Code.MEMORY_EXCEPTION) if exempt else NO_MATCH][0]
    strict = any(rule.command and rule.action != "allow" for rule in speaking)
    return UNREAD if effect.cls == EffectClass.EXECUTE and strict and answer.effect != "deny" else answer


def answer_of(rule: OracleRule) -> OracleDecision:
    """Return what a rule says once it decides."""
    return OracleDecision(rule.action, Code.RULE, rule.mandatory and rule.action == "ask", (rule.group, rule.id))


def speaks(rule: OracleRule, call: JudgedCall, tool: str, effect: CallEffect, key: str | None) -> bool:
    """Return whether a rule, but for its command, speaks of one effect as a tool of this name would have it."""
    key = key or (effect.stamp.key if effect.stamp is not None else None)
    if rule.path is not None and (key is None or not pattern_covers(rule.path, key)):
        return False
    named = glob_matches(rule.tool, tool)
    if rule.action == "allow" and not call.declared:
        # An undeclared tool has its effects for deny and for ask; an allow needs it named, and `*` alone names nothing.
        return named and rule.tool.strip("*") != ""
    if rule.tool in CLASS_PATTERNS:
        return effect.cls == CLASS_PATTERNS[rule.tool]
    return named or (rule.action != "allow" and effect.cls is not None and FAR_REACHING.get(rule.tool) == effect.cls)


def is_memory_write(context: OracleContext, call: JudgedCall) -> bool:
    """Return whether a built-in tool that writes, and may read, has its every target under the `memory/` there."""
    memory = context.workspace + "/memory"
    inside = [e.stamp is not None and e.stamp.links <= 1 and is_under(e.stamp.key, memory) for e in call.effects]
    classes = {effect.cls for effect in call.effects}
    both = {EffectClass.READ, EffectClass.WRITE}
    return call.builtin and all(inside) and EffectClass.WRITE in classes and classes <= both


# --- Commands (gate/commands) ----------------------------------------------------------------------------------------


def command_answer(rules: Rules, call: JudgedCall, command: Command) -> OracleDecision:
    """Return the answer to running one simple command."""
    others = [e.command for e in call.effects if e.command is not None and e.found is None and not e.command.inert]
    aside = command.inert and len(others) > 0
    run = CallEffect(EffectClass.EXECUTE)
    speaking = [rule for rule in rules if speaks(rule, call, call.call.tool, run, None)]
    fitting = [rule for rule in speaking if not rule.command or fits(rule, command, named=aside)]
    answer = answer_of(fitting[0]) if fitting else NO_MATCH
    if aside:
        # Beside another command it needs no rule, and one that does not name it says nothing of it.
        named = [answer_of(rule) for rule in fitting if rule.command]
        refused = named and named[0].effect != "allow"
        answer = named[0] if refused else OracleDecision("allow", Code.NOTHING_BY_ITSELF)
    if answer.effect == "deny":
        return answer
    pattern = (fitting[0].command or "") if fitting and fitting[0].action == "allow" else ""
    unset = command.needs - {word.split("=")[0] for word in pattern.split() if "=" in word}
    return UNREAD if command.unread or unset else answer


def found_answer(rules: Rules, call: JudgedCall, effect: CallEffect, own: OracleDecision) -> OracleDecision:
    """Return the answer to what a command was found to do; `own` is the answer to the command."""
    rule = rule_about(rules, call, effect, None)
    answer = answer_of(rule) if rule is not None else NO_MATCH if effect.cls == EffectClass.WRITE else own
    closed = answer if rule is not None and is_closed(answer) else None
    if effect.below is not None and closed is None:
        below = [rule_about(rules, call, effect, key) for key in effect.below.keys]
        refusing = [(r.group, r.id) for r in below if r is not None and is_closed(answer_of(r))]
        if refusing or not effect.below.complete:
            code = Code.COVERS_REFUSED if refusing else Code.COVERS_TOO_MUCH
            closed = OracleDecision("ask", code, True, refusing[0] if refusing else None)
    if effect.found == Weight.SURE:
        return closed or answer
    if closed is not None and effect.cls == EffectClass.WRITE:
        return OracleDecision("ask", Code.MAY_WRITE_CLOSED, True, closed.rule)
    return closed or own


def rule_about(rules: Rules, call: JudgedCall, effect: CallEffect, key: str | None) -> OracleRule | None:
    """Return the rule that speaks of what a command does, to the path with this key if one is given."""
    as_builtin = {EffectClass.READ: "read_file", EffectClass.WRITE: "write_file"}
    for rule in rules:
        tools = (as_builtin.get(effect.cls or EffectClass.EXECUTE, ""), call.call.tool, "execute_cmd")
        first, *others = [speaks(rule, call, tool, effect, key) for tool in tools]
        itself = others[0] or (others[1] and rule.action != "allow")
        if rule.command:
            if rule.path and (first or itself) and effect.command and fits(rule, effect.command, named=False):
                return rule
        elif first or (itself and rule.path and rule.action != "allow"):
            reading = rule.path is not None or (rule.action == "deny" and rule.tool in ("@read", "read_file"))
            about_it = rule.tool == "@network" if effect.cls == EffectClass.NETWORK else reading
            if effect.cls == EffectClass.WRITE or about_it:
                return rule
            if rule.action == "allow":
                return None
    return None


def fits(rule: OracleRule, command: Command, *, named: bool) -> bool:
    """Return whether the rule's pattern of plain words fits the command; `named`: only where it names the program."""
    words = (rule.command or "").split()
    assigned = [(word.split("=")[0], word.split("=")[1]) for word in words if "=" in word]
    program, *rest = [word for word in words if "=" not in word]
    if named and "*" in program:
        return False
    if set("".join(words)) == {"*"}:
        return True  # every command, one whose program is not known too
    at_place = "/" in program and glob_matches(program, command.place + command.program)
    by_name = command.program != "" and glob_matches(program.split("/")[-1], command.program)
    n = ends(rest or ["*"], command.words, "*", lambda sign, word: word is not None and glob_matches(sign, word))
    if rule.action != "allow":
        return (at_place or by_name) and set(assigned) <= set(command.assignments) and len(n) > 0
    same = all(dict(command.assignments).get(name) == value for name, value in assigned)
    return (at_place or (by_name and command.place == "")) and same and len(command.words) in n


def relaxed(asking: OracleContext, call: JudgedCall, effect: CallEffect, answer: OracleDecision) -> OracleDecision:
    """Return the answer for one effect after the grants: they change an ordinary ask about a tool that is declared."""
    if answer.effect != "ask" or answer.mandated or effect.stamp is None or not call.declared:
        return answer
    may_read = (asking.working_directory, *asking.reads, *asking.writes)
    if effect.cls == EffectClass.READ and any(is_under(effect.stamp.key, root) for root in may_read):
        return OracleDecision("allow", Code.READ_GRANT)
    if effect.cls == EffectClass.WRITE and any(is_under(effect.stamp.key, root) for root in asking.writes):
        linked = effect.stamp.links > 1
        return replace(answer, code=Code.FILE_HAS_LINKS) if linked else OracleDecision("allow", Code.WRITE_GRANT)
    return answer


# --- Paths and patterns (ground/patterns) ----------------------------------------------------------------------------


def components(path: str) -> list[str]:
    """Return the components of an absolute path, or of a pattern, in Unicode normal form C."""
    return [part for part in unicodedata.normalize("NFC", path).split("/") if part != ""]


def is_under(path: str, directory: str) -> bool:
    """Return whether a path is a directory or lies below it, by whole components."""
    above = components(directory)
    return components(path)[: len(above)] == above


def pattern_covers(pattern: str, path: str) -> bool:
    """Return whether a path pattern matches a path or a directory above it: any first few of the path's components."""

    def fits_name(part: str, name: str) -> bool:
        return len(name) in ends(part, name, "*", lambda sign, character: sign in ("?", character))

    return len(ends(components(pattern), components(path), "**", fits_name)) > 0


def glob_matches(pattern: str, text: str) -> bool:
    """Return whether the pattern of a tool's name or of a word matches: `*` any characters, the rest itself."""
    return len(text) in ends(pattern, text, "*", lambda sign, character: sign == character)


def ends(pattern: Sequence[str], items: Sequence[Item], any_number: str, one: Callable[[str, Item], bool]) -> set[int]:
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
