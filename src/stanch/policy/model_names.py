"""Which tier a model is assigned to: patterns over `provider/model`, and the most specific of those that fit.

Settles the grammar of such a pattern and which of several goes first. Does not settle what a tier says (`tiers.tier`).
`*` stands for any characters and nothing else is special; in the provider's part it stands for none beyond the first
slash. A pattern without a slash fits bare names only, and a bare name fits no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from stanch.paths.pattern import glob
from stanch.policy.covering import texts_meet

DEFAULT_TIER = "unassigned"


def assigned(model: str, assignments: Mapping[str, str]) -> str | None:
    """The pattern that assigns the model: its exact name, else the fitting one with the longest literal prefix.

    None where no pattern fits. Patterns that tie are refused when a policy is loaded (`ties`); of such a pair the
    lesser text is taken, so that the order of writing never counts.
    """
    if "*" not in model and model in assignments:
        return model
    fitting = [pattern for pattern in assignments if fits(pattern, model)]
    return min(fitting, key=lambda pattern: (-len(_head(pattern)), pattern), default=None)


def fits(pattern: str, model: str) -> bool:
    """True where the pattern fits the name of a model."""
    if "*" not in pattern:
        return pattern == model
    wanted, given = _halves(pattern), _halves(model)
    return len(wanted) == len(given) and all(glob(one)(other) for one, other in zip(wanted, given, strict=True))


def ties(assignments: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each two patterns of different tiers of which neither goes first for some model that both fit.

    The first of a pair is the one that is written first.
    """
    alike: dict[str, list[str]] = {}
    for pattern in assignments:
        if "*" in pattern:
            alike.setdefault(_head(pattern), []).append(pattern)
    for patterns in alike.values():
        for at, later in enumerate(patterns):
            for earlier in patterns[:at]:
                if assignments[earlier] != assignments[later] and _meet(earlier, later):
                    yield earlier, later


def adding(further: Mapping[str, str], assignments: Mapping[str, str]) -> dict[str, str]:
    """The assignments, and those further ones that neither repeat one of them nor tie with one."""
    both = {**further, **assignments}
    tied = {pattern for pair in ties(both) for pattern in pair}
    return {pattern: tier for pattern, tier in both.items() if pattern in assignments or pattern not in tied}


def why_never(pattern: str) -> str | None:
    """Why the pattern can fit no model's name; None where it can fit one."""
    if not pattern.strip():
        return "it is empty"
    if pattern != pattern.strip() or not pattern.isprintable():
        return "it has white space around it, or a character that cannot be seen"
    if pattern.startswith("/"):
        return "nothing stands before its slash, where the provider belongs"
    return "nothing stands behind its slash, where the model belongs" if pattern.endswith("/") else None


def _meet(one: str, other: str) -> bool:
    """True where some model's name fits both."""
    mine, others = _halves(one), _halves(other)
    return len(mine) == len(others) and all(texts_meet(a, b) for a, b in zip(mine, others, strict=True))


def _head(pattern: str) -> str:
    """The literal prefix of a pattern."""
    return pattern.partition("*")[0]


@lru_cache(maxsize=1 << 12)
def _halves(name: str) -> tuple[str, ...]:
    """The provider and the model; one part for a bare name."""
    return tuple(name.split("/", 1))
