"""The tool `write_file`, and how a file's content is replaced as a whole.

Settles that a file has its old content or all of the new one, and that nothing but the judged file is written. Does not
settle whether it may be (the gate).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from stanch.paths.opening import open_judged
from stanch.runtime.builtin.asked import CannotDo, failed, refused, shown, target, text, trouble
from stanch.runtime.builtin.page import number
from stanch.runtime.tool import Builtin, Job, Output
from stanch.values.call import Stamp
from stanch.values.message import SourceTag
from stanch.values.reason import Code

_TEMPORARY = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_MODE = 0o777  # WHY not more: a program that runs as its owner is none any more once an agent wrote it


def write_file(job: Job) -> Output:
    """Writes the file, and says whether it was there before."""
    stamp = None
    try:
        stamp = target(job)
        data = encoded(text(job, "content"), "content")
        seen = _look(stamp)
        replace_content(job, stamp, data, seen)
    except CannotDo as why:
        return failed(why, stamp)
    how = "Replaced" if seen is not None else "Made"
    words = f"{how} {shown(stamp.path, job.directory)}: {number(len(data), 'byte')}" + of_other_names(seen)
    return Output(words, (SourceTag(stamp.path, span=(0, len(words))),))


def encoded(content: str, name: str) -> bytes:
    """The bytes of a text; raises `CannotDo` for one that has none."""
    try:
        return content.encode()
    except UnicodeEncodeError:
        raise CannotDo(f"the argument {name} holds a half of a character, which no file can hold") from None


def of_other_names(seen: os.stat_result | None) -> str:
    """What is said of a file that had more names than the one it was written by."""
    return "\nIts other names still have the old content" if seen is not None and seen.st_nlink > 1 else ""


def replace_content(job: Job, stamp: Stamp, data: bytes, seen: os.stat_result | None) -> None:
    """Puts the content in the place of the file that was `seen`, None for a new one; missing directories are made.

    The content is written beside the file, and then given its name. Raises `CannotDo`, and leaves everything as it
    was, where what has the name is not what was seen, and where the job was cancelled.
    """
    name = os.path.basename(stamp.path)
    if not name:
        raise CannotDo("it is a directory, and no file")
    try:
        with _folder(stamp) as folder:
            temporary = f".stanch-{secrets.token_hex(8)}.tmp"
            try:
                _write(folder, temporary, data, seen)
                _last_look(job, stamp, folder, name, seen)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
    except OSError as error:
        raise CannotDo(trouble(stamp, error)) from None


def _look(stamp: Stamp) -> os.stat_result | None:
    """What is there now, opened as if to be written; None where nothing is."""
    try:
        found = open_judged(stamp, os.O_WRONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CannotDo(trouble(stamp, error)) from None
    if isinstance(found, Code):
        raise CannotDo(refused(stamp, found))
    try:
        return os.fstat(found)
    finally:
        os.close(found)


@contextmanager
def _folder(stamp: Stamp) -> Iterator[int]:
    """A descriptor of the directory that the judged file lies in, made where it is missing; no link is followed."""
    folder = os.path.dirname(stamp.path)
    # WHY the dot: what is in front of the last part is made where it is missing.
    found = open_judged(
        stamp._replace(path=os.path.join(folder, "."), links=0), os.O_RDONLY | os.O_DIRECTORY, parents=True
    )
    if isinstance(found, Code):
        raise CannotDo(refused(stamp, found))
    try:
        yield found
    finally:
        os.close(found)


def _write(folder: int, name: str, data: bytes, seen: os.stat_result | None) -> None:
    descriptor = os.open(name, _TEMPORARY, 0o666 if seen is None else 0o600, dir_fd=folder)
    with open(descriptor, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) or 0 :]
        if seen is not None:
            with suppress(PermissionError):  # only root gives a file to somebody else
                os.chown(descriptor, seen.st_uid, seen.st_gid)
            os.chmod(descriptor, seen.st_mode & _MODE)
        os.fsync(descriptor)


def _last_look(job: Job, stamp: Stamp, folder: int, name: str, seen: os.stat_result | None) -> None:
    if job.cancelled.is_set():
        raise CannotDo("cancelled: nothing was written")
    if not _still(folder, name, seen):
        raise CannotDo(refused(stamp, Code.TARGET_CHANGED))


def _still(folder: int, name: str, seen: os.stat_result | None) -> bool:
    """True where the name stands for what was seen, and that was not written to meanwhile."""
    try:
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return seen is None
    if seen is None:
        return False
    return all(getattr(now, field) == getattr(seen, field) for field in _SAME)


_SAME = ("st_dev", "st_ino", "st_mode", "st_nlink", "st_size", "st_mtime_ns")


WRITE_FILE = Builtin(
    "write_file",
    "Writes a text file: makes it, with the directories it lies in, or replaces all that is in it. To change a part of "
    "a file, use edit_file.",
    {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "The file, relative to the working directory or absolute; ~ is the home directory.",
            },
            "content": {"type": "string", "description": "All that is to be in the file."},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    },
    write_file,
)
