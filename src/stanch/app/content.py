"""Stored content at every door: who gets which access to it, and what of a result leaves.

Settles which gate stands before a model, and that a model's operation is a call of its session, judged like any other.
Does not settle what an operation does (`content`), nor which items are admitted (`delivery`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TypeVar

from stanch.app.approval_words import said
from stanch.app.asking import Asking
from stanch.app.calls import Calls
from stanch.app.content_leaving import gave_nothing, left
from stanch.app.content_secrets import ContentSecrets
from stanch.app.content_writing import Acting, Declared, Said, Unsaid
from stanch.app.item_rules import ItemRules, Readable, closed_without_path
from stanch.app.live import Live
from stanch.app.projecting import Projecting
from stanch.app.receipts import Receipts as KeepsReceipts
from stanch.app.sight import TierSight
from stanch.app.vault import Vault
from stanch.content.access import Access, Workbench, Writing
from stanch.content.access import Acting as Judging
from stanch.delivery.admit import ContentRefused, Delivery, MayRead, Receipts
from stanch.delivery.gates import RegistryGate
from stanch.delivery.operation import Asked, Operation
from stanch.explain.written import reason_json
from stanch.gate.approval import Move
from stanch.gate.fingerprint import same_arguments
from stanch.provenance.registry import Registry
from stanch.provenance.seals import Seals
from stanch.storage.blobs import Blobs
from stanch.storage.content_store import ContentStore
from stanch.storage.store import Store
from stanch.tiers.answers import Answers
from stanch.values.approval import CallState
from stanch.values.decision import Decision, Effect
from stanch.values.fault import BadFields, Conflict, Fault, NotFound
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.reason import Code
from stanch.values.records import Actor, SessionRecord

A = TypeVar("A", bound=Asked)
_PERSONAL = frozenset({PrincipalKind.USER, PrincipalKind.DELEGATED})
"""Who is a person, or acts for one; an organization, a key and a program have nothing of their own."""
_SESSIONLESS = (
    "a model's request names its session: in the header 'Stanch-Session', on the command line in STANCH_SESSION"
)


class CallRefused(Fault):
    """A model may not use an operation: the gate says no, or a person has to be asked first.

    `asks`: the call may run once somebody has approved it. `told` is the reason as JSON.
    """

    def __init__(self, told: Mapping[str, Any], *, asks: bool) -> None:
        self.told, self.asks = told, asks
        super().__init__(str(told.get("sentence", "")))


class Content:
    """What doors do with stored content. Safe to use from any thread."""

    def __init__(
        self,
        store: Store,
        blobs: Blobs,
        *,
        live: Live,
        asking: Asking,
        calls: Calls,
        sight: TierSight,
        vault: Vault,
        projecting: Projecting,
        receipts: KeepsReceipts,
    ) -> None:
        self._receipts = receipts
        self._store, self._blobs, self._live, self._asking, self._calls = store, blobs, live, asking, calls
        self._sight, self._projecting = sight, projecting
        self.secrets = ContentSecrets(vault, projecting)
        self._stores = ContentStore(store)
        self._stores.notes_as(projecting.noted)
        self.seals = Seals(lambda: vault.ring)
        self.acting: Judging | None = None
        """What judges calls and runs tools for operations; None where nothing does."""

    def access(
        self,
        principal: Principal,
        by: Actor,
        *,
        session_id: str | None = None,
        tool: str | None = None,
        attached: bool = False,
        declared: Declared | None = None,
        registry: Registry | None = None,
        taints: bool = False,
        raw: bool = False,
        workbench: Workbench | None = None,
        told: Callable[[int, int | None], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Access:
        """The access of one call. A model's needs its session, and has a registry of its own unless one is given.

        `tool` is the operation's name for rules, `attached` that a person gives the model what it has. `declared` is
        what a writer says of itself; a model says nothing of itself that would be believed. `workbench` is what a
        model's call fills, whose gate then stands there. Raises `BadFields`, and whatever the vault raises where its
        values cannot be had.
        """
        gate: RegistryGate | None = None
        may_read: MayRead | None = None
        receipts: Receipts | None = None
        writing: Writing = Unsaid()
        if principal.is_copilot:
            if session_id is None:
                raise BadFields(("session", _SESSIONLESS))
            if declared is not None:
                raise BadFields(("secrets", "a model does not say which secrets it was given"))
            gate = RegistryGate(registry or Registry(), self.secrets.projector, taints=taints, raw=raw)
            gate = gate if workbench is None else workbench.gate
            session = self._store.get_session(session_id)
            may_read = self._may_read(session, tool, attached=attached)
            receipts = self._receipts.of_session(session_id, session.model, by)
            writing = Acting(gate, self.secrets.entries())
        elif declared is not None:
            entries = self.secrets.entries()
            unknown = [name for name in declared.secrets if name not in {entry.name for entry in entries}]
            if unknown:
                raise BadFields(("secrets", "the vault holds no secret of a name that is given in 'secrets'"))
            writing = Said(declared, entries)

        def note(reason: str) -> None:
            self._stores.note_observation(reason, session_id or "", by=by)

        return Access(
            delivery=Delivery(principal, gate, may_read, note=note, receipts=receipts),
            stores=self._stores,
            blobs=self._blobs,
            seals=self.seals,
            writing=writing,
            by=by,
            root=self._live.policy.workspace,
            person=principal.id if principal.kind in _PERSONAL else None,
            session_id=session_id,
            told=told or (lambda _done, _all: None),
            cancelled=cancelled or threading.Event(),
            acting=self.acting,
            workbench=workbench if principal.is_copilot else None,
        )

    @contextmanager
    def judged(
        self,
        access: Access,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        call_id: str | None = None,
        read: Callable[[Mapping[str, Any]], Mapping[str, Any] | None] | None = None,
    ) -> Iterator[None]:
        """Lets the block run where the gate allows the operation to this model; nobody else is asked about.

        `call_id` is a call of the session that waited for a person: it is judged again, runs, and ends with the block.
        `read` is how the operation reads arguments: a call that says a default and one that leaves it out are the same.
        Raises `CallRefused`, and what asking raises.
        """
        session_id = access.session_id
        if not access.delivery.classified or session_id is None:
            yield
            return
        if call_id is None:
            answered = self._asking.stored(session_id, tool, arguments)
            if answered.decision.effect is not Effect.ALLOW:
                raise _refused(answered.decision)
            if not same_arguments(answered.decision.call.call.arguments, arguments):
                # WHY: the operation runs with what it was asked for, and that is not what was judged.
                raise CallRefused(said(Code.CALL_CHANGED, answered.decision), asks=False)
            yield
            return
        access.delivery.call = call_id
        call = self._calls.get(call_id)
        if call.session_id != session_id:
            raise NotFound("call", call_id)
        meant = None if read is None else read(call.arguments)
        if meant is not None and same_arguments(meant, arguments):
            arguments = call.arguments
        started = self._calls.start(call_id, tool=tool, arguments=arguments, by=access.by)
        if started.call.state is not CallState.RUNNING:
            raise CallRefused(started.call.reason, asks=started.call.state is CallState.AWAITING_APPROVAL)
        self.approved(access, () if started.approval is None else started.approval.asked)
        move = Move.FAIL
        try:
            yield
            move = Move.COMPLETE
        except ContentRefused as why:
            # WHY: what was asked for is done; that its result does not go to the model does not undo it.
            move = Move.COMPLETE if why.saved else Move.FAIL
            raise
        finally:
            self._ended(call_id, move, access.by)

    def approved(self, access: Access, asks: Sequence[str]) -> None:
        """Says which asks a person was shown who approved a call of this access: its items need no further yes."""
        if isinstance(access.delivery.may_read, Readable):
            items = access.delivery.may_read.items
            items.approve((*items.approved, *asks))

    def clear_up(self, *, alone: bool) -> None:
        """Removes, in a thread of its own, what processes that are gone have left half-done in tables.

        `alone`: no other process serves the store. Nobody sees any of it meanwhile.
        """
        try:
            if not self._stores.must_clear_tables(alone=alone):
                return
        except Fault:
            return  # WHY: the store is away, and the next import clears up

        def clear() -> None:
            with suppress(Fault):
                self._stores.clear_tables(alone=alone)

        threading.Thread(target=clear, name="stanch-tables", daemon=True).start()

    def draft(self) -> BinaryIO:
        """A file on the disk that keeps content, for bytes that are still coming. Closing it removes it."""
        return self._blobs.draft()

    def told(self, words: str) -> str:
        """Words of an error without a value of the vault. It raises nothing."""
        told: str = self._projecting.told(words)
        return told

    def leaving(self, access: Access, result: Any) -> Any:
        """A result as it may leave: for a model, JSON-like and without a secret; for anybody else the very same.

        A stream is projected as it passes. Raises `ContentRefused` where nothing of this call may go to the model, or
        no receipt of it can be kept.
        """
        return left(access.delivery, result) if access.delivery.classified else result

    def given(self, access: Access, operation: Operation[Access, A, Any], asked: A) -> Any:
        """The result of an operation as it may leave. What it refuses or fails with leaves a receipt, too.

        Raises whatever the operation does, and `ContentRefused` where nothing of it may go to the model.
        """
        try:
            result = operation(access, asked)
        except Fault as why:
            if access.delivery.classified:
                gave_nothing(access.delivery, why)
            raise
        return self.leaving(access, result)

    def _may_read(self, session: SessionRecord, tool: str | None, *, attached: bool) -> MayRead:
        """What the rules say of an item, and the tier of the session's model."""
        session_id = session.id
        root = self._live.policy.workspace
        items = ItemRules(lambda: self._asking.lineage(session_id), root, tool, attached=attached)
        if session.model is None:
            return Readable(items)
        tier, answers = self._sight.tiers().of(session.model), Answers(self._store.tier_answers(session_id))
        return Readable(items, closed_without_path(tier, session.model, answers))

    def _ended(self, call_id: str, move: Move, by: Actor) -> None:
        try:
            self._calls.finish(call_id, move, by=by)
        except Conflict:
            return


def _refused(decision: Decision) -> CallRefused:
    return CallRefused(reason_json(decision.reason, decision.effect), asks=decision.effect is Effect.ASK)
