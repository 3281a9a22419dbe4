"""What lies below a directory that a call reaches down from: a search, or a move.

Settles how far is looked. Does not settle what is closed there (`policy.layers`).
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable

from stanch.paths.pattern import component
from stanch.values.call import Below

MOST_ENTRIES = 20_000
_PLAIN_NAME = re.compile(r"(?:\*\*/)?([^/{}\[\]!,\\]+)")


def look_below(directory: str, *, only: str = "", folders: bool = False, most: int = MOST_ENTRIES) -> Below | None:
    """What lies below the canonical directory, links not followed; None where it is no directory that is there.

    `only` is a glob for the names of files; one that is more than a plain name with stars filters nothing out.
    `folders` counts directories as found. Where there are more than `most` entries, or a directory cannot be listed,
    what was found is not complete.
    """
    fits = _name_test(only)
    found: list[str] = []
    seen, complete = 0, True
    todo = [directory]
    while todo:
        here = todo.pop(0)
        try:
            entries = os.scandir(here)
        except NotADirectoryError:
            return None
        except OSError:
            if here == directory:
                return None
            complete = False
            continue
        try:
            with entries:
                for entry in entries:
                    seen += 1
                    if seen > most:
                        return Below(tuple(found), complete=False)
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder:
                        todo.append(entry.path)
                    if folders if is_folder else fits is None or fits(entry.name):
                        found.append(unicodedata.normalize("NFC", entry.path))
        except OSError:  # a directory may open and still not be listed to its end
            complete = False
    return Below(tuple(found), complete)


def _name_test(only: str) -> Callable[[str], bool] | None:
    plain = _PLAIN_NAME.fullmatch(only)
    return component(unicodedata.normalize("NFC", plain[1])) if plain else None
