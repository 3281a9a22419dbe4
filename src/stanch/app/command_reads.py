"""Which files the output of a command may come from.

Settles when the files that a command was found to read are all there are, and which paths below a directory some tier
closes. Does not settle what a command is found to read (`policy.shell`), nor what becomes of its output later
(`tiers.history`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stanch.app.below import look_below
from stanch.tiers.tier import Tier
from stanch.values.call import EffectClass
from stanch.values.command import Command
from stanch.values.decision import Decision, Effect

# WHY a list of its own: to be read without a question is one thing, to write out nothing but what its operands say is
# another. `make` or `pytest` may show any file; `git` shows what lies anywhere in its repository.
_PLAIN = frozenset(
    {
        *("[", "base32", "base64", "basename", "cat", "cd", "chmod", "chown", "cksum", "cmp", "column"),
        *("comm", "cp", "csplit", "cut", "date", "df", "diff", "dirname", "du", "echo", "egrep", "expand"),
        *("export", "false", "fgrep", "file", "find", "fmt", "fold", "grep", "head", "hexdump", "hostname"),
        *("id", "install", "join", "jq", "ln", "ls", "md5sum", "mkdir", "mkfifo", "mktemp", "mv", "nl"),
        *("nproc", "numfmt", "od", "paste", "patch", "printf", "pwd", "readlink", "realpath", "rev", "rg"),
        *("rm", "rmdir", "sed", "seq", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shuf"),
        *("sleep", "sort", "split", "stat", "strings", "sum", "tac", "tail", "tee", "test", "touch", "tr"),
        *("tree", "true", "truncate", "tsort", "uname", "unexpand", "uniq", "wc", "which", "whoami", "xxd"),
        *("yq", "zcat"),
    }
)
_STRENGTH = {Effect.ALLOW: 0, Effect.ASK: 1, Effect.DENY: 2}


class Reads(NamedTuple):
    """What a command was found to read. `all_known` is false where its output may come from other files too."""

    paths: tuple[str, ...]
    all_known: bool


def is_plain(command: Command) -> bool:
    """True for a simple command that writes out nothing but what its operands say."""
    return not command.unread and (command.inert or (command.program in _PLAIN and not command.place))


def reads_of(decision: Decision) -> Reads:
    """The canonical paths that a call's commands were found to read."""
    paths: dict[str, None] = {}
    known = True
    for effect in decision.call.effects:
        command = effect.command
        if command is None:
            continue
        if effect.found is None:
            known = known and is_plain(command)
        elif effect.cls is EffectClass.READ:
            if effect.stamp is None or not effect.stamp.path:
                known = False
                continue
            paths[effect.stamp.path] = None
            known = known and not effect.runs  # nobody has listed what a script reads
    return Reads(tuple(paths), known)


def closed_below(tiers: Iterable[Tier], directory: str) -> tuple[tuple[str, ...], bool]:
    """The paths below the directory that some tier closes more than the directory itself, and whether all was seen."""
    found = look_below(directory, folders=True)
    if found is None:
        return (), False
    closed: dict[str, None] = {}
    for tier in tiers:
        if not tier.objects(EffectClass.READ):
            continue
        outside = _STRENGTH[tier.says(EffectClass.READ, directory).effect]
        for key in found.keys:
            if key not in closed and _STRENGTH[tier.says(EffectClass.READ, key).effect] > outside:
                closed[key] = None
    return tuple(closed), found.complete
