"""Asking a layer that is somebody else's code: in a thread of its own, with a copy of the arguments, for so long.

Settles that such a layer can neither hang the gate, nor change the call under it, nor end the process. What it answers
is the walk's to read.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from stanch.policy.layers import NO_OBJECTION, Failed, Layer, LayerAnswer
from stanch.policy.policies import LONGEST
from stanch.policy.walk import THREW
from stanch.values.call import JudgedCall


def ask_within(layer: Layer, call: JudgedCall, seconds: float) -> LayerAnswer:
    """The layer's answer; none where it raises anything, or takes longer than so many seconds.

    A layer that says itself how long it takes, in `seconds`, is waited for as long. A layer that hangs keeps its
    thread, which does not keep the process alive; its signal says that nobody waits for it any more.
    """
    signal = threading.Event()
    try:
        if isinstance(layer, Concerned) and not layer.concerns(call.call.tool):
            return NO_OBJECTION
        seconds = _seconds_of(layer, seconds)
        copied = shown(call._replace(manner=call.manner._replace(signal=signal)))
    except Exception:  # WHY here, too: what it says of itself is its own code as well
        return THREW
    said: list[LayerAnswer] = []

    def ask() -> None:
        try:
            said.append(layer.ask(copied))
        except BaseException:  # whatever it raises is no answer, and must not end more than its own thread
            said.append(THREW)

    thread = threading.Thread(target=ask, daemon=True, name=f"stanch-{layer.id}")
    thread.start()
    thread.join(seconds)
    signal.set()
    return said[0] if said else Failed(f"it took longer than {seconds:g} s")


@runtime_checkable
class Concerned(Protocol):
    """A layer that is asked about some tools only."""

    def concerns(self, tool: str) -> bool:
        """True where it is asked about calls of this tool."""


def _seconds_of(layer: Layer, usual: float) -> float:
    own = getattr(layer, "seconds", None)
    return float(min(own, LONGEST)) if isinstance(own, int | float) and own > 0 else usual


def shown(call: JudgedCall) -> JudgedCall:
    """The call with arguments that cannot be changed for anyone else."""
    arguments: Mapping[str, object] = MappingProxyType(copy.deepcopy(dict(call.call.arguments)))
    return call._replace(call=call.call._replace(arguments=arguments))
