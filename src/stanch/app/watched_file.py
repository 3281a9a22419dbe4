"""A policy file that may change under a running server.

Settles when the file is read again, and what stands for one that cannot be read. Does not settle what it says
(`policy.building`). A file is read whole or not at all, and only once it has stopped changing.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

from stanch.app.loading import DEFAULT_TEXT, MAX_POLICY_BYTES, read_document, without_waiting
from stanch.policy.document import Document, parse
from stanch.values.fault import BadInput, Problem

_Seen = tuple[int, int, int, int, int]
_MOMENT = 0.03
_MOMENTS = 10
# WHY: a file system's clock is coarse: two changes of the same length within one tick look like one.
_YOUNG_SECONDS = 2.0


class WatchedFile:
    """One policy file, or none: then the document says nothing. `look` is for one thread at a time."""

    def __init__(self, path: Path | None, workspace: Path | None) -> None:
        """`workspace` is where relative paths start if the file names no workspace."""
        self.path = None if path is None else Path(os.path.abspath(path))
        self._workspace = workspace
        self._seen: _Seen | None = None
        self._young = False
        self.document = self._read()

    @property
    def folder(self) -> Path:
        """What a relative workspace is read against."""
        return self.path.parent if self.path is not None else Path.cwd()

    def look(self) -> bool:
        """True where the file says something else than when it was last looked at; `document` is then the new one."""
        if self.path is None or self._is_same():
            return False
        before, self.document = self.document, self._read()
        if self.document.syntax is not None and "workspace" in before.values:
            # WHY: what is stored or begun meanwhile is read against the workspace, and outlives the mistake.
            values = {**self.document.values, "workspace": before.values["workspace"]}
            self.document = replace(self.document, values=values)
        return self.document != before

    def _read(self) -> Document:
        if self.path is None:
            return self._at_home(parse(DEFAULT_TEXT, "built-in"))
        seen = self._settled()
        try:
            document = read_document(self.path)
        except BadInput as why:
            document = Document(self.path.name, "", {}, Problem(1, "", str(why)))
        # A file that changed while it was read is read again at the next look.
        self._seen = seen if self._signs() == seen else None
        self._young = seen is not None and _is_young(max(seen[:2]))
        return self._at_home(document)

    def _is_same(self) -> bool:
        """True where the file is the one that was read: by its signs, and while it is young by its content."""
        signs = self._signs()
        if signs != self._seen or not self._young:
            return signs == self._seen
        self._young = signs is not None and _is_young(max(signs[:2]))
        try:
            with open(self.path or "", "rb", opener=without_waiting) as file:
                return file.read(MAX_POLICY_BYTES + 1).decode("utf-8-sig") == self.document.text
        except (OSError, UnicodeDecodeError):
            return False

    def _at_home(self, document: Document) -> Document:
        if self._workspace is None:
            return document
        values = {"workspace": str(self._workspace), **document.values}
        return Document(document.file, document.text, values, document.syntax)

    def _settled(self) -> _Seen | None:
        """The signs of the file, once they have stayed the same for a moment."""
        pause = threading.Event()
        seen = self._signs()
        for _ in range(_MOMENTS):
            before = seen
            if before is None or before == self._seen or not _is_young(before[0]):
                break
            pause.wait(_MOMENT)
            seen = self._signs()
            if seen == before:
                break
        return seen

    def _signs(self) -> _Seen | None:
        if self.path is None:
            return None
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev)


def _is_young(nanoseconds: int) -> bool:
    return time.time() - nanoseconds / 1e9 < _YOUNG_SECONDS
