"""How text leaves the command line: what goes to standard output, what to standard error, and in which colours.

Settles streams, colours and escapes. Does not settle wording. INVARIANT: text that may hold a path or an argument is
printed with its control and invisible characters escaped, so that nothing that an agent wrote reaches the terminal as
a command to it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NoReturn, TextIO

import typer

from stanch.explain import visible

EXIT_BAD = 2
_COLOURS = {"allow": "32", "ask": "33", "deny": "31"}


def prepare() -> None:
    """Makes both streams write any text: what the terminal's encoding lacks is escaped, never an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def out(line: str = "") -> None:
    """Writes a line to standard output. A reader that went away is no error."""
    _write(sys.stdout, line + "\n")


def out_words(text: str) -> None:
    """Writes some words to standard output, with no line's end behind them."""
    _write(sys.stdout, text)


def out_bytes(raw: bytes) -> None:
    """Writes bytes to standard output as they are, for what is read by a program."""
    _write(sys.stdout, raw)


def out_json(value: Any) -> None:
    """Writes a value to standard output as indented JSON, in ASCII: no character of a path can act on a terminal."""
    out(json.dumps(value, indent=2))


def note(text: str) -> None:
    """Writes a line for the person beside the answer, to standard error."""
    _write(sys.stderr, f"stanch: note: {visible(text)}\n")


def progress(doing: str) -> None:
    """Writes what is being done, a line to itself, to standard error."""
    _write(sys.stderr, f"stanch: {visible(doing)}\n")


def complain(text: str) -> None:
    """Writes one line that says what is wrong to standard error."""
    _write(sys.stderr, f"stanch: {visible(' '.join(text.split()))}\n")


def refuse(text: str) -> NoReturn:
    """Ends the command with one line on standard error and exit code 2."""
    complain(text)
    raise typer.Exit(EXIT_BAD)


def coloured(effect: str, word: str | None = None) -> str:
    """The effect's word, or another one in its colour, where standard output is a terminal that wants colours."""
    word = effect if word is None else word
    if effect not in _COLOURS or not wants_colour(sys.stdout):
        return word
    return f"\x1b[1;{_COLOURS[effect]}m{word}\x1b[0m"


def dimmed(text: str) -> str:
    """The text in the background, where standard output is a terminal that wants colours."""
    return f"\x1b[2m{text}\x1b[0m" if wants_colour(sys.stdout) else text


def wants_colour(stream: TextIO | None) -> bool:
    """True for a terminal, where neither NO_COLOR is set nor the terminal is a dumb one."""
    return (
        stream is not None and stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def _write(stream: TextIO | None, text: str | bytes) -> None:
    if stream is None:
        return
    try:
        if isinstance(text, bytes):
            stream.buffer.write(text)
        else:
            stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _silence(stream)
    except OSError as error:
        _silence(stream)
        if stream is sys.stdout:
            refuse(f"standard output cannot be written: {(error.strerror or 'unknown').lower()}")


def _silence(stream: TextIO) -> None:
    """Sends what is still to be written nowhere, so that the end of the process does not complain about it."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return
