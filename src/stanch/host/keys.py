"""Where the keys of sealed texts come from: a file, a variable of the environment, or what a command prints.

Settles how a key is written, and that a new file is its owner's alone. Does not settle what keys are for
(`secrets.sealing`). A key is 32 bytes in base64, one on a line; the first of several seals.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from stanch.secrets.sealing import KEY_BYTES, Key, KeyRing
from stanch.values.fault import BadInput

SECONDS = 30.0
MOST_BYTES = 64 * 1024
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def from_file(file: Path) -> KeyRing:
    """The keys of a file, which is made with one new key where it is not there.

    Raises `BadInput` where it cannot be made or read, where others may read it, and for what is no key.
    """
    try:
        if not os.path.lexists(file):
            _make(file)
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise BadInput(f"the key file {file} is no file")
            if found.st_mode & _OTHERS:
                raise BadInput(f"others can read the key file {file}; take that from them: chmod 600 {file}")
            return _ring(opened.read(MOST_BYTES), f"the key file {file}")
    except OSError as error:
        raise BadInput(f"the key file {file} cannot be read: {(error.strerror or 'unknown').lower()}") from None


def from_environment(name: str, environment: Mapping[str, str]) -> KeyRing:
    """The keys of a variable. Raises `BadInput` where it is not set, and for what is no key."""
    written = environment.get(name, "")
    if not written:
        raise BadInput(f"the environment variable {name} is to hold the key, and is not set")
    return _ring(written.encode("utf-8", "surrogateescape"), f"the environment variable {name}")


def from_command(command: Sequence[str]) -> KeyRing:
    """The keys that a command prints; it is run without a shell. Raises `BadInput` where it fails or takes too long."""
    if not command:
        raise BadInput("the command for the key is empty")
    program = command[0]
    try:
        ran = subprocess.run(  # noqa: S603 - the command is the deployment's own
            list(command), capture_output=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as why:
        raise BadInput(f"the command for the key, {program}, gave none: {type(why).__name__}") from None
    if ran.returncode != 0:
        # WHY not what it wrote: that may hold a key.
        raise BadInput(f"the command for the key, {program}, ended with the exit code {ran.returncode}")
    return _ring(ran.stdout[:MOST_BYTES], f"the command for the key, {program}")


def new_key() -> bytes:
    """A new key as a line of a file."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n"


def put_first(file: Path) -> KeyRing:
    """The keys of a file with a new one before them, which seals from now on. Raises what `from_file` raises."""
    from_file(file)
    before = file.read_bytes()
    beside = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    _write(beside, new_key() + before)
    os.replace(beside, file)
    return from_file(file)


def _make(file: Path) -> None:
    """Makes the file with one key. Where another process was faster, its key is the one."""
    beside = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    _write(beside, new_key())
    try:
        os.link(beside, file)
    except FileExistsError:
        return
    finally:
        os.unlink(beside)


def _write(file: Path, text: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(descriptor)


def _ring(written: bytes, where: str) -> KeyRing:
    keys = []
    for number, line in enumerate(written.split(b"\n"), 1):
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue
        try:
            material = base64.b64decode(text, validate=True)
            keys.append(Key(material))
        except (binascii.Error, ValueError):
            raise BadInput(f"{where} holds no key on line {number}: write {KEY_BYTES} bytes in base64") from None
    if not keys:
        raise BadInput(f"{where} holds no key: write {KEY_BYTES} bytes in base64")
    return KeyRing(keys)
