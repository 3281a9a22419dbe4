"""Cases about conversations of other programs: how they are read and written, and which source tags they get.

Settles when such a case fails. Does not settle its keys (`app.case_conversations`). The disk of these cases is all
names: a path is what its letters say.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from stanch.app.case_records import Conversed
from stanch.app.case_told import Mismatch
from stanch.app.foreign_tags import shipped_shapes
from stanch.tiers.dialects import conversation
from stanch.tiers.tag_calls import CommandFiles
from stanch.tiers.tags import tag_messages
from stanch.values.fault import BadInput
from stanch.values.message import Message, Origin, Part, Result, SourceTag, Text

TAKEN_OUT = "[taken out]"


def played(act: Conversed) -> list[Mismatch]:
    """Everything that came out otherwise than the case says."""
    row = act.row
    try:
        read = conversation.read(row["given"])
        written = conversation.write(read, [_without(one, n, row) for n, one in enumerate(read.messages)])
    except BadInput as fault:
        wanted = row.get("fault")
        return [] if wanted is not None and wanted in str(fault) else [Mismatch(str(wanted), f"fault: {fault}")]
    if "fault" in row:
        return [Mismatch(f"fault: ...{row['fault']}...", "it was read")]
    found = _differs("written", row.get("gives", row["given"] if "without" not in row else written), written)
    if "shape" in row and row["shape"] != read.shape.value:
        found.append(Mismatch(row["shape"], read.shape.value))
    if "tags" in row:
        found += _tagged(read.messages, row)
    return found


def _without(message: Message, number: int, row: Mapping[str, Any]) -> Message:
    """The message with a text in the place of each part that the case wants to be taken out."""
    parts: list[Part] = []
    for at, part in enumerate(message.parts):
        if f"{number + 1}.{at + 1}" not in row.get("without", ()):
            parts.append(part)
        else:
            instead = Text(TAKEN_OUT)
            parts.append(replace(part, content=(instead,)) if isinstance(part, Result) else instead)
    return replace(message, parts=tuple(parts))


def _tagged(messages: Sequence[Message], row: Mapping[str, Any]) -> list[Mismatch]:
    tagged = tag_messages(
        messages,
        shapes=shipped_shapes(),
        cwd=row.get("cwd", "/repo"),
        canonical=lambda path, base: posixpath.normpath(posixpath.join(base, path)),
        command_paths=_cat,
    )
    got = {
        f"{number + 1}.{at + 1}": _shown(part)
        for number, message in enumerate(tagged)
        for at, part in enumerate(message.parts)
        if part.tags
    }
    found = _differs("tags", row["tags"], got)
    untouched = all(new is old for new, old in zip(tagged, messages, strict=True) if not any(p.tags for p in new.parts))
    return found if untouched else [*found, Mismatch("what has no tags stays the same object", "another object")]


def _cat(command: str, directory: str) -> CommandFiles | None:
    """Resolves nothing but `cat FILE...`: what commands read has cases of its own."""
    program, *files = command.split()
    if program != "cat" or any(set(file) & set("$*;|&<>`'\"") for file in files):
        return None
    return CommandFiles(tuple(SourceTag(posixpath.normpath(posixpath.join(directory, one))) for one in files))


def _shown(part: Part) -> Any:
    """The tags of a part as a case writes them: a list, or by the text of each span."""
    if all(tag.span is None for tag in part.tags):
        return [_word(tag) for tag in part.tags]
    inner = part.content if isinstance(part, Result) else (part,)
    whole = "".join(one.text for one in inner if isinstance(one, Text))
    spans: dict[str, list[str]] = {}
    for tag in part.tags:
        spans.setdefault(whole[slice(*tag.span)] if tag.span is not None else "", []).append(_word(tag))
    return spans


def _word(tag: SourceTag) -> str:
    match tag.origin:
        case Origin.SUBTREE:
            return f"{tag.name.rstrip('/')}/**"
        case Origin.UNKNOWN:
            return f"? {tag.name}"
        case _:
            return tag.name


def _differs(what: str, wanted: Any, got: Any) -> list[Mismatch]:
    one, other = (json.dumps(value, ensure_ascii=False) for value in (wanted, got))
    return [] if one == other else [Mismatch(f"{what} {one}", other)]
