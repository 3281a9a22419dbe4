"""Carrying out a case with calls that may have to wait for a person: on a service, a throw-away store and a set clock.

Settles what each step does and what is said of what came of it. Does not settle how steps are written
(`app.case_steps`) nor when a case fails (`app.case_told`).
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from stanch.app.approving import BypassWish, Edit, EditRefused, Resolved
from stanch.app.calls import Submitted
from stanch.app.case_layers import read_context
from stanch.app.case_places import Place
from stanch.app.case_records import Calls, Step
from stanch.app.case_steps import OUTCOME_KEYS
from stanch.app.case_told import Mismatch, Told, held, told
from stanch.app.service import Service
from stanch.app.sessions import hands_of
from stanch.gate.approval import Move
from stanch.storage.engine import url_of
from stanch.storage.store import Store
from stanch.values.approval import ApprovalRecord, BypassScope, CallRecord
from stanch.values.call import Category
from stanch.values.fault import BadFields, BadInput, Conflict, Fault, NotFound
from stanch.values.identity import Principal, PrincipalKind, Source
from stanch.values.records import Actor, Broken

# WHY so late: whether a bypass has run out is also read off this machine's clock, which must not be ahead of the case.
START = datetime(2100, 1, 1, tzinfo=UTC)
DOOR = "case"
AGENT = Actor("agent", DOOR)
SESSION_KEYS = ("agent", "source", "context", "model", "approver", "parent", "skills", "narrowing")
UNUSED = ("group", "cwd", "also", "answers", "layers", "bypass", "store", "active", "rows", "above")
MOST_LISTED = 200


def played(place: Place, act: Calls) -> list[Mismatch]:
    """Everything that came out of the steps otherwise than they say, up to the first that did."""
    with tempfile.TemporaryDirectory(prefix="stanch-case-") as folder, _opened(place, Path(folder)) as world:
        for number, step in enumerate(act.steps, 1):
            try:
                found = world.play(step, f"step {number} ({step.does}, line {step.line}): ")
            except (Fault, ValueError) as why:
                raise BadInput(f"{place.case.file}:{step.line}: this step cannot be carried out: {why}") from None
            if found:
                return found
    return []


@contextmanager
def _opened(place: Place, folder: Path) -> Iterator[_World]:
    world = _World(place, folder)
    try:
        world.open_sessions()
        yield world
    finally:
        world.close()


class _World:
    """A service on a store of its own, and what the names of the case stand for there."""

    def __init__(self, place: Place, folder: Path) -> None:
        self._place, self._folder, self._now = place, folder, START
        self._sessions: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        self._requests: dict[str, list[str]] = {}
        self._open()

    def _open(self) -> None:
        policy = self._place.real(self._place.policy)
        os.utime(policy, (0, 0))  # not a file that is just being written
        self._store = Store(url_of(f"sqlite:///{self._folder}/calls.db"), self._clock)
        self._store.migrate()
        self._service = Service.open(store=self._store, policy=policy, workspace=None, alone=True, clock=self._clock)

    def _clock(self) -> datetime:
        """The time: it stands but for a moment each time it is asked, so that no two records are of the same one."""
        self._now += timedelta(microseconds=1)
        return self._now

    def close(self) -> None:
        """Ends the service as a process ends that dies: the store is gone first, so that nothing more is said in it."""
        self._store.close()
        self._service.close()

    def open_sessions(self) -> None:
        """The sessions of the case; one named `main` where it names none. Raises `BadInput`."""
        given = self._place.mapped(self._place.case.given)
        main = {key: given[key] for key in ("agent", "source", "context", "model") if key in given}
        unused = [key for key in UNUSED if key in given] + (list(main) if "open_sessions" in given else [])
        if unused:
            raise self._place.wrong(f"'{unused[0]}' is not for 'calls' here; say it of a session in 'open_sessions'")
        rows = given.get("open_sessions", {"main": main})
        if not isinstance(rows, Mapping) or not all(isinstance(row, Mapping) for row in rows.values()):
            raise self._place.wrong("'open_sessions' must be a table of sessions, each a table")
        for name, row in rows.items():
            if unknown := sorted(row.keys() - set(SESSION_KEYS)):
                raise self._place.wrong(f"unknown key '{unknown[0]}' in a session (known: {', '.join(SESSION_KEYS)})")
            try:
                self._sessions[name] = self._service.sessions.create(
                    agent_id=row.get("agent", "coder"),
                    source=Source(row.get("source", "web")),
                    model=row.get("model"),
                    principal=hands_of(Principal(PrincipalKind.USER, "ada")),
                    parent_id=self._session(row["parent"]) if "parent" in row else None,
                    approver=row.get("approver"),
                    skills=row.get("skills", ()),
                    narrowing=row.get("narrowing", ()),
                    by=Actor("ada", DOOR),
                    **({"context": _context(row["context"])} if "context" in row else {}),
                ).id
            except (Fault, ValueError) as why:
                raise self._place.wrong(f"the session '{name}' cannot be opened: {why}") from None

    def _session(self, name: str | None) -> str:
        if name is not None and name not in self._sessions:
            raise BadInput(f"there is no session '{name}'")
        return self._sessions[name] if name is not None else next(iter(self._sessions.values()))

    # --- steps ---------------------------------------------------------------------------------------------------

    def play(self, step: Step, at: str) -> list[Mismatch]:
        """What came of the step otherwise than it says. Raises `BadInput` where it makes no sense."""
        if step.expected is None:
            return self._meanwhile(step, at)
        try:
            told_of_it = getattr(self, f"_{step.does}")(step.name, self._place.mapped(step.row))
        except EditRefused as why:
            told_of_it = replace(told(why.decision), effect="refused")
        except Conflict as why:
            told_of_it = _not_done("conflict", why)
        except NotFound as why:
            told_of_it = _not_done("unknown", why)
        except BadFields as why:
            told_of_it = _not_done("invalid", why)
        return held(self._place, step.expected, told_of_it, at)

    def _meanwhile(self, step: Step, at: str) -> list[Mismatch]:
        """A step that is about no call: the world goes on."""
        match step.does:
            case "wait":
                self._now += timedelta(seconds=step.name)
                self._store.expire_due()  # as every node does from time to time
            case "restart":
                self.close()
                self._open()
            case "change":
                self._place.change(step.name)
            case "rules":
                self._place.write_rules(step.name)
                os.utime(self._place.real(self._place.policy), (0, 0))
                self._service.refresh()
            case "context":
                context = _context(self._place.mapped(step.row["to"]))
                self._service.sessions.set_context(self._session(step.name), context, by=Actor("ada", DOOR))
            case "end_session":
                self._service.sessions.end(self._session(step.name), by=Actor("ada", DOOR))
            case "inbox":
                names = {call: name for name, call in self._calls.items()}
                items = self._service.inbox.list(limit=MOST_LISTED).approvals.items
                got = ["a broken row" if isinstance(one, Broken) else names[one.call_id] for one in items]
                return [] if got == step.name else [Mismatch(f"{at}{step.name}", str(got))]
        return []

    def _ask(self, name: str, row: Mapping[str, Any]) -> Told:
        session = self._session(row.get("session"))
        made = self._service.calls.submit(
            session, row["tool"], row.get("args", {}), tool_call_id=name, cwd=row.get("cwd"), by=AGENT
        )
        self._calls[name] = made.call.id
        return self._kept(name, made.call, made.approval)

    def _start(self, name: str, row: Mapping[str, Any]) -> Told:
        done: Submitted = self._service.calls.start(
            self._call(name), tool=row.get("tool"), arguments=row.get("args"), by=AGENT
        )
        return self._kept(name, done.call, done.approval)

    def _finish(self, name: str, row: Mapping[str, Any]) -> Told:
        return _of_call(self._service.calls.finish(self._call(name), Move(row.get("how", "complete")), by=AGENT))

    def _cancel(self, name: str, row: Mapping[str, Any]) -> Told:
        return _of_call(self._service.calls.cancel(self._call(name), by=Actor(row.get("by", "ada"), DOOR)))

    def _stands(self, name: str, _: Mapping[str, Any]) -> Told:
        return _of_call(self._service.calls.get(self._call(name)))

    def _shows(self, name: str, row: Mapping[str, Any]) -> Told:
        return _of_request(self._service.inbox.approval(self._request(name, row.get("request"))))

    def _answer(self, name: str, row: Mapping[str, Any]) -> Told:
        """An answer, as a door hands it on: with a digest, by which its very repetition is known."""
        by, request = Actor(row.get("by", "ada"), DOOR), self._request(name, row.get("request"))
        said = {key: value for key, value in row.items() if key not in OUTCOME_KEYS}
        answer = json.dumps([by.principal, said], sort_keys=True)
        approving, note = self._service.approving, row.get("note")
        if row["do"] == "reject":
            done: Resolved = approving.reject(request, note=note, answer=answer, by=by)
        else:
            edit = Edit(row.get("tool"), row.get("args")) if "tool" in row or "args" in row else None
            wish = _wish(row) if "bypass_secs" in row else None
            done = approving.approve(request, note=note, edit=edit, bypass=wish, answer=answer, by=by)
        return self._kept(name, done.call, done.instead)

    def _bypass(self, name: str, row: Mapping[str, Any]) -> Told:
        category = Category(row["category"]) if "category" in row else None
        given = self._service.bypasses.give(
            self._session(name), _wish(row), category=category, server=row.get("mcp_server"), by=Actor("ada", DOOR)
        )
        return Told("holds", sentence=f"{given.scope} {given.category or given.mcp_server or ''}")

    # --- names ---------------------------------------------------------------------------------------------------

    def _call(self, name: str) -> str:
        if name not in self._calls:
            raise BadInput(f"the call '{name}' was never made")
        return self._calls[name]

    def _request(self, name: str, which: int | str | None) -> str:
        """A request of the call: the newest, the one of that number, or the id as it is."""
        if isinstance(which, str):
            return which
        requests = self._requests.get(name, [])
        number = len(requests) if which is None else which
        if not 0 < number <= len(requests):
            raise BadInput(f"the call '{name}' has {len(requests)} requests, and none of number {number}")
        return requests[number - 1]

    def _kept(self, name: str, call: CallRecord, request: ApprovalRecord | None) -> Told:
        if request is not None and request.request_id not in self._requests.setdefault(name, []):
            self._requests[name].append(request.request_id)
        return _of_call(call)


def _json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, default=dict)


def _context(row: Any) -> Any:
    return None if row is None else read_context(row)


def _wish(row: Mapping[str, Any]) -> BypassWish:
    scope = BypassScope(row["bypass_scope"]) if "bypass_scope" in row else None
    return BypassWish(row["bypass_secs"], scope, row.get("include_subagents", False))


def _not_done(word: str, why: Exception) -> Told:
    return Told(word, sentence=str(why), everything=repr(why))


def _of_call(call: CallRecord) -> Told:
    """A call as it stands: its state, its reason, and as words the note, what would run, and whether it was edited."""
    words = [call.reason.get("note"), call.tool, _json(call.arguments), "edited" if call.edited else None]
    return _told(call.state.value, call.reason, words)


def _of_request(request: ApprovalRecord) -> Told:
    """A request as a person is shown it."""
    words = [request.tool_name, _json(request.arguments), request.context_label, request.diff, *request.scripts]
    return _told(request.state.value, request.reason, [*words, request.note, f"by {request.resolved_by}"])


def _told(state: str, reason: Mapping[str, Any], words: list[str | None]) -> Told:
    rule = reason.get("rule") or {}
    text = "; ".join(word for word in (reason.get("sentence"), *words) if word)
    return Told(
        state, reason.get("code"), reason.get("layer"), rule.get("id"), rule.get("group"), reason.get("subject"),
        rule.get("place"), text, None, f"{text} {dict(reason)!r}",
    )  # fmt: skip
