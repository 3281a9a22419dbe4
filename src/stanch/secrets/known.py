"""The forms of secrets, kept for as long as the secrets themselves.

Settles which forms belong to whom: one that several secrets have belongs to all of them. Of a text it only ever tells
these forms, to the engines that look for them; nothing of them is written or logged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from weakref import WeakKeyDictionary

from stanch.secrets.anchors import Names
from stanch.secrets.encodings import FLOOR, forms
from stanch.secrets.text import Secret, opened

_made: WeakKeyDictionary[Secret, Mapping[bytes, bool]] = WeakKeyDictionary()


def forms_of(secret: Secret) -> Mapping[bytes, bool]:
    """Every form of the secret, True for those that programs break into lines; empty for one that is too short."""
    found = _made.get(secret)
    if found is None:
        found = _made[secret] = forms(opened(secret))
    return found


def is_short(secret: Secret) -> bool:
    """True for a value of too few characters to be looked for in texts."""
    return len(opened(secret)) < FLOOR


def joined(entries: Iterable[tuple[str, Secret]]) -> dict[bytes, tuple[Names, bool]]:
    """The forms of all entries, each with the names of those that have it, in order."""
    found: dict[bytes, tuple[Names, bool]] = {}
    for name, secret in sorted(entries, key=lambda entry: entry[0]):
        for form, breaks in forms_of(secret).items():
            names, already = found.get(form, ((), False))
            if not names or names[-1] != name:
                names = (*names, name)
            found[form] = names, breaks or already
    return found
