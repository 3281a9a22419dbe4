"""Cases about stored content on its way to a model: what is admitted, what is known of what is written and kept.

Settles when such a case fails. Does not settle its keys (`app.case_admissions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stanch.app import case_receipts
from stanch.app.case_admissions import ADMITTED, GIVEN, UNDEFINED
from stanch.app.case_documents import differences, document_of
from stanch.app.case_records import Admitting, Case
from stanch.app.case_told import Mismatch
from stanch.app.content_writing import Acting, Declared, Said, Unsaid
from stanch.content.access import Writing
from stanch.delivery.admit import (
    Admission,
    ContentRefused,
    Delivery,
    MayRead,
    Window,
    admit_content,
    admit_written_content,
    redact_before_cutting,
)
from stanch.delivery.gates import RegistryGate, SessionGate
from stanch.delivery.operation import Asked, ContentDelivery, Undeclared, made_of
from stanch.delivery.source import COMPLETE, EXCERPT, OPAQUE, Derived, Kind, Source, View
from stanch.provenance.envelope import MOST_BYTES, MOST_ENTRIES
from stanch.provenance.registry import Registry
from stanch.provenance.seals import Seals
from stanch.provenance.states import CLEAN, UNRECORDED, WORKSPACE, Cause, Entry, Exact, Provenance, Scope, Unknown
from stanch.secrets.budget import Budget
from stanch.secrets.projection import Projector
from stanch.secrets.sealing import Key, KeyRing, Place
from stanch.secrets.text import Secret
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind

_VIEWS: Mapping[str, View] = {"complete": COMPLETE, "opaque": OPAQUE, "excerpt": EXCERPT}
_RING = KeyRing([Key(bytes(range(32)))])
Rules = Callable[[], MayRead]
"""Says what the rules and tiers of the case say of items, where there is a case with paths."""


def played(case: Case, act: Admitting, rules: Rules) -> Iterator[Mismatch]:
    """Everything that came out otherwise than the case says."""
    world = _World(case, act.table)
    for row in act.table.get("documents", ()):
        for what, wanted, got in differences(row, world.document(row)):
            yield from _told(row, f"document {what}", wanted, got)
    yield from world.admitted(rules)
    for row in act.table.get("written", ()):
        yield from _told(row, "written", row["is"], world.said(world.writing(row).over(world.all(row))(row["value"])))
    for row in act.table.get("kept", ()):
        yield from _told(row, "kept", row["is"], world.said(world.kept(row)))
    for row in act.table.get("operations", ()):
        yield from _told(row, "operation", row["is"], world.operation(row))


class _World:
    """The secrets of a case, the states that it names, and who asks."""

    def __init__(self, case: Case, table: Mapping[str, Any]) -> None:
        self.table = table
        users: Mapping[str, str] = table.get("users", {})
        self.entries = {
            name: Entry(name, Scope(users[name]) if name in users else WORKSPACE, Secret(value))
            for name, value in case.given.get("secrets", {}).items()
        }
        self.reads = 0

    @property
    def principal(self) -> Principal:
        """Who asks; unless the case says otherwise, the chat's model."""
        kind = self.table.get("to", "copilot")
        if kind == "copilot":
            return Principal(PrincipalKind.DELEGATED, "ada", COPILOT_SERVICE)
        return Principal(PrincipalKind(kind), "ada", "coder" if "delegated" in kind else None)

    def state(self, said: Any) -> Provenance:
        """The state that a case writes so."""
        if said == "unrecorded":
            return UNRECORDED
        if isinstance(said, Mapping):
            return Unknown(Cause(said["unknown"]))
        return CLEAN if said == "clean" else Exact(frozenset(self.entries[name] for name in said))

    def said(self, state: Provenance) -> Any:
        """How a case writes the state."""
        match state:
            case Exact(entries):
                return sorted(entry.name for entry in entries) or "clean"
            case Unknown(cause):
                return {"unknown": cause.value}
            case _:
                return "unrecorded"

    def all(self, row: Mapping[str, Any]) -> list[Provenance]:
        """The states of what a value is made of."""
        return [self.state(one) for one in row.get("of", ())]

    def registry(self, latched: str | None = None) -> Registry:
        """A new registry, as the case has it."""
        table = self.table
        made = Registry(
            most_entries=table.get("most_entries", MOST_ENTRIES), most_bytes=table.get("most_bytes", MOST_BYTES)
        )
        for name in table.get("active", ()):
            made.activate(self.entries[name])
        if latched is not None:
            made.latch(Cause(latched))
        return made

    def writing(self, row: Mapping[str, Any]) -> Writing:
        """What is known of values by whoever writes them."""
        match row.get("by", "nobody"):
            case "workflow":
                declared = Declared(tuple(row.get("secrets", ())), row.get("complete", True))
                return Said(declared, self.entries.values())
            case "model":
                gate = RegistryGate(self.registry(row.get("latched")), _projector)
                return Acting(gate, self.entries.values())
            case _:
                return Unsaid()

    def kept(self, row: Mapping[str, Any]) -> Provenance:
        """What is known of an item by what was kept beside it, whatever became of it since."""
        then, place = row.get("then", "nothing"), Place("items", "1", "provenance")
        ring = None if then == "no key when written" else _RING
        kept = Seals(lambda: ring).kept(self.state(row["state"]), place, "before")
        if then == "tampered" and kept is not None:
            kept = kept[:-1] + ("A" if kept[-1] != "A" else "B")
        reader = Seals(lambda: None if then == "no key" else _RING)
        elsewhere = Place("items", "2", "provenance") if then == "other place" else place
        return reader.known(kept, elsewhere, "after" if then == "other bytes" else "before", owner=row.get("owner"))

    def operation(self, row: Mapping[str, Any]) -> str:
        """What comes of an operation that is defined so, and used."""
        declares = None if row["declares"] == "nothing" else ContentDelivery(row["declares"])
        tool = "files_read" if row.get("tool", True) else None

        def runs(access: _Working, _: Asked) -> str:
            """Give something."""
            if row.get("accounts", True):
                admit_content(access.delivery, ())
            return "something"

        try:
            made = made_of("case", Asked, runs, tool=tool, content_delivery=declares)
        except Undeclared:
            return UNDEFINED
        try:
            made(_Working(Delivery(self.principal, RegistryGate(self.registry(), _projector))), Asked())
        except ContentRefused as why:
            return why.reason.code.value
        return GIVEN

    def document(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """What comes of a document that is made of the files of the row."""
        delivery = Delivery(self.principal, RegistryGate(self.registry(), _projector))
        seals = Seals(lambda: _RING)
        found = document_of(row, delivery, seals, self.state)
        self.reads += seals.reads
        return found

    def source(self, row: Mapping[str, Any]) -> Source:
        """An item, with whatever the case says of it."""

        def known() -> Provenance:
            self.reads += 1
            return self.state(row["state"])

        view = Derived(row["derived"]) if "derived" in row else _VIEWS[row.get("view", "complete")]
        return Source(Kind.FILE, row["id"], known, view, row.get("path"), bool(row.get("whole")))

    def admitted(self, rules: Rules) -> Iterator[Mismatch]:
        """What came of the items of the case, and of the registry."""
        table, rows = self.table, self.table.get("sources", ())
        registry = self.registry(table.get("latched"))
        gate: RegistryGate | None = None
        if table.get("gate", "registry") == "registry":
            gate = RegistryGate(registry, _projector, taints=table.get("taints", False), raw=table.get("raw", False))
        elif table["gate"] == "session":
            gate = SessionGate(registry, _projector)
        may_read = rules() if any("path" in row for row in rows) else None
        delivery = Delivery(self.principal, gate, may_read)
        sources = [self.source(row) for row in rows]
        if "saves" in table:
            yield from self._saved(delivery, sources, rows)
        else:
            for row, one in zip(rows, admit_content(delivery, sources), strict=True):
                yield from _told(row, f"{row['id']}", row["is"], _verdict(one))
        if "registry" in table:
            names = sorted({entry.name for entry in registry.entries})
            yield from _told(table, "registry", sorted(table["registry"]), names)
        if "after" in table or "sources" in table:
            latched = None if registry.latched is None else registry.latched.value
            yield from _told(table, "latched", table.get("after", table.get("latched")), latched)
        if "reads" in table:
            yield from _told(table, "reads", table["reads"], self.reads)
        for row in table.get("cuts", ()):
            yield from _told(row, "cut", row.get("withheld", row.get("becomes")), _cut(delivery, registry, row))
        yield from case_receipts.played(table, delivery)

    def _saved(
        self, delivery: Delivery, sources: Sequence[Source], rows: Sequence[Mapping[str, Any]]
    ) -> Iterator[Mismatch]:
        """What becomes of a write that is committed: it stands, and is answered at the end."""
        admit_written_content(delivery, sources, saved=self.table["saves"])
        for row, one in zip(rows, delivery.settled, strict=True):
            yield from _told(row, f"{row['id']}", row["is"], _verdict(one))
        refused = any(row["is"] != ADMITTED for row in rows)
        if (delivery.deferred is not None) is not refused:
            yield Mismatch(f"deferred: {refused}", f"{delivery.deferred is not None}")
        elif delivery.deferred is not None and delivery.deferred.saved is not self.table["saves"]:
            yield Mismatch(f"saved: {self.table['saves']}", f"{delivery.deferred.saved}")


@dataclass(frozen=True, slots=True)
class _Working:
    """What an operation of a case is given."""

    delivery: Delivery


def _projector(entries: Sequence[Entry], budget: Budget | None = None) -> Projector:
    made = Projector({}, budget=budget)
    for entry in entries:
        made = made.adding(entry.name, entry.secret)
    return made


def _cut(delivery: Delivery, registry: Registry, row: Mapping[str, Any]) -> str:
    if "budget" in row:
        budget = Budget(**row["budget"])
        delivery.gate = RegistryGate(registry, lambda entries: _projector(entries, budget))
    try:
        return redact_before_cutting(delivery, row["text"], Window(*row.get("window", ())))
    except ContentRefused as why:
        return why.reason.code.value


def _verdict(admission: Admission) -> str:
    return ADMITTED if admission.refusal is None else admission.refusal.code.value


def _told(row: Any, what: str, wanted: Any, got: Any) -> Iterator[Mismatch]:
    if wanted != got:
        line = getattr(row, "line", 0)
        yield Mismatch(f"{what} (line {line}): {wanted}", str(got))
