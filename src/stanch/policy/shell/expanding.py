"""From a word of the syntax tree to what it may come to: quotes taken away, variables and substitutions put in.

Settles every form of expansion but wildcards, which need the disk and stay marked. Does not settle what a substitution
prints (`policy.shell.running`, which it asks).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Protocol

from stanch.policy.shell import quoting
from stanch.policy.shell.arithmetic import assigned_in, hides_code, names_in, nested
from stanch.policy.shell.homes import Homes, with_home
from stanch.policy.shell.pieces import (
    BARE,
    QUOTED,
    SPLIT,
    Hole,
    Lit,
    Pattern,
    Piece,
    Under,
    Value,
    Word,
    braces,
    split_at,
    words_of,
)
from stanch.policy.shell.reading import MOST_BYTES, TooMuch
from stanch.policy.shell.state import MOST_ALTERNATIVES, UNSET, Node, State
from stanch.policy.shell.values import (
    argument,
    element,
    index_of,
    is_number,
    joined,
    operated,
    replaced,
    sliced,
    text_of,
)

PIPED = "/dev/fd/63"
"""What a process substitution is replaced by."""
_MOST_WORDS = 8_000
_MOST_PIECES = 4_000
_END = "END-OF-WHAT-IS-READ-AS-A-PROMPT"
NUMBER: Value = (Hole("a number", quoted=True, plain=True),)
_COUNTERS = frozenset({"#", "?", "$", "!", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID"})
# Set by the shell itself, whatever a command sets them to.
_OF_THE_SHELL = frozenset(
    {"_", "BASH_COMMAND", "FUNCNAME", "GROUPS", "DIRSTACK", "BASH_ARGV", "BASH_ARGV0", "BASH_SOURCE", "PIPESTATUS"}
)


class Runs(Homes, Protocol):
    """What expanding needs of the run it is part of."""

    def output(self, node: Node, state: State) -> Value:
        """Runs a substitution in a shell of its own and says what it prints."""

    def note(self, why: str) -> None:
        """Takes down that something about the command now being read cannot be known."""

    def script(self, text: str, state: State, stdin: Value | None) -> Any:
        """Reads a piece of shell code and goes through it."""

    def set_meanwhile(self, name: str, values: tuple[Value, ...]) -> None:
        """Takes down that a word sets a variable while it is read."""


def fields(nodes: Sequence[Node], state: State, run: Runs) -> list[list[Word]]:
    """What a list of words may come to: each alternative a list of words. At most `MOST_ALTERNATIVES`."""
    if len(nodes) > _MOST_WORDS:
        raise TooMuch(f"it has more than {_MOST_WORDS:,} words")
    choices = [_split(values(node, state, run), state, run) for node in nodes]
    if sum(len(words) for options in choices for words in options) > _MOST_WORDS:
        raise TooMuch(f"it has more than {_MOST_WORDS:,} words")
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
            here = with_home(sequence, state, run)
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
    return tuple(dict.fromkeys(with_home(value, state, run) for value in values(node, state, run)))


def values(node: Node, state: State, run: Runs, *, quoted: bool = False, heredoc: bool = False) -> list[Value]:
    """What a word may come to before it is split: its pieces, one tuple for each alternative."""
    found: list[Value] = [()]
    for part in node.get("Parts", ()):
        options = _part(part, state, run, quoted=quoted, heredoc=heredoc)
        found = [(*before, *more) for before in found for more in options]
        if len(found) > MOST_ALTERNATIVES:
            run.note("a word that may be too many things")
            found = [(Hole("a word that may be too many things"),)]
        if any(_is_long(value) for value in found):
            run.note("a word that is too long")
            found = [(Hole("a word that is too long"),)]
    return found


def _is_long(value: Value) -> bool:
    return len(value) > _MOST_PIECES or sum(len(piece.text) for piece in value if isinstance(piece, Lit)) > MOST_BYTES


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
        return [
            _put_in(value, quoted=quoted or heredoc) for value in parameter(part, state, run, quoted=quoted or heredoc)
        ]
    if kind == "CmdSubst":
        return [_put_in(run.output(part, state), quoted=quoted or heredoc)]
    if kind == "ProcSubst":
        run.output(part, state)
        return [(Lit(PIPED, QUOTED),)]
    if kind == "ArithmExp":
        _arithmetic_within(part.get("X"), state, run)
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
        elif isinstance(piece, Under) and not quoted:
            found.append(split_at(piece, " \t\n"))
        else:
            found.append(piece)
    if quoted and not found:
        return (Lit("", QUOTED),)
    return tuple(found)


def search(node: Any, state: State, run: Runs) -> None:
    """Runs every substitution below a node of which no more is asked than what it does."""
    for inner in nested(node):
        run.output(inner, state)


def arithmetic(node: Any, state: State, run: Runs) -> State:
    """Goes through an arithmetic expression. What a variable holds is itself read as arithmetic, which may run code."""
    for inner in nested(node):
        if not all(is_number(piece) for piece in run.output(inner, state)):
            run.note("arithmetic on the output of a command")
    if hides_code(node):
        run.note("code in quotes in arithmetic")
    names = set(names_in(node))
    for name in names:
        values = state.variables.get(name, ())
        if name in ("@", "*") or name.isdigit():
            values = (argument(name, state),)
        if any(not is_number(piece) for value in values for piece in value):
            run.note(f"arithmetic on the variable {name}")
    if assigned_in(node):
        for name in names:
            state = state.with_variable(name, (NUMBER,))
    return state


def _arithmetic_within(node: Any, state: State, run: Runs) -> None:
    """The same within a word, from which no change of a variable is carried on."""
    after = arithmetic(node, state, run)
    if after is not state and after.variables != state.variables:
        run.note("a variable that is set while a word is read")


def parameter(node: Node, state: State, run: Runs, *, quoted: bool) -> list[Value]:
    """What a variable's expansion may come to."""
    name = node.get("Param", {}).get("Value", "")
    held = _held(name, node.get("Index"), state, run)
    for key in ("Index", "Slice"):
        if node.get(key):
            _arithmetic_within(node[key], state, run)
    whole = name in ("@", "*") or index_of(node.get("Index")) in ("@", "*")
    if node.get("Length") or node.get("Width") or node.get("IsSet"):
        search(node.get("Repl"), state, run)
        return [NUMBER]
    if node.get("Names") or node.get("NestedParam") or node.get("Flags"):
        search([node.get("NestedParam"), node.get("Exp"), node.get("Repl")], state, run)
        return [(Hole("a variable that is not known"),)]
    if node.get("Excl"):
        held = _indirect(held, state, run)
    if node.get("Exp"):
        return _with_operator(name, held, node["Exp"], state, run, quoted=quoted)
    if node.get("Slice"):
        return [(Hole("some of a list"),)] if whole else [sliced(value, node["Slice"]) for value in held]
    if node.get("Repl"):
        old = values(node["Repl"].get("Orig") or {}, state, run, quoted=True)
        new = values(node["Repl"].get("With") or {}, state, run, quoted=True)
        return [replaced(value, old, new, every=bool(node["Repl"].get("All"))) for value in held]
    if quoted and "*" in (name, index_of(node.get("Index"))):
        return [joined(value, state) for value in held]
    return list(held)


