"""Built-ins that change the shell itself: where it stands, what its variables hold, which code it reads.

Settles each of them. Does not settle built-ins that only do something (`verbs/builtins.toml`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stanch.policy.shell import expanding
from stanch.policy.shell.operands import Use
from stanch.policy.shell.pieces import QUOTED, Hole, Lit, Under, Value, Word, known
from stanch.policy.shell.state import State
from stanch.policy.shell.verbs import Slot, Verb

if TYPE_CHECKING:
    from stanch.policy.shell.commands import Commands, Draft
    from stanch.policy.shell.redirects import Opened
    from stanch.policy.shell.running import Result

Handler = Callable[["Commands", str, list[Word], State, "Opened", "Draft"], "Result"]
QUIET = Verb((), (Slot("text", "*"),), inert=True)
ACTIVATE = re.compile(r"(?:.*/)?(?:activate|nvm\.sh|\.?env|.*\.env|\.?bashrc|\.?profile|cargo/env)")
_ELEMENT = re.compile(r"\[.*(?:\$\(|`)")


def _done(
    commands: Commands, program: str, words: Sequence[Word], draft: Draft, ok: State | None, fail: State | None
) -> Result:
    from stanch.policy.shell.running import NO_OUTPUT, Result

    for word in words:
        if word.text is not None and _ELEMENT.search(word.text):
            draft.say_unread("an element of a list that runs code")
    commands.run.parts.append(commands.part([known(program), *words], Use(QUIET), draft, "", QUIET))
    return Result(ok, fail, NO_OUTPUT)


def change_directory(
    commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft
) -> Result:
    """`cd` and `pushd`: bash takes `..` off the path as written, unless told to go by what is there."""
    operands = [word for word in words if not (word.text or "").startswith("-") or word.text == "-"]
    physical = any(re.fullmatch(r"-[LPe@]*P[LPe@]*", word.text or "") for word in words)
    target = operands[0] if operands else None
    everywhere = _everywhere(commands, state)
    if target is None and program == "cd":
        home = expanding.text_of(expanding.home_values(state, commands.run)[0])
        target = known(home) if home is not None else Word(None, why="a home directory that is not known")
    if target is None or target.text == "-":
        return _done(commands, program, words, draft, everywhere, state)
    if target.text is None or target.wild or "CDPATH" in state.variables or re.fullmatch(r"[+-]\d+", target.text):
        names = commands.texts(target, state) if target.wild else []
        if len(names) == 1 and names[0] != target.text:
            target = known(names[0])
        else:
            if target.text is None and not target.under:
                draft.say_unread(f"a directory that is not known: {target.why}")
            lost = replace(state, lost=True)
            return _done(commands, program, words, draft, lost, state)
    commands.touch("maybe", known(_as_path(target.text or "")), state, draft)
    found: list[str] = []
    for cwd in state.cwds:
        raw = posixpath.join(cwd, target.text or "")
        logical = posixpath.normpath(raw)
        real = commands.run.world.real
        if not physical:
            found.append(logical)
        if physical or (".." in raw and real(raw) != real(logical)):
            found.append(real(raw))
    _remember(commands, state)
    return _done(commands, program, words, draft, _remember(commands, state.at(tuple(found), lost=state.lost)), state)


def _as_path(text: str) -> str:
    return text if "/" in text or text.startswith(("~", ".")) or not text else f"./{text}"


def _everywhere(commands: Commands, state: State) -> State:
    """Any directory that the shell has stood in so far, or was never seen to stand in."""
    return state.at((*state.cwds, *commands.seen), lost=state.lost or not commands.seen)


def _remember(commands: Commands, state: State) -> State:
    commands.seen = tuple(dict.fromkeys((*commands.seen, *state.cwds)))
    return state


def back(commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft) -> Result:
    """`popd`: back to some directory that the shell has stood in."""
    return _done(commands, program, words, draft, _everywhere(commands, state), state)


def declare(commands: Commands, node: Mapping[str, Any], state: State, opened: Opened) -> Result:
    """`export`, `declare`, `local`, `readonly`, `typeset`, `nameref` as the parser gives them."""
    from stanch.policy.shell.commands import Draft

    draft = Draft(opened, ())
    program = node.get("Variant", {}).get("Value", "declare")
    words: list[Word] = []
    for arg in node.get("Args") or []:
        if arg.get("Naked"):
            nodes = [arg["Value"]] if arg.get("Value") else []
            given = expanding.fields(nodes, state, commands.run)[0] if nodes else [known(arg["Name"]["Value"])]
            words.extend(given)
            state = _declared(commands, program, given, state, draft)
            continue
        name = arg.get("Name", {}).get("Value", "")
        values = commands.assigned(arg, state)
        state = _set(commands, name, values, state, draft)
        text = expanding.text_of(values[0]) if len(values) == 1 else None
        words.append(known(f"{name}={text}") if text is not None else Word(None, f"{name}=", why="a value"))
    if commands.run.notes:
        draft.say_unread(commands.run.notes[0])
    return _done(commands, program, words, draft, state, state)


def _set(commands: Commands, name: str, values: tuple[Value, ...], state: State, draft: Draft) -> State:
    from stanch.policy.shell import variables

    if variables.changes_what_runs(name) and not all(variables.is_harmless(name, value) for value in values):
        draft.say_unread(f"a change of {name}, which changes what runs")
    return commands.set(state, name, values)


def _declared(commands: Commands, program: str, words: Sequence[Word], state: State, draft: Draft) -> State:
    for word in words:
        text = word.text
        if text is None:
            draft.say_unread(f"a variable that is not known: {word.why}")
        elif text.startswith("-"):
            if "n" in text and program != "export":
                draft.say_unread("a variable that is another name of one")
            if "f" in text and program == "export":
                draft.say_unread("a function that other programs may call")
        elif "=" in text:
            name, _, value = text.partition("=")
            state = _set(commands, name, ((Lit(value, QUOTED),),), state, draft)
    return state


def declare_words(
    commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft
) -> Result:
    """The same where the name of the built-in came out of a variable or behind `builtin`."""
    state = _declared(commands, program, words, state, draft)
    return _done(commands, program, words, draft, state, state)


def set_options(
    commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft
) -> Result:
    """`set` and `shopt`: options, and what `$1` and so on stand for."""
    texts = [word.text for word in words]
    if program == "shopt":
        wide = any(text in ("dotglob", "globstar", "extglob", "nocaseglob", "nullglob") for text in texts)
        if any(text is None for text in texts) or any(text in ("expand_aliases", "sourcepath") for text in texts):
            draft.say_unread("an option of the shell")
        state = replace(state, wide=state.wide or wide)
        return _done(commands, program, words, draft, state, state)
    if any(text is None for text in texts[:1]):
        draft.say_unread("an option of the shell that is not known")
    for text in texts:
        if text is None or text == "--" or text[:1] not in ("-", "+"):
            break
        if "k" in text or "h" in text[1:2]:
            draft.say_unread("an option of the shell")
    if "--" in texts:
        state = expanding.with_arguments(state, words[texts.index("--") + 1 :])
    elif words and (texts[0] or "-")[0] not in "-+":
        state = expanding.with_arguments(state, words)
    return _done(commands, program, words, draft, state, state)


def shift(commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft) -> Result:
    """`shift`: the arguments move up."""
    count = words[0].text if words else "1"
    held = state.arguments
    left = held[int(count) :] if held is not None and count is not None and count.isdigit() else None
    state = replace(state, arguments=left)
    return _done(commands, program, words, draft, state, state)


def unset(commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft) -> Result:
    """`unset`: what a variable held is no longer known, a function is none."""
    for word in words:
        if word.text is None:
            draft.say_unread(f"a variable that is not known: {word.why}")
        elif not word.text.startswith("-"):
            state = state.without(word.text)
            functions = {name: bodies for name, bodies in state.functions.items() if name != word.text}
            state = replace(state, functions=functions)
            if word.text == "IFS":
                state = replace(state, split=False)
            elif commands.changes_what_runs(word.text) and word.text in ("PATH", "HOME"):
                draft.say_unread(f"a change of {word.text}, which changes what runs")
    return _done(commands, program, words, draft, state, state)


def read_input(
    commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft
) -> Result:
    """`read`, `mapfile`, `getopts`: variables get what stands on the standard input."""
    values: list[str] = []
    skip = False
    for word in words:
        text = word.text
        if skip:
            skip = False
        elif text is None:
            draft.say_unread(f"a variable that is not known: {word.why}")
        elif text.startswith("-") and len(text) > 1:
            skip = text[-1] in "adinNptuOcCs" and text not in ("-s", "-e", "-r", "-t")
            if "a" in text[1:]:
                skip = True
            if program in ("mapfile", "readarray") and "C" in text:
                draft.say_unread("code that runs while a list is read")
        else:
            values.append(text)
    if program == "getopts":
        values = values[1:2]
    names = [text for text in values if re.fullmatch(r"[A-Za-z_]\w*", text)] or ["REPLY", "MAPFILE"]
    under = tuple(piece for piece in opened.stdin or () if isinstance(piece, Under))
    sure = bool(under) and len(under) == len(opened.stdin or ())
    for name in names:
        held: Value = under[:1] if sure and len(names) == 1 else (Hole("what is read from the standard input"),)
        if sure and names == ["REPLY", "MAPFILE"]:
            held = under[:1]
        state = commands.set(state, name, (held,))
        if commands.changes_what_runs(name):
            draft.say_unread(f"a change of {name}, which changes what runs")
    return _done(commands, program, words, draft, state, state)


def print_formatted(
    commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft
) -> Result:
    """`printf` and `echo`: harmless but for `printf -v`, which sets a variable."""
    from stanch.policy.shell import printing
    from stanch.policy.shell.running import Result

    if program == "printf" and words and (words[0].text or "").startswith("-v"):
        name = (words[0].text or "")[2:] or (words[1].text if len(words) > 1 else None)
        if name is None or not re.fullmatch(r"[A-Za-z_]\w*", name):
            draft.say_unread("a variable that is not known")
        else:
            state = commands.set(state, name, ((Hole("formatted text"),),))
            if commands.changes_what_runs(name):
                draft.say_unread(f"a change of {name}, which changes what runs")
    verb = commands.run.verbs.get(program, QUIET)
    use = Use(verb, operands=list(words))
    out = printing.printed(program, words)
    if opened.targets:
        text = expanding.text_of(out)
        for found in opened.targets:
            for base in found.bases:
                commands.run.written[posixpath.normpath(posixpath.join(base, found.path or ""))] = text
    commands.run.parts.append(commands.part([known(program), *words], use, draft, "", verb))
    return Result(state, state if opened.targets else None, out)


def evaluate(commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft) -> Result:
    """`eval`: its words, joined, are code."""
    if any(word.text is None for word in words):
        why = next(word.why or "a name out of a search" for word in words if word.text is None)
        draft.say_unread(f"code that is not known: {why}")
        return _done(commands, program, words, draft, replace(state, lost=True), replace(state, lost=True))
    code = " ".join(word.text or "" for word in words if word.text != "--")
    _done(commands, program, words, draft, state, state)
    return commands.run.script(code, state, opened.stdin)


def source(commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft) -> Result:
    """`source`: a file that is run in the shell itself, which may change whatever it likes."""
    from stanch.policy.shell.commands import _kept
    from stanch.policy.shell.running import Result

    if not words or words[0].text is None:
        draft.say_unread("a script that is not known")
    else:
        script = words[0]
        text = script.text or ""
        mark = len(commands.run.parts)
        commands._script(script, state, draft, opened)
        if len(commands.run.parts) > mark:
            _done(commands, program, words, draft, state, state)
            return _kept(state, Result(replace(state, lost=True), replace(state, lost=True)))
        if text.startswith(("/dev/", "/proc/")):
            draft.say_unread("code that is not known")
        if not ACTIVATE.fullmatch(text):
            state = replace(state, lost=True)
    for name in state.variables:
        state = state.with_variable(name, ((Hole("a variable that a script may have changed"),),))
    return _done(commands, program, words, draft, state, state)


def trap(commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft) -> Result:
    """`trap`: its first operand is code that runs later."""
    operands = [word for word in words if not (word.text or "").startswith("-") or word.text == "-"]
    result = _done(commands, program, words, draft, state, state)
    code = operands[0] if len(operands) > 1 else None
    if code is not None and code.text is None:
        commands._mark_unread(f"code that is not known: {code.why}")
    elif code is not None and code.text not in ("-", ""):
        commands.run.script(code.text or "", replace(state, arguments=None), None)
    return result


def alias(commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft) -> Result:
    """`alias`: another name for a piece of code."""
    if any(word.text is None or "=" in word.text for word in words):
        draft.say_unread("another name for a command")
    return _done(commands, program, words, draft, state, state)


def enable(commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft) -> Result:
    """`enable`, `hash -p`, `bind`, `complete`, `fc`: they load or run code, or change which program a name means."""
    loads = {"enable": "", "hash": "p", "bind": "", "complete": "CF", "compgen": "CFW", "fc": "", "history": "rwan"}[program]
    for word in words:
        text = word.text or "-"
        if not loads or (text.startswith("-") and set(text) & set(loads)):
            draft.say_unread("what the built-in loads or runs")
    return _done(commands, program, words, draft, state, state)


def leave(commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft) -> Result:
    """`exit`: nothing comes after it. WHY not `return`, `break`: what they leave is gone through as a whole."""
    return _done(commands, program, words, draft, None, None)


def stay(commands: Commands, program: str, words: list[Word], state: State, opened: Opened, draft: Draft) -> Result:
    """`return`, `break`, `continue`: behind them the shell may stand as it stands here."""
    return _done(commands, program, words, draft, state, state)


HANDLERS: Mapping[str, Handler] = {
    "cd": change_directory,
    "pushd": change_directory,
    "popd": back,
    **dict.fromkeys(("export", "declare", "local", "readonly", "typeset"), declare_words),
    **dict.fromkeys(("set", "shopt"), set_options),
    "shift": shift,
    "unset": unset,
    **dict.fromkeys(("read", "mapfile", "readarray", "getopts"), read_input),
    **dict.fromkeys(("printf", "echo"), print_formatted),
    "eval": evaluate,
    **dict.fromkeys(("source", "."), source),
    "trap": trap,
    "alias": alias,
    **dict.fromkeys(("enable", "hash", "bind", "complete", "compgen", "fc", "history"), enable),
    "exit": leave,
    **dict.fromkeys(("return", "break", "continue"), stay),
}
