"""Stored files that go to a model as they are: as a tool shows them, and as a person attaches them to their words.

Settles that what a person attaches is held against the session's rules, its model's tier and what is known of the file,
as if the model had asked for it, but that an ordinary ask is no refusal: the one who would answer is the one asking.
Does not settle what may be shown (`content.views`), nor what a turn does (`agents`).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

from stanch.app.content import Content
from stanch.content.streams import Stream
from stanch.content.views import ShowFile, show_file
from stanch.delivery.admit import Admission, ContentRefused
from stanch.secrets.budget import Withheld
from stanch.values.fault import BadFields
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind
from stanch.values.message import File, Origin, SourceTag, Tags, Text
from stanch.values.reason import Code, LayerId, Reason
from stanch.values.records import Actor

STORED = "stored"
"""Says, in what a text has besides, that it is a stored file's, and no file's of the disk."""
MOST_ATTACHED = 10
MOST_BYTES = 16 << 20
_OF_A_PERSON = frozenset({PrincipalKind.USER, PrincipalKind.DELEGATED})


class Attaching:
    """Makes parts of a message out of stored files."""

    def __init__(self, content: Content) -> None:
        self._content = content

    def parts(self, session_id: str, paths: Sequence[str], *, whose: Principal, by: Actor) -> tuple[Text | File, ...]:
        """The parts that a model of the session may have, one for each path, for whoever attaches them.

        Raises `ContentRefused` where one of them may not go to the model, `NotFound`, `BadInput` and `BadFields`.
        """
        if len(paths) > MOST_ATTACHED:
            raise BadFields(("attachments", f"'attachments' may name up to {MOST_ATTACHED} files"))
        # WHY not the session's own principal: whoever attaches a file has to see it, and nobody else's is meant.
        kind = PrincipalKind.DELEGATED if whose.kind in _OF_A_PERSON else PrincipalKind.ORGANIZATION_DELEGATED
        acting = Principal(kind, whose.id, COPILOT_SERVICE)
        made: list[Text | File] = []
        left = MOST_BYTES
        for path in dict.fromkeys(paths):
            access = self._content.access(acting, by, session_id=session_id, tool=show_file.tool, attached=True)
            given = self._content.given(access, show_file, ShowFile(path=path))
            part = shown_part(given, tuple(tags_of(access.delivery.settled)))
            left -= len(part.data or "") if isinstance(part, File) else len(part.text)
            if left < 0:
                raise BadFields(("attachments", f"'attachments' may have up to {MOST_BYTES:,} bytes together"))
            made.append(part)
        return tuple(made)


def shown_part(stream: Stream, tags: Tags = ()) -> Text | File:
    """What a stream is in a message: a text, or a file. Raises `ContentRefused`."""
    try:
        data = b"".join(stream.chunks)
    except Withheld as why:
        reason = Reason(Code.CONTENT_UNSCANNED, LayerId.DELIVERY, detail=why.cause.value)
        raise ContentRefused(reason) from None
    if stream.text:
        return Text(f"[{stream.name}]\n{data.decode('utf-8', 'replace')}", tags, {STORED: True})
    return File(stream.media_type, base64.b64encode(data).decode("ascii"), name=stream.name, tags=tags)


def tags_of(settled: Sequence[Admission]) -> Iterator[SourceTag]:
    """Where a result came from: each item that was admitted, once."""
    seen: set[str] = set()
    for one in settled:
        source = one.source
        name = source.path if source.path is not None else f"{source.kind.value}:{source.id}"
        if one.admitted and name not in seen:
            seen.add(name)
            yield SourceTag(name, Origin.PATH if source.path is not None else Origin.ITEM)
