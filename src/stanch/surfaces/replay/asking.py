"""The calls of recorded sessions put to the gate, each in a session bound to the directory that it started in.

Settles which session each call is asked in and where its relative paths start: an agent that has moved reads them
elsewhere, and is granted nothing more for it. Decides nothing: every answer is the engine's.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stanch.app.beside import Party
from stanch.app.engine import UNSET, Engine, Session
from stanch.app.recorded import Recorded
from stanch.paths.grants import BadGrant
from stanch.policy.declared import Form
from stanch.policy.known_tools import tool_named
from stanch.secrets.budget import Withheld
from stanch.secrets.projection import Projector
from stanch.surfaces.replay.asked import asked
from stanch.surfaces.replay.calls import working_directory
from stanch.surfaces.replay.detect import Transcript, files_of, read, recognise
from stanch.surfaces.replay.known_secrets import known_in
from stanch.surfaces.replay.lines import Advance
from stanch.surfaces.replay.policies import Policies
from stanch.surfaces.replay.records import ReplayCall, Seen, Warned
from stanch.surfaces.replay.report import FileReport, Report, Row
from stanch.surfaces.replay.withholding import withheld_in
from stanch.surfaces.wire import Json
from stanch.tiers.tier import TiersBroken
from stanch.values.call import ToolCall
from stanch.values.context import RunContext
from stanch.values.fault import BadCall, BadContext, BadInput, Problem
from stanch.values.identity import Source

_SESSIONS = 4096


@dataclass(frozen=True, slots=True)
class Asking:
    """As whom the calls are asked. `context` is a one-item tuple where a run context was given, if only as null.

    `secrets` finds the known ones; what is shown of a call is shown without them.
    """

    group: str | None = None
    agent: str | None = None
    source: Source | None = None
    model: str | None = None
    cwd: str | None = None
    context: tuple[RunContext | None, ...] = ()
    secrets: Projector | None = None


class Replay:
    """Puts calls to the gate, each in a session bound to the directory that it started in."""

    def __init__(self, policies: Policies, asking: Asking) -> None:
        self.policies, self.asking = policies, asking
        self._sessions: dict[tuple[int, str | None], Session] = {}
        self._parties: dict[int, list[Party]] = {}

    def row(self, call: ReplayCall) -> Row:
        """The call's answer. A call that cannot be read is a deny, never left out."""
        engine = self.engine(call.started)
        shown = asked(self._without_secrets(call.arguments))
        bare = replace(call, arguments=None)
        cwd = self._directory(call)
        own = working_directory(call.tool, call.arguments, cwd)
        try:
            session = self._session(engine, call.started or self.asking.cwd)
        except (BadContext, BadGrant):
            return Row(bare, shown, own or "", None, "its working directory is no path that can be read")
        where = own or session.context.effective_working_dir()
        if call.arguments is None:
            return Row(bare, shown, where, None, call.fault)
        try:
            # WHY: of most shell tools the gate knows which argument names their directory, and reads that itself.
            start = cwd if _starts_itself(call.tool, engine) else own
            decision = session.check(call.tool, call.arguments, call_id=call.id, cwd=start)
        except BadCall as why:
            return Row(bare, shown, where, None, str(why))
        judged = decision.call._replace(call=ToolCall(call.tool, {}, call.id))
        return Row(bare, shown, where, decision._replace(call=judged))

    def recorded(self, call: ReplayCall) -> Recorded | None:
        """The call, ready to be asked about again; None for one that cannot be read."""
        if call.arguments is None:
            return None
        engine = self.engine(call.started)
        try:
            session = self._session(engine, call.started or self.asking.cwd)
            cwd = self._directory(call)
            start = cwd if _starts_itself(call.tool, engine) else working_directory(call.tool, call.arguments, cwd)
            session.stamped(found := ToolCall(call.tool, call.arguments, call.id), start)
        except (BadCall, BadContext, BadGrant, RecursionError):
            return None
        parties = self._parties.setdefault(id(session), [Party(session)])
        shown = asked(self._without_secrets(call.arguments))
        return Recorded(found, parties, call.where, shown, start, shares_context=True)

    def engine(self, started: str | None) -> Engine:
        """The engine for a session that started in this directory."""
        return self.policies.engine(started or self.asking.cwd)

    def proved(self) -> None:
        """Raises `BadContext` or `BadInput` where what the person gave makes no session, before a file is read."""
        try:
            self._session(self.engine(None), self.asking.cwd)
        except BadGrant as why:
            raise BadContext(str(why)) from None

    def _without_secrets(self, arguments: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """WHY before it is cut: a part of a secret would not be found any more."""
        if arguments is None or self.asking.secrets is None:
            return arguments
        try:
            return self.asking.secrets.structure(dict(arguments))
        except Withheld as why:
            return {"withheld": str(why)}

    def _directory(self, call: ReplayCall) -> str | None:
        """The record's own directory, else the one the person gave; None leaves it to the workspace."""
        if call.cwd is None:
            return self.asking.cwd
        return os.path.join(self.asking.cwd or "", call.cwd)

    def _session(self, engine: Engine, cwd: str | None) -> Session:
        key = (id(engine), cwd)
        found = self._sessions.get(key)
        if found is None:
            who = self.asking
            if len(self._sessions) >= _SESSIONS:
                self._sessions.clear()
            found = self._sessions[key] = engine.session(
                context=who.context[0] if who.context else UNSET,
                agent=who.agent,
                source=who.source,
                group=who.group,
                model=who.model,
                cwd=cwd,
            )
        return found


def _starts_itself(tool: str, engine: Engine) -> bool:
    """True where the gate's description of the tool says in which argument it names its directory."""
    described = tool_named(tool, engine.policy.tools)
    return described is not None and any(one.form is Form.COMMAND and one.within for one in described.effects)


def transcripts_of(paths: Sequence[Path]) -> tuple[list[Transcript], list[Warned]]:
    """The files to replay, told apart by content. A file met in a directory that is no session is a warning.

    Raises `BadInput` for the files that were named themselves and are no session, naming each.
    """
    found: list[Transcript] = []
    warnings, wrong = [], []
    for path, named in files_of(paths).items():
        try:
            found.append(recognise(path))
        except BadInput as why:
            if named:
                wrong.append(str(why))
                continue
            warnings.append(Warned(str(path), 0, str(why).removeprefix(str(path)).lstrip(": ")))
    if wrong:
        raise BadInput("; ".join(wrong))
    beside = {one for transcript in found for one in transcript.beside}
    return [one for one in found if one.path not in beside], warnings


def replay(
    transcripts: Sequence[Transcript], policies: Policies, asking: Asking, advance: Advance = lambda _: None
) -> Report:
    """The report of files whose kind is known. Raises `BadContext` and `BadInput` for what the person gave."""
    gate = Replay(policies, asking)
    gate.proved()
    files: list[FileReport] = []
    warnings: list[Warned] = []
    notes: dict[str, None] = {}
    for transcript in transcripts:
        seen = Seen()
        file = FileReport(transcript.name, transcript.kind.value)
        for found in read(transcript, seen, advance):
            if isinstance(found, Warned):
                warnings.append(found)
                continue
            file.workspace = file.workspace or gate.engine(found.started).policy.workspace
            file.rows.append(gate.row(found))
        file.repeated = seen.repeated
        files.append(file)
        if asking.model is not None:
            try:
                file.withheld, more = withheld_in(transcript, asking.model, gate.engine, asking.cwd, advance)
                warnings += more
            except TiersBroken as why:
                notes[f"withheld: {why}"] = None
        if asking.secrets is not None:
            file.secrets, more = known_in(transcript, asking.secrets)
            warnings += more
    for policy in policies.used:
        warnings += [Warned(policy.file, p.line, p.message) for p in policy.problems if not _is_elsewhere(p)]
    return Report(files, warnings, _policy(policies, files), asking.model, tuple(notes))


def recorded_calls(
    transcripts: Sequence[Transcript], policies: Policies, asking: Asking, most: int
) -> tuple[list[Recorded], list[Warned]]:
    """The last calls of the files that can be read, `most` at most, and what could not be read."""
    gate = Replay(policies, asking)
    gate.proved()
    found: deque[Recorded] = deque(maxlen=most)
    warnings = []
    for transcript in transcripts:
        for one in read(transcript, Seen()):
            if isinstance(one, Warned):
                warnings.append(one)
            elif (call := gate.recorded(one)) is not None:
                found.append(call)
    return list(found), warnings


def _is_elsewhere(problem: Problem) -> bool:
    """True for the warning that the workspace is not there: a recorded session need not have run on this machine."""
    return problem.warning and problem.where == "workspace"


def _policy(policies: Policies, files: Sequence[FileReport]) -> Json:
    spaces = {file.workspace for file in files if file.workspace}
    return {
        "name": policies.name,
        "file": None if policies.file is None else str(policies.file),
        "version": policies.used[0].version,
        "workspace": spaces.pop() if len(spaces) == 1 else None,
    }
