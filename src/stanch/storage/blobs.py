"""Bytes on disk, each under the digest of what they are.

Settles that bytes are there whole or not at all, that what was changed behind our back is not given out for what it
was, and that the same bytes are kept once. Does not settle which items have which bytes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from stanch.values.fault import BadInput, BrokenRow, StoreUnreadable

BLOCK = 1 << 16
TABLE = "blobs"
MOST_BYTES = 2 << 30
_DRAFT = ".new-"


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes that are kept. `digest` is their SHA-256 in hexadecimal, `size` counts them."""

    digest: str
    size: int


class Blobs:
    """A directory of blobs, which several processes may share. Safe to use from any thread."""

    def __init__(self, root: Path | None) -> None:
        """`root` is made when the first blob is. None: there is nowhere to keep one."""
        self._at = root

    @property
    def _root(self) -> Path:
        if self._at is None:
            raise BadInput("there is no directory to keep content in")
        return self._at

    def put(self, chunks: Iterable[bytes], *, most: int = MOST_BYTES) -> Blob:
        """Keeps the bytes. Where they do not come to their end, nothing is kept.

        Raises `BadInput` for more than `most` bytes, and `StoreUnreadable` where the disk takes no more.
        """
        digest, size = hashlib.sha256(), 0
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=_DRAFT, dir=self._root)
        except OSError as error:
            raise _trouble(error) from None
        draft = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                for chunk in chunks:
                    size += len(chunk)
                    if size > most:
                        raise BadInput(f"the content has more than {most:,} bytes")
                    digest.update(chunk)
                    _written(file, chunk)
                _ended(file)
            found = Blob(digest.hexdigest(), size)
            self._place(draft, found)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return found

    def draft(self) -> BinaryIO:
        """A file without a name on the same disk, empty, for bytes that are still coming. Closing it removes it.

        Raises `StoreUnreadable` where there can be none.
        """
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            return cast("BinaryIO", tempfile.TemporaryFile(dir=self._root))
        except OSError as error:
            raise _trouble(error) from None

    @contextmanager
    def open(self, digest: str) -> Iterator[BinaryIO]:
        """The bytes, to be read within the block. They are not held against the digest: `whole` and `is_whole` do so.

        Raises `BrokenRow` where they are gone.
        """
        try:
            file = open(self._path(digest), "rb")  # noqa: SIM115 - closed below
        except FileNotFoundError:
            raise BrokenRow(TABLE, digest, "its bytes are gone") from None
        except OSError as error:
            raise _trouble(error) from None
        with file:
            yield file

    def chunks(self, digest: str) -> Iterator[bytes]:
        """The bytes, block by block. Raises `BrokenRow` before the last block where they are not what they were."""
        found, held = hashlib.sha256(), b""
        with self.open(digest) as file:
            # WHY one is held back: whoever counts what came then sees that it is not all.
            while chunk := file.read(BLOCK):
                found.update(chunk)
                if held:
                    yield held
                held = chunk
        if found.hexdigest() != digest:
            raise BrokenRow(TABLE, digest, "its bytes were changed")
        if held:
            yield held

    def has(self, digest: str, size: int) -> bool:
        """True where so many bytes are there. Whether they are what they were is not looked at."""
        try:
            return self._path(digest).stat().st_size == size
        except OSError:
            return False

    def whole(self, digest: str, most: int) -> bytes:
        """All of the bytes. Raises `BrokenRow` where they are gone or changed, `BadInput` where they are more."""
        with self.open(digest) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise BadInput(f"the content has more than {most:,} bytes")
        if hashlib.sha256(data).hexdigest() != digest:
            raise BrokenRow(TABLE, digest, "its bytes were changed")
        return data

    def is_whole(self, digest: str) -> bool:
        """True where the bytes are there, and are what they were."""
        try:
            for _ in self.chunks(digest):
                pass
        except BrokenRow:
            return False
        return True

    def sweep(self, named: Callable[[Collection[str]], Collection[str]], *, grace: float) -> int:
        """Removes the blobs that nothing names and nobody has put for `grace` seconds; returns how many.

        `named` gives those of some digests that are named. What was left of bytes that never came to their end goes,
        too. INVARIANT: bytes that are put while this runs are there afterwards.
        """
        removed, before = 0, time.time() - grace
        for directory in sorted(self._root.glob("[0-9a-f][0-9a-f]")):
            old = {path.name: path for path in directory.iterdir() if len(path.name) == 64 and _is_older(path, before)}
            used = named(old.keys()) if old else ()
            removed += sum(_removed(path, before) for digest, path in old.items() if digest not in used)
        for left in (*self._root.glob(f"{_DRAFT}*"), *self._root.glob("[0-9a-f][0-9a-f]/.*")):
            if _is_older(left, before):
                left.unlink(missing_ok=True)
        return removed

    def _path(self, digest: str) -> Path:
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise BrokenRow(TABLE, digest[:64], "that is no digest")
        return self._root / digest[:2] / digest

    def _place(self, draft: Path, blob: Blob) -> None:
        path = self._path(blob.digest)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            # WHY also where there is one: it may have been changed, and this one is right.
            draft.replace(path)
            _synced(path.parent)
        except OSError as error:
            raise _trouble(error) from None


def _is_older(path: Path, before: float) -> bool:
    try:
        return path.stat().st_mtime < before
    except OSError:
        return False


def _removed(path: Path, before: float) -> bool:
    """Removes a blob unless it was put again by now."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.replace(aside)
        # WHY aside: between a look at the name and its removal, somebody may put the same bytes under it.
        if _is_older(aside, before):
            aside.unlink()
            return True
        aside.replace(path)
    return False


def _written(file: BinaryIO, chunk: bytes) -> None:
    try:
        file.write(chunk)
    except OSError as error:
        raise _trouble(error) from None


def _ended(file: BinaryIO) -> None:
    try:
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise _trouble(error) from None


def _synced(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _trouble(error: OSError) -> StoreUnreadable:
    return StoreUnreadable(f"the bytes cannot be kept or read: {(error.strerror or 'unknown').lower()}")
