"""The layers of authority: what each may be asked, and the ones that are built.

Settles the protocol and the layers themselves. Does not settle how their answers combine (`policy.walk`).
A layer is a small object with one method. It answers for each effect of the call: an answer, or None for no objection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from stanch.values.call import CallEffect, JudgedCall
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId
from stanch.values.verdict import Cause

ORDER = tuple(layer for layer in LayerId if layer not in (LayerId.RELAXATION, LayerId.APPROVAL, LayerId.DELIVERY))
# Layers whose every ask is mandated: neither a bypass nor a grant answers for the person.
MANDATING = frozenset(
    {
        LayerId.TIER,
        LayerId.CALLER_POLICY,
        LayerId.INHERITED_CONSTRAINT,
        LayerId.ORG_RULES,
        LayerId.HOOKS,
    }
)


class NoObjection:
    """A layer's word for the whole call: nothing against any of its effects. There is one, and nothing equals it."""


NO_OBJECTION = NoObjection()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A layer's wish to run the call with other arguments: the walk starts anew on them, with new stamps."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer: the layer threw, took too long, could not be asked. `cause` is a few words, never an error's text.

    `kind` is the same out of a closed list, for whoever tells one silence from another.
    """

    cause: str
    kind: Cause = Cause.THREW


LayerAnswer = Sequence[Answer | None] | NoObjection | Rewrite | Failed


class Layer(Protocol):
    """One authority."""

    @property
    def id(self) -> LayerId:
        """Which layer this is."""

    @property
    def immediate(self) -> bool:
        """True for a layer that decides on the call's values alone: no I/O, no code of others, nothing to wait for."""

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """One answer for each effect of the call, in order, or `NO_OBJECTION`. To raise is to give no answer."""


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """A layer that somebody configured and that does not exist yet: it fails, and so is never taken for silence."""

    id: LayerId
    immediate: bool = False

    def ask(self, call: JudgedCall) -> LayerAnswer:  # noqa: ARG002 - whatever the call
        """No answer, whatever the call."""
        return Failed("it is configured but not available yet")


_INTEGRITY = {
    code: Answer(Effect.DENY, code, LayerId.INTEGRITY)
    for code in (Code.PATH_UNREADABLE, Code.PATH_PROTECTED, Code.RUNS_CODE)
}


class Integrity:
    """Layer 1: what no rule can allow. Paths that cannot be read, Stanch's own state, places that run code later."""

    id = LayerId.INTEGRITY
    immediate = True

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """A deny for each effect whose stamp was refused."""
        for effect in call.effects:
            stamp = effect.stamp
            if stamp is not None and stamp.refusal is not None:
                return [_refused(effect) for effect in call.effects]
        return NO_OBJECTION


def _refused(effect: CallEffect) -> Answer | None:
    stamp = effect.stamp
    if stamp is None or stamp.refusal is None:
        return None
    if stamp.detail:
        return Answer(Effect.DENY, stamp.refusal, LayerId.INTEGRITY, detail=stamp.detail)
    return _INTEGRITY[stamp.refusal]
