"""The tool `read_file`: a text file as it is, or some of its lines.

Settles which lines are shown. Does not settle what is a text (`content`).
WHY no line numbers in front of the lines: what is shown is what `edit_file` has to be given.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from stanch.runtime.builtin.asked import CannotDo, count, failed, opened_file, target, trouble
from stanch.runtime.builtin.content import MOST_BYTES, decoded, is_binary, read_block
from stanch.runtime.builtin.page import MOST_CHARACTERS, number
from stanch.runtime.cutting import cut_tagged, left_out
from stanch.runtime.tool import Builtin, Job, Output
from stanch.values.call import Stamp
from stanch.values.message import SourceTag

MOST_SECONDS = 20.0
_SIZE = f"{MOST_BYTES // 1024 // 1024} MB"


@dataclass(frozen=True, slots=True)
class Lines:
    """Some lines of a file. `before`: how many lines there are in front of them. `more`: there are some behind them."""

    data: bytes
    before: int
    more: bool = False


def read_file(job: Job) -> Output:
    """The text, tagged with the file, and behind it what of the file is not shown."""
    stamp = None
    try:
        stamp = target(job)
        return _read(job, stamp)
    except CannotDo as why:
        return failed(why, stamp)


def _read(job: Job, stamp: Stamp) -> Output:
    first, most = count(job, "offset") or 1, count(job, "limit")
    with opened_file(stamp, os.O_RDONLY) as descriptor:
        if most is None and os.fstat(descriptor).st_size > MOST_BYTES:
            raise CannotDo(f"the file has more than {_SIZE}: read some lines of it, with offset and limit")
        try:
            lines = _lines(descriptor, first, most, job)
        except OSError as error:
            raise CannotDo(trouble(stamp, error)) from None
    if is_binary(lines.data):
        raise CannotDo("it is a binary file, which is not shown")
    if not lines.data and first > 1:
        raise CannotDo(f"offset {first:,} is behind the end: the file has {number(lines.before, 'line')}")
    return _shown(lines, stamp.path)


def _lines(descriptor: int, first: int, most: int | None, job: Job) -> Lines:
    """`most` lines from the line `first` on, all where that is None; no more than `MOST_BYTES` of them."""
    until = time.monotonic() + MOST_SECONDS
    skip, left, size, unended = first - 1, most, 0, False
    kept: list[bytes] = []
    while block := read_block(descriptor):
        if job.cancelled.is_set() or time.monotonic() > until:
            raise CannotDo("stopped: it took too long, or nobody waits for it any more")
        unended = not block.endswith(b"\n")
        if skip:
            at, ends = _behind(block, skip)
            skip -= ends
            block = block[at:] if not skip else b""
        if left is not None and block:
            at, ends = _behind(block, left)
            left -= ends
            if not left:
                kept.append(block[:at])
                return Lines(b"".join(kept), first - 1, more=bool(block[at:] or read_block(descriptor)))
        size += len(block)
        if size > MOST_BYTES:
            whole = b"".join(kept)
            return Lines(whole[: whole.rfind(b"\n") + 1] or whole, first - 1, more=True)
        kept.append(block)
    ended = first - 1 - skip
    return Lines(b"".join(kept), ended + (1 if unended and skip else 0))


def _behind(block: bytes, lines: int) -> tuple[int, int]:
    """Where so many lines end in the block, or where it ends if it has fewer; and how many line ends these are."""
    if (ends := block.count(b"\n")) < lines:
        return len(block), ends
    at = 0
    for _ in range(lines):
        at = block.index(b"\n", at) + 1
    return at, lines


def _shown(lines: Lines, path: str) -> Output:
    found = decoded(lines.data)
    text = found.text
    if not text:
        words = "[the file is empty]"
        return Output(words, (SourceTag(path, span=(0, len(words))),))
    notes = []
    missing = left_out(text, MOST_CHARACTERS)
    if missing is not None:
        begin, end = (lines.before + 1 + text.count("\n", 0, at) for at in (missing[0], missing[1] - 1))
        notes.append(f"lines {begin:,} to {end:,} are not shown, or not whole: read them with offset and limit")
    if lines.more:
        behind = lines.before + 1 + text.count("\n")
        notes.append(f"more follows: read on with offset {behind}")
    if found.odd:
        notes.append(f"not all of it is UTF-8 text: {number(found.odd, 'place')} shown as \ufffd")
    body, tags = cut_tagged(text, (SourceTag(path, span=(0, len(text))),), MOST_CHARACTERS)
    if notes and not body.endswith("\n"):
        body += "\n"
    return Output(body + "\n".join(f"[{note}]" for note in notes), tags)


READ_FILE = Builtin(
    "read_file",
    "Reads a text file and gives its text as it is, without line numbers. Of a long file, read a part with `offset` "
    f"and `limit`; a file of more than {_SIZE} is read only so. Notes in square brackets at the end say what is not "
    "shown. Binary files and directories are not read.",
    {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "The file, relative to the working directory or absolute; ~ is the home directory.",
            },
            "offset": {"type": "integer", "minimum": 1, "description": "The first line to read, counted from 1."},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines to read."},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    read_file,
)
