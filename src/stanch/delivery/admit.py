"""Whether each item of stored content may go to whoever asks: the one primitive that every operation uses.

Settles who is classified, the order of the questions, and that a refusal of what was written does not undo it. Does not
settle what a gate does with an item (`delivery.gates`), nor what a store knows of it (`content`).
INVARIANT: only a copilot principal is classified. For anybody else nothing is read of what is known about an item.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, Protocol

from stanch.delivery.gates import Gate, RegistryGate, refusal
from stanch.delivery.source import Source, State, in_words
from stanch.provenance.states import Provenance, Unrecorded
from stanch.secrets.budget import Withheld
from stanch.values.fault import Fault
from stanch.values.identity import Principal
from stanch.values.reason import Code, LayerId, Reason

MayRead = Callable[[str | None], Reason | None]
"""Why the asking model may not read an item at this path, None for one without a path; None where it may."""
Note = Callable[[str], None]
"""Keeps, in the audit log, why something was read that nobody classified. It raises where it cannot."""


class Receipts(Protocol):
    """Keeps what each delivery gave, where nobody can take it out again unseen."""

    def left(self, delivery: Delivery, ended: Ended, replaced: Collection[str], code: str = "", since: int = 0) -> None:
        """Keeps it; `replaced` are the names of secrets for which a label stands in what is given.

        Raises `ContentRefused` where it cannot, and then nothing may be given. `code` is of a refusal. `since` is how
        many of the items that were settled have been kept before.
        """


class Ended(StrEnum):
    """How a delivery ended."""

    GIVEN = "given"
    REFUSED = "refused"  # nothing of its result was given
    FAILED = "failed"  # it was answered with an error


class ContentRefused(Fault):
    """Content may not go to this model. `reason` says why; `saved`: what was asked for was done all the same."""

    def __init__(self, reason: Reason, *, saved: bool = False) -> None:
        self.reason, self.saved = reason, saved
        super().__init__(reason.code.value)


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer for one item: `refusal` is None where it is admitted.

    `state` is what is known of it and `secrets` the names of those in it, as they were read for this answer; None and
    nothing where nobody read that: for whoever is not classified, and for what a rule or a tier closes.
    """

    source: Source
    refusal: Reason | None = None
    state: State | None = None
    secrets: tuple[str, ...] = ()

    @property
    def admitted(self) -> bool:
        """True where the item may go on."""
        return self.refusal is None

    def __bool__(self) -> NoReturn:
        raise TypeError("an admission is neither true nor false; ask for .admitted")


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a text is wanted: characters from `start` up to `end`, of the text before anything is replaced."""

    start: int = 0
    end: int | None = None


class Delivery:
    """What one call of an operation gives, and to whom. Not for two threads at a time.

    `gate` is the surface's, None where it has installed none: then a copilot principal is given nothing. `settled` are
    the admissions so far, in order. `unrecorded` are items that passed although nobody recorded what they carry.
    `passed` takes the items that are given to somebody who is not classified, for whoever writes the result down again;
    None where nobody does. `committed`: what was asked for is saved, whatever becomes of its result. `operation` is the
    name of what runs, `call` the id of the call that it is, where they are known. `receipts` keeps what was given; None
    for what reaches no model: then nothing is kept.
    """

    def __init__(
        self,
        principal: Principal,
        gate: Gate | None = None,
        may_read: MayRead | None = None,
        *,
        note: Note | None = None,
        receipts: Receipts | None = None,
    ) -> None:
        self.principal, self.gate, self.may_read, self.note = principal, gate, may_read, note
        self.receipts = receipts
        self.operation = self.call = ""
        self._read: list[Provenance] = []
        self.accounted = False
        self.deferred: ContentRefused | None = None
        self.committed = False
        self.settled: list[Admission] = []
        self.unrecorded: list[Source] = []
        self.observed: list[str] = []
        self.passed: list[Source] | None = None

    @property
    def classified(self) -> bool:
        """True where each item has to be admitted."""
        return self.principal.is_copilot

    def _admit(self, source: Source) -> Admission:
        self._read.clear()
        reason = self._refusal(source)
        admission = Admission(source, reason, *(in_words(self._read[0]) if self._read else ()))
        self._read.clear()
        self.settled.append(admission)
        return admission

    def _refusal(self, source: Source) -> Reason | None:
        if self.gate is None:
            return refusal(source, Code.CONTENT_UNACCOUNTED, "no gate stands before this model")
        if self.may_read is not None and (closed := self.may_read(source.path)) is not None:
            return closed
        provenance = source.provenance()
        self._read.append(provenance)
        reason = self.gate.admit(source, provenance)
        if isinstance(self.gate, RegistryGate) and self.gate.imported is not None:
            # WHY: of what was computed from an item, only secrets that are in it count.
            self._read[0] = self.gate.imported
        if reason is None and isinstance(provenance, Unrecorded):
            self.unrecorded.append(source)
        return reason


def admit_content(delivery: Delivery, sources: Sequence[Source]) -> tuple[Admission, ...]:
    """An admission for each source, in order. No source at all says that this call gives no stored content."""
    delivery.accounted = True
    if not delivery.classified:
        if delivery.passed is not None:
            delivery.passed.extend(sources)
        return tuple(map(Admission, sources))
    return tuple(map(delivery._admit, sources))


def may_be_named(delivery: Delivery, path: str) -> bool:
    """True where it may be told that an item lies at this canonical path. Nothing is read of what is known of it."""
    return not delivery.classified or delivery.may_read is None or delivery.may_read(path) is None


def require_admitted_content(delivery: Delivery, source: Source) -> Admission:
    """The admission of a single item. Raises `ContentRefused`."""
    (admission,) = admit_content(delivery, (source,))
    if admission.refusal is not None:
        raise ContentRefused(admission.refusal)
    return admission


def admit_written_content(delivery: Delivery, sources: Sequence[Source], *, saved: bool = True) -> bool:
    """True where everything may be returned of a write that is committed. It raises nothing.

    A refusal, or a gate that fails, does not undo the write: the operation goes on with its effects, and is answered
    with the refusal when it is done. `saved` is false for a result that is settled without having saved anything.
    """
    delivery.committed = delivery.committed or saved
    try:
        refused = next((one.refusal for one in admit_content(delivery, sources) if one.refusal is not None), None)
    except Exception as why:  # whatever a gate fails with, the write stands
        refused = Reason(Code.LAYER_FAILED, LayerId.DELIVERY, detail=type(why).__name__)
    if refused is not None:
        delivery.deferred = delivery.deferred or ContentRefused(refused, saved=saved)
    return refused is None


def redact_before_cutting(delivery: Delivery, text: str, window: Window) -> str:
    """A part of a text, selected after all of it was projected. Raises `ContentRefused` where it cannot be.

    Every item that the text is made of has been admitted.
    """
    end = len(text) if window.end is None else window.end
    if not delivery.classified:
        return text[window.start : end]
    if delivery.gate is None:
        raise ContentRefused(Reason(Code.CONTENT_UNACCOUNTED, LayerId.DELIVERY))
    try:
        return delivery.gate.projector().window(text, window.start, end)
    except Withheld as why:
        raise ContentRefused(Reason(Code.CONTENT_UNSCANNED, LayerId.DELIVERY, detail=why.cause.value)) from None


def hidden_in(delivery: Delivery, text: str) -> tuple[tuple[int, int], ...]:
    """Where in a text stands what is replaced before the caller sees it: from which character up to which, in order.

    Raises `ContentRefused` as `redact_before_cutting` does.
    """
    if not delivery.classified:
        return ()
    if delivery.gate is None:
        raise ContentRefused(Reason(Code.CONTENT_UNACCOUNTED, LayerId.DELIVERY))
    try:
        return delivery.gate.projector().spans(text)
    except Withheld as why:
        raise ContentRefused(Reason(Code.CONTENT_UNSCANNED, LayerId.DELIVERY, detail=why.cause.value)) from None


def observe_content_outside_model(delivery: Delivery, reason: str) -> None:
    """Says that what is read now never reaches the model, and why: the preview of a person's own edit, for one.

    Nothing is classified. For a model the reason is audited before anything is read, and where it cannot be, this
    raises `ContentRefused`, or what the audit log raises.
    """
    if not reason.strip():
        raise ValueError("whoever reads content outside of the model says why")
    if delivery.classified:
        if delivery.note is None:
            raise ContentRefused(Reason(Code.CONTENT_UNACCOUNTED, LayerId.DELIVERY))
        delivery.note(reason)
    delivery.accounted = True
    delivery.observed.append(reason)
