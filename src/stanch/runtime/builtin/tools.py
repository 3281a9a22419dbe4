"""The built-in tools that read and write files.

Settles which there are. Does not settle which a session is offered.
"""

from __future__ import annotations

from stanch.runtime.builtin.editing import EDIT_FILE
from stanch.runtime.builtin.listing import LIST_FILES
from stanch.runtime.builtin.reading import READ_FILE
from stanch.runtime.builtin.searching import GREP_FILES
from stanch.runtime.builtin.writing import WRITE_FILE
from stanch.runtime.tool import Builtin

FILE_TOOLS: tuple[Builtin, ...] = (READ_FILE, LIST_FILES, GREP_FILES, WRITE_FILE, EDIT_FILE)
