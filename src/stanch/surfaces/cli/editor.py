"""A person's own editor, for what is easier to change there than on a command line.

Settles how it is started and what comes back. Does not settle what is made of it.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from stanch.values.fault import BadInput


def edited(arguments: Any) -> str:
    """The arguments as JSON, as a person left them in their editor. Raises `BadInput` where nothing was changed."""
    # ASCII: whatever is invisible stands there as an escape.
    before = json.dumps(arguments, indent=2) + "\n"
    words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="stanch-") as folder:
        file = Path(folder) / "arguments.json"
        file.write_text(before, "utf-8")
        try:
            code = subprocess.run([*words, str(file)], check=False).returncode  # noqa: S603 - a person's own editor
            after = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError, IndexError) as error:
            why = (getattr(error, "strerror", None) or "it left no text").lower()
            raise BadInput(f"the editor could not be used ({why}); set EDITOR, or give --args") from None
    if code != 0:
        raise BadInput(f"the editor ended with {code}, so nothing was answered")
    if after == before:
        raise BadInput("the arguments were not changed, so nothing was answered")
    return after
