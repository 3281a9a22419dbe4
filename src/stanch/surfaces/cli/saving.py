"""Where a download goes: what is said of it, and that no bytes are written to a terminal.

Settles these words. Does not settle how bytes come (`content_client`), nor which file is meant (`files`).
"""

from __future__ import annotations

import sys
from pathlib import Path

from stanch.explain import visible
from stanch.surfaces.cli import terminal
from stanch.values.fault import BadInput


def no_terminal() -> None:
    """None, which stands for standard output. Raises `BadInput` where that is a terminal."""
    if sys.stdout.isatty():
        raise BadInput("bytes are not written to a terminal; name a file")


def saved(target: Path | None, size: int, as_json: bool) -> None:
    """Says which file was written, and how large it is; nothing of standard output, which is None."""
    if target is None:
        return
    if as_json:
        terminal.out_json({"file": str(target), "size": size})
    else:
        terminal.out(visible(f"{target}: {size:,} bytes"))
