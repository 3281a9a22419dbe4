"""Whether one command pattern covers another: what can be said of patterns without a command at hand, for lint.

Settles when it is certain that every command which one rule's pattern fits is one that another's fits too. Does not
settle whether a pattern fits a command (`policy.shell.matching`). INVARIANT: a yes is proved; a no means "not proved".
"""

from __future__ import annotations

from stanch.policy.rule import Rule
from stanch.policy.shell.matching import CommandPattern, command_pattern
from stanch.values.decision import Effect


def covers_commands(wide: Rule, narrow: Rule) -> bool:
    """True only where each command that `narrow` speaks of is one that `wide` speaks of as well.

    WHY an allow covers a deny only as `*`: a deny also fits what the words of an allow leave open, such as
    `git -c x push` for `git push *`.
    """
    if wide.command is None:
        return True
    if narrow.command is None:
        return is_every(wide.command)
    if is_every(wide.command):
        return True
    if wide.action is Effect.ALLOW and narrow.action is not Effect.ALLOW:
        return False
    return wider(wide.command, narrow.command, open_end=wide.action is not Effect.ALLOW)


def wider(wide: str, narrow: str, *, open_end: bool = False) -> bool:
    """True only where the pattern surely fits whatever the other fits, both read as strictly or as generously.

    `open_end`: whatever further words there are, the pattern fits, as that of a deny does.
    """
    if wide == narrow or is_every(wide):
        return True
    one, other = command_pattern(wide), command_pattern(narrow)
    if one.program != other.program or "*" in one.program or "/" in one.program:
        return False
    if one.assignments or any(word.startswith("-") for word in (*one.words, *other.words)):
        return False
    literal, starred = _literal(one)
    inner, inner_starred = _literal(other)
    if not starred and not open_end:
        return literal == inner and not inner_starred
    return inner[: len(literal)] == literal


def is_every(command: str) -> bool:
    """True for a pattern of nothing but stars, which stands for every command."""
    return not command.replace("*", "").strip() and "*" in command


def _literal(pattern: CommandPattern) -> tuple[tuple[str, ...], bool]:
    """The words before a single `*` at the end, and whether there is one; no words at all are such a `*`."""
    words = pattern.words
    if not words:
        return (), True
    if not words[-1].strip("*"):
        return words[:-1], True
    return words, False
