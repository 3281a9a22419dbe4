"""By which policy a recorded session is judged, and where its paths start.

Settles the choice: the policy named, else the nearest one (`surfaces.finding`), else the built-in rules over the
directory that the session started in. Does not settle what a policy means.
"""

from __future__ import annotations

import json
from pathlib import Path

from stanch.app.engine import Engine
from stanch.app.loading import DEFAULT_TEXT, engine_for, open_engine
from stanch.app.organization_fetching import FIRST_SECONDS
from stanch.policy.document import Policy, parse
from stanch.surfaces.finding import current_directory, nearest_policy
from stanch.values.fault import BadInput

BUILT_IN = "built-in rules"


class Policies:
    """The engines that sessions are replayed through: a policy file's, or the built-in rules' for each start."""

    def __init__(self, file: Path | None = None, name: str = "") -> None:
        """`name` is what to call the file, where that is not its path. Raises `BadInput` where it cannot be read."""
        chosen = nearest_policy() if file is None else file
        self.file = chosen
        self.name = name or (BUILT_IN if chosen is None else str(chosen))
        self._file_engine = open_engine(chosen, patience=FIRST_SECONDS) if chosen is not None else None
        self._built_in: dict[str, Engine] = {}

    @classmethod
    def of(cls, engine: Engine, file: Path | None) -> Policies:
        """Those of one engine alone, wherever a session started."""
        made = cls.__new__(cls)
        made.file, made.name = file, BUILT_IN if file is None else str(file)
        made._file_engine, made._built_in = engine, {}
        return made

    def engine(self, started: str | None) -> Engine:
        """The engine for a session that started in this directory; None where nobody knows."""
        if self._file_engine is not None:
            return self._file_engine
        folder = started or str(current_directory())
        if folder not in self._built_in:
            self._built_in[folder] = _built_in(folder)
        return self._built_in[folder]

    @property
    def used(self) -> list[Policy]:
        """Every policy that an engine was made of so far."""
        engines = list(self._built_in.values()) if self._file_engine is None else [self._file_engine]
        return [engine.policy for engine in engines]


def _built_in(folder: str) -> Engine:
    try:
        return engine_for(parse(DEFAULT_TEXT, BUILT_IN), Path(folder), None)
    except BadInput:
        # WHY: a home or `/` is no workspace unless somebody names it; a session that ran there did.
        try:
            return engine_for(parse(f"{DEFAULT_TEXT}workspace = {json.dumps(folder)}\n", BUILT_IN), Path("/"), None)
        except (BadInput, ValueError):
            return engine_for(parse(DEFAULT_TEXT, BUILT_IN), current_directory(), None)
