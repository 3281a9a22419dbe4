"""Asking somebody who may take long, for so long, and letting go once nobody waits any more.

Settles how such a question ends. Does not settle what is asked, nor what its end means (`app.policy_factories`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any

from stanch.app.caller_policies import awaited
from stanch.values.call import Signal

_LOOK = 0.02


class Ended(Enum):
    """How a question ended that got no answer."""

    TOO_LATE = "too late"
    NOT_WANTED = "not wanted"
    THREW = "threw"


def asked(ask: Callable[[Signal], Any], seconds: float, signal: Signal | None) -> Any:
    """What `ask` returns, or what that comes to where it is awaitable; an `Ended` where it gives no answer.

    It runs in a thread of its own, with a signal that is set once nobody waits for it: an awaitable is cancelled then,
    and anything else has to look at it. It is waited for so many seconds, and no longer than `signal` is not set.
    """
    said: list[Any] = []
    done, released = threading.Event(), threading.Event()

    def run() -> None:
        try:
            found = ask(released)
            said.append(awaited(found, released) if isinstance(found, Awaitable) else found)
        except BaseException:  # whatever it raises is no answer, and must not end more than its own thread
            said.append(Ended.THREW)
        done.set()

    threading.Thread(target=run, daemon=True, name="stanch-asked").start()
    until = time.monotonic() + seconds
    try:
        while not done.wait(_LOOK if signal is not None else max(0.0, until - time.monotonic())):
            if signal is not None and signal.is_set():
                return Ended.NOT_WANTED
            if time.monotonic() >= until:
                return Ended.TOO_LATE
    finally:
        released.set()
    return said[0]
