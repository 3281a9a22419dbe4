"""`write_file` and `edit_file` write the judged file whole or not at all, and nothing else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from stanch.runtime.builtin import writing
from stanch.runtime.builtin.editing import edit_file
from stanch.runtime.builtin.writing import write_file
from stanch.runtime.tool import Job, Output
from tests.runtime.file_jobs import RUN, Repository, checked, pieces

CALLS = [("write_file", {"content": "new"}), ("edit_file", {"old": "old", "new": "new"})]
BOTH = pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=["write", "edit"])


def run(job: Job) -> Output:
    return checked(RUN[job.tool](job))


def left(folder: Path) -> list[str]:
    """What is in a directory: no file that was only meant to be there for a moment."""
    return sorted(entry.name for entry in folder.iterdir())


def test_a_new_file_is_made_with_its_directories(repository: Repository) -> None:
    found = repository.run("write_file", path="a/b/c.txt", content="ümlaut\n")
    assert found.text == "Made a/b/c.txt: 8 bytes"
    assert (repository.path / "a/b/c.txt").read_bytes() == "ümlaut\n".encode()
    assert left(repository.path / "a/b") == ["c.txt"]
    assert pieces(found)[0][0] == str(repository.path / "a/b/c.txt")


def test_a_new_file_has_the_mode_that_new_files_have(repository: Repository) -> None:
    before = os.umask(0o027)
    try:
        repository.run("write_file", path="a", content="x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((repository.path / "a").stat().st_mode) == 0o640


@BOTH
def test_a_file_is_replaced_and_keeps_its_mode(repository: Repository, tool: str, arguments: dict[str, str]) -> None:
    file = repository.write("run.sh", "old")
    file.chmod(0o751)
    assert not repository.run(tool, path="run.sh", **arguments).failed
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert left(repository.path) == ["run.sh"]


def test_a_program_that_runs_as_its_owner_does_so_no_more(repository: Repository) -> None:
    file = repository.write("tool", "old")
    file.chmod(0o4755)
    repository.run("write_file", path="tool", content="new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o755


@BOTH
def test_a_file_swapped_for_a_link_is_not_written_through(
    repository: Repository, tool: str, arguments: dict[str, str]
) -> None:
    file, other = repository.write("a", "old"), repository.write("other", "old")
    job = repository.job(tool, path="a", **arguments)
    file.unlink()
    file.symlink_to(other)
    assert run(job).text == "Refused because the target changed after it was judged: a"
    assert other.read_text() == "old"
    assert file.is_symlink()


def test_a_link_that_came_where_nothing_was_is_not_followed(repository: Repository) -> None:
    job = repository.job("write_file", path="a", content="new")
    (repository.path / "a").symlink_to("elsewhere")
    assert "target changed" in run(job).text
    assert left(repository.path) == ["a"]


@pytest.mark.parametrize("there", [True, False])
def test_a_directory_swapped_for_a_link_is_not_entered(repository: Repository, there: bool) -> None:
    if there:
        repository.write("src/a", "old")
    job = repository.job("write_file", path="src/a", content="new")
    if there:
        (repository.path / "src").rename(repository.path / "moved")
    (repository.path / "out").mkdir()
    (repository.path / "src").symlink_to("out")
    assert "target changed" in run(job).text
    assert left(repository.path / "out") == []


@BOTH
def test_another_name_given_meanwhile_stops_it(repository: Repository, tool: str, arguments: dict[str, str]) -> None:
    file = repository.write("a", "old")
    job = repository.job(tool, path="a", **arguments)
    os.link(file, repository.path / "b")
    assert "target changed" in run(job).text
    assert (repository.path / "b").read_text() == "old"


@BOTH
def test_other_names_that_were_judged_keep_the_old_content(
    repository: Repository, tool: str, arguments: dict[str, str]
) -> None:
    os.link(repository.write("a", "old"), repository.path / "b")
    found = repository.run(tool, path="a", **arguments)
    assert "Its other names still have the old content" in found.text
    assert ((repository.path / "a").read_text(), (repository.path / "b").read_text()) == ("new", "old")


@BOTH
@pytest.mark.parametrize("swap", ["other file", "link", "written to", "directory", "gone"])
def test_a_change_at_the_last_moment_is_noticed(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, str], swap: str
) -> None:
    file = repository.write("a", "old")
    repository.write("b", "other")
    before = writing._write

    def then(folder: int, name: str, data: bytes, seen: os.stat_result | None) -> None:
        before(folder, name, data, seen)
        if swap == "written to":
            file.write_text("older")
            return
        file.unlink()
        if swap == "other file":
            (repository.path / "b").rename(file)
        elif swap == "link":
            file.symlink_to("b")
        elif swap == "directory":
            file.mkdir()

    monkeypatch.setattr(writing, "_write", then)
    job = repository.job(tool, path="a", **arguments)
    found = run(job)
    gone = swap == "gone"
    assert (found.failed, "target changed" in found.text) == (True, True), gone
    assert not [name for name in left(repository.path) if name.startswith(".stanch")]
    assert not file.is_file() or file.read_text() != "new"


@pytest.mark.parametrize("swap", ["file", "link", "link to nothing", "directory"])
def test_what_came_where_nothing_was_is_left_alone(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, swap: str
) -> None:
    file, before = repository.path / "a", writing._write

    def then(folder: int, name: str, data: bytes, seen: os.stat_result | None) -> None:
        before(folder, name, data, seen)
        if swap == "file":
            file.write_text("theirs")
        elif swap == "directory":
            file.mkdir()
        else:
            file.symlink_to("gone" if swap == "link to nothing" else ".")

    monkeypatch.setattr(writing, "_write", then)
    assert "target changed" in run(repository.job("write_file", path="a", content="new")).text
    assert left(repository.path) == ["a"]
    assert file.is_symlink() or file.is_dir() or file.read_text() == "theirs"


@BOTH
def test_nothing_is_written_once_nobody_waits(repository: Repository, tool: str, arguments: dict[str, str]) -> None:
    file = repository.write("a", "old")
    repository.cancelled.set()
    assert repository.run(tool, path="a", **arguments).failed
    assert (file.read_text(), left(repository.path)) == ("old", ["a"])


@BOTH
def test_a_disk_that_is_full_leaves_the_old_file(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, str]
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    file = repository.write("a", "old")
    monkeypatch.setattr(os, "fsync", full)
    found = repository.run(tool, path="a", **arguments)
    assert (found.failed, found.text) == (True, "No space left on device: a")
    assert (file.read_text(), left(repository.path)) == ("old", ["a"])


@BOTH
def test_a_directory_a_pipe_and_the_root_are_no_files(
    repository: Repository, tool: str, arguments: dict[str, str]
) -> None:
    (repository.path / "d").mkdir()
    os.mkfifo(repository.path / "pipe")
    assert "directory" in repository.run(tool, path="d", **arguments).text
    assert repository.run(tool, path="pipe", **arguments).failed
    job = repository.job(tool, path="x", **arguments)
    stamp = job.stamps["path"]._replace(path="/")
    assert run(Job(tool, arguments, {"path": stamp}, job.directory, job.reader, job.cancelled)).failed
    assert left(repository.path) == ["d", "pipe"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
@BOTH
def test_a_file_that_the_system_closes_is_left(repository: Repository, tool: str, arguments: dict[str, str]) -> None:
    file = repository.write("a", "old")
    file.chmod(0o444)
    assert repository.run(tool, path="a", **arguments).text == "Permission denied: a"
    assert file.read_text() == "old"


@pytest.mark.parametrize("content", [None, 3, ["x"], "\ud800"])
def test_content_that_is_no_text_is_refused(repository: Repository, content: object) -> None:
    file = repository.write("a", "old")
    job = repository.job("write_file", path="a", content="x")
    found = write_file(Job(job.tool, {"content": content}, job.stamps, job.directory, job.reader, job.cancelled))
    assert (found.failed, "content" in found.text, file.read_text()) == (True, True, "old")


@pytest.mark.parametrize("stamps", [{}, {"path1": None, "path2": None}])
def test_a_call_that_names_no_one_path_writes_nothing(repository: Repository, stamps: dict[str, None]) -> None:
    job = repository.job("write_file", path="a", content="x")
    two = dict.fromkeys(stamps, job.stamps["path"])
    found = write_file(Job(job.tool, job.arguments, two, job.directory, job.reader, job.cancelled))
    assert (found.failed, left(repository.path)) == (True, [])


def test_a_file_of_latin_letters_is_not_edited(repository: Repository) -> None:
    file = repository.write("a", "grün old".encode("latin-1"))
    found = checked(edit_file(repository.job("edit_file", path="a", old="old", new="new")))
    assert (found.failed, "UTF-8" in found.text) == (True, True)
    assert file.read_bytes() == "grün old".encode("latin-1")


def test_a_binary_file_is_not_edited(repository: Repository) -> None:
    repository.write("a", b"\0old")
    assert "binary" in repository.run("edit_file", path="a", old="old", new="new").text
