"""From a word of the syntax tree to what it may come to: quotes taken away, variables and substitutions put in.

Settles every form of expansion but wildcards, which need the disk and stay marked. Does not settle what a substitution
prints (`policy.shell.running`, which it asks).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Protocol

from stanch.policy.shell import quoting
from stanch.policy.shell.arithmetic import assigned_in, hides_code, names_in, nested
from stanch.policy.shell.pieces import (
    BARE,
    QUOTED,
    SPLIT,
    Break,
    Hole,
    Lit,
    Pattern,
    Piece,
    Under,
    Value,
    Word,
    braces,
    words_of,
)
from stanch.policy.shell.state import MOST_ALTERNATIVES, UNSET, State

Node = Mapping[str, Any]
NUMBER: Value = (Hole("a number", quoted=True, plain=True),)
_COUNTERS = frozenset({"#", "?", "$", "!", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID"})
_NUMBER = re.compile(r"-?\d+")


class Runs(Protocol):
    """What expanding needs of the run it is part of."""

    @property
    def home(self) -> str:
        """The home directory that `~` stands for."""

    def home_of(self, user: str) -> str | None:
        """The home directory of a user."""

    def output(self, node: Node, state: State) -> Value:
        """Runs a substitution in a shell of its own and says what it prints."""

    def note(self, why: str) -> None:
        """Takes down that something about the command now being read cannot be known."""


def fields(nodes: Sequence[Node], state: State, run: Runs) -> list[list[Word]]:
    """What a list of words may come to: each alternative a list of words. At most `MOST_ALTERNATIVES`."""
    choices = [_split(values(node, state, run), state, run) for node in nodes]
    count = 1
    for place, options in enumerate(choices):
        count *= len(options)
        if count > MOST_ALTERNATIVES:
            count //= len(options)
            choices[place] = [[Word(None, why="a word that may be too many things", many=True)], *options[:1]]
            run.note("a word that may be too many things")
    return [[word for words in chosen for word in words] for chosen in product(*choices)]


def _split(alternatives: list[Value], state: State, run: Runs) -> list[list[Word]]:
    found: list[list[Word]] = []
    for pieces in alternatives:
        words: list[Word] = []
        for sequence in braces(pieces):
            here = _tilde(sequence, state, run)
            if state.split:
                here = tuple(_unsplit(piece) for piece in here)
            words.extend(words_of(here))
        if words not in found:
            found.append(words)
    return found


def _unsplit(piece: Piece) -> Piece:
    if isinstance(piece, Lit) and piece.kind == SPLIT:
        return Hole("text that is split at something else than blanks")
    return piece


def assigned(node: Node | None, state: State, run: Runs) -> tuple[Value, ...]:
    """What a variable is set to: no splitting, no braces, no wildcards."""
    if not node:
        return ((Lit("", QUOTED),),)
    return tuple(dict.fromkeys(_tilde(value, state, run) for value in values(node, state, run)))


def values(node: Node, state: State, run: Runs, *, quoted: bool = False, heredoc: bool = False) -> list[Value]:
    """What a word may come to before it is split: its pieces, one tuple for each alternative."""
    found: list[Value] = [()]
    for part in node.get("Parts", ()):
        options = _part(part, state, run, quoted=quoted, heredoc=heredoc)
        found = [(*before, *more) for before in found for more in options]
        if len(found) > MOST_ALTERNATIVES:
            run.note("a word that may be too many things")
            found = [(Hole("a word that may be too many things"),)]
    return found


def _part(part: Node, state: State, run: Runs, *, quoted: bool, heredoc: bool) -> list[Value]:
    kind = part.get("Type")
    if kind == "Lit":
        text = part.get("Value", "")
        if heredoc:
            return [(Lit(quoting.in_heredoc(text), QUOTED),)]
        if quoted:
            return [(Lit(quoting.in_double(text), QUOTED),)]
        return [tuple(Lit(piece, QUOTED if escaped else BARE) for piece, escaped in quoting.bare(text))]
    if kind == "SglQuoted":
        text = part.get("Value", "")
        plain = quoting.ansi(text) if part.get("Dollar") else text
        return [(Hole("text with a NUL", quoted=True),)] if plain is None else [(Lit(plain, QUOTED),)]
    if kind == "DblQuoted":
        inside = values(part, state, run, quoted=True)
        return [value or (Lit("", QUOTED),) for value in inside]
    if kind == "ParamExp":
        return [_put_in(value, quoted=quoted or heredoc) for value in parameter(part, state, run, quoted=quoted or heredoc)]
    if kind == "CmdSubst":
        return [_put_in(run.output(part, state), quoted=quoted or heredoc)]
    if kind == "ProcSubst":
        run.output(part, state)
        return [(Lit("/dev/fd/63", QUOTED),)]
    if kind == "ArithmExp":
        arithmetic(part.get("X"), state, run)
        return [NUMBER]
    if kind == "ExtGlob":
        text = part.get("Pattern", {}).get("Value", "")
        if "$" in text or "`" in text:
            run.note("a substitution in a wildcard")
        return [(Pattern(f"{part.get('Op', '')}{text})"),)]
    search(part, state, run)
    return [(Hole(f"a form of expansion that is not known ({kind})"),)]


def _put_in(value: Value, *, quoted: bool) -> Value:
    """A value as it stands where it is put in: quoted it stays one word, else blanks split it and wildcards count."""
    found: list[Piece] = []
    for piece in value:
        if isinstance(piece, Lit):
            found.append(Lit(piece.text, QUOTED if quoted else SPLIT))
        elif isinstance(piece, Hole):
            found.append(piece._replace(quoted=quoted or piece.quoted))
        else:
            found.append(piece)
    if quoted and not found:
        return (Lit("", QUOTED),)
    return tuple(found)


def _tilde(pieces: Value, state: State, run: Runs) -> Value:
    first = pieces[0] if pieces else None
    if not isinstance(first, Lit) or first.kind != BARE or not first.text.startswith("~"):
        return pieces
    user, slash, rest = first.text[1:].partition("/")
    if not slash and len(pieces) > 1:
        return pieces
    if user == "+":
        home: str | None = state.cwds[0] if len(state.cwds) == 1 and not state.lost else None
    elif user == "":
        return (*home_values(state, run)[0], *((Lit("/" + rest, BARE),) if slash else ()), *pieces[1:])
    else:
        home = None if user == "-" or user.isdigit() else run.home_of(user)
        if home is None and user not in ("-",) and not user.isdigit():
            return pieces  # no such user: the word stays as it is
    if home is None:
        return (Hole("a directory that is not known"), *pieces[1:])
    return (Lit(home, QUOTED), *((Lit("/" + rest, BARE),) if slash else ()), *pieces[1:])


def home_values(state: State, run: Runs) -> tuple[Value, ...]:
    """What `$HOME` may hold."""
    held = state.variables.get("HOME")
    if held is None:
        return ((Lit(run.home, QUOTED),),)
    return held if len(held) == 1 else ((Hole("a home directory that may be several"),),)


def search(node: Any, state: State, run: Runs) -> None:
    """Runs every substitution below a node of which no more is asked than what it does."""
    for inner in nested(node):
        run.output(inner, state)


def arithmetic(node: Any, state: State, run: Runs) -> State:
    """Goes through an arithmetic expression. What a variable holds is itself read as arithmetic, which may run code."""
    search(node, state, run)
    if hides_code(node):
        run.note("code in quotes in arithmetic")
    names = set(names_in(node))
    for name in names:
        for value in state.variables.get(name, ()):
            if any(not _is_number(piece) for piece in value):
                run.note(f"arithmetic on the variable {name}")
    if assigned_in(node):
        for name in names:
            state = state.with_variable(name, (NUMBER,))
    return state


def _is_number(piece: Piece) -> bool:
    if isinstance(piece, Lit):
        return not piece.text.strip() or _NUMBER.fullmatch(piece.text.strip()) is not None
    return isinstance(piece, Hole) and piece.plain


def parameter(node: Node, state: State, run: Runs, *, quoted: bool) -> list[Value]:
    """What a variable's expansion may come to."""
    name = node.get("Param", {}).get("Value", "")
    held = _held(name, node.get("Index"), state, run)
    for key in ("Index", "Slice"):
        if node.get(key):
            arithmetic(node[key], state, run)
    search(node.get("Repl"), state, run)
    if node.get("Length") or node.get("Width") or node.get("IsSet"):
        return [NUMBER]
    if node.get("Names") or node.get("NestedParam") or node.get("Flags"):
        return [(Hole("a variable that is not known"),)]
    if node.get("Excl"):
        held = _indirect(held, state, run)
    if node.get("Exp"):
        return _operated(name, held, node["Exp"], state, run, quoted=quoted)
    if node.get("Slice"):
        return [_sliced(value, node["Slice"]) for value in held]
    if node.get("Repl"):
        return [_replaced(value, node["Repl"], state, run) for value in held]
    return list(held)


