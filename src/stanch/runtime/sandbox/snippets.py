"""Snippets of Python, run in an interpreter that has no files, no network and no variables at all.

Settles what a snippet may call, what is shown of it, and how it comes to its end. Does not settle what the host's
functions do. The interpreter (pydantic-monty) is a process of its own for each snippet, started without variables; it
refuses every call of the operating system but the clock and a wait.
WHY no sandbox around it: it works where no sandbox holds. It reaches the host by the functions that it is given only.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stanch.runtime.sandbox import looking
from stanch.runtime.sandbox.ending import ended
from stanch.runtime.sandbox.program import MIB, Ended, How, Limits
from stanch.runtime.sandbox.showing import shown

if TYPE_CHECKING:
    import pydantic_monty

MOST_MEMORY = 256 * MIB
"""WHY so little: the last value comes over to this process, to be shown."""
_CALLS = 10_000
_DEPTH = 500
_LOOKS = 0.05
_STARTING = 15.0
_OF_ITS_OWN = 64 * MIB
_WAITS = frozenset({"time.sleep", "asyncio.sleep"})


def run_snippet(
    code: str,
    functions: Mapping[str, Callable[..., Any]],
    out: Callable[[str], None],
    *,
    limits: Limits = Limits(),  # noqa: B008 - it is frozen
    cancelled: threading.Event,
) -> Ended:
    """How the snippet ended; `code` is 1 where it raised, and its traceback is written to `out`.

    It may call `functions` by their names, in the calling thread; what one raises is raised inside of it, with its
    message. `out` is given what it prints and, like in an interactive Python, the value of its last expression. Of the
    limits, those for seconds, memory (at most `MOST_MEMORY`) and output count. A function is not interrupted: it has to
    come to its own end. What `out` raises is raised here, once the snippet has ended.
    """
    if cancelled.is_set():
        return ended(How.NOT_WANTED, 0, limits)
    try:
        import pydantic_monty
    except ImportError:
        return ended(How.NEVER_STARTED, 0, limits, "the package pydantic-monty is not installed")
    run = _Run(out, limits, cancelled)
    try:
        with pydantic_monty.Monty(max_processes=1, checkout_timeout=_STARTING) as pool:
            most: pydantic_monty.ResourceLimits = {
                "max_memory": run.memory,
                # WHY, where the watch ends it: where this process dies, the interpreter still comes to an end.
                "max_feed_duration_secs": limits.seconds + 1.0,
                "max_recursion_depth": _DEPTH,
                "max_suspensions": _CALLS,
            }
            policy: pydantic_monty.OSPolicy = {"sleep": "call_host"}
            with pool.checkout(script_name="snippet.py", limits=most, os_policy=policy) as session:
                last = run.feed(session, code, functions)
    except (OSError, TimeoutError, pydantic_monty.MontyError) as error:
        return ended(How.NEVER_STARTED, 0, limits, f"the interpreter could not be started ({type(error).__name__})")
    if run.raised is not None:
        raise run.raised
    return last


class _Run:
    def __init__(self, out: Callable[[str], None], limits: Limits, cancelled: threading.Event) -> None:
        self._out, self._cancelled = out, cancelled
        self.memory = min(limits.memory, MOST_MEMORY)
        self._limits = replace(limits, memory=self.memory)
        self._until = time.monotonic() + limits.seconds
        self._left = limits.output_bytes
        self._over = threading.Event()
        self._why: How | None = None
        self.raised: BaseException | None = None
        self._process = -1

    def feed(
        self, session: pydantic_monty.MontySession, code: str, functions: Mapping[str, Callable[..., Any]]
    ) -> Ended:
        """How the snippet ended in this session."""
        number = session.worker_pid
        if number is None:
            return ended(How.LOST, 0, self._limits)
        self._process = os.pidfd_open(number)
        watch = threading.Thread(target=self._watch, args=(number,), name="stanch-snippet", daemon=True)
        watch.start()
        try:
            how, status = self._fed(session, code, functions)
        finally:
            self._over.set()
            watch.join()
            os.close(self._process)
        return ended(self._why or how, status, self._limits)

    def _fed(self, session: pydantic_monty.MontySession, code: str, functions: Mapping[str, Any]) -> tuple[How, int]:
        import pydantic_monty

        try:
            value = session.feed_run(
                code, external_lookup=dict(functions), print_callback=self._printed, os=self._system
            )
        except pydantic_monty.MontyCrashedError:
            return How.LOST, 0
        except pydantic_monty.MontySyntaxError as error:
            return self._told(f"{error.display('traceback')}\n")
        except pydantic_monty.MontyRuntimeError as error:
            if self._why is None and str(error).startswith("MemoryError: memory limit exceeded"):
                return How.TOO_MUCH_MEMORY, 1
            return self._told(f"{error.display('traceback')}\n")
        except (ValueError, TypeError, pydantic_monty.MontyError):
            return self._told("The value of the last expression cannot be shown.\n")  # it has no form here
        if value is not None:
            self._write(_cut(f"{shown(value, self._left)}\n", self._left))
        return How.BY_ITSELF, 0

    def _told(self, text: str) -> tuple[How, int]:
        self._write(text)
        return How.BY_ITSELF, 1

    def _printed(self, _stream: object, text: str) -> None:
        self._write(text)

    def _write(self, text: str) -> None:
        if self._why is not None or self.raised is not None:
            return
        size = len(text.encode(errors="replace"))
        if size > self._left:
            text = _cut(text, self._left)
            self._end(How.TOO_MUCH_OUTPUT)
        self._left -= min(size, self._left)
        try:
            if text:
                self._out(text)
        except BaseException as error:
            self.raised = error
            self._end(How.NOT_WANTED)

    def _system(self, *, name: str, args: tuple[Any, ...], **_: Any) -> Any:
        """Answers a wait, which ends early where the snippet has to; everything else is refused by the interpreter."""
        import pydantic_monty

        if name in _WAITS and args and isinstance(args[0], int | float):
            until = min(time.monotonic() + args[0], self._until)
            while not self._over.is_set() and self._why is None and (left := until - time.monotonic()) > 0:
                self._over.wait(min(left, _LOOKS))
            if time.monotonic() >= self._until:
                self._end(How.TOO_LATE)
            return None
        return pydantic_monty.NOT_HANDLED

    def _watch(self, number: int) -> None:
        while not self._over.wait(_LOOKS):
            if self._cancelled.is_set():
                self._end(How.NOT_WANTED)
            elif time.monotonic() >= self._until:
                self._end(How.TOO_LATE)
            elif looking.memory((number,), 2 * self.memory + _OF_ITS_OWN) > 2 * self.memory + _OF_ITS_OWN:
                self._end(How.TOO_MUCH_MEMORY)

    def _end(self, why: How) -> None:
        if self._why is None:
            self._why = why
        with suppress(OSError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)


def _cut(text: str, most: int) -> str:
    """The beginning of the text that takes no more bytes."""
    return text.encode(errors="replace")[:most].decode(errors="ignore")
