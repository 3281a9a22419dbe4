"""Running a model's code in the workbench of its session: filled, run apart, and what it printed told or withheld.

Settles the order of these. Does not settle what may come in (`app.workbench_gates`), how code is confined
(`runtime.sandbox`), nor what a run taints (`delivery.workbench`).
INVARIANT: nothing that code has printed, and nothing of how it ended, leaves but through `Content.leaving`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from stanch.app.content import Content
from stanch.app.workbench_gates import Filling, MountGate
from stanch.app.workbench_inside import Inside
from stanch.app.workbench_memory import Forgotten
from stanch.app.workbench_proxy import proxy
from stanch.app.workbench_snippets import functions_for
from stanch.app.workbenches import Bench, Workbenches
from stanch.content.access import Access
from stanch.content.workbench import Excluded, mounted
from stanch.content.workbench_disk import InTheWay
from stanch.delivery.admit import ContentRefused
from stanch.delivery.workbench import Memory, tainted_reason
from stanch.explain.sentences import sentence
from stanch.explain.written import reason_json
from stanch.runtime.cutting import cut_tagged
from stanch.runtime.sandbox.choosing import sandbox_here
from stanch.runtime.sandbox.program import Ended, How, Limits, Program, Sandbox, Unavailable
from stanch.runtime.sandbox.snippets import run_snippet
from stanch.runtime.tool import Job, Output
from stanch.secrets.budget import Withheld
from stanch.secrets.projection import Projector
from stanch.values.decision import Effect
from stanch.values.fault import BadFields, BadInput, Fault, StoreUnreadable
from stanch.values.identity import COPILOT_SERVICE, Principal
from stanch.values.message import Origin, SourceTag
from stanch.values.reason import Code
from stanch.values.records import Actor

TOOL, SURFACE = "run_code", "agent"
_SIGNALLED = 128
LIBRARY = Path(__file__).with_name("inside")
MOST_CHARACTERS = 60_000
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    # WHY unbuffered: what goes to both streams stands in the order in which it was written, and whole.
    "python": ("python3", "-u", "-c"),
    "bash": ("bash", "-c"),
}
_INSTALL = "Have bubblewrap installed (the program bwrap); until then, take the language snippet"
SnippetRunner = Callable[..., Ended]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be run. `mounts` are paths of stored files."""

    code: str
    language: str
    mounts: tuple[str, ...]
    limits: Limits


class RunCode:
    """Runs code for calls of agents. Safe to use from any thread."""

    def __init__(
        self,
        content: Content,
        workbenches: Workbenches,
        principal_of: Callable[[str], Principal],
        *,
        sandbox: Callable[[], Sandbox | Unavailable] | None = None,
        snippet: SnippetRunner | None = None,
    ) -> None:
        """`sandbox` and `snippet` are for tests; else code runs in the sandbox of this machine."""
        self._content, self._workbenches, self._principal_of = content, workbenches, principal_of
        self._sandbox, self._snippet = sandbox or sandbox_here, snippet or run_snippet

    def __call__(self, job: Job, asked: Asked) -> Output:
        """What the model is told of it."""
        sandbox = None if asked.language == "snippet" else self._sandbox()
        if isinstance(sandbox, Unavailable):
            why = " ".join(sandbox.why)
            return Output(f"Nothing was run, since no sandbox holds on this machine. {why} {_INSTALL}.", failed=True)
        by = Actor(job.session_id, SURFACE)
        try:
            with self._workbenches.held(job.session_id, by=by, cancelled=job.cancelled) as bench:
                return self._ran(job, asked, bench, sandbox)
        except Forgotten as why:
            return Output(self._content.told(f"{sentence(why.reason)}. Nothing was run."), failed=True, withheld=1)
        except ContentRefused as why:
            return Output(self._content.told(f"{sentence(why.reason)}."), failed=True, withheld=1)
        except Withheld as why:
            return Output(f"Withheld because it could not be looked through ({why}).", failed=True, withheld=1)
        except Fault as why:
            return Output(self._content.told(str(why)), failed=True)

    def _ran(self, job: Job, asked: Asked, bench: Bench, sandbox: Sandbox | None) -> Output:
        # WHY: whoever a session names, a model acts in it, and what it gets is classified.
        principal = replace(self._principal_of(job.session_id), service_id=COPILOT_SERVICE)
        gate = MountGate(bench, self._content.secrets.projector)
        access = self._content.access(
            principal,
            Actor(job.session_id, SURFACE),
            session_id=job.session_id,
            tool=job.tool,
            workbench=Filling(bench, gate, asked.limits),
            cancelled=job.cancelled,
        )
        self._content.approved(access, job.approved)
        access.delivery.operation, access.delivery.call = TOOL, job.call_id
        try:
            excluded = mounted(access, asked.mounts, bench.directory.remove)
            if excluded:
                bench.look()
                return self._excluded(access, excluded)
            with bench.run() as tainted:
                closed = _closed(access, bench.memory)
                inside = Inside(self._content, bench, principal, job, asked.code, tainted, closed)
                printed = Printed(asked.limits.output_bytes)
                ended = self._run(job, asked, bench, sandbox, inside, printed)
                memory = bench.memory
        except (InTheWay, BadInput, StoreUnreadable) as why:
            if isinstance(why, BadFields) or not bench.memory.is_tainted:
                raise
            # WHY: how the workbench is by now, a run that nobody may tell of has made.
            words = f"[{why}]"
            return self._withheld(job, access, gate.projector, bench.memory, lambda _: words)
        if tainted:
            return self._withheld(job, access, gate.projector, memory, lambda shown: _told(shown, printed, ended))
        told = self._content.leaving(access, _told(gate.projector(), printed, ended))
        told, tags = cut_tagged(told, tuple(_tags(bench.memory)), MOST_CHARACTERS)
        return Output(told, tags, failed=ended.how is not How.BY_ITSELF)

    def _run(  # noqa: PLR0917 - within the module
        self, job: Job, asked: Asked, bench: Bench, sandbox: Sandbox | None, inside: Inside, printed: Printed
    ) -> Ended:
        if sandbox is None:
            try:
                return self._snippet(
                    asked.code,
                    functions_for(inside),
                    lambda text: printed.take(text.encode("utf-8", "replace")),
                    limits=asked.limits,
                    cancelled=job.cancelled,
                )
            finally:
                inside.end()
        with ExitStack() as stack:
            socket = stack.enter_context(proxy(bench.directory.root, inside))
            program = Program(
                argv=(*_ARGUMENTS[asked.language], asked.code),
                directory=bench.directory.files,
                socket=socket,
                library=LIBRARY,
                limits=asked.limits,
            )
            return sandbox.run(program, printed.take, job.cancelled)

    def _excluded(self, access: Access, excluded: tuple[Excluded, ...]) -> Output:
        """What is told where a file may not be mounted: nothing has run."""
        told = {
            "ran": False,
            "sentence": "Nothing was run, since not all of the files may be mounted. Call again without these.",
            "excluded_inputs": [
                {
                    "path": one.path,
                    "reason": one.code,
                    "sentence": "there is no such file"
                    if one.reason is None
                    else reason_json(one.reason, Effect.DENY)["sentence"],
                }
                for one in excluded
            ],
        }
        given = self._content.leaving(access, told)
        return Output(json.dumps(given, ensure_ascii=False, indent=1), withheld=len(excluded))

    def _withheld(
        self,
        job: Job,
        access: Access,
        projector: Callable[[], Projector],
        memory: Memory,
        kept: Callable[[Projector], str],
    ) -> Output:
        """What is told of a run in a tainted workbench: the same, whatever it printed, however it ended or began."""
        reason = tainted_reason(memory)
        try:
            shown = projector()
            self._workbenches.outputs(job.session_id).keep(job.call_id, shown.text(kept(shown)))
        except (Fault, Withheld):
            pass  # WHY: what cannot be looked through is not kept for anybody, and its model is told the same
        go_on = "Remove the copy to go on; where that is not enough, all that lies there"
        words = f"{sentence(reason)}. What came of it is kept for a person. {go_on}."
        told = self._content.leaving(access, words)
        return Output(told, tuple(_tags(memory)), withheld=1)


