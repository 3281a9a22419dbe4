"""What assignments give their variables, and what that does to the shell itself.

Settles values, lists and what is added to them. Does not settle which variables change what runs
(`policy.shell.variables`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stanch.policy.shell import expanding, variables
from stanch.policy.shell.naming import texts
from stanch.policy.shell.outcome import Assigns, Draft
from stanch.policy.shell.pieces import Break, Hole, Piece, Value, known
from stanch.policy.shell.state import UNSET, Node, State
from stanch.policy.shell.values import value_of
from stanch.policy.shell.walk import Walk


def assignments(run: Walk, nodes: Sequence[Node], state: State) -> tuple[Assigns, State]:
    """What is assigned, and the state in which it has been."""
    found: list[tuple[str, Value]] = []
    for node in nodes:
        name = node.get("Name", {}).get("Value", "")
        values = assigned(run, node, state)
        found.append((name, values[0] if len(values) == 1 else (Hole("a value that may be several"),)))
        state = with_set(state, name, values)
    return tuple(found), state


def assigned(run: Walk, node: Node, state: State) -> tuple[Value, ...]:
    """What one assignment gives its variable."""
    name = node.get("Name", {}).get("Value", "")
    if node.get("Index"):
        expanding.arithmetic(node["Index"], state, run)
        expanding.search(node.get("Value"), state, run)
        return ((Hole("a list that is changed"),),)
    before = state.variables.get(name, (UNSET,)) if node.get("Append") else None
    if node.get("Array"):
        values = _listed(run, node["Array"], state)
        if before is not None:
            values = tuple((*old, *((Break(),) if old and new else ()), *new) for old in before for new in values)
        return values
    values = expanding.assigned(node.get("Value"), state, run)
    if before is not None:
        values = tuple((*old, *new) for old in before for new in values)
    if any(isinstance(piece, Break) for value in before or () for piece in value):
        return ((Hole("a list that is changed"),),)
    return values


def _listed(run: Walk, array: Node, state: State) -> tuple[Value, ...]:
    nodes = [item.get("Value") or {} for item in array.get("Elems") or []]
    if any(item.get("Index") for item in array.get("Elems") or []):
        expanding.search(array, state, run)
        return ((Hole("a list with names"),),)
    found: list[Value] = []
    for words in expanding.fields(nodes, state, run):
        pieces: list[Piece] = []
        for word in words:
            for item in [known(name) for name in texts(run, word, state)] if word.wild else [word]:
                if pieces:
                    pieces.append(Break())
                pieces.extend(value_of(item))
        found.append(tuple(pieces))
    return tuple(found)


def with_set(state: State, name: str, values: tuple[Value, ...]) -> State:
    """The state in which the variable is set, with what that does to the shell itself."""
    state = state.with_variable(name, values)
    return replace(state, split=True) if name == "IFS" else state


def weigh(program: str, draft: Draft) -> None:
    """Takes down which assignments before a program change what runs."""
    for name, value in draft.assigns:
        if name == "IFS" and program in ("read", "mapfile", "readarray"):
            continue  # it splits what is read, and nothing else
        if variables.changes_what_runs(name) and not variables.is_harmless(name, value):
            draft.needs.add(name)
