"""Cases about a workbench: what comes in, what a run taints, what is remembered.

Settles when such a case fails. Does not settle its keys (`app.case_workbenches`), nor what a disk is like: entries
stand in a table here, and a run does what the case says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from stanch.app.case_records import Benching, Case
from stanch.app.case_told import Mismatch
from stanch.app.case_workbenches import ADMITTED, GOES, GOES_ON, SHOWN, STAYS
from stanch.app.workbench_gates import FetchGate, InsideGate, MountGate
from stanch.app.workbench_memory import Forgotten, opened_row, sealed_row
from stanch.delivery.gates import RegistryGate
from stanch.delivery.source import OPAQUE, Kind, Source, known
from stanch.delivery.workbench import EntryKind, Mark, Memory, after_run, as_found, begun, goes, tainted_reason
from stanch.provenance.registry import Registry
from stanch.provenance.seals import Seals
from stanch.provenance.states import CLEAN, UNRECORDED, WORKSPACE, Cause, Entry, Exact, Provenance, Unknown
from stanch.secrets.projection import Projector
from stanch.secrets.sealing import Key, KeyRing
from stanch.secrets.text import Secret
from stanch.values.reason import Reason
from stanch.values.workbench import WorkbenchRecord

_RING = KeyRing([Key(bytes(range(32)))])
_ROOT = "/repo/"


def played(case: Case, act: Benching) -> Iterator[Mismatch]:
    """Everything that came out otherwise than the case says."""
    world = _World(case)
    for row in act.steps:
        yield from _told(row, "is", world.done(row))
        for key, found in (
            ("tainted", sorted(world.memory.tainted)),
            ("history", sorted({entry.name for entry in world.registry.entries})),
            ("from", sorted(place.removeprefix(_ROOT) for place in world.memory.places)),
        ):
            if key in row:
                yield from _told({**row, key: sorted(row[key])}, key, found)


class _World:
    """One workbench. It is a `workbench_gates.Remembering`."""

    def __init__(self, case: Case) -> None:
        given = case.given.get("secrets", {})
        self.secrets = {name: Entry(name, WORKSPACE, Secret(value)) for name, value in given.items()}
        self.registry, self.memory = Registry(), Memory()
        self.entries: dict[str, Mark] = {}
        self._tick = 0

    def takes(self, source: Source, *, tainted_entry: str | None = None) -> Reason | None:
        """Remembers an item."""
        memory = self.memory.filled_from(source)
        if memory is None:
            raise ValueError("a case fills a workbench from fewer places")
        self.memory = memory if tainted_entry is None else memory.tainted_by(source, tainted_entry)
        return None

    def done(self, row: Mapping[str, Any]) -> Any:
        """What comes of a step, in the words of cases."""
        if "runs" in row:
            return self._run(row)
        if "removes" in row:
            self.entries.pop(row["removes"], None)
            self.memory = as_found(self.memory, self.entries)
            return None
        if "loses" in row:
            return self._lost(row["loses"])
        if "ended" in row:
            ended = None if row["ended"] == GOES_ON else timedelta(hours=row["ended"])
            return GOES if goes(ended, timedelta(hours=row["kept"]), row.get("unread", 0)) else STAYS
        if "reads" in row:
            return MountGate(self, _projector).projector().text(str(row["reads"]))
        return self._filled(row)

    def _filled(self, row: Mapping[str, Any]) -> str:
        kind = next(key for key in ("mounts", "fetches", "asks") if key in row)
        path, state = str(row[kind]), self._state(row["state"])
        source = Source(Kind.FILE, path, known(state), OPAQUE, _ROOT + path)
        gates: Mapping[str, RegistryGate] = {
            "mounts": MountGate(self, _projector),
            "fetches": FetchGate(self, _projector, path),
            "asks": InsideGate(self, _projector),
        }
        reason = gates[kind].admit(source, state)
        if reason is not None:
            if kind == "mounts":
                self.entries.pop(path, None)
            return reason.code.value
        if kind != "asks":
            self._make(path)
            if not isinstance(state, Unknown):
                self.memory = self.memory.vouched_for(path)
        return ADMITTED

    def _run(self, row: Mapping[str, Any]) -> str:
        self.memory, before = as_found(self.memory, self.entries), dict(self.entries)
        tainted = self.memory.is_tainted
        self.memory = begun(self.memory) if tainted else self.memory
        for path in (*row.get("makes", ()), *row.get("changes", ())):
            self._make(path)
        for old, new in row.get("moves", {}).items():
            self.entries[new] = self.entries.pop(old)
        for path in row.get("takes_away", ()):
            self.entries.pop(path)
        said = tainted_reason(self.memory).code.value if tainted else SHOWN
        if not row.get("dies"):
            self.memory = after_run(self.memory, before, self.entries)[0]
        return said

    def _lost(self, what: str) -> str:
        history, memory = sealed_row(Seals(lambda: _RING), "one", self.memory, self.registry.entries)
        if what == "bytes of its memory":
            memory = memory[:-4] + "AAAA"
        record = WorkbenchRecord("one", history, memory, 1, datetime.now(UTC))
        try:
            found, entries = opened_row(Seals(lambda: None if what == "key" else _RING), record)
        except Forgotten as why:
            return why.reason.code.value
        same = found == self.memory and set(entries) == set(self.registry.entries)
        return ADMITTED if same else "another memory"

    def _make(self, path: str) -> None:
        self._tick += 1
        self.entries[path] = Mark(EntryKind.FILE, 1, self._tick, 1, self._tick)

    def _state(self, said: Any) -> Provenance:
        if said == "unrecorded":
            return UNRECORDED
        if isinstance(said, Mapping):
            return Unknown(Cause(said["unknown"]))
        return CLEAN if said == "clean" else Exact(frozenset(self.secrets[name] for name in said))


def _projector(entries: Sequence[Entry]) -> Projector:
    made = Projector({})
    for entry in entries:
        made = made.adding(entry.name, entry.secret)
    return made


def _told(row: Mapping[str, Any], key: str, got: Any) -> Iterator[Mismatch]:
    wanted = row.get("becomes" if "reads" in row and key == "is" else key)
    if wanted != got:
        yield Mismatch(f"{key} (line {getattr(row, 'line', 0)}): {wanted}", str(got))
