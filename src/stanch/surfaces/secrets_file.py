"""A file of secrets, as a person writes one to look for them: TOML, `NAME = "value"`.

Settles what such a file may hold, and what is said of it: names and lines, never a value. Does not settle what is found
(`secrets.projection`).
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from stanch.secrets.encodings import FLOOR
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret
from stanch.values.fault import BadInput

LONGEST_NAME = 128
MOST_BYTES = 64 << 20
_PLACE = re.compile(r"\(at (?:line \d+, column \d+|end of document)\)\Z")


class Secrets(NamedTuple):
    """What finds the secrets of a file, and what is to be said against some of them."""

    projector: Projector
    warnings: tuple[str, ...]


def secrets_of(file: Path) -> Secrets:
    """The secrets of a file. Raises `BadInput`, whose message holds no value."""
    try:
        with file.open("rb") as opened:
            raw = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"--secrets {file} cannot be read: {(error.strerror or 'unknown').lower()}") from None
    if len(raw) > MOST_BYTES:
        raise BadInput(f"--secrets {file} is larger than {MOST_BYTES:,} bytes")
    try:
        said = tomllib.loads(raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8"))
    except UnicodeDecodeError:
        raise BadInput(f"--secrets {file} is no text in UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as why:
        # WHY the place alone: what is wrong may be quoted from a value.
        place = _PLACE.search(str(why))
        where = f" {place[0]}" if place is not None else ""
        raise BadInput(f'--secrets {file} is no TOML of the form NAME = "value"{where}') from None
    entries, warnings = {}, []
    for name, value in said.items():
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise BadInput(f"--secrets {file} has a name that is empty, too long, or not to be printed")
        if not isinstance(value, str):
            raise BadInput(f'--secrets {file}: {name} must be text: {name} = "value"')
        if len(value) < FLOOR:
            warnings.append(f"{name} has fewer than {FLOOR} characters: it is looked for nowhere")
        else:
            entries[name] = Secret(value)
    return Secrets(Projector(entries), tuple(warnings))
