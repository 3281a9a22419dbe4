"""Built-ins that set variables: `declare` and its like, `unset`, `set`, `shift`, `read`, `printf -v`.

Settles what the variables and the arguments hold afterwards. Does not settle which variables change what runs
(`policy.shell.variables`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from stanch.policy.shell import expanding, printing
from stanch.policy.shell.assigning import assigned, with_set
from stanch.policy.shell.drafting import part_of
from stanch.policy.shell.finishing import finished
from stanch.policy.shell.leaving import leave_targets
from stanch.policy.shell.naming import spread
from stanch.policy.shell.outcome import Draft, Opened, Result, one_of
from stanch.policy.shell.pieces import QUOTED, Hole, Lit, Under, Value, Word, known
from stanch.policy.shell.state import EVERY, Node, State
from stanch.policy.shell.use import Use
from stanch.policy.shell.values import text_of, with_arguments
from stanch.policy.shell.variables import changes_what_runs, is_harmless
from stanch.policy.shell.walk import QUIET, Call, Walk

_NAME = re.compile(r"[A-Za-z_]\w*")
_WIDE = frozenset({"dotglob", "globstar", "extglob", "nocaseglob", "nullglob", "failglob"})


def declare(run: Walk, node: Node, state: State, opened: Opened) -> Result:
    """`export`, `declare`, `local`, `readonly`, `typeset`, `nameref` as the parser gives them."""
    program = node.get("Variant", {}).get("Value", "declare")
    readings: list[tuple[list[Word], State, Draft]] = [([], state, Draft(opened))]
    flags = ""
    for arg in node.get("Args") or []:
        if arg.get("Naked"):
            nodes = [arg["Value"]] if arg.get("Value") else []
            given = expanding.fields(nodes, state, run) if nodes else [[known(arg["Name"]["Value"])]]
            flags += "".join(word.text or "" for word in given[0] if (word.text or "").startswith("-"))
            readings = [
                ([*words, *more], _declared(program, more, after, draft), draft)
                for words, after, draft in readings[:1]
                for more in given[:1]
            ]
            if len(given) > 1:
                readings[0][2].say_unread("a variable that is not known")
            continue
        words, after, draft = readings[0]
        name = arg.get("Name", {}).get("Value", "")
        values = assigned(run, arg, after)
        text = text_of(values[0]) if len(values) == 1 else None
        words.append(known(f"{name}={text}") if text is not None else Word(None, f"{name}=", why="a value"))
        readings = [(words, _marked(program, flags, name, _set(name, values, after, draft)), draft)]
    words, after, draft = readings[0]
    if run.notes:
        draft.say_unread(run.notes[0])
    return finished(Call(run, program, words, state, opened, draft, Use(QUIET)), after, after)


def _marked(program: str, flags: str, name: str, state: State) -> State:
    """The state in which the variable is exported, fixed or the function's own, by what declared it."""
    if program == "export" or "x" in flags:
        state = replace(state, exported=state.exported | {name})
    if program == "readonly" or "r" in flags:
        state = replace(state, fixed=state.fixed | {name})
    if program != "export":
        state = replace(state, own=state.own | {name})
    return state


def _set(name: str, values: tuple[Value, ...], state: State, draft: Draft) -> State:
    if changes_what_runs(name) and not all(is_harmless(name, value) for value in values):
        draft.say_unread(f"a change of {name}, which changes what runs")
    return with_set(state, name, values)


def _declared(program: str, words: Sequence[Word], state: State, draft: Draft) -> State:
    flags = ""
    for word in words:
        text = word.text
        if text is None:
            draft.say_unread(f"a variable that is not known: {word.why}")
        elif text[:1] in ("-", "+"):
            flags += text
            if set("niulc") & set(text) and program != "export":
                draft.say_unread("a variable that is more than what it is set to")
            if "f" in text and program == "export":
                draft.say_unread("a function that other programs may call")
        else:
            name, mark, value = text.partition("=")
            if mark:
                state = _set(name, ((Lit(value, QUOTED),),), state, draft)
            state = _marked(program, flags, name, state)
    return state


def declare_words(call: Call) -> Result:
    """The same where the name of the built-in came out of a variable or behind `builtin`."""
    after = _declared(call.program, call.words, call.state, call.draft)
    return finished(call, after, after)


def set_options(call: Call) -> Result:
    """`set` and `shopt`: options, and what `$1` and so on stand for."""
    state, words, draft = call.state, call.words, call.draft
    texts = [word.text for word in words]
    if call.program == "shopt":
        if any(text is None or text in ("expand_aliases", "sourcepath", "lastpipe") for text in texts):
            draft.say_unread("an option of the shell")
        state = replace(state, wide=state.wide or not _WIDE.isdisjoint(text or "" for text in texts))
        return finished(call, state, state)
    place, named = 0, False
    while place < len(texts):
        text = texts[place]
        if text is None or (text[:1] not in ("-", "+") and not named):
            break
        place += 1
        if text in ("-", "--") and not named:
            return _with_arguments(call, words[place:], state)
        letters = (
            {"allexport": "a", "keyword": "k", "verbose": "v", "physical": "P"}.get(text, "") if named else text[1:]
        )
        if set("kv") & set(letters):
            draft.say_unread("an option of the shell")
        if "a" in letters:
            state = replace(state, exported=state.exported | {EVERY})
        if "P" in letters:
            state = replace(state, physical=True)
        named = not named and text.endswith("o")
    if place < len(texts):
        if texts[place] is None:
            draft.say_unread("an option of the shell that is not known")
        return _with_arguments(call, words[place:], state)
    return finished(call, state, state)


