"""The steps of a case with calls that may have to wait for a person, as they are written.

Settles which steps there are, which keys each has, and which words each may expect. Does not settle how they are
carried out (`app.case_calls`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stanch.app.case_records import Expected, Step
from stanch.app.case_yaml import Reading, Table
from stanch.gate.approval import FINAL
from stanch.values.approval import ApprovalState, BypassScope, CallState

OUTCOME_KEYS = ("expect", "because", "about", "says", "hides")
ENDS = ("complete", "fail", "cancel")
_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "args": (dict, "a table"),
    "request": ((int, str), "a number, from 1, or an id"),
    "bypass_secs": (int, "a number of seconds"),
    "include_subagents": (bool, "true or false"),
    "to": ((dict, type(None)), "a run context, or null"),
}
_CHOICES = {"do": ("approve", "reject"), "how": ENDS, "bypass_scope": tuple(scope.value for scope in BypassScope)}
_STATES = tuple(state.value for state in CallState)
_NOT_DONE = ("conflict", "unknown", "invalid")


class _Kind(NamedTuple):
    """A kind of step: of which type its own value is, its further keys, those it needs, and the words it may expect."""

    value: type | tuple[type, ...]
    keys: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    expects: tuple[str, ...] = ()


_BYPASS = ("bypass_secs", "bypass_scope", "include_subagents")
KINDS = {
    "ask": _Kind(str, ("tool", "args", "session", "cwd"), ("tool",), ("pending", "awaiting_approval", "rejected")),
    "answer": _Kind(
        str,
        ("do", "by", "note", "tool", "args", "request", *_BYPASS),
        ("do",),
        (*_STATES, "refused"),
    ),
    "start": _Kind(str, ("tool", "args"), (), ("running", "rejected", "awaiting_approval")),
    "finish": _Kind(str, ("how",), (), tuple(state.value for state in sorted(FINAL))),
    "cancel": _Kind(str, ("by",), (), ("cancelled",)),
    "stands": _Kind(str, (), (), _STATES),
    "shows": _Kind(str, ("request",), (), tuple(state.value for state in ApprovalState)),
    "bypass": _Kind(str, (*_BYPASS, "category", "mcp_server"), ("bypass_secs",), ("holds",)),
    "context": _Kind(str, ("to",), ("to",)),
    "end_session": _Kind(str),
    "wait": _Kind((int, float)),
    "restart": _Kind(bool),
    "change": _Kind(Table),
    "rules": _Kind(list),
    "inbox": _Kind(list),
}
OF_CALLS = ("answer", "start", "finish", "cancel", "stands", "shows")


def read_steps(
    reading: Reading,
    rows: Sequence[Table],
    outcome: Callable[[Table], Expected],
    tree: Callable[[Table], None],
) -> tuple[Step, ...]:
    """The steps. `outcome` reads what one expects, `tree` looks at a change of the disk. Raises `BadInput`."""
    asked: set[str] = set()
    found = []
    for row in rows:
        does = next(iter(row), "")
        kind = KINDS.get(does)
        if kind is None:
            raise reading.wrong(row, f"a step with calls begins with one of {', '.join(KINDS)}")
        reading.known(row, (does, *kind.keys, *(OUTCOME_KEYS if kind.expects else ())), f"a step '{does}'")
        name = reading.take(row, does, kind.value, _said(kind.value))
        _look(reading, row, kind)
        if (does == "restart" and not name) or (does == "wait" and (isinstance(name, bool) or name < 0)):
            raise reading.wrong(row, f"'{does}' must be {_said(kind.value)}", does)
        if does == "change":
            reading.known(name, ("files", "dirs", "many", "symlinks", "hardlinks", "remove"), "'change'")
            tree(name)
        if does == "ask" and name in asked:
            raise reading.wrong(row, f"two calls are named '{name}'")
        unheard = [one for one in _calls_in(does, name) if one not in asked]
        if unheard:
            raise reading.wrong(row, f"no step before this one asks for a call named '{unheard[0]}'")
        asked |= {name} if does == "ask" else set()
        expected = outcome(row) if kind.expects else None
        if expected is not None and expected.effect not in (*kind.expects, *_NOT_DONE):
            words = ", ".join((*kind.expects, *_NOT_DONE))
            raise reading.wrong(row, f"'{does}' expects one of {words}, not '{expected.effect}'", "expect")
        found.append(Step(does, name, row, row.line, expected))
    return tuple(found)


def _look(reading: Reading, row: Table, kind: _Kind) -> None:
    """Looks at the further keys of a step. Raises `BadInput`."""
    for key in kind.needs:
        if key not in row:
            raise reading.wrong(row, f"'{key}' is missing")
    for key in kind.keys:
        wanted, what = _TYPES.get(key, (str, "a text"))
        value = reading.take(row, key, wanted, what)
        if key in row and value not in _CHOICES.get(key, (value,)):
            raise reading.wrong(row, f"'{key}' must be one of {', '.join(_CHOICES[key])}, not '{value}'", key)


def _calls_in(does: str, name: Any) -> list[str]:
    """The names of calls that a step speaks of."""
    if does in OF_CALLS:
        return [name]
    return [str(one) for one in name] if does == "inbox" else []


def _said(wanted: type | tuple[type, ...]) -> str:
    names = {str: "a name", list: "a list", Table: "a table", bool: "true"}
    return names.get(wanted, "a number of seconds") if isinstance(wanted, type) else "a number of seconds"
