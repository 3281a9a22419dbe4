"""Provenance as it is kept beside an item: sealed, and bound to the item's version and place.

Settles that whatever cannot be opened, or is not of this item as it now is, is unknown for a stated cause, and never
clean. Does not settle where it is kept (`storage`), nor the seal (`secrets.sealing`).
"""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Any

from stanch.provenance.states import UNRECORDED, Cause, Entry, Exact, Provenance, Scope, Unknown
from stanch.secrets.sealing import KeyRing, Place, Unopened
from stanch.secrets.telling import size_of
from stanch.secrets.text import Secret, opened

MOST_ENTRIES = 10_000
MOST_BYTES = 8 * 1024 * 1024
_FORM = 1


def sealed(provenance: Provenance, ring: KeyRing, place: Place, version: str) -> str | None:
    """The provenance of an item of this version, to be kept at this place; None for what is unrecorded.

    `version` is a digest of the item's bytes. More than 10,000 secrets, or 8 MiB of them, are kept as unknown.
    """
    if isinstance(provenance, Exact) and is_too_much(provenance):
        provenance = Unknown(Cause.OVER_LIMIT)
    body: dict[str, Any]
    match provenance:
        case Unknown(cause):
            body = {"cause": cause.value}
        case Exact(entries):
            rows = [[one.name, one.scope.user, opened(one.secret)] for one in entries]
            body = {"entries": sorted(rows, key=lambda row: (row[0], row[1] or "", row[2]))}
        case _:
            return None
    text = json.dumps({"form": _FORM, "version": version, **body}, separators=(",", ":"))
    return ring.seal(Secret(text), place)


def unsealed(
    kept: str | None, ring: KeyRing, place: Place, version: str, *, scopes: Container[Scope] | None = None
) -> Provenance:
    """The provenance of an item, out of what is kept beside it; None is kept for what is unrecorded.

    `scopes` are those whose secrets this item may carry, None for any. It never raises.
    """
    if kept is None:
        return UNRECORDED
    try:
        body = json.loads(opened(ring.open(kept, place)))
        if body["form"] != _FORM:
            return Unknown(Cause.TAMPERED)
        if body["version"] != version:
            return Unknown(Cause.VERSION_MISMATCH)
        if "cause" in body:
            return Unknown(Cause(body["cause"]))
        entries = frozenset(
            Entry(str(name), Scope(None if user is None else str(user)), Secret(text))
            for name, user, text in body["entries"]
        )
    except Unopened as why:
        return Unknown(Cause.KEY_GONE if why.key_gone else Cause.TAMPERED)
    except (ValueError, TypeError, KeyError, RecursionError):
        return Unknown(Cause.TAMPERED)
    if scopes is not None and any(entry.scope not in scopes for entry in entries):
        return Unknown(Cause.SCOPE_MISMATCH)
    return Exact(entries)


def is_too_much(exact: Exact) -> bool:
    """True for more secrets than an envelope holds."""
    entries = exact.entries
    return len(entries) > MOST_ENTRIES or sum(size_of(entry.secret) for entry in entries) > MOST_BYTES
