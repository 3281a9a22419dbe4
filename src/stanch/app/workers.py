"""Threads in which somebody else's code is asked: so many and no more, and none that keeps the process alive.

Settles how many questions are under way at once, and that one which hangs costs its thread and nothing else. Does not
settle how long anybody waits (`app.judging`), nor what is asked.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

MOST = 32


class Workers:
    """At most `most` daemon threads, made as they are needed. Safe to use from any thread.

    A thread that hangs stays busy until what it runs returns; when all of them are, whatever is given waits in line.
    """

    def __init__(self, most: int = MOST, name: str = "stanch-worker") -> None:
        self._most, self._name = most, name
        self._line: deque[Callable[[], Any]] = deque()
        self._made = self._idle = 0
        self._some = threading.Condition()

    @property
    def busy(self) -> int:
        """How many threads run something now."""
        with self._some:
            return self._made - self._idle

    @property
    def waiting(self) -> int:
        """How many questions no thread has taken up yet."""
        with self._some:
            return len(self._line)

    def give(self, work: Callable[[], Any]) -> None:
        """Has a thread run it, some time. It must raise nothing; whoever wants to know of its end has it say so."""
        with self._some:
            self._line.append(work)
            if len(self._line) > self._idle and self._made < self._most:
                self._made += 1
                threading.Thread(target=self._run, name=f"{self._name}-{self._made}", daemon=True).start()
            self._some.notify()

    def drop(self, work: Callable[[], Any]) -> bool:
        """Takes something out of the line again; false where a thread has taken it up already."""
        with self._some:
            try:
                self._line.remove(work)
            except ValueError:
                return False
            return True

    def _run(self) -> None:
        while True:
            with self._some:
                self._idle += 1
                while not self._line:
                    self._some.wait()
                self._idle -= 1
                work = self._line.popleft()
            work()
