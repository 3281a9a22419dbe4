"""What running code may ask for: bytes of stored files, and operations on stored content, as calls of its session.

Settles that each is judged like any call of the session, passes the gate of the workbench, and writes nothing that the
model could not account for. Does not settle how code asks (`app.workbench_proxy`, `app.workbench_snippets`), nor what
an operation does.
INVARIANT: what is answered is a value, or words that hold no content.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from stanch.app.content import CallRefused, Content
from stanch.app.performing import BEGINNING
from stanch.app.workbench_gates import Filling, InsideGate, Unvouched
from stanch.app.workbenches import Bench
from stanch.content.access import Access
from stanch.content.files import GetFile, get_file
from stanch.content.streams import Stream
from stanch.delivery.admit import ContentRefused
from stanch.delivery.operation import OPERATIONS, Operation
from stanch.explain.sentences import sentence
from stanch.policy.known_tools import known
from stanch.runtime.tool import Job
from stanch.secrets.budget import Withheld
from stanch.values.call import EffectClass
from stanch.values.fault import BadCall, Conflict, Fault, NotFound, StoreUnreadable
from stanch.values.identity import Principal
from stanch.values.reason import Code
from stanch.values.records import Actor

SURFACE = "workbench"
LINKS = frozenset({"files_share", "files_links"})
_WRITES_TAINTED = frozenset({"files_write"})
_NAMES = ("path", "to")


class Unanswered(Exception):
    """Code is answered with an error: a status as HTTP has them, a code, and a sentence without content."""

    def __init__(self, status: int, code: str, words: str) -> None:
        self.status, self.code, self.words = status, code, words
        super().__init__(words)


class Inside:
    """Answers the code of one run. Safe to use from any thread, until the run has ended.

    `written` is the code, as the model wrote it. `tainted`: nobody can vouch for what it writes. `closed` says whether
    the workbench holds what the tier of the session's model closes.
    """

    def __init__(  # noqa: PLR0917 - within the part
        self,
        content: Content,
        bench: Bench,
        principal: Principal,
        job: Job,
        written: str,
        tainted: bool,
        closed: Callable[[], bool],
    ) -> None:
        self._content, self._bench, self._principal, self._job = content, bench, principal, job
        self._written, self._tainted, self._closed = written, tainted, closed
        self._over = threading.Event()

    def end(self) -> None:
        """Has whatever is still looked for come to its end: nobody waits for it any more."""
        self._over.set()

    def get(self, path: str, version: int | None = None) -> Stream:
        """The bytes of a stored file. Raises `Unanswered`; of its blocks, whatever reading raises."""
        with _answering(self._content):
            asked = GetFile.model_validate({"path": path, "version": version})
            stream: Stream = self._done(get_file, asked)
            return stream

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """What a tool on stored content gives, JSON-like and without secrets. Raises `Unanswered`."""
        with _answering(self._content):
            operation = _operation(tool)
            asked = operation.arguments.model_validate_json(json.dumps(dict(arguments)))
            given = self._done(operation, asked)
            if isinstance(given, Stream):
                raise Unanswered(422, "unusable", f"{tool} gives bytes: code gets those of a file by its path")
            return given.model_dump(mode="json") if isinstance(given, BaseModel) else given

    def _done(self, operation: Operation[Access, Any, Any], asked: Any) -> Any:
        tool = operation.tool or ""
        arguments: dict[str, Any] = asked.model_dump(mode="json", exclude_defaults=True)
        gate = InsideGate(self._bench, self._content.secrets.projector)
        access = self._content.access(
            self._principal,
            Actor(self._job.session_id, SURFACE),
            session_id=self._job.session_id,
            tool=tool,
            workbench=Filling(self._bench, gate),
            cancelled=self._over,
        )
        # WHY none: an operation does not fill the workbench; the code does, with what it is answered.
        access = replace(access, workbench=None)
        access.delivery.operation, access.delivery.call = operation.name, self._job.call_id
        self._check(access, tool, arguments)
        if self._tainted:
            access = replace(access, writing=Unvouched())
        with self._content.judged(access, tool, arguments):
            return self._content.given(access, operation, asked)

    def _check(self, access: Access, tool: str, arguments: Mapping[str, Any]) -> None:
        """Raises `Unanswered` for what no code may do, whatever the rules say."""
        if tool in LINKS:
            # WHY: a link leaves every gate, and code may have had a secret in its hands in whatever spelling.
            near = self._tainted or bool(self._bench.registry.entries)
            if near:
                raise Unanswered(403, Code.CONTENT_OPAQUE.value, _tells(tool, "secrets have come near the workbench"))
        if all(effect.cls is EffectClass.READ for effect in known()[tool].effects):
            return
        if self._closed():
            why = "the workbench holds what this model may not read, and code could write it anew"
            raise Unanswered(403, Code.CONTENT_TIER.value, f"{tool} is refused: {why}")
        names = [str(arguments[name]) for name in _NAMES if name in arguments]
        if self._tainted:
            if tool not in _WRITES_TAINTED:
                why = "the workbench holds what nobody can vouch for"
                raise Unanswered(403, Code.WORKBENCH_TAINTED.value, f"{tool} is refused: {why}")
            if not all(name in self._written or self._is_there(access, name) for name in names):
                why = "while the workbench is tainted, a new file is called what stands in the code"
                raise Unanswered(403, Code.WORKBENCH_TAINTED.value, f"{tool} is refused: {why}")
        # WHY: a name is shown where the content is not.
        projector = self._content.secrets.projector(self._bench.registry.entries)
        if any(projector.found(name) for name in names):
            raise Unanswered(403, Code.CONTENT_OPAQUE.value, f"{tool} is refused: a name holds a secret")

    @staticmethod
    def _is_there(access: Access, path: str) -> bool:
        try:
            access.stores.file_at(path, (access.person, None))
        except NotFound:
            return False
        return True


def _operation(tool: str) -> Operation[Access, Any, Any]:
    found = next((one for one in OPERATIONS.values() if one.tool == tool and one.in_chat), None)
    if found is None or tool in BEGINNING:
        raise Unanswered(404, "not_found", "there is no tool of that name for code; others are called by themselves")
    return found


def _tells(tool: str, why: str) -> str:
    return f"{tool} is refused to code: {why}. Call the tool by itself"


@contextmanager
def _answering(content: Content) -> Iterator[None]:
    """Makes of whatever is refused or fails an error without content."""
    try:
        yield
    except ContentRefused as why:
        saved = ". What was to be changed is saved" if why.saved else ""
        raise Unanswered(403, why.reason.code.value, content.told(sentence(why.reason) + saved)) from None
    except CallRefused as why:
        more = ". Code cannot ask a person: call the tool by itself" if why.asks else ""
        raise Unanswered(403, str(why.told.get("code", "")), content.told(str(why) + more)) from None
    except ValidationError as why:
        fields = sorted({".".join(map(str, error["loc"])) for error in why.errors(include_input=False)})
        raise Unanswered(422, "unusable", f"the arguments cannot be used: {', '.join(fields)[:200]}") from None
    except Withheld as why:
        raise Unanswered(403, Code.CONTENT_UNSCANNED.value, f"it could not be looked through ({why})") from None
    except NotFound as why:
        raise Unanswered(404, "not_found", content.told(str(why))) from None
    except Conflict as why:
        raise Unanswered(409, "conflict", content.told(str(why))) from None
    except StoreUnreadable as why:
        raise Unanswered(503, Code.STORE_UNREADABLE.value, content.told(str(why))) from None
    except BadCall as why:
        raise Unanswered(422, Code.CALL_UNREADABLE.value, content.told(str(why))) from None
    except Fault as why:
        raise Unanswered(422, "unusable", content.told(str(why))) from None
