"""The last copy of an organization's rules on disk, so that a server that starts again has them at once.

Settles how a copy is kept, and that one which is not whole, not of this source or not its owner's alone is none. Does
not settle how long it may be used (`policy.organization`).
INVARIANT: the address is not in the file, only its digest: an address may hold a key.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
from pathlib import Path
from typing import Any

from stanch.app.settings import OTHERS, write_private
from stanch.policy.organization import Copy, Moment
from stanch.policy.organization_rules import MOST_BYTES, Unreadable, checked
from stanch.values.fault import BadInput

NAME = "organization-rules.json"
MOST_FILE_BYTES = 3 * MOST_BYTES
_FORM = 1
_LOG = logging.getLogger(__name__)


def digest_of(rows: Any) -> str:
    """The digest of a set of rules."""
    return hashlib.sha256(_canonical(rows)).hexdigest()


class CopyFile:
    """The file of one source's copy."""

    def __init__(self, file: Path, source: str) -> None:
        self.file, self._source = file, hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()

    def read(self, now: Moment) -> Copy | None:
        """The copy, as old as it is; None where there is none that can be relied on, or it is from the future."""
        try:
            value = json.loads(self._raw())
            body = {key: value[key] for key in ("form", "source", "at", "etag", "rows")}
            sealed = hashlib.sha256(_canonical(body)).hexdigest()
            if value["digest"] != sealed or body["form"] != _FORM or body["source"] != self._source:
                return None
            at, etag, rows = float(body["at"]), str(body["etag"]), checked(body["rows"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError, Unreadable):
            return None
        age = now.wall - at
        return None if age < 0 else Copy(rows, digest_of(rows), Moment(at, now.steady - age), etag)

    def write(self, copy: Copy) -> None:
        """Keeps the copy: whole, or not at all. A disk that refuses is noted and harms nothing else."""
        body = {
            "form": _FORM,
            "source": self._source,
            "at": copy.at.wall,
            "etag": copy.etag,
            "rows": [dict(row) for row in copy.rows],
        }
        try:
            text = json.dumps({**body, "digest": hashlib.sha256(_canonical(body)).hexdigest()}, ensure_ascii=True)
            write_private(self.file, text)
        except (BadInput, OSError) as why:
            _LOG.warning("the copy of the organization's rules is not kept: %s", type(why).__name__)

    def _raw(self) -> bytes:
        with open(self.file, "rb", opener=_no_link) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_mode & OTHERS or found.st_uid != os.geteuid():
                raise ValueError
            raw = file.read(MOST_FILE_BYTES + 1)
        if len(raw) > MOST_FILE_BYTES:
            raise ValueError
        return raw


def _canonical(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode()


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
