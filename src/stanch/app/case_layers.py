"""What a case puts into a session: its run context, and stand-ins for further layers and bypasses.

Settles what such a layer says: always the same thing, to every call. They are for cases only: no door makes one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stanch.app.engine import Engine
from stanch.gate.relax import Bypass
from stanch.policy import shapes
from stanch.policy.context_tables import context_of, grant_problems
from stanch.policy.layers import NO_OBJECTION, LayerAnswer, Rewrite
from stanch.tiers.answers import Answers, Given
from stanch.values.call import Category, EffectClass, JudgedCall
from stanch.values.decision import Answer, Effect
from stanch.values.fault import BadContext, BadInput
from stanch.values.reason import Code, LayerId

_EFFECTS = {effect.value: effect for effect in Effect}
_SEATS = {"no approver": Code.NO_APPROVER, "expired": Code.APPROVAL_EXPIRED, "cancelled": Code.CANCELLED}
_ODD = {"call unreadable": Code.CALL_UNREADABLE, "store unreadable": Code.STORE_UNREADABLE}
_HANGS = 30.0
_NONSENSE: dict[str, Any] = {"yes": True, "null": None, "too few": [None], "too many": [None] * 99, "text": "allow"}


@dataclass(frozen=True, slots=True)
class SaysAlways:
    """A layer of a case. `rewrite`: it asks for these arguments, `always` or until it sees them."""

    id: LayerId
    says: str = "nothing"
    mandated: bool = False
    rewrite: Mapping[str, Any] | None = None
    always: bool = False
    immediate: bool = False

    def ask(self, call: JudgedCall) -> LayerAnswer:
        """What the case says that it says."""
        if self.rewrite is not None and (self.always or call.call.arguments != self.rewrite):
            return Rewrite(self.rewrite)
        if self.says in _EFFECTS:
            code = Code.RULE
            return [Answer(_EFFECTS[self.says], code, self.id, mandated=self.mandated)] * len(call.effects)
        if self.says in _SEATS:
            return [Answer(Effect.DENY, _SEATS[self.says], self.id)] * len(call.effects)
        if self.says in _ODD:
            return [Answer(Effect.ASK, _ODD[self.says], self.id)] * len(call.effects)
        if self.says == "hangs" and call.manner.signal is not None:
            call.manner.signal.wait(_HANGS)
        if self.says == "throws":
            raise RuntimeError("a layer of a case throws")
        if self.says == "another layer's answer":
            other = next(layer for layer in LayerId if layer is not self.id)
            return [Answer(Effect.ALLOW, Code.RULE, other)] * len(call.effects)
        if self.says in _NONSENSE:
            nonsense: LayerAnswer = _NONSENSE[self.says]
            return nonsense
        return NO_OBJECTION


def layer_of(row: Mapping[str, Any]) -> SaysAlways:
    """The layer that a case describes: `layer`, and `says`, `mandated`, `rewrite`, `always`."""
    try:
        name = LayerId(row.get("layer", ""))
    except ValueError:
        raise BadInput(f"a layer of a case is one of {', '.join(LayerId)}, not '{row.get('layer', '')}'") from None
    fields = {key: value for key, value in row.items() if key != "layer"}
    if unknown := sorted(fields.keys() - {"says", "mandated", "rewrite", "always"}):
        raise BadInput(f"unknown key '{unknown[0]}' in a layer of a case")
    words = {*_EFFECTS, *_NONSENSE, *_SEATS, *_ODD, "nothing", "throws", "hangs", "another layer's answer"}
    if row.get("says", "nothing") not in words:
        raise BadInput(f"a layer of a case says one of {', '.join(sorted(words))}, not '{row['says']}'")
    return SaysAlways(name, **fields)


def bypass_of(row: Mapping[str, Any]) -> Bypass:
    """The bypass that a case describes: `everything`, `category` or `server`, and `expired`."""
    category = Category(row["category"]) if "category" in row else None
    until = 0.0 if row.get("expired") else None
    return Bypass(bool(row.get("everything")), category, row.get("server"), until)


def answers_of(rows: Sequence[Mapping[str, Any]]) -> Answers:
    """What a person has answered where a tier asks: rows of `tier`, `class`, `path`, `send` and `below`."""
    return Answers(
        Given(row["tier"], EffectClass(row["class"]), row.get("path", ""), row["send"], row.get("below", False))
        for row in rows
    )


def read_context(row: Any) -> Any:
    """The run context of an object. Raises `BadContext` that names the first wrong field."""
    wrong = shapes.violations(shapes.CONTEXT, row, shapes.ContextShape) or grant_problems(row)
    for _, message in wrong:
        raise BadContext(message)
    return context_of(row)


def standing(engine: Engine, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a case gives a session of skills that are `active` and `rows` that narrow it, and the sessions `above` it.

    Those are listed from the highest, each with `agent`, `context`, `active` and `rows`.
    """
    found: dict[str, Any] = {"skills": given.get("active", ()), "narrowing": given.get("rows", ())}
    for row in given.get("above", ()):
        found["under"] = engine.session(
            context=None if row.get("context") is None else read_context(row["context"]),
            agent=row.get("agent"),
            skills=row.get("active", ()),
            narrowing=row.get("rows", ()),
            under=found.get("under"),
        )
    return found
