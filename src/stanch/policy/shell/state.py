"""What is known while a command runs: where it stands, what its variables hold, which functions it has made.

Settles how a state changes and how two that may both be the case become one. Does not settle who changes it
(`policy.shell.running`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stanch.policy.shell.pieces import Hole, Value

Node = Mapping[str, Any]
MOST_ALTERNATIVES = 8
UNSET: Value = (Hole("a variable that is not set in the command"),)
LOST: Value = (Hole("a variable that may hold too many things"),)
# In the environment of every shell from the beginning, so that other programs see what is put into them.
_EXPORTED = frozenset({"HOME", "PATH", "PWD", "OLDPWD", "SHELL", "USER", "LANG", "TERM", "TMPDIR", "LOGNAME"})

EVERY = "*"
"""Among the exported variables: all of them are."""


@dataclass(frozen=True, slots=True)
class State:
    """One moment of a run. `cwds` are the directories it may stand in; `lost`: it may stand anywhere else, too.

    `variables` holds for each name what it may hold; a name that is not there was not set. `arguments` are `$1` and so
    on, None where they are not known. `wide` is true where wildcards may match more than they do by default, `split`
    where words are split at something else than blanks. A function with None among its bodies may not be one.
    `exported` are the variables that other programs see, `fixed` those that may no longer be set, `own` those that the
    function now running has declared for itself. `physical`: `cd` may go by what is there, and not by names.
    """

    cwds: tuple[str, ...]
    lost: bool = False
    variables: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    functions: Mapping[str, tuple[Node | None, ...]] = field(default_factory=dict)
    arguments: tuple[Value, ...] | None = None
    wide: bool = False
    split: bool = False
    exported: frozenset[str] = _EXPORTED
    fixed: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    physical: bool = False

    def with_variable(self, name: str, values: tuple[Value, ...]) -> State:
        """The state with the variable set to one of these; one that is fixed may have kept what it held."""
        if name in self.fixed:
            values = (*self.variables.get(name, (UNSET,)), *values)
        values = tuple(dict.fromkeys(values))
        if len(values) > MOST_ALTERNATIVES:
            values = (LOST,)
        return replace(self, variables={**self.variables, name: values})

    def without(self, names: Iterable[str]) -> State:
        """The state with the variables no longer set."""
        gone = frozenset(names) - self.fixed
        return replace(self, variables={key: held for key, held in self.variables.items() if key not in gone})

    def at(self, cwds: tuple[str, ...], *, lost: bool = False) -> State:
        """The state in another directory."""
        cwds = tuple(dict.fromkeys(cwds))
        state = self.without(("PWD", "OLDPWD")) if {"PWD", "OLDPWD"} & self.variables.keys() else self
        return replace(state, cwds=cwds[:MOST_ALTERNATIVES], lost=lost or len(cwds) > MOST_ALTERNATIVES)

    def with_function(self, name: str, bodies: tuple[Node, ...]) -> State:
        """The state in which the name is a function with one of these bodies."""
        return replace(self, functions={**self.functions, name: bodies})

    def for_program(self) -> State:
        """What another program has of this: no function, no option of the shell, and only the exported variables."""
        seen = {name: held for name, held in self.variables.items() if {name, EVERY} & self.exported}
        return State(self.cwds, self.lost, seen, exported=self.exported)


def either(one: State | None, other: State | None) -> State | None:
    """The state of which nobody knows whether it is the one or the other; None stands for what never comes about."""
    if one is None or other is None:
        return other if one is None else one
    if one is other or one == other:
        return one
    variables = one.variables if one.variables is other.variables else _either_held(one.variables, other.variables)
    functions = dict(one.functions)
    if one.functions is not other.functions:
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
        one.exported | other.exported,
        one.fixed | other.fixed,
        one.own | other.own,
        one.physical or other.physical,
    )


def _either_held(
    one: Mapping[str, tuple[Value, ...]], other: Mapping[str, tuple[Value, ...]]
) -> Mapping[str, tuple[Value, ...]]:
    variables = dict(one)
    for name in {*one, *other}:
        held = one.get(name, (UNSET,))
        more = other.get(name, (UNSET,))
        if held is not more:
            values = tuple(dict.fromkeys((*held, *more)))
            variables[name] = values if len(values) <= MOST_ALTERNATIVES else (LOST,)
    return variables
