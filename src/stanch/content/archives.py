"""Many files as one archive, with a list inside of what is in it and what is not.

Settles that each file is admitted by itself, and that one which is left out is told of with the reason, or only counted
where a model may not be told that it is there. Does not settle what an archive is sent as (`surfaces`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from zipstream import ZIP_DEFLATED, ZipStream  # type: ignore[import-untyped]

from stanch.content.access import Access
from stanch.content.file_items import Below, below_path, files_below, source_of
from stanch.content.file_texts import projected
from stanch.content.streams import Stream
from stanch.delivery.admit import admit_content, may_be_named
from stanch.delivery.operation import Asked, ContentDelivery, operation
from stanch.delivery.source import OPAQUE
from stanch.explain.sentences import sentence
from stanch.values.fault import NotFound
from stanch.values.files import FileRecord
from stanch.values.reason import Code

MANIFEST = "stanch-manifest"
_NAMED = {"code": Code.CONTENT_OPAQUE.value, "sentence": "Its name holds a secret"}
_BROKEN = {"code": "broken", "sentence": "Its bytes are gone, or not all there"}


class ArchiveFiles(Asked):
    """Which files."""

    path: Below = ""


@operation("files_archive", ArchiveFiles, tool="files_archive", content_delivery=ContentDelivery.SOURCED, in_chat=False)
def archive_files(access: Access, asked: ArchiveFiles) -> Stream:
    """Give files as a ZIP archive, all or those below a directory. A manifest in it tells what was left out and why."""
    below = below_path(asked.path)
    admit_content(access.delivery, ())
    packed = ZipStream(compress_type=ZIP_DEFLATED)
    included: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    names: set[str] = set()
    closed = 0
    for file in files_below(access, below):
        names.add(file.path)
        if not may_be_named(access.delivery, access.place(file.path)):
            closed += 1
            continue
        # WHY the names too: nothing takes a secret out of an archive once it is packed.
        name = projected(access, file.path)
        reason = _left_out(access, file) or (None if name == file.path else _NAMED)
        if reason is not None:
            left_out.append({"path": name, "version": file.version, "reason": reason})
            continue
        packed.add(access.blobs.chunks(file.digest), file.path)
        included.append({"path": file.path, "version": file.version, "size": file.size, "media_type": file.media_type})
    if below and not names:
        raise NotFound("file", below)
    told = {"files": included, "left_out": left_out, "withheld": closed}
    manifest = json.dumps(told, ensure_ascii=False, indent=1)
    packed.add(manifest.encode("utf-8", "replace"), _free(names))
    name = projected(access, below.rpartition("/")[2] or "files")
    return Stream(_bytes(access, packed), f"{name}.zip", "application/zip")


def _left_out(access: Access, file: FileRecord) -> dict[str, str] | None:
    """Why a file is not in the archive; None for one that is."""
    (admission,) = admit_content(access.delivery, (source_of(access, file, view=OPAQUE),))
    if admission.refusal is not None:
        return {"code": admission.refusal.code.value, "sentence": sentence(admission.refusal)}
    return None if access.blobs.has(file.digest, file.size) else _BROKEN


def _free(names: set[str]) -> str:
    """A name for the manifest that no file has: the archive's own word is never one of somebody else's."""
    folded = {name.casefold() for name in names}
    count = 0
    while True:
        name = f"{MANIFEST}{f'-{count}' if count else ''}.json"
        if name not in folded and not any(one.startswith(f"{name}/") for one in folded):
            return name
        count += 1


def _bytes(access: Access, packed: ZipStream) -> Iterator[bytes]:
    done = 0
    for chunk in packed:
        done += len(chunk)
        access.told(done, None)
        yield chunk