def _with_arguments(call: Call, words: Sequence[Word], state: State) -> Result:
    after = with_arguments(state, spread(call.run, words, state, call.draft))
    return finished(call, after, after)


def shift(call: Call) -> Result:
    """`shift`: the arguments move up."""
    count = call.words[0].text if call.words else "1"
    held = call.state.arguments
    left = held[int(count) :] if held is not None and count is not None and count.isdecimal() else None
    after = replace(call.state, arguments=left)
    return finished(call, after, call.state)


def unset(call: Call) -> Result:
    """`unset`: what a variable held is no longer known, a function is none."""
    state, draft = call.state, call.draft
    for word in call.words:
        name = word.text
        if name is None:
            draft.say_unread(f"a variable that is not known: {word.why}")
        elif not name.startswith("-"):
            functions = {one: bodies for one, bodies in state.functions.items() if one != name}
            state = replace(state.without((name,)), functions=functions)
            if name not in state.fixed and not changes_what_runs(name):
                state = state.with_variable(name, ((Lit("", QUOTED),),))
            if name == "IFS":
                state = replace(state, split=False)
            elif name in ("PATH", "HOME"):
                draft.say_unread(f"a change of {name}, which changes what runs")
    return one_of(finished(call, state, state), Result(None, call.state, ()))


def read_input(call: Call) -> Result:
    """`read`, `mapfile`, `getopts`: variables get what stands on the standard input."""
    draft, state = call.draft, call.state
    values: list[str] = []
    skip = False
    for word in call.words:
        text = word.text
        if skip:
            skip = False
            values.extend([text] if text is not None else [])
        elif text is None:
            draft.say_unread(f"a variable that is not known: {word.why}")
        elif text.startswith("-") and len(text) > 1:
            skip = text[-1] in "adinNptuOcCs" and text not in ("-s", "-e", "-r", "-t")
            if "a" in text[1:]:
                values.append(text.partition("a")[2])
            if call.program != "read" and "C" in text:
                draft.say_unread("code that runs while a list is read")
        else:
            values.append(text)
    if call.program == "getopts":
        values = [*values[1:2], "OPTARG", "OPTIND"]
    names = [text for text in values if _NAME.fullmatch(text)] or ["REPLY", "MAPFILE"]
    stdin = call.opened.stdin or ()
    under = tuple(piece for piece in stdin if isinstance(piece, Under))
    alone = bool(under) and len(under) == len(stdin) and (len(names) == 1 or names == ["REPLY", "MAPFILE"])
    line = _line(call)
    for name in names:
        held: Value = under[:1] if alone and len(under) == 1 else (Hole("what is read from the standard input"),)
        if line is not None and len(names) == 1:
            held = (Lit(line, QUOTED),)
        state = with_set(state, name, (held,))
        if changes_what_runs(name):
            draft.say_unread(f"a change of {name}, which changes what runs")
    return finished(call, state, state)


def _line(call: Call) -> str | None:
    """The one line that `read` takes out of a text of its own; None where that is not known."""
    text = text_of(call.opened.stdin or ()) if call.opened.fed and call.program == "read" else None
    flags = [word.text or "-" for word in call.words if (word.text or "-").startswith("-")]
    exact = any(name == "IFS" for name, _ in call.draft.assigns)
    if not text or not set(flags) <= {"-r"} or call.state.split or "\0" in text:
        return None
    if exact and any(name == "IFS" and text_of(value) != "" for name, value in call.draft.assigns):
        return None
    line = text.partition("\n")[0]
    if "\\" in line and not flags:
        return None
    return line if exact else line.strip(" \t")


def print_formatted(call: Call) -> Result:
    """`printf` and `echo`: harmless but for `printf -v`, which sets a variable."""
    state, words, draft = call.state, call.words, call.draft
    if call.program == "printf" and words and (words[0].text or "").startswith("-v"):
        name = (words[0].text or "")[2:] or (words[1].text if len(words) > 1 else None)
        if name is None or not _NAME.fullmatch(name):
            draft.say_unread("a variable that is not known")
        else:
            rest = words[1 if (words[0].text or "")[2:] else 2 :]
            value = printing.printed("printf", rest)
            state = with_set(state, name, (value if text_of(value) is not None else (Hole("formatted text"),),))
            if changes_what_runs(name):
                draft.say_unread(f"a change of {name}, which changes what runs")
    elif call.program == "printf" and words and words[0].text is None:
        draft.say_unread(f"a word that may be an option: {words[0].why}")
    verb = call.run.verbs.get(call.program, QUIET)
    use = Use(verb, operands=list(words))
    out = printing.printed(call.program, words)
    leave_targets(call.run, call.opened, text_of(out))
    call.run.parts.append(part_of([known(call.program), *words], use, draft, "", verb))
    return Result(state, state, out)
