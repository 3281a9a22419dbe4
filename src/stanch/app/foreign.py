"""Asking a layer that is somebody else's code: in a thread of its own, with a copy of the arguments, for so long.

Settles that such a layer can neither hang the gate, nor change the call under it, nor end the process. What it answers
is the walk's to read.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from types import MappingProxyType

from stanch.policy.layers import Failed, Layer, LayerAnswer
from stanch.policy.walk import THREW
from stanch.values.call import JudgedCall

LAYER_SECONDS = 5.0


def ask_within(layer: Layer, call: JudgedCall, seconds: float) -> LayerAnswer:
    """The layer's answer; none where it raises anything, or takes longer than so many seconds.

    A layer that hangs keeps its thread, which does not keep the process alive.
    """
    said: list[LayerAnswer] = []
    copied = shown(call)

    def ask() -> None:
        try:
            said.append(layer.ask(copied))
        except BaseException:  # whatever it raises is no answer, and must not end more than its own thread
            said.append(THREW)

    thread = threading.Thread(target=ask, daemon=True, name=f"stanch-{layer.id}")
    thread.start()
    thread.join(seconds)
    return said[0] if said else Failed(f"it took longer than {seconds:g} s")


def shown(call: JudgedCall) -> JudgedCall:
    """The call with arguments that cannot be changed for anyone else."""
    arguments: Mapping[str, object] = MappingProxyType(copy.deepcopy(dict(call.call.arguments)))
    return call._replace(call=call.call._replace(arguments=arguments))
