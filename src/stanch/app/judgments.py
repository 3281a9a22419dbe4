"""Judgments under way: each goes on as far as it can, foreign layers are asked in threads, and all have one deadline.

Settles who is waited for, how long, and when a layer is told that nobody waits for it any more. Does not settle what
the answers mean (`judge.judge`), nor what is judged (`app.judging`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import NamedTuple, cast

from stanch.app.foreign import shown
from stanch.app.workers import Workers
from stanch.judge.judge import HUNG, Heard, Judgment, Panel
from stanch.policy.layers import Layer, LayerAnswer
from stanch.policy.walk import THREW
from stanch.values.call import JudgedCall, Signal
from stanch.values.verdict import Verdict

_LOOK, _LONGEST_LOOK = 0.02, 60.0
"""How often it is looked whether the run has ended, in seconds; and whether the time is over, where no run can end."""

_MOST_BEHIND = 8


class _Asked(NamedTuple):
    """A layer that has been asked and has not answered: by which judgment, and how the question can be taken back."""

    judgment: Judgment
    call: JudgedCall
    signal: threading.Event
    work: Callable[[], None]


class Judgments:
    """Judgments with one deadline, so many seconds from now, for one thread. On leaving, nobody is asked any more."""

    def __init__(self, workers: Workers, seconds: float, signal: Signal | None) -> None:
        # WHY a clock that only goes on: the deadline must not move when somebody sets the time.
        # WHY asked so: of a deadline that is no number, nobody could say that it is over.
        self._until = time.monotonic() + (seconds if seconds > 0 else 0.0)
        self._workers, self._signal = workers, signal
        self._over = False
        self._verdicts: list[Verdict | None] = []
        self._asked: dict[int, _Asked] = {}
        self._came: SimpleQueue[tuple[int, threading.Event, LayerAnswer]] = SimpleQueue()

    def __enter__(self) -> Judgments:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        for one in self._asked.values():
            self._workers.drop(one.work)
            one.signal.set()
        self._asked.clear()

    def spent(self) -> bool:
        """True once nobody is waited for any more."""
        if not self._over:
            self._over = time.monotonic() >= self._until or (self._signal is not None and self._signal.is_set())
        return self._over

    def begin(self, call: JudgedCall, panel: Panel, hear: Callable[[Heard], None] | None) -> int:
        """Starts a judgment and takes it up to its first foreign layer; its place."""
        judgment = Judgment(call, panel, self.spent, hear)
        then = judgment.begin()
        place = len(self._verdicts)
        if type(then) is Verdict:
            self._verdicts.append(then)
        else:
            self._verdicts.append(None)
            self._ask(place, judgment, call, cast(Layer, then))
        return place

    def ended(self, verdict: Verdict) -> int:
        """The place of a judgment that has its verdict already."""
        self._verdicts.append(verdict)
        return len(self._verdicts) - 1

    def settle(self) -> None:
        """Waits until each judgment has its verdict, at most until the deadline."""
        longest = _LONGEST_LOOK if self._signal is None else _LOOK
        while self._asked:
            left = max(0.0, self._until - time.monotonic())
            try:
                place, signal, answer = self._came.get(timeout=min(left, longest))
            except Empty:
                if self.spent():
                    break
                continue
            signal.set()
            self._go_on(place, answer)
        for place, one in list(self._asked.items()):
            self._workers.drop(one.work)
            one.signal.set()
            self._go_on(place, HUNG)

    def verdict(self, place: int) -> Verdict:
        """The verdict of a judgment that is settled."""
        verdict = self._verdicts[place]
        if verdict is None:
            raise RuntimeError("a judgment was not settled")
        return verdict

    def _go_on(self, place: int, answer: LayerAnswer) -> None:
        one = self._asked.pop(place)
        then = one.judgment.go_on(answer)
        if type(then) is Verdict:
            self._verdicts[place] = then
        else:
            self._ask(place, one.judgment, one.call, cast(Layer, then))

    def _ask(self, place: int, judgment: Judgment, call: JudgedCall, layer: Layer) -> None:
        signal = threading.Event()
        work = partial(self._answer, place, call, layer, signal)
        self._asked[place] = _Asked(judgment, call, signal, work)
        self._workers.give(work, authority_of(layer))

    def _answer(self, place: int, call: JudgedCall, layer: Layer, signal: threading.Event) -> None:
        try:
            answer = layer.ask(shown(call._replace(manner=call.manner._replace(signal=signal))))
        except BaseException:  # whatever it raises is no answer, and must not end more than its own question
            answer = THREW
        self._came.put((place, signal, answer))


def authority_of(layer: object) -> object:
    """Whoever is asked in the end. WHY: layers are made anew for each judge, and one that hangs would else be new, too.

    Whatever stands for another says so by its `authority`.
    """
    found = layer
    for _ in range(_MOST_BEHIND):
        behind = getattr(found, "authority", None)
        if behind is None:
            break
        found = behind
    return found
