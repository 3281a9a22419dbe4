"""The files that a call runs, and what is in them: whoever approves `sh x.sh` approves what x.sh says.

Settles which digests go into a fingerprint. Does not settle which files a command runs (`policy.shell`).
"""

from __future__ import annotations

import hashlib
import os

from stanch.values.call import JudgedCall

MOST_BYTES = 8 << 20
MOST_SCRIPTS = 64
GONE = "there is no such file"
TOO_LONG = "longer than is looked at"


def scripts_of(call: JudgedCall) -> dict[str, str]:
    """The canonical path of each file that the call runs, with the digest of its content."""
    found: dict[str, str] = {}
    for effect in call.effects:
        if (
            getattr(effect, "runs", False)
            and effect.stamp is not None
            and effect.stamp.path
            and len(found) < MOST_SCRIPTS
        ):
            found.setdefault(effect.stamp.path, digest_of(effect.stamp.path))
    return found


def digest_of(path: str) -> str:
    """The digest of a file's content; a few words where it has none that can be had."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return GONE
    with os.fdopen(descriptor, "rb") as file:
        try:
            content = file.read(MOST_BYTES + 1)
        except OSError:
            return GONE
    return TOO_LONG if len(content) > MOST_BYTES else hashlib.sha256(content).hexdigest()
