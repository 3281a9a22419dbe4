"""Calls that are judged and run outside of a conversation: a step of a run, a tool that somebody runs.

Settles in which session a caller acts, that a call is started before anything of it is done, and what is known of what
comes of it. Does not settle what the gate answers (`app.calls`), nor what becomes of a run (`content.run_steps`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from stanch.app.agent_gate import AgentGate
from stanch.app.calls import Calls, Submitted
from stanch.app.content import Content
from stanch.app.content_writing import Acting as ActingWriter
from stanch.app.content_writing import MadeOf
from stanch.app.permissions import Right, rights_of
from stanch.app.sessions import hands_of
from stanch.app.tools import Ran, Tools, check_variables
from stanch.app.vault import NoSecret, Vault
from stanch.content import run_files as _files  # noqa: F401 - this, and those below, define operations
from stanch.content import runs as _runs  # noqa: F401
from stanch.content import runs_going as _going  # noqa: F401
from stanch.content import runs_record as _record  # noqa: F401
from stanch.content import tools as _execute  # noqa: F401
from stanch.content.access import Access, Knowing
from stanch.content.acting import Does, Judged, Performed, Standing
from stanch.delivery.admit import ContentRefused
from stanch.delivery.gates import RegistryGate
from stanch.delivery.operation import OPERATIONS, Operation
from stanch.delivery.source import Source
from stanch.explain.sentences import sentence
from stanch.gate.approval import Move
from stanch.gate.fingerprint import same_arguments
from stanch.provenance.registry import Registry
from stanch.provenance.states import WORKSPACE, Cause, Entry, Provenance, Scope, Unknown
from stanch.secrets.telling import is_short
from stanch.secrets.text import Secret
from stanch.storage.store import Store
from stanch.values.approval import CallRecord, CallState
from stanch.values.fault import BadFields, Conflict, Fault, NotFound, StoreUnreadable
from stanch.values.message import Origin, SourceTag
from stanch.values.reason import Code
from stanch.values.vault import SecretScope

BEGINNING = frozenset({"runs_execute", "runs_resume", "tools_execute"})
"""What a step of a run never does: it would begin others, and these others, without end."""


class Performing:
    """Judges and runs what `content.access.Acting` is asked for. Safe to use from any thread."""

    def __init__(
        self, store: Store, content: Content, *, calls: Calls, gate: AgentGate, tools: Tools, vault: Vault, node: str
    ) -> None:
        self._store, self._content, self._calls, self._gate = store, content, calls, gate
        self._tools, self._vault, self.node = tools, vault, node

    def session_for(self, access: Access, session_id: str | None) -> str | None:
        """The session that this caller acts in. Raises `NotFound`, `BadFields` and `BrokenRow`."""
        if access.delivery.classified:
            if session_id not in (None, access.session_id):
                raise BadFields(("session", "a model acts in its own session"))
            return access.session_id
        if session_id is None:
            return None
        principal = access.delivery.principal
        session = self._store.get_session(session_id)
        if Right.READ not in rights_of(principal) and session.principal != hands_of(principal):
            raise NotFound("session", session_id)
        return session_id

    def does(self, tool: str) -> Does:
        """Whether the tool is done here."""
        if tool in BEGINNING:
            return Does.BEGINS
        if self._tools.has(tool):
            return Does.TOOL
        return Does.ELSEWHERE if _operation(tool) is None else Does.OPERATION

    def check_secrets(self, access: Access, tool: str, names: Sequence[str]) -> None:
        """Raises `BadFields` and `NotFound`, neither with a name."""
        self._given(access, tool, names)

    def submit(self, access: Access, session_id: str, tool: str, arguments: Mapping[str, Any]) -> Judged:
        """A new call of the session, judged and kept."""
        return _judged(self._calls.submit(session_id, tool, arguments, by=access.by).call)

    def look(self, session_id: str, call_id: str, tool: str, arguments: Mapping[str, Any]) -> Judged:
        """A call that was submitted before. One of another session is not found; another call than meant is refused."""
        call = self._calls.get(call_id)
        if call.session_id != session_id:
            raise NotFound("call", call_id)
        if call.tool != tool or not (call.edited or same_arguments(call.arguments, arguments)):
            return Judged(call.id, Standing.REFUSED, {"code": Code.CALL_CHANGED.value, "layer": "approval"}, arguments)
        return _judged(call)

    def perform(
        self,
        access: Access,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        session_id: str | None,
        call: Judged | None,
        sources: Sequence[Provenance] = (),
        instead: Callable[[], Performed] | None = None,
        secrets: Sequence[str] = (),
    ) -> Performed | Judged:
        """What came of the tool, once; where its call may not start by now, that call as it stands."""
        given = self._given(access, tool, secrets)
        if call is None or session_id is None:
            return self._done(access, tool, arguments, None, sources, instead, given)
        try:
            started = self._calls.start(call.call_id, tool=tool, arguments=arguments, by=access.by)
        except Conflict:
            return _judged(self._calls.get(call.call_id))
        if started.call.state is not CallState.RUNNING:
            return _judged(started.call)
        self._content.approved(access, () if started.approval is None else started.approval.asked)
        with self._ending(started.call.id, access) as end:
            done = self._done(access, tool, arguments, started, sources, instead, given)
            end(Move.FAIL if done.failed else Move.COMPLETE)
        return done

    @contextmanager
    def _ending(self, call_id: str, access: Access) -> Iterator[Callable[[Move], None]]:
        """Ends the call with the block: as it says, and failed where it says nothing."""
        moves: list[Move] = []
        try:
            yield moves.append
        finally:
            with suppress(Conflict):  # somebody may have cancelled it meanwhile
                self._calls.finish(call_id, moves[-1] if moves else Move.FAIL, by=access.by)

    def _done(  # noqa: PLR0917 - within the module
        self,
        access: Access,
        tool: str,
        arguments: Mapping[str, Any],
        started: Submitted | None,
        sources: Sequence[Provenance],
        instead: Callable[[], Performed] | None,
        given: Mapping[str, Entry],
    ) -> Performed:
        does = self.does(tool)
        if does is Does.TOOL and started is not None:
            job = replace(self._gate.job(started), cancelled=access.cancelled)
            ran = self._tools.run(job, {name: entry.secret for name, entry in given.items()})
            return self._known(access, ran, sources, given)
        operation = _operation(tool)
        if does is Does.OPERATION and operation is not None:
            call_id = "" if started is None else started.call.id
            return self._operated(access, operation, arguments, sources, call_id)
        if does is Does.ELSEWHERE and instead is not None:
            return instead()
        return _failed(f"{tool} is nothing that can be done here", self._knowing(sources))

    def _known(self, access: Access, ran: Ran, sources: Sequence[Provenance], given: Mapping[str, Entry]) -> Performed:
        """What is known of what a tool gave: whatever it was given, and whatever the vault holds, may occur in it."""
        gate = access.delivery.gate
        if isinstance(gate, RegistryGate):
            for entry in given.values():
                gate.registry.activate(entry)
        complete = ran.result.complete and self._has(ran.result.secrets)
        if isinstance(gate, RegistryGate) and not gate.registry.is_complete:
            complete = False
        value = ran.result.value
        provenance = self._knowing(sources)(value) if complete else Unknown(Cause.INCOMPLETE)
        if not all(tag.all_below for tag in ran.tags):
            # WHY: a tier may close what it was made of, and nobody could look at all of that.
            provenance = Unknown(Cause.OVER_LIMIT)
        return Performed(value, provenance, ran.result.failed, tuple(_places(ran.tags)))

    def _operated(
        self,
        access: Access,
        operation: Operation[Any, Any, Any],
        arguments: Mapping[str, Any],
        sources: Sequence[Provenance],
        call_id: str,
    ) -> Performed:
        """What an operation gives to this caller: for a model, no more than if it had asked itself."""
        try:
            asked = operation.arguments.model_validate_json(json.dumps(dict(arguments)))
        except ValidationError:
            return _failed("its arguments cannot be used", self._knowing(sources))
        inner = self._content.access(
            access.delivery.principal, access.by, session_id=access.session_id, cancelled=access.cancelled
        )
        # WHY: what a step writes is made of its arguments, of which it is known what they carry.
        inner = replace(inner, writing=MadeOf(inner.writing, sources))
        inner.delivery.passed, inner.delivery.call = [], call_id
        try:
            found = self._content.given(inner, operation, asked)
        except ContentRefused as why:
            return _failed(sentence(why.reason), self._knowing(sources))
        except Fault as why:
            return _failed(self._content.told(str(why)), self._knowing(sources))
        value = found.model_dump(mode="json") if isinstance(found, BaseModel) else found
        if inner.delivery.classified:
            # It was projected: what of a secret is left in it is looked for like anything else that a model writes.
            admitted = [one.source for one in inner.delivery.settled if one.admitted]
            return Performed(value, inner.writing.over(tuple(sources))(value), False, _paths(admitted))
        passed = inner.delivery.passed
        carried = [*sources, *(source.provenance() for source in passed)]
        return Performed(value, self._knowing(carried)(value), False, _paths(passed))

    def _knowing(self, sources: Sequence[Provenance]) -> Knowing:
        """What is known of a value that was made here, where the whole vault is known."""
        try:
            entries = self._entries()
        except StoreUnreadable:
            return lambda _: Unknown(Cause.KEY_GONE)
        return ActingWriter(RegistryGate(Registry(), _no_projector), entries).over(tuple(sources))

    def _has(self, names: Sequence[str]) -> bool:
        """True where the vault holds a secret of each of these names, whose values can be found among other letters."""
        if not names:
            return True
        try:
            found = {entry.name: is_short(entry.secret) for entry in self._entries()}
        except StoreUnreadable:
            return False
        return not any(found.get(name, True) for name in names)

    def _given(self, access: Access, tool: str, names: Sequence[str]) -> dict[str, Entry]:
        """The value in use of each of these secrets. Raises `NotFound` and `BadFields`, without a name."""
        if not names:
            return {}
        found: dict[str, Entry] = {}
        for one in self._vault.entries():
            own = one.scope is not SecretScope.USER or one.owner == access.person
            if one.name in names and one.current and own:
                found[one.name] = Entry(one.name, _scope(one.scope, one.owner), one.value)
        if len(found) != len(set(names)):
            raise NoSecret
        secrets: dict[str, Secret] = {name: entry.secret for name, entry in found.items()}
        check_variables(tool, secrets)
        return found

    def _entries(self) -> tuple[Entry, ...]:
        return tuple(Entry(one.name, _scope(one.scope, one.owner), one.value) for one in self._vault.entries())


def _operation(tool: str) -> Operation[Any, Any, Any] | None:
    return next((one for one in OPERATIONS.values() if one.tool == tool and one.in_chat), None)


def _judged(call: CallRecord) -> Judged:
    match call.state:
        case CallState.PENDING:
            standing = Standing.READY
        case CallState.AWAITING_APPROVAL:
            standing = Standing.WAITS
        case _:
            standing = Standing.REFUSED
    return Judged(call.id, standing, call.reason, call.arguments, call.edited)


def _failed(words: str, knowing: Knowing) -> Performed:
    value = {"error": words}
    return Performed(value, knowing(value), failed=True)


def _places(tags: Sequence[SourceTag]) -> Iterator[str]:
    """Each place that a result came from; of a directory, whatever lay below it that a tier closed, too."""
    for tag in tags:
        if tag.origin in (Origin.PATH, Origin.SUBTREE):
            yield from (tag.name, *tag.below)


def _paths(sources: Sequence[Source]) -> tuple[str, ...]:
    """The places of items, an empty one for those that have none; nothing where none has any."""
    places = dict.fromkeys(source.path or "" for source in sources)
    return () if places.keys() <= {""} else tuple(places)


def _scope(scope: SecretScope, owner: str | None) -> Scope:
    return Scope(owner) if scope is SecretScope.USER else WORKSPACE


def _no_projector(_: Sequence[Entry]) -> Any:
    raise NotImplementedError
