"""Bytes on disk: whole or not there, what they were or given to nobody, and once however often they are put."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stanch.storage.blobs import BLOCK, Blobs
from stanch.values.fault import BadInput, BrokenRow, StoreUnreadable
from tests.stores.places import together


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "blobs")


def kept(root: Path) -> list[Path]:
    """Every file below the directory."""
    return sorted(path for path in (root / "blobs").rglob("*") if path.is_file())


def aged(path: Path, seconds: float) -> None:
    """Makes a file look as if it had been there for a while."""
    then = time.time() - seconds
    os.utime(path, (then, then))


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(pieces=st.lists(st.binary(max_size=200), max_size=8))
def test_what_is_put_is_what_is_given(tmp_path: Path, pieces: list[bytes]) -> None:
    blobs, data = Blobs(tmp_path / "blobs"), b"".join(pieces)
    blob = blobs.put(pieces)
    assert (blob.digest, blob.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert b"".join(blobs.chunks(blob.digest)) == blobs.whole(blob.digest, len(data)) == data
    assert blobs.has(blob.digest, len(data))
    assert not blobs.has(blob.digest, len(data) + 1)


def test_the_same_bytes_are_kept_once(blobs: Blobs, tmp_path: Path) -> None:
    first, second = blobs.put((b"a", b"b")), blobs.put((b"ab",))
    assert first == second
    assert len(kept(tmp_path)) == 1
    assert kept(tmp_path)[0].stat().st_mode & 0o777 == 0o600


def test_what_does_not_come_to_its_end_leaves_nothing(blobs: Blobs, tmp_path: Path) -> None:
    def cut_short() -> Iterator[bytes]:
        yield b"x" * 100_000
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        blobs.put(cut_short())
    with pytest.raises(BadInput, match="more than 10 bytes"):
        blobs.put((b"12345", b"678901"), most=10)
    assert kept(tmp_path) == []


def test_a_disk_that_takes_no_more(blobs: Blobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreUnreadable, match="no space left"):
        blobs.put((b"x",))
    assert kept(tmp_path) == []


@pytest.mark.parametrize("size", [0, 5, BLOCK, BLOCK * 3 + 1])
@pytest.mark.parametrize("change", ["flipped", "shorter", "longer", "gone"])
def test_changed_bytes_are_never_given_whole(blobs: Blobs, tmp_path: Path, size: int, change: str) -> None:
    blob = blobs.put((b"x" * size,))
    (path,) = kept(tmp_path)
    changed = {
        "flipped": b"y" * size if size else b"y",
        "shorter": b"x" * (size - 1) if size else b"y",
        "longer": b"x" * (size + 1),
    }
    path.unlink()
    if change != "gone":
        path.write_bytes(changed[change])
    assert not blobs.is_whole(blob.digest)
    came = bytearray()

    def take() -> None:
        for chunk in blobs.chunks(blob.digest):
            came.extend(chunk)

    with pytest.raises(BrokenRow):
        take()
    # Whoever was told how many bytes there are sees that these are not all, unless they are the right ones.
    assert len(came) < max(1, size) or came == b"x" * size
    with pytest.raises((BrokenRow, BadInput)):
        blobs.whole(blob.digest, size)


@pytest.mark.parametrize("digest", ["", "..", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 65, "a/" * 32])
def test_a_digest_is_no_path(blobs: Blobs, digest: str) -> None:
    for ask in (lambda: list(blobs.chunks(digest)), lambda: blobs.whole(digest, 1)):
        with pytest.raises(BrokenRow):
            ask()


def test_many_put_the_same_at_once(blobs: Blobs, tmp_path: Path) -> None:
    data = os.urandom(BLOCK * 2)
    ended = together(*(lambda: blobs.put((data[:BLOCK], data[BLOCK:])) for _ in range(8)))
    assert len(set(ended)) == 1
    assert len(kept(tmp_path)) == 1
    assert blobs.is_whole(ended[0].digest)


def test_putting_again_mends_what_was_changed(blobs: Blobs, tmp_path: Path) -> None:
    blob = blobs.put((b"right",))
    kept(tmp_path)[0].write_bytes(b"wrong")
    assert blobs.put((b"right",)) == blob
    assert blobs.is_whole(blob.digest)


def test_a_draft_is_on_no_list_and_gone_when_closed(blobs: Blobs, tmp_path: Path) -> None:
    with blobs.draft() as draft:
        draft.write(b"secret")
        assert kept(tmp_path) == []
    assert kept(tmp_path) == []


def test_only_what_is_old_and_unnamed_is_swept(blobs: Blobs, tmp_path: Path) -> None:
    named, unnamed, fresh = (blobs.put((data,)) for data in (b"named", b"unnamed", b"fresh"))
    for path in kept(tmp_path):
        if path.name != fresh.digest:
            aged(path, 1_000)
    left = tmp_path / "blobs" / ".new-left"
    left.write_bytes(b"of a process that was killed")
    aged(left, 1_000)
    asked: set[str] = set()

    def names(digests: object) -> set[str]:
        asked.update(digests)  # type: ignore[arg-type]
        return {named.digest}

    assert blobs.sweep(names, grace=100) == 1
    assert asked == {named.digest, unnamed.digest}
    assert sorted(path.name for path in kept(tmp_path)) == sorted([named.digest, fresh.digest])


def test_bytes_that_are_put_while_it_sweeps_stay(blobs: Blobs, tmp_path: Path) -> None:
    blob = blobs.put((b"x",))
    aged(kept(tmp_path)[0], 1_000)

    def again(_: object) -> set[str]:
        blobs.put((b"x",))  # between the look at the names and the removal
        return set()

    assert blobs.sweep(again, grace=100) == 0
    assert blobs.is_whole(blob.digest)
    assert len(kept(tmp_path)) == 1


def test_sweeping_and_putting_at_once(blobs: Blobs, tmp_path: Path) -> None:
    data, stop = [os.urandom(10) for _ in range(20)], threading.Event()

    def put() -> list[str]:
        return [blobs.put((one,)).digest for _ in range(10) for one in data]

    def sweep() -> None:
        while not stop.is_set():
            blobs.sweep(lambda _: set(), grace=60)

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    try:
        found = put()
    finally:
        stop.set()
        sweeper.join(30)
    assert all(blobs.is_whole(digest) for digest in found)
