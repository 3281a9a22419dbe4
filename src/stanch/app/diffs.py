"""What a write would change, as a person reads it.

Settles for which tools there is a diff, and how much of it is shown. Does not settle whether the write may happen.
"""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Mapping
from typing import Any

from stanch.runtime.builtin.replacing import NoEdit, edited
from stanch.values.call import EffectClass, JudgedCall

MOST_BYTES = 256 * 1024
MOST_LINES = 2_000
# The arguments that hold the whole new content, and those that hold what is taken out and put in.
_WHOLE = ("content", "file_text", "contents", "text")
_OLD = ("old", "old_string", "oldString", "old_str")
_NEW = ("new", "new_string", "newString", "new_str")


def diff_of(call: JudgedCall) -> str | None:
    """The unified diff of a call that writes one file; None where there is none to show.

    A call that names its new text in two ways has none: nobody here knows which of them its tool takes.
    """
    paths = {e.stamp.path for e in call.effects if e.cls is EffectClass.WRITE and e.stamp is not None and e.stamp.path}
    if len(paths) != 1 or any(effect.command is not None for effect in call.effects):
        return None
    (path,) = paths
    arguments = call.call.arguments
    whole, old, new = (_texts(arguments, names) for names in (_WHOLE, _OLD, _NEW))
    if (len(whole), len(old), len(new)) not in ((1, 0, 0), (0, 1, 1)):
        return None
    before = _read(path)
    if before is None:
        return None
    if whole:
        after = whole[0]
    elif call.builtin:
        try:
            after = edited(before, old[0], new[0], everywhere=arguments.get("all") is True).text
        except NoEdit:
            return None
    elif old[0] in before:
        everywhere = arguments.get("replace_all") is True or arguments.get("replaceAll") is True
        after = before.replace(old[0], new[0], -1 if everywhere else 1)
    else:
        return None
    lines = difflib.unified_diff(_lines(before), _lines(after), path, path, lineterm="", n=3)
    shown: list[str] = []
    for line in lines:
        if len(shown) >= MOST_LINES:
            shown.append("… more is changed than is shown")
            break
        shown.append(line)
    return "\n".join(shown)


def _texts(arguments: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    return [value for name in names if isinstance(value := arguments.get(name), str)]


def _lines(text: str) -> list[str]:
    """The lines of a text.

    WHY not `splitlines`: it takes carriage returns and separators of pages and paragraphs out of sight.
    """
    if not text:
        return []
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else [*lines, "\\ No newline at end of file"]


def _read(path: str) -> str | None:
    """The file's text, "" where there is no file yet; None where it is no text that can be shown."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return ""
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        # WHY it is closed below: a descriptor that cannot be made a file, such as a directory's, would stay open.
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(MOST_BYTES + 1)
        return content.decode() if len(content) <= MOST_BYTES else None
    except (OSError, UnicodeError):
        return None
    finally:
        os.close(descriptor)
