"""Built-ins that change the shell itself, by name.

Settles those that read code, name commands or leave the shell. Does not settle where it stands then
(`policy.shell.directories`), what its variables hold (`policy.shell.declaring`), nor built-ins that only do something
(`verbs/builtins.toml`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from stanch.policy.shell import declaring, directories
from stanch.policy.shell.declaring import declare
from stanch.policy.shell.finishing import finished
from stanch.policy.shell.leaving import run_script
from stanch.policy.shell.outcome import UNKNOWN_OUTPUT, Result, left_by
from stanch.policy.shell.pieces import Hole
from stanch.policy.shell.state import either
from stanch.policy.shell.walk import Call

__all__ = ["HANDLERS", "declare"]

Handler = Callable[[Call], Result]
_ACTIVATE = re.compile(r"(?:.*/)?(?:activate|nvm\.sh|\.?env|.*\.env|\.?bashrc|\.?profile|cargo/env)")
_LOADS = {"enable": "", "hash": "p", "bind": "", "complete": "CF", "compgen": "CFWG", "fc": "", "history": "rwan"}


def evaluate(call: Call) -> Result:
    """`eval`: its words, joined, are code."""
    unknown = next((word for word in call.words if word.text is None or word.wild), None)
    if unknown is not None:
        call.draft.say_unread(f"code that is not known: {unknown.why or 'a name out of a search'}")
        lost = replace(call.state, lost=True)
        return finished(call, lost, lost)
    words = [word.text or "" for word in call.words]
    finished(call, call.state, call.state)
    return call.run.script(" ".join(words[words[:1] == ["--"] :]), call.state, call.opened.stdin)


def source(call: Call) -> Result:
    """`source`: a file that is run in the shell itself, which may change whatever it likes."""
    run, state, draft = call.run, call.state, call.draft
    words = call.words[1:] if call.words and call.words[0].text == "--" else call.words
    changed = state
    if not words or words[0].text is None or words[0].wild:
        draft.say_unread("a script that is not known")
    else:
        text = words[0].text
        if text.startswith(("/dev/", "/proc/")):
            draft.say_unread("code that is not known")
        if state.functions:
            draft.say_unread("a script that may call the functions that the command makes")
        mark = len(run.parts)
        run_script(call, words[0])
        if len(run.parts) > mark or not _ACTIVATE.fullmatch(text):
            changed = replace(state, lost=True)
    hole = ((Hole("a variable that a script may have changed"),),)
    changed = replace(changed, variables=dict.fromkeys(state.variables, hole), arguments=None)
    return left_by(finished(call, changed, changed), state)


def trap(call: Call) -> Result:
    """`trap`: its first operand is code that runs later, as things then are."""
    operands = [word for word in call.words if not (word.text or "").startswith("-") or word.text == "-"]
    code = operands[0] if len(operands) > 1 else None
    if code is not None and code.text is None:
        call.draft.say_unread(f"code that is not known: {code.why}")
    elif code is not None and code.text not in ("-", ""):
        call.run.traps.append(code.text or "")
        call.run.kept = either(call.run.kept, call.state)
        # WHY: what the code prints later goes where this shell prints
        return finished(call, call.state, call.state)._replace(out=UNKNOWN_OUTPUT)
    return finished(call, call.state, call.state)


def alias(call: Call) -> Result:
    """`alias`: another name for a piece of code."""
    if any(word.text is None or "=" in word.text for word in call.words):
        call.draft.say_unread("another name for a command")
    result = finished(call, call.state, call.state)
    for word in call.words:
        if word.text is not None and "=" in word.text:
            call.run.script(word.text.partition("=")[2], call.state, None)
    return result


def enable(call: Call) -> Result:
    """`enable`, `hash -p`, `bind`, `complete`, `fc`: they load or run code, or change which program a name means."""
    loads = _LOADS[call.program]
    for word in call.words:
        text = word.text or "-"
        if not loads or text == "-" or (text.startswith("-") and set(text) & set(loads)):
            call.draft.say_unread("what the built-in loads or runs")
    return finished(call, call.state, call.state)


def leave(call: Call) -> Result:
    """`exit`: nothing comes after it. WHY not `return`, `break`: what they leave is gone through as a whole."""
    after = finished(call, call.state, call.state)
    sure = not call.opened.moved and not call.draft.assigns and len(call.words) < 2
    sure = sure and all(word.text is not None or word.plain for word in call.words)
    return Result(None, None, after.out) if sure else after


def stay(call: Call) -> Result:
    """`return`, `break`, `continue`: behind them the shell may stand as it stands here."""
    return finished(call, call.state, call.state)


HANDLERS: Mapping[str, Handler] = {
    "cd": directories.change_directory,
    "pushd": directories.change_directory,
    "popd": directories.back,
    **dict.fromkeys(("export", "declare", "local", "readonly", "typeset"), declaring.declare_words),
    **dict.fromkeys(("set", "shopt"), declaring.set_options),
    "shift": declaring.shift,
    "unset": declaring.unset,
    **dict.fromkeys(("read", "mapfile", "readarray", "getopts"), declaring.read_input),
    **dict.fromkeys(("printf", "echo"), declaring.print_formatted),
    "eval": evaluate,
    **dict.fromkeys(("source", "."), source),
    "trap": trap,
    "alias": alias,
    **dict.fromkeys(("enable", "hash", "bind", "complete", "compgen", "fc", "history"), enable),
    "exit": leave,
    **dict.fromkeys(("return", "break", "continue"), stay),
}
