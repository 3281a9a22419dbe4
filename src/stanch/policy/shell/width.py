"""Which patterns are too wide to be remembered from one approval.

Settles what a pattern would cover beyond the command that was approved. Does not settle when it fits
(`policy.shell.matching`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from stanch.policy.shell.matching import CommandPattern
from stanch.policy.shell.options import is_lone, is_option

_INTERPRETERS = re.compile(r"(?:python|pypy).*|node(?:js)?|deno|bun|perl|ruby|php|lua|(?:ba|z|da|k|fi|a)?sh|pwsh")
_WRAPPERS = re.compile(
    r"env|sudo|doas|su|xargs|ssh|npx|bunx|uvx|eval|exec|command|nohup|time|timeout|nice|setsid|source|\.|docker|podman|git"
)
_BY_OPTION = re.compile(r"find|sed|[gm]?awk|curl|export|tar")


def too_wide(pattern: CommandPattern) -> str | None:
    """Why an allow rule of this pattern must not be made from one approval: what more it would cover; None if fine.

    A program that runs what its words say is fine where one of them says what. One that writes or runs others by an
    option is too wide with any `*` for a word of its own.
    """
    program = pattern.programs
    if program is None:
        return f"its program has a '*': it would cover every program that fits '{pattern.program}'"
    words = pattern.words or ("*",)
    if _BY_OPTION.fullmatch(program) and any(map(is_lone, words)):
        return f"it would cover every option of {program}, also those that write files or run other programs"
    runs = _INTERPRETERS.fullmatch(program) or _WRAPPERS.fullmatch(program)
    if not runs or not any("*" in word for word in words) or _is_fixed(program, words):
        return None
    if program == "git":
        return "it names no subcommand: it would cover every one, also those that write, send and run programs"
    return f"it would cover all that {program} can be told to run, not only this command"


def _is_fixed(program: str, words: Sequence[str]) -> bool:
    """True where a word before the first `*` says what is run; one behind an option may be no more than its value."""
    hollow = {"-", "--", *(("run", "exec", "container", "compose") if program in ("docker", "podman") else ())}
    code = ("-c", "-e", "-m") if _INTERPRETERS.fullmatch(program) else ()
    last = ""
    for word in itertools.takewhile(lambda word: "*" not in word, words):
        value = is_option(last) and last not in code
        if not (value or is_option(word) or word in hollow or (program == "env" and "=" in word)):
            return True
        last = word
    return False
