"""The tool `grep_files`: the lines of files that a regular expression matches.

Settles which files are searched and how a line is shown. Does not settle how an expression is searched for
(`expressions`) nor what is come to (`walking`).
"""

from __future__ import annotations

import os
from contextlib import closing

from stanch.runtime.builtin.asked import (
    CannotDo,
    failed,
    is_directory,
    opened,
    opened_file,
    optional_text,
    shown,
    target,
    text,
)
from stanch.runtime.builtin.content import MOST_BYTES, decoded, is_binary, read_whole
from stanch.runtime.builtin.expressions import Expression, Hit
from stanch.runtime.builtin.globbing import everything, globbed
from stanch.runtime.builtin.page import Page, number
from stanch.runtime.builtin.walking import Kind, Limits, Walk
from stanch.runtime.tool import Builtin, Job, Output
from stanch.values.call import Stamp

MOST_LINES = 1_000
LONGEST_LINE = 500
LIMITS = Limits()


def grep_files(job: Job, limits: Limits = LIMITS) -> Output:
    """`path:line:text` for each line that matches, the lines of a file tagged with it."""
    stamp = None
    try:
        stamp = target(job)
        pattern = optional_text(job, "glob")
        glob = globbed(pattern, stamp.path, anywhere=True) if pattern else everything(None)
        walk = Walk(job, glob, frozenset({Kind.FILE}), limits)
        search = _Search(job, Expression(text(job, "pattern")), walk)
        with opened(stamp, os.O_RDONLY) as root:
            if is_directory(root):
                with closing(walk.through(root, stamp.path)) as files:
                    for found in files:
                        search.file(found.stamp)
                        if search.full:
                            break
            else:
                search.opened(root, stamp.path)
    except CannotDo as why:
        return failed(why, stamp)
    return search.output(stamp.path)


class _Search:
    """One search: what was found so far, and what was not searched."""

    def __init__(self, job: Job, expression: Expression, walk: Walk) -> None:
        self._job, self._expression, self._walk = job, expression, walk
        self._page = Page()
        self._binary = self._large = self._odd = 0
        self.full = False

    def file(self, stamp: Stamp) -> None:
        """Searches a file that was come to; counts it where it cannot be opened or is not the same any more."""
        try:
            with opened_file(stamp, os.O_RDONLY) as descriptor:
                data = self._bytes(descriptor)
        except CannotDo:
            self._walk.skip_unreadable()
        else:
            self._through(data, stamp.path)

    def opened(self, descriptor: int, path: str) -> None:
        """Searches a file that is open."""
        self._through(self._bytes(descriptor), path)

    def _bytes(self, descriptor: int) -> bytes:
        """What is in the file; nothing, and counted, where it is not to be searched."""
        try:
            data = read_whole(descriptor)
        except OSError:
            self._walk.skip_unreadable()
            return b""
        if data is None:
            self._large += 1
        elif is_binary(data):
            self._binary += 1
        else:
            return data
        return b""

    def _through(self, data: bytes, path: str) -> None:
        found = decoded(data)
        if found.odd:
            data = found.text.encode()
        data = data.replace(b"\r\n", b"\n")  # so that $ fits in front of either end
        name = shown(path, self._job.directory)
        lines: list[str] = []
        for hit in self._expression.hits(data, self._walk.may_go_on):
            self.full = self._page.lines + len(lines) >= MOST_LINES or self._page.full
            if self.full:
                break
            lines.append(f"{name}:{hit.line}:{_excerpt(hit)}")
        self._odd += bool(lines and found.odd)
        self._page.add(path, lines)

    def output(self, root: str) -> Output:
        """What was found below the canonical path `root`, and notes of what was not searched."""
        notes = []
        if self.full:
            notes.append(f"Only the first {number(self._page.lines, 'line')} shown: search for something narrower")
        if self._binary:
            notes.append(f"Not searched: {number(self._binary, 'binary file')}")
        if self._large:
            notes.append(f"Not searched: {number(self._large, 'file')} of more than {MOST_BYTES // 1024 // 1024} MB")
        if self._odd:
            notes.append(f"Not all UTF-8 text: {number(self._odd, 'file')}, shown with \ufffd")
        return self._page.output(notes + self._walk.notes(), self._walk.withheld, nothing="No line matches", root=root)


def _excerpt(hit: Hit) -> str:
    """The line, of a long one what is around the match."""
    line = hit.text.decode(errors="replace")
    if len(line) <= LONGEST_LINE:
        return line
    at = len(hit.text[: hit.start].decode(errors="replace"))
    begin = max(0, min(at - LONGEST_LINE // 4, len(line) - LONGEST_LINE))
    end = begin + LONGEST_LINE
    return ("…" if begin else "") + line[begin:end] + ("…" if end < len(line) else "")


GREP_FILES = Builtin(
    "grep_files",
    "Searches files for a regular expression, line by line, in a directory and all below it. Gives `path:line:text` "
    "for each line that matches. Hidden files are searched; binary files, .git and what links lead to are not. What "
    "this session may not see is left out, and how much that is stands in the last line.",
    {
        "type": "object",
        "properties": {
            "pattern": {
                "type": "string",
                "description": "A regular expression in RE2 syntax, as ripgrep and Go have it: no look-around, no "
                "back-references. ^ and $ stand for the ends of a line; begin with (?i) to ignore case.",
            },
            "path": {
                "type": "string",
                "description": "The directory or file to search, relative to the working directory or absolute. Left "
                "out: the working directory.",
            },
            "glob": {
                "type": "string",
                "description": "Search only files whose path below `path` fits: `*.py` for a name at any depth, "
                "`src/**/*.ts`. Only `*`, `?` and `**` are special.",
            },
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
    grep_files,
)
