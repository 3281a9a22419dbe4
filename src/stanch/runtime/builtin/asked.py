"""What a call of a file tool gives: its target, texts, numbers, and how a target that cannot be opened is told.

Settles how arguments are taken. Does not settle what the tools do with them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stanch.explain.sentences import sentence, visible
from stanch.paths.opening import open_judged
from stanch.runtime.tool import Job, Output
from stanch.values.call import Stamp
from stanch.values.message import SourceTag
from stanch.values.reason import Code, LayerId, Reason


class CannotDo(Exception):
    """The tool cannot do what it was asked; the message tells a model why. It never leaves the tools."""


def target(job: Job) -> Stamp:
    """The stamp of the one path that the call names. Raises `CannotDo` where it names none, or several."""
    found = job.stamps.get("path")
    if found is None and len(job.stamps) == 1:
        (found,) = job.stamps.values()  # another word for `path`, which the gate knows too
    if found is None:
        raise CannotDo("the argument path has to name one path")
    return found


def text(job: Job, name: str) -> str:
    """The text of that argument; raises `CannotDo` where it is missing or no text."""
    found = optional_text(job, name)
    if found is None:
        raise CannotDo(f"the argument {name} is missing")
    return found


def optional_text(job: Job, name: str) -> str | None:
    """The text of that argument, None where it is left out; raises `CannotDo` where it is no text."""
    found = job.arguments.get(name)
    if found is None or isinstance(found, str):
        return found
    raise CannotDo(f"the argument {name} has to be a text")


def count(job: Job, name: str) -> int | None:
    """The whole number of that argument, from 1; None where it is left out. Raises `CannotDo` where it is none."""
    found: Any = job.arguments.get(name)
    if found is None or (type(found) is int and found >= 1):
        return found
    raise CannotDo(f"the argument {name} has to be a whole number, 1 or more")


def switch(job: Job, name: str) -> bool:
    """The yes or no of that argument, no where it is left out; raises `CannotDo` where it is neither."""
    found = job.arguments.get(name)
    if found is None or isinstance(found, bool):
        return bool(found)
    raise CannotDo(f"the argument {name} has to be true or false")


def shown(path: str, directory: str) -> str:
    """A canonical path as a model is told it: from the working directory where it lies below that, escapes for what
    does not print.
    """
    inside = directory.rstrip("/") + "/"
    return visible(path.removeprefix(inside) or ".") if path != directory else "."


@contextmanager
def opened(stamp: Stamp, flags: int) -> Iterator[int]:
    """A descriptor of what was judged, which is closed at the end; raises `CannotDo` where it cannot be had."""
    try:
        found = open_judged(stamp, flags)
    except OSError as error:
        raise CannotDo(trouble(stamp, error)) from None
    if isinstance(found, Code):
        raise CannotDo(refused(stamp, found))
    try:
        yield found
    finally:
        os.close(found)


@contextmanager
def opened_file(stamp: Stamp, flags: int) -> Iterator[int]:
    """As `opened`; raises `CannotDo` for a directory, too."""
    with opened(stamp, flags) as descriptor:
        if is_directory(descriptor):
            raise CannotDo("it is a directory: list_files shows what is in it")
        yield descriptor


def refused(stamp: Stamp, code: Code) -> str:
    """The sentence of a code that came in the place of a descriptor."""
    detail = stamp.detail or ("neither a file nor a directory" if code is Code.PATH_UNREADABLE else "")
    return sentence(Reason(code, LayerId.INTEGRITY, None, stamp.path, detail, stamp.requested))


def trouble(stamp: Stamp, error: OSError) -> str:
    """What went wrong with the target, in a sentence."""
    name = visible(stamp.requested or stamp.path)
    if isinstance(error, FileNotFoundError):
        return f"there is no such file or directory: {name}"
    if isinstance(error, IsADirectoryError) or error.errno == errno.EISDIR:
        return f"it is a directory: {name}"
    return f"{(os.strerror(error.errno) if error.errno else 'it cannot be opened').lower()}: {name}"


def is_directory(descriptor: int) -> bool:
    """True for the descriptor of a directory."""
    return stat.S_ISDIR(os.fstat(descriptor).st_mode)


def failed(why: CannotDo | str, stamp: Stamp | None = None) -> Output:
    """The output of a tool that could not do what it was asked.

    It is tagged with the target, where there is one: that a file is there, or is not, is known from the file.
    """
    words = str(why)
    words = words[:1].upper() + words[1:]
    tags = (SourceTag(stamp.path, span=(0, len(words))),) if stamp is not None and stamp.path else ()
    return Output(words, tags, failed=True)
