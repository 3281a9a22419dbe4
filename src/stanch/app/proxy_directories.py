"""Where an agent of the model proxy works, by whom one may believe it.

Settles what a relative path in a proxied conversation may be read against. A person who gave the session a working
directory is believed. Whoever makes the request is not a person: what its header or its prompt says is taken where it
lies inside of the workspace.
WHY not elsewhere: the tier's own paths lie in the workspace, and a directory outside of it, wrong or invented, would
make a path that is closed look like one that is open. A relative path there is of unknown origin, and withheld from
tiers that close anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from stanch.app.engine import Engine
from stanch.app.foreign_tags import ForeignTagger
from stanch.tiers.tag_calls import Canonical
from stanch.values.fault import BadInput

HEADER = "x-stanch-cwd"
LONGEST = 4096


class Directories:
    """Reads paths for the conversations of one policy."""

    def __init__(self, engine: Engine) -> None:
        self.tagger = ForeignTagger(engine.policy.tools, engine.canonicaliser)
        self.workspace = engine.policy.workspace
        self._directory = engine.canonicaliser.directory

    def believed(self, written: str | None) -> str | None:
        """The canonical path of the directory that a person gave; None where that cannot be read."""
        if not written:
            return None
        stamp = self._directory(written, self.workspace)
        return stamp.path if stamp.refusal is None else None

    def canonical(self, believed: str | None) -> Canonical:
        """What a path names; None for a relative one that is to be read against a directory nobody believes in."""
        canonical, root = self.tagger.canonical, self.workspace

        def of(path: str, base: str) -> str | None:
            if not path.startswith(("/", "~")) and base != believed and not _is_below(base, root):
                return None
            return canonical(path, base)

        return of


def claimed(headers: Mapping[str, str]) -> str | None:
    """The directory that a request says its agent works in. Raises `BadInput` for one that is no absolute path."""
    written = headers.get(HEADER)
    if written is None:
        return None
    if not written.startswith("/") or len(written) > LONGEST or not written.isprintable():
        raise BadInput(f"the header {HEADER} has to be one absolute path")
    return written


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
