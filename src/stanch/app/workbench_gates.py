"""The gates before a workbench: what passes one is remembered by the workbench before a byte of it comes in.

Settles the three of them: of files that are mounted, of what running code asks for, of one file that the model fetches.
Does not settle what a gate admits (`delivery.gates`), nor how it is remembered (`app.workbenches`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from stanch.app.workbenches import Bench
from stanch.content.workbench_disk import InTheWay
from stanch.delivery.gates import Projectors, RegistryGate, SessionGate
from stanch.delivery.source import Source
from stanch.delivery.workbench import EntryKind
from stanch.provenance.registry import Registry
from stanch.provenance.states import Cause, Provenance, Unknown
from stanch.runtime.sandbox.program import Limits
from stanch.values.fault import BadInput
from stanch.values.reason import Reason


class Remembering(Protocol):
    """What remembers an item before it comes into a workbench: a `Bench`."""

    @property
    def registry(self) -> Registry:
        """Every secret that ever came near it."""

    def takes(self, source: Source, *, tainted_entry: str | None = None) -> Reason | None:
        """Remembers an item; else why it cannot come in."""


class MountGate(RegistryGate):
    """The gate of files that are mounted, and of all that is printed: it knows the whole history of the workbench."""

    def __init__(self, bench: Remembering, projectors: Projectors) -> None:
        super().__init__(bench.registry, projectors, raw=True)
        self._bench = bench

    def admit(self, source: Source, provenance: Provenance) -> Reason | None:
        """Records the item's secrets and its place in the workbench."""
        reason = super().admit(source, provenance)
        return self._bench.takes(source) if reason is None else reason


class InsideGate(SessionGate):
    """The gate of what running code asks for."""

    def __init__(self, bench: Remembering, projectors: Projectors) -> None:
        super().__init__(bench.registry, projectors)
        self._bench = bench

    def admit(self, source: Source, provenance: Provenance) -> Reason | None:
        """Records the item's secrets and its place in the workbench."""
        reason = super().admit(source, provenance)
        return self._bench.takes(source) if reason is None else reason


class FetchGate(RegistryGate):
    """The gate of one file that the model fetches into its workbench, as the entry of that name.

    What nobody knows anything of passes, as taint: then the registry of this call is latched, and nothing of its result
    goes to the model.
    """

    def __init__(self, bench: Remembering, projectors: Projectors, entry: str) -> None:
        super().__init__(Registry(), projectors, taints=True, raw=True)
        self._bench, self._entry = bench, entry

    def admit(self, source: Source, provenance: Provenance) -> Reason | None:
        """Records the item's secrets and its place in the workbench, or that its copy is a taint."""
        if not isinstance(provenance, Unknown):
            # WHY the workbench's gate first: its history may have no room for all of the item's secrets.
            refused = MountGate(self._bench, self._projectors).admit(source, provenance)
            return super().admit(source, provenance) if refused is None else refused
        refused = super().admit(source, provenance)
        return self._bench.takes(source, tainted_entry=self._entry) if refused is None else refused


@dataclass(frozen=True, slots=True)
class Filling:
    """A workbench that one call fills, behind its gate; see `content.access.Workbench`."""

    bench: Bench
    gate: RegistryGate
    limits: Limits = field(default_factory=Limits)

    @property
    def session_id(self) -> str:
        """Whose workbench it is."""
        return self.bench.session_id

    def check(self, files: Mapping[str, int]) -> None:
        """Raises `InTheWay` where a folder stands at one of the paths, `BadInput` where the sizes do not fit in.

        What nobody can vouch for makes way, and is no reason.
        """
        if self.bench.memory.is_tainted:
            for path in files:
                self.bench.makes_way(path)
        entries = self.bench.directory.entries()
        for path in files:
            if path in entries and entries[path].kind in (EntryKind.FOLDER, EntryKind.DEEP):
                raise InTheWay("a folder stands in the workbench where the file is to lie")
        old = [entries[path].size for path in files if path in entries]
        most, limits = self.limits.directory_bytes, self.limits
        if sum(mark.size for mark in entries.values()) - sum(old) + sum(files.values()) > most:
            raise BadInput(f"the workbench has room for {most >> 20} MiB; remove something from it first")
        if len(entries) - len(old) + len(files) > limits.directory_entries:
            raise BadInput(f"the workbench has room for {limits.directory_entries:,} entries; remove some first")

    def put(self, path: str, chunks: Iterable[bytes], size: int) -> None:
        """Puts an admitted file there. Raises what `Directory.put` raises."""
        self.bench.directory.put(path, chunks, size)

    def vouched_for(self, path: str) -> None:
        """Says that somebody can vouch for the file that was just put there."""
        self.bench.vouched_for(path)


class Unvouched:
    """A writer in a tainted workbench: nobody can say what it writes."""

    def over(self, sources: Iterable[Provenance] = ()) -> Unvouching:
        """For values made of these sources, and of whatever lies in the workbench."""
        del sources
        return Unvouching()


class Unvouching:
    """Says of every value that nobody knows what it carries."""

    def __call__(self, value: object) -> Provenance:
        """Unknown, whatever the value."""
        del value
        return Unknown(Cause.SOURCE_UNKNOWN)
