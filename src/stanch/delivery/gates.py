"""The gates that a surface installs: what becomes of an item's secrets when the item passes.

Settles which views of an item with secrets may pass, and that its secrets are then known to whatever takes them out.
Does not settle what is asked of a gate, nor for whom (`delivery.admit`).
INVARIANT: an item that is refused leaves the gate as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from stanch.delivery.source import Derived, Excerpt, Kind, Opaque, Source
from stanch.provenance.registry import Refused, Registry
from stanch.provenance.states import CLEAN, Entry, Exact, Provenance, Unknown
from stanch.secrets.budget import Withheld
from stanch.secrets.projection import Projector
from stanch.secrets.telling import is_short
from stanch.values.reason import Code, LayerId, Reason

Projectors = Callable[[Sequence[Entry]], Projector]
"""Makes a projector that knows these secrets, and whatever else has to be looked for. It may raise `Withheld`."""
_CODES = {
    Refused.UNKNOWN: Code.CONTENT_UNKNOWN,
    Refused.FULL: Code.REGISTRY_FULL,
    Refused.LATCHED: Code.REGISTRY_LATCHED,
    Refused.TOO_SHORT: Code.SECRET_TOO_SHORT,
}


class Gate(Protocol):
    """What an item has to pass on its way to a model."""

    def admit(self, source: Source, provenance: Provenance) -> Reason | None:
        """None where the item passes, its secrets being known from now on; else why it does not."""

    def projector(self) -> Projector:
        """What takes the secrets of all items that have passed out of a text. It may raise `Withheld`."""


class RegistryGate:
    """The gate of what goes out as text: chat tools, the agent's command line, mounts.

    `taints`: an item of which nobody can say what it carries passes once, and the registry is latched for it.
    `raw`: bytes that nothing can be taken out of may pass with their secrets, since they stay in a place whose every
    output is projected with this registry. `imported` is what the last item that was asked about brought along, as far
    as it counts in the shape in which it leaves; None where that could not be told.
    """

    def __init__(self, registry: Registry, projectors: Projectors, *, taints: bool = False, raw: bool = False) -> None:
        self.registry = registry
        self._projectors, self._taints, self._raw = projectors, taints, raw
        self.imported: Provenance | None = None

    def admit(self, source: Source, provenance: Provenance) -> Reason | None:
        """Imports the item's secrets into the registry, all of them or none."""
        self.imported = None
        try:
            imported = self._imported(source, provenance)
        except Withheld as why:
            return refusal(source, Code.CONTENT_UNSCANNED, why.cause.value)
        if isinstance(imported, Reason):
            return imported
        self.imported = imported
        refused = self.registry.admit(imported, cell=source.whole, taints=self._taints and source.kind is not Kind.LINK)
        return None if refused is None else _refused(source, refused, provenance)

    def projector(self) -> Projector:
        """One that knows the registry as it now is."""
        return self._projectors(self.registry.entries)

    def _imported(self, source: Source, provenance: Provenance) -> Provenance | Reason:
        """What of the item's secrets is imported, or why the item cannot leave in its shape."""
        if not isinstance(provenance, Exact) or not provenance.entries:
            return provenance
        match source.view:
            case Opaque() if not self._raw or source.kind is Kind.LINK:
                return refusal(source, Code.CONTENT_OPAQUE, _names(provenance))
            case Excerpt():
                return refusal(source, Code.CONTENT_CUT, _names(provenance))
            case Derived(value):
                # WHY one by one: several secrets may have one name, and it is the text that occurs or does not.
                found = {entry for entry in provenance.entries if _occurs(entry, value)}
                return Exact(frozenset(found)) if found else CLEAN
            case _:
                return provenance


class SessionGate(RegistryGate):
    """The gate of what enters a workbench: raw bytes pass, and the workbench's history knows their secrets.

    What the workbench prints is projected with its history. A cut is made with the evidence of the operation alone.
    """

    def __init__(self, history: Registry, projectors: Projectors) -> None:
        super().__init__(history, projectors, raw=True)
        self._evidence: dict[Entry, None] = {}

    def admit(self, source: Source, provenance: Provenance) -> Reason | None:
        """Records the item's secrets in the history."""
        refused = super().admit(source, provenance)
        if refused is None and isinstance(provenance, Exact):
            self._evidence.update(dict.fromkeys(provenance.entries))
        return refused

    def projector(self) -> Projector:
        """One that knows what this operation was given. WHY made only here: an ordinary read of bytes needs none."""
        return self._projectors(tuple(self._evidence))


def refusal(source: Source, code: Code, detail: str = "") -> Reason:
    """Why an item is withheld."""
    return Reason(code, LayerId.DELIVERY, subject=f"{source.kind.value} {source.id}", detail=detail)


def _refused(source: Source, refused: Refused, provenance: Provenance) -> Reason:
    cause = provenance.cause.value if isinstance(provenance, Unknown) else ""
    return refusal(source, _CODES[refused], cause)


def _names(exact: Exact) -> str:
    return ", ".join(sorted({entry.name for entry in exact.entries})[:20])


def _occurs(entry: Entry, value: object) -> bool:
    # A secret that is too short to be found cannot be said to be absent.
    return is_short(entry.secret) or bool(Projector({entry.name: entry.secret}).found_in(value))
