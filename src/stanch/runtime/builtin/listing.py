"""The tool `list_files`: what is in a directory, or what lies below it and fits a glob.

Settles what an entry looks like in a list. Does not settle what is come to (`walking`).
"""

from __future__ import annotations

import os
from contextlib import closing

from stanch.runtime.builtin.asked import CannotDo, failed, is_directory, opened, optional_text, shown, target
from stanch.runtime.builtin.globbing import everything, globbed
from stanch.runtime.builtin.page import Page
from stanch.runtime.builtin.walking import Kind, Limits, Walk
from stanch.runtime.tool import Builtin, Job, Output
from stanch.values.call import Stamp

MOST_LINES = 1_000
LIMITS = Limits()


def list_files(job: Job, limits: Limits = LIMITS) -> Output:
    """One entry a line, by its path from the working directory, tagged with that path."""
    stamp = None
    try:
        stamp = target(job)
        return _list(job, stamp, limits)
    except CannotDo as why:
        return failed(why, stamp)


def _list(job: Job, stamp: Stamp, limits: Limits) -> Output:
    pattern = optional_text(job, "pattern")
    glob = globbed(pattern, stamp.path) if pattern else everything(0)
    walk, page, more = Walk(job, glob, frozenset(Kind), limits), Page(), False
    with opened(stamp, os.O_RDONLY) as root:
        if not is_directory(root):
            raise CannotDo("it is a file, not a directory: read_file shows what is in it")
        with closing(walk.through(root, stamp.path)) as entries:
            for found in entries:
                more = page.lines >= MOST_LINES or page.full
                if more:
                    break
                page.add(found.path, [shown(found.path, job.directory) + found.kind.value])
    notes = (
        [f"Only the first {page.lines:,} are listed: name a directory in path, or a narrower pattern"] if more else []
    )
    nothing = "Nothing fits the pattern" + _hint(pattern) if pattern else "There is nothing to list"
    return page.output(notes + walk.notes(), walk.withheld, nothing=nothing, root=stamp.path)


def _hint(pattern: str) -> str:
    return ". Only * and ? and ** are special in it" if any(sign in pattern for sign in "[{!") else ""


LIST_FILES = Builtin(
    "list_files",
    "Lists what is in a directory: one entry per line, directories with a slash at the end, hidden files too. "
    "With `pattern`, lists all files and directories below it whose path fits: `**/*.py`, `src/*/test_*`. "
    "Links are named and never followed, .git is not entered unless the pattern names it. What this session may not "
    "see is left out, and how much that is stands in the last line.",
    {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "The directory, relative to the working directory or absolute. Left out: the working "
                "directory.",
            },
            "pattern": {
                "type": "string",
                "description": "A glob for paths below `path`. `*` and `?` stay within one name, `**` stands for any "
                "number of directories, everything else for itself. Without `**` it does not go deeper than it is "
                "written.",
            },
        },
        "additionalProperties": False,
    },
    list_files,
)