def _indirect(held: Sequence[Value], state: State, run: Runs) -> tuple[Value, ...]:
    found: list[Value] = []
    for value in held:
        text = text_of(value)
        found.extend([UNSET] if text is None else _held(text, None, state, run))
    return tuple(found)


def _held(name: str, index: Any, state: State, run: Runs) -> tuple[Value, ...]:
    if name in state.variables:
        return _element(state.variables[name], index)
    if name in ("@", "*") or name.isdigit():
        return (_argument(name, state),)
    if name == "PWD":
        found: list[Value] = [(Lit(cwd, QUOTED),) for cwd in state.cwds]
        return (*found, (Hole("a directory that is not known"),)) if state.lost or not found else tuple(found)
    if name == "HOME":
        return ((Lit(run.home, QUOTED),),)
    return (NUMBER,) if name in _COUNTERS else (UNSET,)


def _argument(name: str, state: State) -> Value:
    if state.arguments is None:
        return (Hole("an argument that is not known"),)
    if name.isdigit():
        at = int(name) - 1
        if at < 0:
            return (Hole("the name of the script"),)
        return state.arguments[at] if at < len(state.arguments) else (Lit("", QUOTED),)
    found: list[Piece] = []
    for value in state.arguments:
        if found:
            found.append(Break())
        found.extend(value)
    return tuple(found)


