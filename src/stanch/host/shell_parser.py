"""The parser of shell code: shfmt, a process for each piece of code, asked for its syntax tree.

Settles how it is found, run and limited. Does not settle what the tree means (`policy.shell`).
WHY a process each time: what is parsed comes from a model, and a parser that hangs or dies takes nothing along. It
costs about three milliseconds; the code that was parsed last is remembered, since an approved call is judged again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Any

from stanch.policy.shell.reading import Unparsed

SECONDS = 1.0
MOST_REMEMBERED = 128
MOST_REMEMBERED_BYTES = 16 << 20
MOST_TREE_BYTES = 8 << 20
_ARGUMENTS = ("--to-json", "-ln", "bash")


class ShellParser:
    """Parses shell code by running shfmt. Safe to share between threads."""

    def __init__(self, program: str | None = None, seconds: float = SECONDS) -> None:
        """`program` is the path of shfmt; left out, the one installed with Stanch, else the first on the path."""
        self._program = program or _installed()
        self._seconds = seconds
        self._remembered: OrderedDict[str, tuple[Mapping[str, Any], int]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def parse(self, code: str) -> Mapping[str, Any]:
        """The syntax tree. Raises `Unparsed` where there is none: no parser, not in time, or not valid bash."""
        with self._lock:
            known = self._remembered.get(code)
            if known is not None:
                self._remembered.move_to_end(code)
                return known[0]
        tree, size = self._run(code)
        with self._lock:
            if code not in self._remembered:
                self._remembered[code] = tree, size
                self._size += size
            while len(self._remembered) > MOST_REMEMBERED or self._size > MOST_REMEMBERED_BYTES:
                self._size -= self._remembered.popitem(last=False)[1][1]
        return tree

    def _run(self, code: str) -> tuple[Mapping[str, Any], int]:
        if self._program is None:
            raise Unparsed("the parser shfmt is not installed")
        try:
            done = subprocess.run(  # noqa: S603 - a fixed program, and what it is given is only parsed
                [self._program, *_ARGUMENTS],
                input=code.encode(),
                capture_output=True,
                timeout=self._seconds,
                check=False,
                env={"PATH": os.defpath},
                close_fds=True,
            )
        except subprocess.TimeoutExpired:
            raise Unparsed(f"it was not parsed within {self._seconds:g} seconds") from None
        except (OSError, UnicodeError):
            raise Unparsed("the parser could not be run") from None
        if done.returncode != 0 or len(done.stdout) > MOST_TREE_BYTES:
            raise Unparsed("it is not valid bash" if done.returncode else "its syntax tree is too large")
        try:
            tree = json.loads(done.stdout)
        except (ValueError, RecursionError):
            raise Unparsed("its syntax tree cannot be read") from None
        if not isinstance(tree, dict) or tree.get("Type") != "File":
            raise Unparsed("its syntax tree cannot be read")
        return tree, len(done.stdout)


def _installed() -> str | None:
    beside = os.path.join(os.path.dirname(sys.executable), "shfmt")
    return beside if os.access(beside, os.X_OK) else shutil.which("shfmt")
