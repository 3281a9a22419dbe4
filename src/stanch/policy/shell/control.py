"""Loops, conditions and the other forms of syntax that hold statements: every way through them.

Settles which of their statements may run, and with what. Does not settle lists, pipes and functions
(`policy.shell.running`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stanch.policy.shell import expanding
from stanch.policy.shell.naming import pieces_for
from stanch.policy.shell.outcome import NO_OUTPUT, NOWHERE, UNKNOWN_OUTPUT, Result, one_of
from stanch.policy.shell.pieces import Hole, Value, Word
from stanch.policy.shell.reading import Part, shown
from stanch.policy.shell.redirects import flush
from stanch.policy.shell.state import Node, State, either
from stanch.policy.shell.values import value_of
from stanch.policy.shell.variables import changes_what_runs
from stanch.policy.shell.walk import Walk
from stanch.values.command import Command

Form = Callable[[Walk, Node, State, Value | None], Result]
_NUMERIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"})
_AT_ONCE = 6


def _if(run: Walk, node: Node, state: State, stdin: Value | None) -> Result:
    condition = run.statements(node.get("Cond") or [], state, stdin)
    then = _from(run, node.get("Then"), condition.ok, stdin)
    other = node.get("Else")
    if not other:
        rest = Result(condition.fail, None, NO_OUTPUT)
    elif other.get("Cond"):
        rest = NOWHERE if condition.fail is None else _if(run, other, condition.fail, stdin)
    else:
        rest = _from(run, other.get("Then"), condition.fail, stdin)
    both = one_of(then, rest)
    return both._replace(out=UNKNOWN_OUTPUT) if condition.out else both


def _from(run: Walk, nodes: Any, state: State | None, stdin: Value | None) -> Result:
    return NOWHERE if state is None else run.statements(nodes or [], state, stdin)


def _while(run: Walk, node: Node, state: State, stdin: Value | None) -> Result:
    def once(before: State) -> State | None:
        condition = run.statements(node.get("Cond") or [], before, stdin)
        start = condition.fail if node.get("Until") else condition.ok
        return either(condition.after, _from(run, node.get("Do"), start, stdin).after)

    after = _looped(run, state, once)
    return Result(after, after, UNKNOWN_OUTPUT)


def _for(run: Walk, node: Node, state: State, stdin: Value | None) -> Result:
    loop = node.get("Loop") or {}
    name = loop.get("Name", {}).get("Value", "")
    if loop.get("Type") != "WordIter":
        state = expanding.arithmetic(loop, state, run)
        choices: list[tuple[Value, ...]] = []
    elif "Items" not in loop:
        unknown: tuple[Value, ...] = ((Hole("an argument that is not known"),),)
        choices = [unknown if state.arguments is None else state.arguments]
    else:
        choices = [_items(run, words, state) for words in expanding.fields(loop["Items"] or [], state, run)]
    flush(run, shown(f"for {name}" if name else "for"))
    values = tuple(dict.fromkeys(value for chosen in choices for value in chosen))
    if name and changes_what_runs(name):
        run.parts.append(Part(Command(f"for {name}", unread=f"a loop over {name}, which changes what runs")))
    if choices and not values:
        return Result(state, None, NO_OUTPUT)

    def once(before: State) -> State | None:
        return either(before, _from(run, node.get("Do"), before, stdin).after)

    ends: State | None = None
    printed = False
    for chunk in _chunks(values) if name else [()]:
        begin = state.with_variable(name, chunk) if name else state
        count = len(run.parts)
        end = _looped(run, begin, once)
        ends = either(ends, end)
        printed = printed or len(run.parts) > count
        state = either(state, end) or state
    return Result(ends or state, ends or state, UNKNOWN_OUTPUT if printed else NO_OUTPUT)


def _items(run: Walk, words: Sequence[Word], state: State) -> tuple[Value, ...]:
    found: list[Value] = []
    for word in words:
        if word.wild:
            found.extend((piece,) for piece in pieces_for(run, word, state))
        elif word.many:
            found.append((Hole(word.why or "a word that is not known"),))
        else:
            found.append(value_of(word))
    return tuple(found)


def _chunks(values: tuple[Value, ...]) -> list[tuple[Value, ...]]:
    """The values by which the body is gone through: each by itself where they are few, else several together."""
    if 0 < len(values) <= _AT_ONCE:
        return [(value,) for value in values]
    return [values[at : at + _AT_ONCE] for at in range(0, len(values), _AT_ONCE)] or [()]


def _looped(run: Walk, state: State, once: Callable[[State], State | None]) -> State:
    """The state after a body that runs any number of times: gone through until nothing new comes of it."""
    for _ in range(3):
        made = run.disk.size
        joined = either(state, once(state)) or state
        if joined == state and run.disk.size == made:
            return state
        state = joined
    for name in [name for name, held in state.variables.items() if len(held) > 1]:
        state = state.with_variable(name, ((Hole("a variable that a loop changes"),),))
    if len(state.cwds) > 2:
        state = replace(state, lost=True)
    once(state)
    return state


def _case(run: Walk, node: Node, state: State, stdin: Value | None) -> Result:
    expanding.values(node.get("Word") or {}, state, run)
    result = Result(state, None, NO_OUTPUT)
    before: State | None = None
    for item in node.get("Items") or []:
        for pattern in item.get("Patterns") or []:
            expanding.values(pattern, state, run)
        inside = _from(run, item.get("Stmts"), either(state, before), stdin)
        before = inside.after if item.get("Op") in (";&", ";;&") else None
        result = one_of(result, inside)
    flush(run, "case")
    return result


def _test(run: Walk, node: Node, state: State, _: Value | None) -> Result:
    _tested(run, node.get("X"), state)
    flush(run, "[[ … ]]")
    return Result(state, state, NO_OUTPUT)


def _tested(run: Walk, node: Any, state: State) -> None:
    op = node.get("Op") if isinstance(node, Mapping) else None
    if op in _NUMERIC:
        expanding.arithmetic(node, state, run)
        if (
            op == "-v"
            and "[" in str(node.get("X"))
            and any(mark in str(node) for mark in ("$(", "CmdSubst", "ParamExp"))
        ):
            run.note("a test of an element of a list, which may run code")
        return
    if op is not None and node.get("Type") in ("BinaryTest", "UnaryTest", "ParenTest"):
        for key in ("X", "Y"):
            if node.get(key):
                _tested(run, node[key], state)
    elif isinstance(node, Mapping) and node.get("Type") == "ParenTest":
        _tested(run, node.get("X"), state)
    elif isinstance(node, Mapping) and "Parts" in node:
        expanding.values(node, state, run)
    else:
        expanding.search(node, state, run)


def _arithmetic(run: Walk, node: Node, state: State, _: Value | None) -> Result:
    """`((` and `let`."""
    after = expanding.arithmetic(node.get("X") or node.get("Exprs"), state, run)
    flush(run, "(( … ))")
    return Result(after, after, NO_OUTPUT)


def _time(run: Walk, node: Node, state: State, stdin: Value | None) -> Result:
    inner = node.get("Stmt")
    return run.statement(inner, state, stdin) if inner else Result(state, None, NO_OUTPUT)


def _coproc(run: Walk, node: Node, state: State, _: Value | None) -> Result:
    run.statement(node.get("Stmt") or {}, state, UNKNOWN_OUTPUT)
    name = "".join(part.get("Value", "") for part in (node.get("Name") or {}).get("Parts", ())) or "COPROC"
    state = state.with_variable(name, ((Hole("the descriptors of a job"),),))
    return Result(state, None, NO_OUTPUT)


FORMS: Mapping[str, Form] = {
    "IfClause": _if,
    "WhileClause": _while,
    "ForClause": _for,
    "CaseClause": _case,
    "TestClause": _test,
    "ArithmCmd": _arithmetic,
    "LetClause": _arithmetic,
    "TimeClause": _time,
    "CoprocClause": _coproc,
}