def _element(held: tuple[Value, ...], index: Any) -> tuple[Value, ...]:
    """An element of what may be a list, or all of it."""
    wanted = ""
    if isinstance(index, Mapping):
        wanted = "".join(part.get("Value", "?") for part in index.get("Parts", ()))
    if wanted in ("@", "*"):
        return held
    found: list[Value] = []
    for value in held:
        items = elements(value)
        if len(items) == 1:
            found.append(items[0])
        elif not wanted or wanted.isdigit():
            at = int(wanted or 0)
            found.append(items[at] if at < len(items) else ())
        else:
            found.append((Hole("an element of a list"),))
    return tuple(found)


def elements(value: Value) -> list[Value]:
    """The elements of a list, or the one value that it is."""
    items: list[list[Piece]] = [[]]
    for piece in value:
        if isinstance(piece, Break):
            items.append([])
        else:
            items[-1].append(piece)
    return [tuple(item) for item in items]


def text_of(value: Value) -> str | None:
    """The text of a value that is wholly known; else None."""
    if all(isinstance(piece, Lit) for piece in value):
        return "".join(piece.text for piece in value if isinstance(piece, Lit))
    return None


def _operated(
    name: str, held: Sequence[Value], exp: Node, state: State, run: Runs, *, quoted: bool
) -> list[Value]:
    op, word = exp.get("Op", ""), exp.get("Word")
    options = values(word, state, run, quoted=True) if word else [()]
    if not quoted and word:
        options = [_tilde(value, state, run) for value in values(word, state, run, quoted=False)]
    if op in (":-", "-", ":=", "="):
        texts = [text_of(value) for value in held]
        if all(text for text in texts):
            return list(held)
        return [*(value for value, text in zip(held, texts, strict=True) if text != ""), *options]
    if op in (":+", "+"):
        return [*options, ()]
    if op in (":?", "?"):
        return list(held)
    if op in ("^^", ",,", "^", ","):
        return [_cased(value, op) for value in held]
    if op in ("%", "%%", "#", "##") and len(options) == 1:
        return [_trimmed(value, op, options[0]) for value in held]
    return [(Hole(f"what is made of the variable {name}"),)]


