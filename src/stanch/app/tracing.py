"""What each layer of a walk said, taken down for a trace.

Settles the steps of a trace and their order. Does not settle any answer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from stanch.policy.layers import ORDER, Failed
from stanch.values.decision import Answer, LayerStep
from stanch.values.reason import LayerId

_NEW = tuple.__new__  # WHY: half the cost of calling the named tuple, in the busiest place there is


class Tracing:
    """Takes down what each layer said and how long it took; it is a walk's `record`."""

    def __init__(self) -> None:
        self._said: list[LayerStep] = []
        self._last = time.perf_counter()

    def __call__(
        self,
        layer: LayerId,
        said: Sequence[Answer | None],
        *,
        rewrote: bool = False,
        failed: Failed | None = None,  # noqa: ARG002 - what it said already tells
    ) -> None:
        """Takes down one layer's answer: its strongest, if any."""
        now = time.perf_counter()
        strongest = None
        for answer in said:
            if answer is not None and (strongest is None or answer.strength > strongest.strength):
                strongest = answer
        self._said.append(_NEW(LayerStep, (layer, True, strongest, (now - self._last) * 1e6, rewrote)))
        self._last = now

    def steps(self, relaxed: Sequence[Answer | None]) -> tuple[LayerStep, ...]:
        """Every layer that was asked, as it was, with those that were not there, and relaxation where it spoke.

        After a rewrite, the layers that were asked again stand again, behind the first round.
        """
        steps = self._said
        asked = {step.layer for step in steps}
        if len(asked) < len(ORDER):
            absent = [step for step in _NOT_THERE if step.layer not in asked]
            last_round = 1 + max((at for at, step in enumerate(steps) if step.rewrote), default=-1)
            steps = [*steps[:last_round], *sorted([*steps[last_round:], *absent], key=_in_order)]
        for answer in relaxed:
            if answer is not None and answer.layer is LayerId.RELAXATION:
                return (*steps, LayerStep(LayerId.RELAXATION, True, answer))
        return tuple(steps)


_NOT_THERE = tuple(LayerStep(layer, False) for layer in ORDER)
_PLACE = {layer: place for place, layer in enumerate(LayerId)}


def _in_order(step: LayerStep) -> int:
    return _PLACE[step.layer]
