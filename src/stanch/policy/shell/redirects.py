"""Redirections: which files they read and write, and what a command finds on its standard input.

Settles every operator of redirection. Does not settle what a word comes to (`policy.shell.expanding`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stanch.policy.shell import expanding
from stanch.policy.shell.pieces import Hole, Lit, Value, Word
from stanch.policy.shell.reading import Found, Part, shown
from stanch.policy.shell.state import State
from stanch.values.call import Command, EffectClass

if TYPE_CHECKING:
    from stanch.policy.shell.running import Run

READING = frozenset({"<", "<>"})
WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
FROM_FILE: Value = (Hole("what a file holds"),)


class Opened(NamedTuple):
    """What a statement's redirections come to.

    `stdin` is what the command finds on its standard input, None where nothing was put there. `elsewhere`: what it
    prints goes into a file. `text` is what a here-document or here-string holds, for the file it may be written to.
    """

    found: tuple[Found, ...] = ()
    stdin: Value | None = None
    elsewhere: bool = False
    unread: str = ""
    shown: str = ""
    targets: tuple[Found, ...] = ()
    output: Value = ()


class Redirects:
    """The redirections of one going-through."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def open(self, nodes: Sequence[Mapping[str, Any]], state: State, stdin: Value | None) -> Opened:
        """Goes through the redirections of a statement."""
        found: list[Found] = []
        targets: list[Found] = []
        said: list[str] = []
        unread, elsewhere = "", False
        output: Value = ()
        for node in nodes:
            op = node.get("Op", "")
            if op in ("<<", "<<-"):
                mark = node.get("Word") or {}
                literal = any(p.get("Type") != "Lit" or "\\" in p.get("Value", "") for p in mark.get("Parts", ()))
                stdin = expanding.heredoc(node.get("Hdoc") or {}, state, self._run, literal=literal)
                continue
            if op == "<<<":
                chosen = expanding.values(node.get("Word") or {}, state, self._run)
                stdin = chosen[0] if len(chosen) == 1 else FROM_FILE
                stdin = tuple(Lit(p.text, 1) if isinstance(p, Lit) else p for p in stdin)
                continue
            for words in expanding.fields([node.get("Word") or {}], state, self._run):
                word = words[0] if len(words) == 1 else Word(None, why="a file that may be several")
                if op in (">&", "<&") and word.text is not None and (word.text.rstrip("-").isdigit() or word.text == "-"):
                    continue
                if op == "<&" and word.text is not None:
                    continue
                said.append(f"{op} {word.shown}")
                if word.wild:
                    unread = unread or "a file that a wildcard stands for"
                effects, why = self._run.commands.targets(word, state, _classes(op))
                unread = unread or why
                found.extend(effects)
                if op in WRITING:
                    targets.extend(effect for effect in effects if effect.cls is EffectClass.WRITE)
                    elsewhere = elsewhere or (node.get("N") or {}).get("Value", "1") == "1"
                else:
                    stdin = FROM_FILE
                    output = FROM_FILE
        return Opened(tuple(found), stdin, elsewhere, unread, " ".join(said), tuple(targets), output)

    def flush(self, run: Run, what: str) -> None:
        """Makes a part of whatever was noted while words were expanded that belong to no command."""
        if run.notes:
            run.parts.append(Part(Command(shown(what), inert=True, unread=run.notes[0])))
            run.notes.clear()


def _classes(op: str) -> tuple[EffectClass, ...]:
    classes = []
    if op in READING:
        classes.append(EffectClass.READ)
    if op in WRITING:
        classes.append(EffectClass.WRITE)
    return tuple(classes) or (EffectClass.WRITE,)
