"""The operations on stored content as tools of the agents that run here.

Settles that each operation with a tool's name is one, and what of its result a model is told. Does not settle what it
does (`content`), nor whether a call may run (`app.calls`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from stanch.app.attaching import shown_part, tags_of
from stanch.app.content import Content
from stanch.content import (  # noqa: F401 - operations
    archives,
    compile_files,
    file_searching,
    file_texts,
    file_writing,
    files,
    knowledge,
    knowledge_chunks,
    knowledge_export,
    knowledge_writing,
    links,
    views,
)
from stanch.content.streams import Stream
from stanch.delivery.admit import ContentRefused
from stanch.delivery.operation import OPERATIONS, Operation
from stanch.explain.sentences import sentence
from stanch.runtime.cutting import cut_tagged
from stanch.runtime.tool import Builtin, Job, Output
from stanch.values.fault import Fault
from stanch.values.identity import COPILOT_SERVICE, Principal
from stanch.values.message import Tags, Text
from stanch.values.records import Actor

MOST_CHARACTERS = 60_000
SURFACE = "agent"
PrincipalOf = Callable[[str], Principal]
"""The principal of a session."""


def store_tools(content: Content, principal_of: PrincipalOf) -> Iterator[Builtin]:
    """Every operation that a model may use, as a tool, but for those that a chat has no place for."""
    for operation in OPERATIONS.values():
        if operation.tool is not None and operation.in_chat:
            yield Builtin(
                operation.tool,
                operation.does,
                operation.arguments.model_json_schema(),
                _Running(content, operation, principal_of),
            )


class _Running:
    """Runs one operation for a call of an agent."""

    def __init__(self, content: Content, operation: Operation[Any, Any, Any], principal_of: PrincipalOf) -> None:
        self._content, self._operation, self._principal_of = content, operation, principal_of

    def __call__(self, job: Job) -> Output:
        operation = self._operation
        try:
            asked = operation.arguments.model_validate_json(json.dumps(dict(job.arguments)))
        except ValidationError as why:
            return Output(_unusable(why), failed=True)
        # WHY: whoever a session names, a model acts in it, and what it gets is classified.
        acting = replace(self._principal_of(job.session_id), service_id=COPILOT_SERVICE)
        access = self._content.access(
            acting, Actor(job.session_id, SURFACE), session_id=job.session_id, tool=job.tool, cancelled=job.cancelled
        )
        access.delivery.call = job.call_id
        self._content.approved(access, job.approved)
        try:
            given = self._content.given(access, operation, asked)
            if isinstance(given, Stream):
                return _shown(given, tuple(tags_of(access.delivery.settled)))
        except ContentRefused as why:
            saved = " What was to be changed is saved." if why.saved else ""
            return Output(self._content.told(f"{sentence(why.reason)}.{saved}"), failed=not why.saved)
        except Fault as why:
            return Output(self._content.told(str(why)), failed=True)
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=1)
        withheld = [one for one in access.delivery.settled if not one.admitted]
        text, tags = cut_tagged(text, tuple(tags_of(access.delivery.settled)), MOST_CHARACTERS)
        return Output(text, tags, withheld=len(withheld))


def _shown(stream: Stream, tags: Tags) -> Output:
    """What a model is shown as it is. Raises `ContentRefused`."""
    part = shown_part(stream)
    if isinstance(part, Text):
        return Output(part.text, tags)
    return Output(f"{stream.name}: {stream.media_type}", tags, files=(part,))


def _unusable(why: ValidationError) -> str:
    """What is wrong with the arguments, without a word of theirs."""
    found = [f"'{'.'.join(map(str, error['loc'])) or 'arguments'}': {error['msg']}" for error in why.errors()[:10]]
    return "The arguments cannot be used: " + "; ".join(found)
