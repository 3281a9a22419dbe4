"""What an approval is an approval of: digests of a call, of what it is judged in, and of what it touches and runs.

Settles which facts make two calls the same, and their canonical form. Does not settle where the contents of scripts
come from (`app.script_digests`) nor how long an approval holds.
INVARIANT: pure; two calls that differ in one of these facts never have the same text under the digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from stanch.values.approval import Fingerprint
from stanch.values.call import CallEffect
from stanch.values.decision import Decision
from stanch.values.fault import BadCall

_FORM = "stanch call 1"


def fingerprint(decision: Decision, scripts: Mapping[str, str], context: Any = None) -> Fingerprint:
    """The SHA-256 digests of the call: of tool and arguments, of what it is judged in, and of targets and scripts.

    `scripts` has the digest of each script by its canonical path, `context` whatever else the approval depends on, such
    as the run contexts. The order of the keys of an object counts for nothing. The call's own id is not in it. Raises
    `BadCall` for an argument that is no JSON value.
    """
    call = decision.call
    return Fingerprint(
        _digest([_FORM, call.call.tool, call.call.arguments]),
        _digest([_FORM, context]),
        _digest([_FORM, [_effect(effect) for effect in call.effects], scripts]),
    )


def same_arguments(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True where both are the same JSON: `1` is not `true`, and not `1.0`. Raises `BadCall` as `fingerprint` does."""
    return _digest([one]) == _digest([other])


def _digest(facts: list[Any]) -> str:
    digest = hashlib.sha256()
    try:
        for piece in _pieces(facts):
            digest.update(piece)
    except RecursionError:
        raise BadCall("the arguments are nested too deeply") from None
    return digest.hexdigest()


def _effect(effect: CallEffect) -> list[Any]:
    stamp, command = effect.stamp, effect.command
    return [
        effect.cls,
        effect.argument,
        effect.subject,
        None if stamp is None else [stamp.requested, stamp.path, stamp.refusal],
        None
        if command is None
        else [command.place, command.program, list(command.words), list(map(list, command.assignments))],
        effect.found,
        effect.runs,
    ]


def _pieces(value: Any) -> Iterator[bytes]:
    """The value in pieces: a letter for its kind, its length, then what is in it, so that no two values read alike."""
    if value is None or isinstance(value, bool):
        yield {None: b"n", True: b"t", False: b"f"}[value]
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        yield b"s%d:" % len(text)
        yield text
    elif isinstance(value, (int, float)):
        text = (float.hex(value) if isinstance(value, float) else hex(value)).encode()
        yield b"%c%d:%s" % (b"d" if isinstance(value, float) else b"i", len(text), text)
    elif isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise BadCall("an object in the arguments has a key that is no string")
        yield b"o%d:" % len(value)
        for key in sorted(value):
            yield from _pieces(key)
            yield from _pieces(value[key])
    elif isinstance(value, (list, tuple)):
        yield b"l%d:" % len(value)
        for item in value:
            yield from _pieces(item)
    else:
        raise BadCall(f"the arguments hold a {type(value).__name__}, which is no JSON value")
