"""Every single change of a small policy, by plain enumeration: which there are, and how far each reaches.

Written against the page of promises, not against what the product tries: it knows no short cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from stanch.app.engine import Session
from stanch.paths.pattern import PathPattern
from stanch.policy.changes import (
    CellChange,
    Change,
    GrantChange,
    Kind,
    Owner,
    Paths,
    Reach,
    RuleChange,
    Tools,
    Who,
    edited,
    reach_of,
    removed,
)
from stanch.policy.exactly import Unwritable, command_text, path_text
from stanch.policy.rule import DEFAULT_GROUP, DEFAULT_PRIORITY, Rule
from stanch.tiers.answers import UNKNOWN, targets_of
from stanch.values.call import CallEffect, EffectClass, JudgedCall
from stanch.values.decision import Effect

FILES = (EffectClass.READ, EffectClass.WRITE)
DIRECTORIES = ("w", "a", "b", "deep")


class Made(NamedTuple):
    """One change, and its place among those that give as many other calls another answer."""

    change: Change
    order: tuple[Reach, int]


def every(session: Session, call: JudgedCall, to: Effect, owner: Owner | None) -> Iterator[Made]:
    """Every single change of the session's policy and run context that may be made for this call."""
    keys: set[str | None] = {effect.stamp.key for effect in call.effects if effect.stamp is not None}
    yield from _rules(session, call, to, keys or {None})
    yield from _added(session, call)
    yield from _grants(session, call, owner)
    yield from _cells(session, call)


def _of(change: Change, reach: Reach) -> Made:
    return Made(change, (reach, list(Kind).index(change.kind)))


def _reach(rule: Rule, key: str | None) -> Reach:
    return reach_of(rule, key, directory=key is not None and _is_directory(key))


def _is_directory(key: str) -> bool:
    return key.rpartition("/")[2] in DIRECTORIES


# --- rules that are there ---------------------------------------------------------------------------------------------


def _rules(session: Session, call: JudgedCall, to: Effect, keys: set[str | None]) -> Iterator[Made]:
    for group in session.engine.policy.groups.values():
        for rule in group.rules:
            if to is not Effect.DENY and not may_open(rule, call):
                continue
            changes = [removed(rule)]
            changes += [
                edited(rule, action)
                for action in Effect
                if action is not rule.action and not (rule.mandatory and action is Effect.ALLOW)
            ]
            for change in changes:
                both = [one for one in (change.before, change.after) if one is not None]
                # WHY the widest: of a call with several files the change speaks of the one that it was found by.
                yield _of(change, max(_reach(one, key) for one in both for key in keys))


def may_open(rule: Rule, call: JudgedCall) -> bool:
    """The rules that may be opened for one call's sake: not those that keep every path of several tools closed."""
    tool = call.call.tool
    if not call.declared:
        return rule.tool == tool
    if "command" in call.call.arguments:
        return rule.command is not None or rule.path is not None
    return rule.tool == tool or rule.mandatory or rule.path is not None or rule.command is not None


# --- rules that are added ---------------------------------------------------------------------------------------------


def _added(session: Session, call: JudgedCall) -> Iterator[Made]:
    policy, who = session.engine.policy, session.who
    if who.group is not None and who.group not in policy.groups:
        return
    group = policy.groups[who.group or DEFAULT_GROUP]
    source = None if who.source is None else who.source.value
    for path, patterns, command in {(*_named(session, call, effect),) for effect in call.effects}:
        if path is command is None and call.declared and any(effect.stamp or effect.command for effect in call.effects):
            continue
        for action, mandatory, above in product(Effect, (False, True), (None, *group.rules)):
            if mandatory and action is Effect.ALLOW:
                continue
            new = Rule(
                0, group.id, call.call.tool, action, path=path, command=command, agent=who.agent, source=source,
                patterns=patterns, mandatory=mandatory, priority=DEFAULT_PRIORITY if above is None else above.priority,
            )  # fmt: skip
            change = RuleChange(group.id, None, new, None if above is None else above.id)
            yield _of(change, _reach(new, patterns[0].literal if patterns else None))


def _named(
    session: Session, call: JudgedCall, effect: CallEffect
) -> tuple[str | None, tuple[PathPattern, ...], str | None]:
    """The path or the command that names what an effect touches; nothing where neither can."""
    path = command = None
    if effect.command is not None:
        said = command_text(effect.command)
        command = None if isinstance(said, Unwritable) else said
        if command is None:
            return None, (), None
    if effect.stamp is not None and call.declared:
        text = path_text(effect.stamp.key, session.engine.policy.workspace)
        path = None if isinstance(text, Unwritable) else text
    return path, () if path is None else session.engine.patterns(path), command


# --- grants -----------------------------------------------------------------------------------------------------------


def _grants(session: Session, call: JudgedCall, owner: Owner | None) -> Iterator[Made]:
    for cls in FILES:
        for held in getattr(session.context.written, f"allow_fs_{cls.value}s"):
            yield _of(GrantChange(cls, held, True, owner), Reach(Paths.DIRECTORY, Tools.CLASS, Who.SOME))
        for stamp in {effect.stamp for effect in call.effects if effect.stamp is not None}:
            paths = Paths.DIRECTORY if _is_directory(stamp.key) else Paths.EXACT
            yield _of(GrantChange(cls, stamp.path, owner=owner), Reach(paths, Tools.CLASS, Who.SOME))


# --- cells of tiers ---------------------------------------------------------------------------------------------------


def _cells(session: Session, call: JudgedCall) -> Iterator[Made]:
    for seen in session.seen:
        spec = session.engine.policy.tiers[seen.tier.id]
        keys = _keys(call)
        for cls, after in product(EffectClass, Effect):
            before = spec.otherwise[cls.value]
            if before is not after:
                change = CellChange(spec.id, cls, 0, before, after)
                yield _of(change, Reach(Paths.ANY, Tools.CLASS, Who.ALL))
            for number, (cell, patterns) in enumerate(zip(spec.cells, spec.patterns, strict=True), 1):
                if cls.value in cell and Effect(cell[cls.value]) is not after:
                    change = CellChange(spec.id, cls, number, Effect(cell[cls.value]), after, cell["path"])
                    yield _of(change, Reach(_paths(patterns, keys), Tools.CLASS, Who.ALL))
            for key in keys if cls is not EffectClass.NETWORK else ():
                path = path_text(key, session.engine.policy.workspace)
                if isinstance(path, str):
                    change = CellChange(spec.id, cls, None, None, after, path, session.engine.patterns(path))
                    far = _is_directory(key) or cls is EffectClass.EXECUTE
                    yield _of(change, Reach(Paths.DIRECTORY if far else Paths.EXACT, Tools.CLASS, Who.ALL))


def _keys(call: JudgedCall) -> Sequence[str]:
    found: dict[str, None] = {}
    for effect in call.effects:
        below = () if effect.below is None else effect.below.keys
        named = [key for key, _ in targets_of(effect)] if effect.cls is not None else []
        found |= {key: None for key in (*named, *below) if key and key != UNKNOWN}
    return [*found]


def _paths(patterns: Sequence[PathPattern], keys: Sequence[str]) -> Paths:
    if any(part.wild for pattern in patterns for part in pattern.parts):
        return Paths.GLOB
    exact = any(pattern.literal == key and not _is_directory(key) for pattern in patterns for key in keys)
    return Paths.EXACT if exact else Paths.DIRECTORY
