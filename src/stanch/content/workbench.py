"""Stored files on their way into a workbench: one that a model fetches, and several that are mounted before code runs.

Settles that each is admitted before any byte of it is copied, and that a file which is refused leaves no older copy at
its place. Does not settle what a gate admits (`delivery.gates`), nor how a copy is made (`content.workbench_disk`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pydantic import Field

from stanch.content.access import Access, item_path
from stanch.content.file_items import PathText, VersionNumber, source_of, version_at
from stanch.delivery.admit import ContentRefused, admit_content, require_admitted_content
from stanch.delivery.operation import Asked, ContentDelivery, Given, operation
from stanch.delivery.source import OPAQUE
from stanch.delivery.workbench import name_of
from stanch.values.fault import BadFields, BadInput, BrokenRow, NotFound
from stanch.values.files import VersionRecord
from stanch.values.reason import Code, LayerId, Reason

NOT_FOUND = "not_found"


class FillWorkbench(Asked):
    """Which file is copied into the workbench."""

    path: PathText
    version: VersionNumber | None = Field(default=None, description="Left out: the newest.")


class Filled(Given):
    """A copy that lies in the workbench, at the path that the file has."""

    path: str
    version: int
    size: int


@dataclass(frozen=True, slots=True)
class Excluded:
    """A file that was asked to be mounted and may not be. `reason` is None for one that is not there."""

    path: str
    reason: Reason | None

    @property
    def code(self) -> str:
        """The reason's code, or `not_found`."""
        return NOT_FOUND if self.reason is None else self.reason.code.value


@operation("workbench_get", FillWorkbench, tool="files_get", content_delivery=ContentDelivery.SOURCED, in_chat=False)
def fill_workbench(access: Access, asked: FillWorkbench) -> Filled:
    """Copy the bytes of a stored file into the workbench of the model's session, at the path that it has."""
    workbench = access.workbench
    if workbench is None:
        raise BadInput("a workbench is filled by the model of its session")
    if workbench.session_id != access.session_id:
        raise NotFound("session", "")
    path = item_path(asked.path)
    file, version = version_at(access, path, asked.version)
    # WHY before it is admitted: what cannot be copied is not to leave a taint behind.
    workbench.check({path: version.size})
    source = source_of(access, file, version.number, view=OPAQUE)
    require_admitted_content(access.delivery, source)
    _copied(access, path, version)
    access.delivery.committed = True
    if workbench.gate.registry.latched is not None:
        # The copy is made; what is told of it says nothing, like all that comes of this workbench from now on.
        reason = Reason(Code.WORKBENCH_TAINTED, LayerId.DELIVERY, subject=name_of(source))
        access.delivery.deferred = ContentRefused(reason, saved=True)
    else:
        workbench.vouched_for(path)
    return Filled(path=path, version=version.number, size=version.size)


def mounted(access: Access, paths: Iterable[str], without: Callable[[str], object]) -> tuple[Excluded, ...]:
    """Copies these files into the workbench, or none of them: then it gives each that may not be mounted.

    `without` removes an older copy from the workbench; it is called for each that may not be. Raises `BadFields` for
    what is no path, `BadInput` where there is no room, and whatever copying raises.
    """
    workbench = access.workbench
    if workbench is None:
        raise BadInput("a workbench is filled by the model of its session")
    wanted = list(dict.fromkeys(item_path(path) for path in paths))
    _apart(wanted)
    found: dict[str, VersionRecord] = {}
    excluded: list[Excluded] = []
    # INVARIANT: said before anything is looked for, and true where nothing is mounted.
    admit_content(access.delivery, ())
    for path in wanted:
        try:
            file, version = version_at(access, path, None)
        except NotFound:
            excluded.append(Excluded(path, None))
            continue
        (admission,) = admit_content(access.delivery, (source_of(access, file, version.number, view=OPAQUE),))
        if admission.refusal is None:
            found[path] = version
        else:
            excluded.append(Excluded(path, admission.refusal))
    if excluded:
        for one in excluded:
            without(one.path)
        return tuple(excluded)
    workbench.check({path: version.size for path, version in found.items()})
    for path, version in found.items():
        _copied(access, path, version)
        workbench.vouched_for(path)
    return ()


def entry_path(written: str) -> str:
    """The path of an entry of a workbench, as a person names it. Raises `BadFields` for what can be none.

    WHY not as items are named: code gives its files whatever names it likes.
    """
    if "\0" in written or any(part in ("", ".", "..") for part in written.split("/")):
        raise BadFields(("path", "'path' must name an entry of the workbench, such as out/plan.md"))
    return written


def _copied(access: Access, path: str, version: VersionRecord) -> None:
    if access.workbench is None:
        raise BadInput("there is no workbench")
    if not access.blobs.has(version.digest, version.size):
        raise BrokenRow("file_versions", version.id, "its bytes are gone, or not all there")
    access.workbench.put(path, access.blobs.chunks(version.digest), version.size)


def _apart(paths: list[str]) -> None:
    """Raises `BadFields` where one of the files would lie where another one needs a folder."""
    taken = set(paths)
    for path in paths:
        parts = path.split("/")
        if any("/".join(parts[:count]) in taken for count in range(1, len(parts))):
            raise BadFields(("mounts", "'mounts' names a file that would lie inside of another one"))
