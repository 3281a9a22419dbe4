"""What lies in a folder, for people who look at files as a tree: its folders and its files, without their content.

Settles that a folder is told of without going through all that lies below it. Does not settle what is known of a file
(`file_items`). WHY no tool: a model lists files with `files_list`, whose pages are the same for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from stanch.content.access import Access
from stanch.content.file_items import Below, BrokenGiven, FileGiven, below_path, broken, holders, shown
from stanch.delivery.admit import admit_content
from stanch.delivery.operation import Asked, Given, operation
from stanch.values.fault import BadInput
from stanch.values.files import FileRecord
from stanch.values.records import Broken

AT_ONCE = 100
# What a path has no letter below: no path of an item lies between one and the same with this behind it.
_BEHIND_FILE = " "
# The letter that follows on `/`, so that it comes behind all that lies below a folder.
_BEHIND_FOLDER = "0"


class ListFolder(Asked):
    """Which folder, and from which of its entries on."""

    path: Below = ""
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    start: Annotated[str | None, Field(max_length=2_048, description="The `next` of the part before.")] = None


class EntryGiven(Given):
    """An entry: a file, or, where `file` is null, a folder. `name` is its path below the folder that it lies in."""

    name: str
    path: str
    file: FileGiven | None


class FolderGiven(Given):
    """A part of a folder's entries, in the order of their paths. `next` is where the next part starts, null for none.

    `path` is the folder's, empty for the uppermost. `broken` are rows that stand among them and cannot be read.
    """

    path: str
    items: tuple[EntryGiven, ...]
    broken: tuple[BrokenGiven, ...]
    next: str | None


@operation("content.folder", ListFolder, tool=None)
def list_folder(access: Access, asked: ListFolder) -> FolderGiven:
    """List what lies in a folder: its folders and files. Of two files with one path, one's own is told of."""
    admit_content(access.delivery, ())
    folder = below_path(asked.path)
    inside = f"{folder}/" if folder else ""
    if asked.start is not None and not asked.start.startswith(inside):
        raise BadInput("'start' is none that this folder has given")
    items: list[EntryGiven] = []
    wrong: list[BrokenGiven] = []
    for path, row in _entries(access, folder, inside, asked.start or inside):
        if len(items) + len(wrong) == asked.limit:
            # WHY with a `/`: the file `a.txt` comes before what lies in the folder `a`.
            following = path if row is not None else f"{path}/"
            return FolderGiven(path=folder, items=tuple(items), broken=tuple(wrong), next=following)
        if isinstance(row, Broken):
            wrong.append(broken(row))
        else:
            name = path[len(inside) :]
            items.append(EntryGiven(name=name, path=path, file=None if row is None else shown(access, row)))
    return FolderGiven(path=folder, items=tuple(items), broken=tuple(wrong), next=None)


def _entries(access: Access, folder: str, inside: str, start: str) -> Iterator[tuple[str, FileRecord | Broken | None]]:
    """The path of each entry from `start` on, with its file; None for a folder. What lies deeper is skipped."""
    while True:
        rows = access.stores.files_from(holders(access), start, below=folder, limit=AT_ONCE)
        for path, row in rows:
            if path < start or not path.startswith(inside):
                continue  # the second of two with one path, what lies in a folder told of already, a file of its name
            name, slash, _ = path[len(inside) :].partition("/")
            entry = inside + name
            yield entry, None if slash else row
            start = f"{entry}{_BEHIND_FOLDER if slash else _BEHIND_FILE}"
        if len(rows) < AT_ONCE:
            return
