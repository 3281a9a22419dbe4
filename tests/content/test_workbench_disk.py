"""The directory of a workbench, whatever code has left in it: links, pipes, folders without rights, depth."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from stanch.content import workbench_tree
from stanch.content.workbench_disk import Directory, InTheWay, chunks_of
from stanch.delivery.workbench import EntryKind
from stanch.values.fault import NotFound, StoreUnreadable


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    """A new one."""
    made = Directory(tmp_path / "benches" / "one")
    made.make()
    return made


def content(directory: Directory, path: str) -> bytes:
    return b"".join(chunks_of(directory.open(path)))


def test_it_is_for_its_owner_alone(directory: Directory) -> None:
    directory.put("a/b/c.txt", iter([b"one", b"two"]), 6)
    assert content(directory, "a/b/c.txt") == b"onetwo"
    for path, mode in (("", 0o700), ("a", 0o700), ("a/b", 0o700), ("a/b/c.txt", 0o600)):
        assert stat.S_IMODE((directory.files / path).lstat().st_mode) == mode, path
    assert stat.S_IMODE(directory.root.stat().st_mode) == 0o700


def test_a_copy_that_does_not_come_to_its_end_is_none(directory: Directory) -> None:
    directory.put("a", [b"before"], 6)

    def breaking() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("gone")

    with pytest.raises(RuntimeError):
        directory.put("a", breaking(), 8)
    for size in (3, 9):
        with pytest.raises(StoreUnreadable, match="size"):
            directory.put("a", [b"other"], size)
    assert content(directory, "a") == b"before"
    assert list((directory.root / "incoming").iterdir()) == []
    (directory.root / "incoming" / "left").write_text("of a process that died")
    directory.make()
    assert list((directory.root / "incoming").iterdir()) == []


def test_no_link_is_followed(directory: Directory, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("not yours")
    files = directory.files
    (files / "way").symlink_to(outside)
    (files / "x").symlink_to(outside / "x")
    (files / "up").symlink_to("..")
    for path in ("way/x", "way/new", "up/lock", "x/y"):
        with pytest.raises(InTheWay):
            directory.put(path, [b"1"], 1)
        with pytest.raises(NotFound):
            directory.open(path)
    with pytest.raises(NotFound):
        directory.open("x")
    directory.put("x", [b"1"], 1)
    assert (content(directory, "x"), (outside / "x").read_text()) == (b"1", "not yours")
    assert not directory.plain("way")
    assert directory.remove("way/x")
    assert not (files / "way").is_symlink()
    assert (outside / "x").read_text() == "not yours"
    assert directory.remove("up", tree=True)
    assert directory.root.is_dir()


def test_what_goes_while_somebody_looks_is_not_there(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person looks while code is at work."""
    for path in ("gone", "kept", "folder/in", "link/in"):
        directory.put(path, [b"1"], 1)
    files, lstat = directory.files, os.lstat

    def at_work(name: str, *, dir_fd: int | None = None) -> os.stat_result:
        if name == "gone":
            (files / "gone").unlink()
        found = lstat(name, dir_fd=dir_fd)
        if name in {"folder", "link"}:
            (files / name / "in").unlink()
            (files / name).rmdir()
        if name == "link":
            (files / name).symlink_to("/etc")
        return found

    monkeypatch.setattr(os, "lstat", at_work)
    kinds = {path: mark.kind for path, mark in directory.entries().items()}
    assert kinds == {"kept": EntryKind.FILE, "link": EntryKind.DEEP}


def test_nothing_else_is_removed_in_the_place_of_what_is_not_there(directory: Directory) -> None:
    directory.put("a", [b"file"], 4)
    for path in ("a/b", "n" * 300, f"{'n' * 300}/a"):
        assert not directory.remove(path, tree=True)
    assert content(directory, "a") == b"file"


def test_what_stands_in_the_way_stays(directory: Directory) -> None:
    directory.put("a", [b"file"], 4)
    directory.put("d/in", [b"file"], 4)
    with pytest.raises(InTheWay, match="a folder is needed"):
        directory.put("a/b", [b"1"], 1)
    with pytest.raises(InTheWay, match="a folder stands"):
        directory.put("d", [b"1"], 1)
    assert (content(directory, "a"), content(directory, "d/in")) == (b"file", b"file")
    assert not directory.remove("d")
    assert not directory.remove("nope/there")
    assert directory.remove("a")
    assert directory.remove("d", tree=True)
    assert directory.entries() == {}
    with pytest.raises(StoreUnreadable, match="name too long"):
        directory.put("n" * 300, [b"1"], 1)


