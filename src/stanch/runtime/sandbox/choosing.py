"""Which sandbox there is on this machine.

Settles the order in which they are tried, and that one is used only after it has held against a program that tries to
get out (`proving`). Does not settle how one confines.
ABSENT: a way to run unconfined, or to leave the test out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from stanch.runtime.sandbox import bubblewrap, landlock
from stanch.runtime.sandbox.program import Sandbox, Unavailable
from stanch.runtime.sandbox.proving import why_not

_ONE_AT_A_TIME = threading.Lock()
_KNOWN: list[Sandbox | Unavailable] = []


def sandbox_here() -> Sandbox | Unavailable:
    """The first sandbox that holds on this machine, found out once in each process; else why none does."""
    with _ONE_AT_A_TIME:
        if not _KNOWN:
            _KNOWN.append(found((_bubblewrap, _sandlock)))
        return _KNOWN[0]


def found(candidates: tuple[Callable[[], Sandbox | str], ...]) -> Sandbox | Unavailable:
    """The first of the candidates that is here and holds. Each gives a sandbox, or a sentence on why there is none."""
    why = []
    for candidate in candidates:
        sandbox = candidate()
        reason = sandbox if isinstance(sandbox, str) else why_not(sandbox)
        if reason is None and not isinstance(sandbox, str):
            return sandbox
        why.append(reason or "")
    return Unavailable(tuple(why))


def _bubblewrap() -> Sandbox | str:
    where = bubblewrap.found()
    if where is None:
        return "bubblewrap is not installed: install it, for example with `apt-get install bubblewrap`."
    return bubblewrap.Bubblewrap(where)


def _sandlock() -> Sandbox | str:
    return landlock.here()