def _cased(value: Value, op: str) -> Value:
    text = text_of(value)
    if text is None:
        return (Hole("a name in other letters"),)
    change = str.upper if op[0] == "^" else str.lower
    return (Lit(change(text) if len(op) == 2 else change(text[:1]) + text[1:], QUOTED),)


def _trimmed(value: Value, op: str, pattern: Value) -> Value:
    wanted = "".join(piece.text if isinstance(piece, Lit) else "" for piece in pattern)
    if any(not isinstance(piece, Lit) for piece in pattern) or "[" in wanted or "\\" in wanted:
        return (Hole("what is left of a variable"),)
    text = text_of(value)
    if text is None:
        ends = op in ("%", "%%") and "/" not in wanted
        if ends and len(value) == 1 and isinstance(value[0], Under):
            return value
        return (Hole("what is left of a variable"),)
    test = re.compile(
        "".join(
            re.escape(piece.text) if piece.kind == QUOTED else _regex(piece.text)
            for piece in pattern
            if isinstance(piece, Lit)
        ),
        re.DOTALL,
    )
    sizes = range(len(text) + 1) if len(op) == 1 else range(len(text), -1, -1)
    for size in sizes:
        piece, rest = (text[len(text) - size :], text[: len(text) - size]) if op[0] == "%" else (text[:size], text[size:])
        if test.fullmatch(piece):
            return (Lit(rest, QUOTED),)
    return (Lit(text, QUOTED),)


def _regex(text: str) -> str:
    return "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in text)


def _sliced(value: Value, part: Node) -> Value:
    text = text_of(value)
    bounds = []
    for key in ("Offset", "Length"):
        node = part.get(key)
        said = "".join(piece.get("Value", "?") for piece in node.get("Parts", [{}])) if node else ""
        bounds.append(int(said) if said.isdigit() else (None if not node else -1))
    start, length = bounds
    if text is None or start is None or start < 0 or (length is not None and length < 0):
        return (Hole("a piece of a variable"),)
    return (Lit(text[start : None if length is None else start + length], QUOTED),)


def _replaced(value: Value, part: Node, state: State, run: Runs) -> Value:
    text = text_of(value)
    old = [text_of(found) for found in values(part.get("Orig") or {}, state, run, quoted=True)]
    new = [text_of(found) for found in values(part.get("With") or {}, state, run, quoted=True)]
    if text is None or len(old) != 1 or len(new) != 1 or not old[0] or new[0] is None or set(old[0]) & set("*?[\\#%&"):
        return (Hole("a variable with something replaced"),)
    return (Lit(text.replace(old[0], new[0], -1 if part.get("All") else 1), QUOTED),)


def heredoc(node: Node, state: State, run: Runs, *, literal: bool) -> Value:
    """The text of a here-document: literal where its mark was quoted, else with variables and substitutions put in."""
    if literal:
        return (Lit("".join(part.get("Value", "") for part in node.get("Parts", ())), QUOTED),)
    found = values(node, state, run, heredoc=True)
    return found[0] if len(found) == 1 else (Hole("a here-document that may be several things"),)


def with_arguments(state: State, words: Sequence[Word] | None) -> State:
    """The state with `$1` and so on set to these words; None where nobody knows them."""
    if words is None or any(word.many for word in words):
        return replace(state, arguments=None)
    return replace(state, arguments=tuple(value_of(word) for word in words))


def value_of(word: Word) -> Value:
    """A word as the value of a variable."""
    if word.text is not None:
        return (Lit(word.text, QUOTED),)
    if word.under:
        return (Under(word.under),)
    return (*((Lit(word.head, QUOTED),) if word.head else ()), Hole(word.why, quoted=True, plain=word.plain))
