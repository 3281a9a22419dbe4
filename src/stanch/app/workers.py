"""Threads in which somebody else's code is asked: so many and no more, and none that keeps the process alive.

Settles how many questions are under way at once, and that whoever hangs takes up a few threads and none of the others'.
Does not settle how long anybody waits (`app.judgments`), nor what is asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

MOST, EACH = 64, 16
LINGER = 0.5
Work = Callable[[], Any]


class Workers:
    """At most `most` daemon threads, made as they are needed, that end when nothing is left to do. Safe for any thread.

    At most `each` of them ask one and the same authority at a time, so that one which hangs leaves threads for the
    others. A thread that hangs stays busy until what it runs returns; when all of them are, whatever is given waits in
    line.
    """

    def __init__(self, most: int = MOST, each: int = EACH, name: str = "stanch-worker") -> None:
        self._most, self._each, self._name = most, each, name
        # For each authority what waits, in order, and how many threads ask it now. The authority is kept beside, so
        # that its place in memory, by which it is known, is nobody else's meanwhile.
        self._lines: dict[int, tuple[object, dict[Work, None]]] = {}
        self._asking: dict[int, int] = {}
        self._made = self._named = 0
        self._some = threading.Condition()

    @property
    def threads(self) -> int:
        """How many threads there are now, at work or not."""
        with self._some:
            return self._made

    @property
    def busy(self) -> int:
        """How many threads run something now."""
        with self._some:
            return sum(self._asking.values())

    @property
    def waiting(self) -> int:
        """How many questions no thread has taken up yet."""
        with self._some:
            return sum(len(line) for _, line in self._lines.values())

    def give(self, work: Work, asks: object) -> None:
        """Has a thread run it, some time. It must raise nothing; whoever wants to know of its end has it say so.

        `asks` is the authority that it asks.
        """
        with self._some:
            self._lines.setdefault(id(asks), (asks, {}))[1][work] = None
            if self._free() < self._could_be_asked() and self._made < self._most:
                self._start()
            self._some.notify()

    def drop(self, work: Work) -> bool:
        """Takes something out of the line again; false where a thread has taken it up already."""
        with self._some:
            for key, (_, line) in self._lines.items():
                if work in line:
                    del line[work]
                    if not line:
                        del self._lines[key]
                    return True
            return False

    def _free(self) -> int:
        """How many threads run nothing now, those counted that are about to begin."""
        return self._made - sum(self._asking.values())

    def _could_be_asked(self) -> int:
        """How many questions could be taken up now, if there were threads enough."""
        return sum(min(len(line), self._each - self._asking.get(key, 0)) for key, (_, line) in self._lines.items())

    def _start(self) -> None:
        self._named += 1
        thread = threading.Thread(target=self._run, name=f"{self._name}-{self._named}", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return  # the system gives no more threads: what waits goes on waiting, at most as long as somebody waits
        self._made += 1

    def _run(self) -> None:
        while True:
            with self._some:
                taken = self._next()
                while taken is None:
                    told = self._some.wait(LINGER)
                    taken = self._next()
                    if taken is None and not told:
                        self._made -= 1
                        return
            key, work = taken
            work()
            with self._some:
                self._asking[key] -= 1
                if not self._asking[key]:
                    del self._asking[key]

    def _next(self) -> tuple[int, Work] | None:
        """Takes the first question of an authority that may be asked by one more thread."""
        for key, (asks, line) in self._lines.items():
            if self._asking.get(key, 0) < self._each:
                work = next(iter(line))
                del self._lines[key], line[work]
                if line:
                    self._lines[key] = asks, line  # WHY at the end: whoever has waited longest is next
                self._asking[key] = self._asking.get(key, 0) + 1
                return key, work
        return None