def _with_operator(
    name: str, held: Sequence[Value], exp: Node, state: State, run: Runs, *, quoted: bool
) -> list[Value]:
    op, word = exp.get("Op", ""), exp.get("Word")
    options = values(word, state, run, quoted=quoted) if word else [()]
    if not quoted and word:
        options = [with_home(value, state, run) for value in options]
    if op == "@" and {text_of(value) for value in options} - set("UuLQEAaKk"):
        run.note("a variable that is read as a prompt, which may run code")
        for text in filter(None, map(text_of, held)):
            run.script(f": <<{_END}\n{text}\n{_END}\n", state, None)
    found = operated(name, held, op, options)
    if op in (":=", "=") and any(text_of(value) == "" for value in held):
        run.set_meanwhile(name, tuple(found))
    return found


def _indirect(held: Sequence[Value], state: State, run: Runs) -> tuple[Value, ...]:
    found: list[Value] = []
    for value in held:
        text = text_of(value)
        if text is None or "[" in text:
            run.note("a variable that is not known")
        found.extend([UNSET] if text is None else _held(text, None, state, run))
    return tuple(found)


def _held(name: str, index: Any, state: State, run: Runs) -> tuple[Value, ...]:
    if name in _OF_THE_SHELL:
        return (UNSET,)
    if name in state.variables:
        held = element(state.variables[name], index)
        return (*held, NUMBER) if name in _COUNTERS else held
    if name in ("@", "*") or name.isdigit():
        return (argument(name, state),)
    if name == "PWD":
        found: list[Value] = [(Lit(cwd, QUOTED),) for cwd in state.cwds]
        return (*found, (Hole("a directory that is not known"),)) if state.lost or not found else tuple(found)
    if name == "RANDOM":
        return ((Hole("a random number", quoted=True),),)
    if name == "HOME":
        return ((Lit(run.home, QUOTED),),)
    return (NUMBER,) if name in _COUNTERS else (UNSET,)


def heredoc(node: Node, state: State, run: Runs, *, literal: bool) -> Value:
    """The text of a here-document: literal where its mark was quoted, else with variables and substitutions put in."""
    if literal:
        return (Lit("".join(part.get("Value", "") for part in node.get("Parts", ())), QUOTED),)
    found = values(node, state, run, heredoc=True)
    return found[0] if len(found) == 1 else (Hole("a here-document that may be several things"),)
