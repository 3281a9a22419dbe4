"""What a forked process becomes: the command `stanch`, with everything that a server needs imported already."""

from __future__ import annotations

import os
import sys

from stanch.surfaces.cli import main, serving

IMPORTED = (main, serving)


def become(words: list[str], cwd: str, variables: dict[str, str], out: str, err: str) -> None:
    """Becomes the command, as it would be in a process of its own."""
    for number, file in ((1, out), (2, err)):
        opened = os.open(file, os.O_WRONLY)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(cwd)
    sys.argv = ["stanch", *words]
    main.main()
