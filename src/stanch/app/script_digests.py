"""The scripts that a call runs, and digests of what is in them now.

Settles which files those are and how far one is read. Does not settle what follows from a changed script
(`gate.fingerprint`).
"""

from __future__ import annotations

import hashlib
import os
import stat

from stanch.values.call import JudgedCall
from stanch.values.decision import Decision

MOST_BYTES = 8 << 20
MISSING = "missing"
_PIECE = 1 << 16


def scripts_of(call: JudgedCall) -> tuple[str, ...]:
    """The canonical paths of the files that the call's commands run, each once."""
    paths = (effect.stamp.path for effect in call.effects if effect.runs and effect.stamp is not None)
    return tuple(dict.fromkeys(path for path in paths if path))


def digests_of(decision: Decision) -> dict[str, str]:
    """The digest of each script by its path: see `digest_of`."""
    return {path: digest_of(path) for path in scripts_of(decision.call)}


def digest_of(path: str, most: int = MOST_BYTES) -> str:
    """The SHA-256 of a file's content; `missing` where there is no such file.

    Where the content cannot be read, or is larger than is read, the answer is one that no other call gets: an approval
    of what nobody could look at holds for no second call.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return MISSING
    except (OSError, ValueError):
        return _never_again()
    try:
        digest, left = hashlib.sha256(), most
        while stat.S_ISREG(os.fstat(fd).st_mode) and left >= 0:
            piece = os.read(fd, _PIECE)
            if not piece:
                return digest.hexdigest()
            digest.update(piece)
            left -= len(piece)
    except OSError:
        pass
    finally:
        os.close(fd)
    return _never_again()


def _never_again() -> str:
    return f"unknown {os.urandom(16).hex()}"