def test_everything_is_an_entry(directory: Directory) -> None:
    files = directory.files
    directory.put("f", [b"12"], 2)
    os.mkfifo(files / "pipe")
    (files / "link").symlink_to("/nowhere")
    (files / os.fsdecode(b"\xff\xfe")).write_text("")
    (files / "a\nb").mkdir()
    kinds = {path: mark.kind for path, mark in directory.entries().items()}
    assert kinds == {
        "f": EntryKind.FILE,
        "pipe": EntryKind.OTHER,
        "link": EntryKind.LINK,
        "\udcff\udcfe": EntryKind.FILE,
        "a\nb": EntryKind.FOLDER,
    }
    assert directory.entries()["f"].size == 2
    with pytest.raises(NotFound):
        directory.open("pipe")


def test_whatever_changes_has_another_mark(directory: Directory) -> None:
    for name in ("same", "data", "mode", "times", "linked"):
        directory.put(name, [b"12345"], 5)
    before = directory.settled()
    files = directory.files
    with open(files / "data", "r+b") as file:
        file.write(b"54321")
    found = (files / "data").stat()
    os.utime(files / "data", ns=(found.st_atime_ns, found.st_mtime_ns))
    (files / "mode").chmod(0o644)
    os.utime(files / "times", (1, 1))
    os.link(files / "linked", files / "other")
    after = directory.entries()
    assert {path for path in after if before.get(path) != after[path]} == {"data", "mode", "times", "linked", "other"}


def test_it_is_looked_through_to_some_depth_and_removed_to_any(
    directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.open(directory.files, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("d" * 20, dir_fd=here)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    found = directory.entries()
    assert len(found) == workbench_tree.DEEPEST + 1
    assert [mark.kind for mark in found.values()].count(EntryKind.DEEP) == 1
    directory.put("d" * 20 + "/f", [b"1"], 1)
    (directory.files / "shut").mkdir(0o000)
    directory.clear()
    assert list(directory.root.iterdir()) == []
    directory.make()
    for name in "abc":
        directory.put(name, [b"1"], 1)
    monkeypatch.setattr(workbench_tree, "MOST_LOOKED_AT", 2)
    with pytest.raises(StoreUnreadable):
        directory.entries()


def test_a_folder_says_no_more_than_its_name(directory: Directory) -> None:
    folder = directory.files / "d"
    folder.mkdir(0o751)
    os.utime(folder, (1234, 5678))
    assert directory.plain("d")
    found = folder.stat()
    assert (stat.S_IMODE(found.st_mode), found.st_mtime, found.st_atime) == (0o700, 0, 0)
    assert not directory.plain("nope")
    (directory.files / "f").write_text("x")
    os.utime(directory.files / "f", (1234, 5678))
    assert directory.quiet("f")
    assert ((directory.files / "f").stat().st_atime, (directory.files / "f").stat().st_mtime) == (0, 5678)


def test_a_renewed_one_holds_the_same_and_its_folders_say_nothing(directory: Directory) -> None:
    directory.put("a/b/c.txt", [b"one"], 3)
    (directory.files / "link").symlink_to("a")
    (directory.files / "a" / "closed").mkdir(0o500)
    deep = directory.files.joinpath(*["d"] * 80)
    deep.mkdir(parents=True)
    for number in range(400):
        (directory.files / "a" / f"{number:0200}").touch()
    for number in range(400):
        (directory.files / "a" / f"{number:0200}").unlink()
    os.utime(directory.files, (5, 5))
    before = {path: mark.kind for path, mark in directory.entries().items()}
    directory.renew()
    assert {path: mark.kind for path, mark in directory.entries().items()} == before
    assert content(directory, "a/b/c.txt") == b"one"
    assert deep.is_dir()
    for folder in (directory.files, directory.files / "a", directory.files / "a" / "closed"):
        found = folder.stat()
        assert (found.st_mtime, stat.S_IMODE(found.st_mode)) == (0, 0o700)
    fresh = directory.root / "fresh"
    fresh.mkdir()
    assert (directory.files / "a").stat().st_size <= max(4096, fresh.stat().st_size)


@pytest.mark.parametrize("made", [False, True], ids=["at once", "in the middle"])
def test_one_that_was_not_renewed_to_its_end_is_whole_again(directory: Directory, made: bool) -> None:
    directory.put("a/b", [b"one"], 3)
    directory.put("c", [b"two"], 3)
    directory.files.rename(directory.root / "former")
    if made:
        (directory.files / "a").mkdir(parents=True)
        (directory.root / "former" / "c").rename(directory.files / "c")
    directory.make()
    assert set(directory.entries()) == {"a", "a/b", "c"}
    assert (content(directory, "a/b"), content(directory, "c")) == (b"one", b"two")
    assert not (directory.root / "former").exists()
