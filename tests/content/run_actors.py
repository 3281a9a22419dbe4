"""A gate and tools that do what a test says: which call may run, and what comes of each tool."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stanch.content.access import Access
from stanch.content.acting import Does, Judged, Performed, Standing
from stanch.content.runs_record import RecordRun, record_run
from stanch.provenance.states import CLEAN, Provenance
from stanch.values.fault import NotFound

RULE = {"code": "rule", "layer": "persisted_rules", "sentence": "A rule says so: /repo/secret-plan"}


@dataclass
class Actors:
    """`standing` is how a new call of a tool stands, ready where nothing is said. `done` are the tools that ran, in
    order, `gives` what each gives: a value, a `Performed`, or something to be called.
    """

    node: str = "node-a"
    standing: dict[str, Standing] = field(default_factory=dict)
    gives: dict[str, Any] = field(default_factory=dict)
    done: list[tuple[str, Any]] = field(default_factory=list)
    calls: dict[str, tuple[str, str, Judged]] = field(default_factory=dict)
    sources: list[Sequence[Provenance]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def session_for(self, access: Access, session_id: str | None) -> str | None:
        return access.session_id if access.delivery.classified else session_id

    def does(self, tool: str) -> Does:
        return Does.TOOL if tool in self.gives else Does.ELSEWHERE

    def check_secrets(self, access: Access, tool: str, names: Sequence[str]) -> None:
        return

    def submit(self, access: Access, session_id: str, tool: str, arguments: Mapping[str, Any]) -> Judged:
        with self.lock:
            call = Judged(f"call_{len(self.calls)}", self.standing.get(tool, Standing.READY), RULE, dict(arguments))
            self.calls[call.call_id] = session_id, tool, call
        return call

    def look(self, session_id: str, call_id: str, tool: str, arguments: Mapping[str, Any]) -> Judged:
        if call_id not in self.calls or self.calls[call_id][0] != session_id:
            raise NotFound("call", call_id)
        return self.calls[call_id][2]

    def answer(self, call_id: str, standing: Standing, **more: Any) -> None:
        """A person's word."""
        session, tool, call = self.calls[call_id]
        self.calls[call_id] = session, tool, replace(call, standing=standing, **more)

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
        with self.lock:
            self.done.append((tool, dict(arguments)))
            self.sources.append(tuple(sources))
        if tool not in self.gives:
            assert instead is not None
            return instead()
        given = self.gives[tool]
        found = given(dict(arguments)) if callable(given) else given
        return found if isinstance(found, (Performed, Judged)) else Performed(found, CLEAN)


def recorded(access: Access, *steps: tuple[str, Any], **more: Any) -> str:
    """The id of a run that was recorded: each step a tool with what came of it."""
    given = [{"tool": tool, "arguments": {"of": tool}, "result": result} for tool, result in steps]
    asked = RecordRun.model_validate({"name": "nightly", "steps": given, **more})
    return record_run(access, asked).id
