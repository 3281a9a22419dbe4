"""What a program runs that was handed a command line, code, or nothing but its standard input.

Settles what of the shell's state reaches the inside. Does not settle how the words are told apart
(`policy.shell.operands`).
"""

from __future__ import annotations

from dataclasses import replace

from stanch.policy.shell.assigning import with_set
from stanch.policy.shell.drafting import mark_unread
from stanch.policy.shell.outcome import Result
from stanch.policy.shell.pieces import Word, known
from stanch.policy.shell.state import State
from stanch.policy.shell.touching import NOTHING, touch
from stanch.policy.shell.values import text_of, value_of, with_arguments
from stanch.policy.shell.verbs import SHELLS
from stanch.policy.shell.walk import Call

_IN_THE_SHELL = frozenset({"builtin", "command", "exec"})
_RUNS_PYTHON = frozenset({"uv", "coverage", "pipenv", "poetry", "pdm", "hatch", "rye", "pixi", "kernprof"})
# Modules that run code that they are given, or a program that is no module of the table.
_RUNS_CODE = frozenset(
    {
        *("timeit", "pdb", "bdb", "cProfile", "profile", "trace", "runpy", "code", "codeop", "ensurepip", "idlelib"),
        *("IPython", "ptpython", "bpython", "pyinstrument", "viztracer", "debugpy", "kernprof", "asyncio", "this.code"),
    }
)


def run_inner(here: Call, place: int) -> Result | None:
    """Goes through what the program runs; what that leaves of the shell, where it runs in the shell itself."""
    run, use, opened = here.run, here.use, here.opened
    program_state = here.state.for_program()
    if use.verb.is_shell and not use.flags.isdisjoint(("-O", "+O", "-o", "+o")):
        program_state = replace(program_state, wide=True)
    for code in use.code:
        if code.text is None:
            mark_unread(run, place, f"code that is not known: {code.why}")
        else:
            run.script(code.text, with_arguments(program_state, use.arguments), opened.stdin)
    if "module" in use.flags:
        _module(here, place)
        return None
    result = None
    if use.inner:
        in_shell = here.program in _IN_THE_SHELL
        inside = replace(here.state, functions={}) if in_shell else program_state
        result = _command(here, inside, use.inner)
        if in_shell:
            return _with_functions(result, here.state)
    busy = use.quiet or use.inner or use.code or not use.flags.isdisjoint(("code", "own"))
    if use.verb.code_on_stdin and not busy:
        _from_stdin(here, program_state, place)
    return None


def _command(here: Call, state: State, words: list[Word]) -> Result:
    assigns = []
    for word in here.use.assigns:
        name, _, text = (word.text or "").partition("=")
        value = value_of(known(text))
        assigns.append((name, value))
        state = with_set(state, name, (value,))
    state = replace(state, exported=state.exported | {name for name, _ in assigns})
    first = words[0].text or ""
    if here.program in _RUNS_PYTHON and first not in here.run.verbs and (first.endswith(".py") or first == "-m"):
        words = [known("python"), *words]
    return here.run.simple(words, tuple(assigns), state, here.opened.for_inner(here.opened.stdin))


def _with_functions(result: Result, state: State) -> Result:
    """What a built-in that takes no functions leaves: those that were there, and those it made."""
    back = [
        None if one is None else replace(one, functions={**state.functions, **one.functions})
        for one in (result.ok, result.fail)
    ]
    return result._replace(ok=back[0], fail=back[1])


def _module(here: Call, place: int) -> None:
    """`python -m NAME`: judged as the program of that name besides, where there is one in the table."""
    run, use = here.run, here.use
    name = use.patterns[-1].text if use.patterns else None
    words = use.inner or []
    if name is None:
        mark_unread(run, place, "a module that is not known")
    elif name.partition(".")[0] in _RUNS_CODE:
        mark_unread(run, place, f"the code that {name} is given")
    if name in run.verbs:
        run.simple([known(name or ""), *words], (), here.state.for_program(), here.opened.for_inner(here.opened.stdin))
        return
    before = len(here.draft.found)
    for word in words:
        touch(run, "any", word, here.state, here.draft)
    if here.draft.found[before:] or here.draft.unread:
        part = run.parts[place]
        found = tuple(dict.fromkeys((*part.found, *here.draft.found)))
        run.parts[place] = part._replace(found=found)
        if here.draft.unread:
            mark_unread(run, place, here.draft.unread)


def _from_stdin(here: Call, state: State, place: int) -> None:
    """An interpreter that was given no script: it runs what stands on its standard input."""
    if any(kind == "script" and not NOTHING.fullmatch(word.text or "") for kind, word in here.use.acts):
        return
    stdin = here.opened.stdin
    text = text_of(stdin) if stdin is not None else None
    if text is not None and here.program in SHELLS:
        here.run.script(text, replace(state, arguments=None), None)
    else:
        mark_unread(here.run, place, "the code on its standard input")