class Printed:
    """What code has printed to both of its streams, up to a limit."""

    def __init__(self, most: int) -> None:
        self._data, self._most, self._over = bytearray(), most, False

    def take(self, data: bytes) -> None:
        """Takes the next piece."""
        room = self._most - len(self._data)
        self._over = self._over or len(data) > room
        self._data += data[: max(room, 0)]

    def text(self) -> str:
        """All of it."""
        return self._data.decode("utf-8", "replace")

    @property
    def is_cut(self) -> bool:
        """True where there was more than the limit."""
        return self._over


def _told(projector: Projector, printed: Printed, ended: Ended) -> str:
    """What it printed and how it ended. Its secrets are in it, but for what is torn. Raises `Withheld`."""
    text = printed.text()
    # WHY: to a reader, a text whose letters have two bytes or four is one with gaps; and no value is looked for in it.
    if "\0" in text:
        gaps = projector.found(projector.text(text).replace("\0", ""))
        text = text.replace("\0", "" if gaps else "\ufffd")
    if is_torn(ended, printed):
        text = without_ends(projector, text)
    return f"{text}{_newline(text)}[{ended.said}]"


def is_torn(ended: Ended, printed: Printed) -> bool:
    """True where the program was stopped, so that what it printed may end in the middle of anything."""
    # WHY from 128 on: a sandbox says so where a signal has ended it.
    return printed.is_cut or ended.how is not How.BY_ITSELF or not 0 <= ended.code < _SIGNALLED


def without_ends(projector: Projector, text: str) -> str:
    """The text without secrets, and without what at its ends may be a part of one. Raises `Withheld`."""
    return projector.excerpt(text)


def _closed(access: Access, memory: Memory) -> Callable[[], bool]:
    """Says whether the tier of the session's model closes something that the workbench was filled from."""
    found: list[bool] = []
    lock = threading.Lock()

    def closed() -> bool:
        with lock:
            if not found:
                found.append(any(map(refused, _from(memory))))
            return found[0]

    def refused(path: str | None) -> bool:
        may_read = access.delivery.may_read
        reason = None if may_read is None else may_read(path)
        return reason is not None and reason.code is Code.CONTENT_TIER

    return closed


def _from(memory: Memory) -> Iterator[str | None]:
    yield from sorted(memory.places)
    if memory.items:
        yield None


def _tags(memory: Memory) -> Iterator[SourceTag]:
    """Where the output may come from: all that the workbench was ever filled from."""
    for place in sorted(memory.places):
        yield SourceTag(place)
    for item in sorted(memory.items):
        yield SourceTag(item, Origin.ITEM)


def _newline(text: str) -> str:
    return "" if not text or text.endswith("\n") else "\n"
