"""`stanch project`: a text without the secrets of a file, as it passes.

Settles options and streams. Does not settle what is found (`secrets.projection`).
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, cast

import typer

from stanch.surfaces.cli import terminal
from stanch.values.fault import BadInput

CHUNK = 1 << 16

SecretsOption = Annotated[
    Path,
    typer.Option("--secrets", metavar="FILE", help='The secrets, as TOML: NAME = "value".', show_default=False),
]


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("project")(project)


def project(secrets: SecretsOption) -> None:
    """Print the text on standard input with each secret, in any of its encodings, replaced by {{NAME}}.

    It is printed while it comes in. Values of fewer than 8 characters are warned of and left. Exit code: 0; 2 for a
    file that cannot be read, and where a text cannot be looked through: then nothing more is printed.
    """
    from stanch.surfaces.secrets_file import secrets_of

    known = secrets_of(secrets)
    for warning in known.warnings:
        terminal.note(warning)
    stream = known.projector.data_stream()
    # WHY not `read`: that waits for a whole chunk.
    read: Callable[[int], bytes] = cast("io.BufferedReader", sys.stdin.buffer).read1
    try:
        while chunk := read(CHUNK):
            terminal.out_bytes(stream.feed(chunk))
    except OSError as error:
        raise BadInput(f"standard input cannot be read: {(error.strerror or 'unknown').lower()}") from None
    terminal.out_bytes(stream.end())
