"""What is known while a command runs: where it stands, what its variables hold, which functions it has made.

Settles how a state changes and how two that may both be the case become one. Does not settle who changes it
(`policy.shell.running`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stanch.policy.shell.pieces import Hole, Value

Node = Mapping[str, Any]
MOST_ALTERNATIVES = 8
UNSET: Value = (Hole("a variable that is not set in the command"),)
LOST: Value = (Hole("a variable that may hold too many things"),)


@dataclass(frozen=True, slots=True)
class State:
    """One moment of a run. `cwds` are the directories it may stand in; `lost`: it may stand anywhere else, too.

    `variables` holds for each name what it may hold; a name that is not there was not set. `arguments` are `$1` and so
    on, None where they are not known. `wide` is true where wildcards may match more than they do by default, `split`
    where words are split at something else than blanks. A function with None among its bodies may not be one. `swayed` says what has changed which programs run, if anything.
    """

    cwds: tuple[str, ...]
    lost: bool = False
    variables: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    functions: Mapping[str, tuple[Node | None, ...]] = field(default_factory=dict)
    arguments: tuple[Value, ...] | None = None
    wide: bool = False
    split: bool = False
    swayed: str = ""

    def with_variable(self, name: str, values: tuple[Value, ...]) -> State:
        """The state with the variable set to one of these."""
        if len(values) > MOST_ALTERNATIVES:
            values = (LOST,)
        return replace(self, variables={**self.variables, name: tuple(dict.fromkeys(values))})

    def without(self, name: str) -> State:
        """The state with the variable no longer set."""
        return replace(self, variables={key: held for key, held in self.variables.items() if key != name})

    def at(self, cwds: tuple[str, ...], *, lost: bool = False) -> State:
        """The state in another directory."""
        cwds = tuple(dict.fromkeys(cwds))
        return replace(self, cwds=cwds[:MOST_ALTERNATIVES], lost=lost or len(cwds) > MOST_ALTERNATIVES)

    def with_function(self, name: str, bodies: tuple[Node, ...]) -> State:
        """The state in which the name is a function with one of these bodies."""
        return replace(self, functions={**self.functions, name: bodies})


def either(one: State | None, other: State | None) -> State | None:
    """The state of which nobody knows whether it is the one or the other; None stands for what never comes about."""
    if one is None or other is None or one == other:
        return other if one is None else one
    variables = dict(one.variables)
    for name in {*one.variables, *other.variables}:
        held = (*one.variables.get(name, (UNSET,)), *other.variables.get(name, (UNSET,)))
        values = tuple(dict.fromkeys(held))
        variables[name] = values if len(values) <= MOST_ALTERNATIVES else (LOST,)
    functions = dict(one.functions)
    for name in {*one.functions, *other.functions}:
        bodies = [*one.functions.get(name, (None,))]
        functions[name] = (*bodies, *(body for body in other.functions.get(name, (None,)) if body not in bodies))
    cwds = tuple(dict.fromkeys((*one.cwds, *other.cwds)))
    return State(
        cwds[:MOST_ALTERNATIVES],
        one.lost or other.lost or len(cwds) > MOST_ALTERNATIVES,
        variables,
        functions,
        one.arguments if one.arguments == other.arguments else None,
        one.wide or other.wide,
        one.split or other.split,
        one.swayed or other.swayed,
    )
