"""The layers that a program gives to a session by itself, the order of all of them, and what they may close.

Settles which may be given. Does not settle what they say (`policy.layers`) nor how their answers combine
(`policy.walk`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stanch.policy.layers import ORDER, Layer
from stanch.policy.organization import OrganizationLayer
from stanch.policy.rows import RowsLayer
from stanch.values.call import EffectClass
from stanch.values.fault import BadInput
from stanch.values.reason import LayerId


def usable(layers: Sequence[Layer]) -> Sequence[Layer]:
    """The same layers. Raises `BadInput` for one that is none."""
    for layer in layers:
        if not isinstance(getattr(layer, "id", None), LayerId) or layer.id not in ORDER:
            raise BadInput("a layer needs an id out of the gate's layers")
        if not isinstance(getattr(layer, "immediate", None), bool):
            raise BadInput("a layer needs to say whether it is immediate; False for any that is not Stanch's own")
    return layers


def as_asked(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """The layers in the order in which they are asked."""
    return tuple(sorted(layers, key=lambda layer: ORDER.index(layer.id)))


class Closing:
    """Those of a session's layers that are made of rules besides the persisted ones, asked what they may close."""

    def __init__(self, layers: Iterable[Layer]) -> None:
        self._rows = tuple(layer for layer in layers if isinstance(layer, (RowsLayer, OrganizationLayer)))

    def may_refuse(self, tool: str, cls: EffectClass) -> bool:
        """True where it matters what lies below a directory that such an effect reaches down from."""
        return any(rows.may_refuse(tool, cls) for rows in self._rows)
