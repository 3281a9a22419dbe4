"""Redirections: which files they read and write, and what a command finds on its standard input.

Settles every operator of redirection. Does not settle what a word comes to (`policy.shell.expanding`).
"""

from __future__ import annotations

from collections.abc import Sequence

from stanch.policy.shell import expanding
from stanch.policy.shell.outcome import Opened
from stanch.policy.shell.pieces import QUOTED, Hole, Lit, Value, Word
from stanch.policy.shell.reading import Found, Part, shown
from stanch.policy.shell.state import Node, State
from stanch.policy.shell.touching import targets
from stanch.policy.shell.walk import Walk
from stanch.values.call import EffectClass
from stanch.values.command import Command

_READING = frozenset({"<", "<>"})
_WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_ADDING = frozenset({">>", "&>>", "<>"})
FROM_FILE: Value = (Hole("what a file holds"),)
SAME_STREAM: Value = (Hole("what is read from another descriptor"),)


def opened_by(nodes: Sequence[Node], state: State, stdin: Value | None, run: Walk) -> Opened:
    """What the redirections of a statement come to."""
    found: list[Found] = []
    written: list[tuple[Found, bool]] = []
    said: list[str] = []
    unread, elsewhere, silent = "", False, True
    output: Value = ()
    fed = False
    for node in nodes:
        op = node.get("Op", "")
        fed = op in ("<<", "<<-", "<<<") or (fed and op in (">", ">>", "&>"))
        if op in ("<<", "<<-"):
            mark = node.get("Word") or {}
            literal = any(p.get("Type") != "Lit" or "\\" in p.get("Value", "") for p in mark.get("Parts", ()))
            text = expanding.heredoc(node.get("Hdoc") or {}, state, run, literal=literal)
            stdin = _without_tabs(text) if op == "<<-" else text
            continue
        if op == "<<<":
            chosen = expanding.values(node.get("Word") or {}, state, run)
            stdin = tuple(Lit(p.text, QUOTED) if isinstance(p, Lit) else p for p in chosen[0])
            stdin = (*stdin, Lit("\n", QUOTED)) if len(chosen) == 1 else FROM_FILE
            continue
        for words in expanding.fields([node.get("Word") or {}], state, run):
            word = words[0] if len(words) == 1 else Word(None, why="a file that may be several")
            if op in (">&", "<&") and word.text is not None and (word.text.rstrip("-").isdigit() or word.text == "-"):
                stdin = SAME_STREAM if op == "<&" else stdin
                silent = silent and elsewhere and word.text == "1" and (node.get("N") or {}).get("Value") == "2"
                continue
            said.append(f"{op} {word.shown}")
            if op == "<&" and word.text is not None:
                continue
            if word.wild:
                unread = unread or "a file that a wildcard stands for"
            effects, why = targets(run, word, state, _classes(op))
            unread = unread or why
            found.extend(effects)
            if op in _WRITING:
                more = [effect for effect in effects if effect.cls is EffectClass.WRITE]
                written.extend((effect, op in _ADDING) for effect in more)
                silent = silent and (word.text == "/dev/null" or bool(more))
                elsewhere = elsewhere or (node.get("N") or {}).get("Value", "1") == "1"
            else:
                stdin = output = FROM_FILE
    return Opened(
        tuple(found),
        stdin,
        elsewhere,
        elsewhere and silent,
        unread,
        " ".join(said),
        tuple(written),
        output,
        bool(nodes),
        fed,
    )


def flush(run: Walk, what: str) -> None:
    """Makes a part of whatever was noted while words were expanded that belong to no command."""
    if run.notes:
        run.parts.append(Part(Command(shown(what), inert=True, unread=run.notes[0])))
        run.notes.clear()


def _without_tabs(text: Value) -> Value:
    """A here-document of `<<-`: no line begins with a tab."""
    if len(text) == 1 and isinstance(text[0], Lit):
        return (Lit("\n".join(line.lstrip("\t") for line in text[0].text.split("\n")), QUOTED),)
    return text


def _classes(op: str) -> tuple[EffectClass, ...]:
    classes = []
    if op in _READING:
        classes.append(EffectClass.READ)
    if op in _WRITING:
        classes.append(EffectClass.WRITE)
    return tuple(classes) or (EffectClass.WRITE,)
