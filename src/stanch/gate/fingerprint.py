"""What an approval is for, as digests that change when the call does.

Settles what goes into a fingerprint. Does not settle what a difference means (`gate.approval`), nor where the digests
of scripts come from (`app.scripts`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from stanch.gate.context import EffectiveContext
from stanch.values.approval import Fingerprint
from stanch.values.call import JudgedCall

HEX = 32


def fingerprint(
    call: JudgedCall, contexts: Sequence[EffectiveContext], scripts: Mapping[str, str], who: Sequence[str | None] = ()
) -> Fingerprint:
    """The fingerprint of a judged call.

    `contexts` are those of the session and of its ancestors, `scripts` the digests of files that the call runs, `who`
    whatever else it was judged by: the agent, the source.
    """
    targets = [
        [
            "" if effect.cls is None else effect.cls.value,
            effect.argument,
            *(("", "", "") if effect.stamp is None else (effect.stamp.requested, effect.stamp.path, effect.stamp.key)),
            effect.subject,
        ]
        for effect in call.effects
    ]
    return Fingerprint(
        _digest([call.call.tool, _plain(call.call.arguments)]),
        _digest([*who, *(context.described() for context in contexts)]),
        _digest([targets, sorted(scripts.items())]),
    )


def same_arguments(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True where both are the same JSON: `1` is not `true`, and not `1.0`."""
    return _digest(_plain(one)) == _digest(_plain(other))


def _plain(value: Any) -> Any:
    """A value as JSON has it, whatever kind of mapping or sequence it was."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:HEX]
