"""What a pattern looks like that was written in the language of another program: a shell, git, a coding agent.

Settles which path and tool patterns look so, and what to write instead. Does not settle what a pattern means
(`paths.pattern`): such a pattern means itself, which is hardly ever what was meant. INVARIANT: a name that people do
give to files is not taken for another language: `[slug]`, `[...all]`, `$postId`, `{id}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from stanch.policy.declared import Form, Tool
from stanch.policy.known_tools import server_of, tool_named
from stanch.policy.shell.matching import command_pattern

_BRACES = re.compile(r"\{[^{}]*,[^{}]*\}|\{\w+\.\.\w+\}")
_VARIABLE = re.compile(r"\$(?:\{[A-Za-z_]\w*\}|[A-Z_][A-Z0-9_]*)(?=/|$)")
_BRACKETS = re.compile(r"\[([^\[\]/]+)\]")
_RANGES = re.compile(r"(?:\w-\w)+[_.-]?")
_WITH_CONDITION = re.compile(r"(?P<name>[^()]+)\((?P<inside>.*)\)", re.DOTALL)
_ENDING = re.compile(
    r"c|cfg|conf|cpp|cs|css|csv|db|env|go|gz|h|html|ini|ipynb|java|js|json|jsx|key|lock|log|md|mjs|pdf|pem|php|png|py|"
    r"rb|rs|sh|sql|sqlite|svg|tf|toml|ts|tsx|txt|xml|yaml|yml|zip",
    re.IGNORECASE,
)


def path_said(path: str) -> str | None:
    """What a path pattern does not mean although it looks so, and what to write; None for a plain one."""
    found = _BRACES.search(path)
    if found is not None:
        return f"'{found[0]}' stands for no choice, braces mean themselves; write a rule for each of the names"
    if path.startswith("!"):
        return "'!' makes no exception, it is part of the name; write a rule of its own for that, above this one"
    found = _VARIABLE.match(path)
    if found is not None:
        rest = path[found.end() :]
        home = found[0] in ("$HOME", "${HOME}")
        instead = f"write '~{rest}'" if home else "write the path itself; a relative one starts at the workspace"
        return f"'{found[0]}' is not replaced by anything, it means itself; {instead}"
    names = path.split("/")
    for at, name in enumerate(names):
        if "**" in name.removesuffix("**" if at == len(names) - 1 else "") and name != "**":
            return _span_said(path, name)
        inside = _class_in(name)
        if inside is not None:
            each = "write '?' for one character, or a rule for each"
            return f"'[{inside}]' stands for no choice, brackets mean themselves; {each}"
    return None


def _span_said(path: str, name: str) -> str:
    """What `**` means within a name: no more than `*`. At the very end it does no harm: what lies below is covered."""
    spelled = "*/**/*".join(re.split(r"\*\*+", name)).removeprefix("*/")
    better = "/".join(spelled if one == name else one for one in path.split("/"))
    return f"within a name '**' is the same as '*', so '{name}' reaches no deeper; write '{better}'"


def _class_in(name: str) -> str | None:
    """What stands in brackets that look like a choice of characters: a range, a negation, letters beside a wildcard.

    Letters count where they rise (`*.[ch]`, `[abc]*`) and are two or three; any other word is a name, as in `[slug]`.
    """
    for found in _BRACKETS.finditer(name):
        inside = found[1]
        ranges = _RANGES.fullmatch(inside) and all(a < b for a, b in re.findall(r"(\w)-(\w)", inside))
        letters = inside.isalnum() and len(inside) <= 3 and list(inside) == sorted(set(inside))
        run = len(inside) < 3 or ord(inside[-1]) - ord(inside[0]) == len(inside) - 1
        beside = "*" in name or "?" in name
        if inside[0] in "!^" or ranges or (letters and run and beside):
            return inside
    return None


def tool_said(tool: str, tools: Mapping[str, Tool]) -> str | None:
    """What to write instead of a tool pattern that looks like a path or like another program's rule; else None."""
    found = _WITH_CONDITION.fullmatch(tool)
    if found is not None:
        return f"a tool's name holds no condition; write {_split_up(found['name'].strip(), found['inside'], tools)}"
    if "(" in tool or ")" in tool:
        return f'a tool\'s name holds no condition; write tool = "{tool.partition("(")[0].strip() or "..."}"'
    if tool.startswith("mcp__"):
        whole = tool.count("__") == 1 and "*" not in tool and len(tool) > len("mcp__")
        return f"this names a server and no tool; write '{tool}__*' for all its tools" if whole else None
    _, dot, ending = tool.rpartition(".")
    if "/" in tool or tool[:1] in (".", "~") or (dot and _ENDING.fullmatch(ending)):
        return f'this is a path, and no tool; write tool = "@read" or tool = "@write", and path = "{tool}"'
    return None


def _split_up(name: str, inside: str, tools: Mapping[str, Tool]) -> str:
    """The name and the condition of `Read(src/**)` or `Bash(git log:*)`, as keys of a rule."""
    described = tool_named(name, tools)
    forms = {effect.form for effect in described.effects} if described else set()
    inside = inside.strip()
    if inside in ("", "*", "**"):
        return f'tool = "{name}"'
    if Form.COMMAND in forms:
        command = inside.removesuffix(":*").rstrip() + " *" if inside.endswith(":*") else inside
        try:
            command_pattern(command)
        except ValueError as why:
            return f'tool = "{name}" and a command; "{command}" is no pattern: {why}'
        quote = "'" if '"' in command else '"'
        return f'tool = "{name}" and command = {quote}{command}{quote}'
    if forms & {Form.URL} or server_of(name) is not None:
        return f'tool = "{name}"; of its arguments a rule sees only paths'
    path = inside[1:] if inside.startswith("//") else inside
    return f'tool = "{name}" and path = "{path}"'
