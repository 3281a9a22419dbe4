"""The tool `edit_file`: one text in a file gives way to another.

Settles how the file is read and written for that. Does not settle what an edit makes of a text (`replacing`).
"""

from __future__ import annotations

import os

from stanch.runtime.builtin.asked import CannotDo, failed, opened_file, shown, switch, target, text, trouble
from stanch.runtime.builtin.content import MOST_BYTES, is_binary, read_whole
from stanch.runtime.builtin.page import number
from stanch.runtime.builtin.replacing import NoEdit, edited, unified
from stanch.runtime.builtin.writing import encoded, of_other_names, replace_content
from stanch.runtime.cutting import cut
from stanch.runtime.tool import Builtin, Job, Output
from stanch.values.call import Stamp
from stanch.values.message import SourceTag

MOST_DIFF = 20_000


def edit_file(job: Job) -> Output:
    """Edits the file, and shows the unified diff, tagged with the file."""
    stamp = None
    try:
        stamp = target(job)
        return _edit(job, stamp)
    except (CannotDo, NoEdit) as why:
        return failed(str(why), stamp)


def _edit(job: Job, stamp: Stamp) -> Output:
    old, new, everywhere = text(job, "old"), text(job, "new"), switch(job, "all")
    encoded(new, "new")
    before, seen = _read(stamp)
    after = edited(before, old, new, everywhere=everywhere)
    replace_content(job, stamp, after.text.encode(), seen)
    name = shown(stamp.path, job.directory)
    words = f"Edited {name} in {number(len(after.places), 'place')}{of_other_names(seen)}\n"
    words += cut(unified(before, old, new, after.places, name), MOST_DIFF)
    return Output(words, (SourceTag(stamp.path, span=(0, len(words))),))


def _read(stamp: Stamp) -> tuple[str, os.stat_result]:
    """The file's text, and what the file was then."""
    with opened_file(stamp, os.O_RDWR) as descriptor:
        # WHY first: a file that is written to while it is read is seen to have changed.
        seen = os.fstat(descriptor)
        try:
            data = read_whole(descriptor)
        except OSError as error:
            raise CannotDo(trouble(stamp, error)) from None
    if data is None:
        raise CannotDo(f"the file has more than {MOST_BYTES // 1024 // 1024} MB, too much to edit")
    if is_binary(data):
        raise CannotDo("it is a binary file, which cannot be edited")
    try:
        return data.decode(), seen
    except UnicodeDecodeError:
        raise CannotDo("it is no UTF-8 text, so that editing would change more than was asked for") from None


EDIT_FILE = Builtin(
    "edit_file",
    "Replaces a text in a file. `old` has to be in the file exactly once, letter for letter, as read_file shows it; "
    "take in as much of what is around it as makes it the only one, or set `all`. Shows what was changed as a diff.",
    {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "The file, relative to the working directory or absolute; ~ is the home directory.",
            },
            "old": {"type": "string", "description": "The text to replace, with its spaces and line ends."},
            "new": {"type": "string", "description": "What is to stand there instead; may be empty."},
            "all": {"type": "boolean", "description": "Replace every place where old stands, not the only one."},
        },
        "required": ["path", "old", "new"],
        "additionalProperties": False,
    },
    edit_file,
)
