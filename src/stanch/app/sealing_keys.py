"""Which keys seal the vault: those that a server is told of, else those of its data directory.

Settles which place counts where several are named, and when a new key is made. Does not settle how a key is written
(`host.keys`) nor what is sealed (`app.vault`).
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from stanch.host import keys
from stanch.secrets.sealing import KeyRing
from stanch.values.fault import BadInput

VARIABLE = "STANCH_KEY"


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """Where the keys are: one of a file, a variable of the environment and a command; with none, a file of our own."""

    file: Path | None = None
    variable: str | None = None
    command: tuple[str, ...] = ()

    def file_for(self, data: Path) -> Path | None:
        """The file that the keys are in; None where they are in no file."""
        if self.variable is not None or self.command:
            return None
        return self.file if self.file is not None else data / "vault.key"

    def ring(self, data: Path, *, make: bool = False) -> KeyRing:
        """The keys. `make`: where the data directory's own file is not there, it is made with a new key.

        Raises `BadInput`, whose message holds nothing of a key.
        """
        if self.variable is not None:
            return keys.from_environment(self.variable, os.environ)
        if self.command:
            return keys.from_command(self.command)
        file = self.file_for(data)
        if file is None:
            raise BadInput("there is no place for keys")
        if not os.path.lexists(file) and not (make and self.file is None):
            raise BadInput(f"there is no key file {file}")
        return keys.from_file(file)

    def words(self, data: Path) -> str:
        """Where the keys are, for a person."""
        if self.variable is not None:
            return f"the environment variable {self.variable}"
        return f"the command {self.command[0]}" if self.command else f"the file {self.file_for(data)}"


def key_place(file: Path | None = None, variable: str | None = None, command: str | None = None) -> KeyPlace:
    """The place that a person named; where none was, `$STANCH_KEY` if it is set, else the data directory.

    Raises `BadInput` where two were named, or one is none.
    """
    named = [name for name, given in (("file", file), ("env", variable), ("command", command)) if given is not None]
    if len(named) > 1:
        raise BadInput(f"give one of {' and '.join(f'--key-{name}' for name in named)}, not {len(named)}")
    if command is not None:
        try:
            words = tuple(shlex.split(command))
        except ValueError:
            raise BadInput("--key-command holds a quote that is not closed") from None
        if not words:
            raise BadInput("--key-command is empty")
        return KeyPlace(command=words)
    if variable == "":
        raise BadInput("--key-env is empty; it names a variable of the environment")
    if file is not None:
        return KeyPlace(file=Path(os.path.abspath(file)))
    if variable is None and os.environ.get(VARIABLE):
        variable = VARIABLE
    return KeyPlace(variable=variable)
