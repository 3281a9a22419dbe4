"""`read_file` gives the text of the file that was judged, and says what of it is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stanch.runtime.builtin import content, reading
from stanch.runtime.builtin.reading import read_file
from stanch.runtime.tool import Job
from tests.runtime.file_jobs import Repository, checked, pieces


def test_a_file_is_read_as_it_is_and_tagged(repository: Repository) -> None:
    file = repository.write("a.txt", "one\r\n\ttwo\n\nümlaut \u2028 end")
    found = repository.run("read_file", path="a.txt")
    assert found.text == "one\r\n\ttwo\n\nümlaut \u2028 end"
    assert pieces(found) == [(str(file), found.text)]
    assert not found.failed


def test_another_word_for_the_path_is_understood(repository: Repository) -> None:
    repository.write("a.txt", "one")
    assert repository.run("read_file", file_path="a.txt").text == "one"


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"offset": 2}, "two\nthree\nfour"),
        ({"limit": 2}, "one\ntwo\n[more follows: read on with offset 3]"),
        ({"offset": 2, "limit": 1}, "two\n[more follows: read on with offset 3]"),
        ({"offset": 3, "limit": 2}, "three\nfour"),
        ({"offset": 4, "limit": 99}, "four"),
        ({"offset": 5}, "Offset 5 is behind the end: the file has 4 lines"),
    ],
)
@pytest.mark.parametrize("block", [1, 3, 5, 1000])
def test_some_lines_are_read(
    repository: Repository, part: dict[str, int], expected: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content.read_block, "__defaults__", (block,))
    repository.write("a.txt", "one\ntwo\nthree\nfour")
    found = repository.run("read_file", path="a.txt", **part)
    assert found.text == expected
    assert found.failed is expected.startswith("Offset")


def test_notes_are_not_tagged(repository: Repository) -> None:
    file = repository.write("a.txt", "one\ntwo\n")
    assert pieces(repository.run("read_file", path="a.txt", limit=1)) == [(str(file), "one\n")]


@pytest.mark.parametrize(("text", "lines"), [("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\nb", 2)])
def test_lines_are_counted_as_people_do(repository: Repository, text: str, lines: int) -> None:
    repository.write("a.txt", text)
    assert f"has {lines} line" in repository.run("read_file", path="a.txt", offset=9).text
    assert not repository.run("read_file", path="a.txt", offset=lines).failed
    assert repository.run("read_file", path="a.txt", offset=lines + 1).failed


def test_an_empty_file_is_said_to_be_empty(repository: Repository) -> None:
    repository.write("a.txt", "")
    assert repository.run("read_file", path="a.txt").text == "[the file is empty]"


def test_a_long_file_loses_its_middle_and_says_which_lines(repository: Repository) -> None:
    lines = [f"{number}: {'x' * 90}" for number in range(1, 5001)]
    repository.write("a.txt", "\n".join(lines) + "\n")
    found = repository.run("read_file", path="a.txt")
    note = found.text.split("\n")[-1]
    first, last = (int(word.replace(",", "")) for word in note.split() if word[0].isdigit())
    assert note == f"[lines {first:,} to {last:,} are not shown, or not whole: read them with offset and limit]"
    assert lines[first - 2] + "\n[…" in found.text
    assert f"…]\n{lines[last]}\n" in found.text
    rest = repository.run("read_file", path="a.txt", offset=first, limit=last - first + 1)
    assert rest.text.startswith(lines[first - 1] + "\n")
    assert f"{lines[last - 1]}\n[more follows: read on with offset {last + 1}]" in rest.text


def test_one_long_line_is_cut_too(repository: Repository) -> None:
    repository.write("a.txt", "x" * 300_000)
    found = repository.run("read_file", path="a.txt")
    assert len(found.text) < 263_000
    assert "[lines 1 to 1 are not shown, or not whole: read them with offset and limit]" in found.text


def test_a_file_too_large_to_be_read_whole_is_read_in_parts(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)
    repository.write("a.txt", "line\n" * 400)
    found = repository.run("read_file", path="a.txt")
    assert (found.failed, "offset and limit" in found.text) == (True, True)
    assert repository.run("read_file", path="a.txt", offset=399, limit=5).text == "line\nline\n"


def test_a_file_that_grows_while_it_is_read_does_not_go_on_for_ever(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = repository.write("a.log", "line\n")
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)

    def growing(descriptor: int) -> bytes:
        with file.open("ab") as log:
            log.write(b"more\n" * 20)
        return content.read_block(descriptor)

    monkeypatch.setattr(reading, "read_block", growing)
    found = repository.run("read_file", path="a.log")
    assert len(found.text) < 1200
    assert "[more follows: read on with offset" in found.text


def test_a_binary_file_is_refused(repository: Repository) -> None:
    repository.write("a.bin", b"ab\0cd")
    found = repository.run("read_file", path="a.bin")
    assert (found.failed, found.text) == (True, "It is a binary file, which is not shown")
    assert found.tags, "that it is binary is known from the file"


def test_what_is_no_utf_8_is_replaced_and_said(repository: Repository) -> None:
    repository.write("a.txt", "gr\u00fcn \ufffd\n".encode() + "grün\n".encode("latin-1"))
    found = repository.run("read_file", path="a.txt")
    assert found.text == "grün \ufffd\ngr\ufffdn\n[not all of it is UTF-8 text: 1 place shown as \ufffd]"


def test_a_directory_and_what_is_not_there_are_said(repository: Repository) -> None:
    (repository.path / "src").mkdir()
    assert "list_files shows" in repository.run("read_file", path="src").text
    assert repository.run("read_file", path="none.txt").text == "There is no such file or directory: none.txt"


@pytest.mark.parametrize("part", [{"offset": 0}, {"limit": -1}, {"offset": "2"}, {"limit": True}, {"offset": 1.5}])
def test_a_part_that_is_no_number_from_1_is_refused(repository: Repository, part: dict[str, object]) -> None:
    repository.write("a.txt", "one")
    found = repository.run("read_file", path="a.txt", **part)
    assert (found.failed, "whole number" in found.text) == (True, True)


def test_a_file_swapped_for_a_link_is_not_read(repository: Repository) -> None:
    file, secret = repository.write("a.txt", "mine"), repository.write("secrets/key", "SECRET")
    job = repository.job("read_file", path="a.txt")
    file.unlink()
    file.symlink_to(secret)
    assert _refused(job) == "Refused because the target changed after it was judged: a.txt"


def test_a_directory_swapped_for_a_link_is_not_followed(repository: Repository) -> None:
    repository.write("src/key", "mine")
    repository.write("secrets/key", "SECRET")
    job = repository.job("read_file", path="src/key")
    (repository.path / "src").rename(repository.path / "old")
    (repository.path / "src").symlink_to("secrets")
    assert _refused(job) == "Refused because the target changed after it was judged: src/key"


def test_a_pipe_is_refused_at_once(repository: Repository) -> None:
    os.mkfifo(repository.path / "pipe")
    found = _refused(repository.job("read_file", path="pipe"))
    assert found == "Denied because the path cannot be read (neither a file nor a directory): pipe"


def test_a_device_is_refused(repository: Repository) -> None:
    job = repository.job("read_file", path="a")
    stamp = job.stamps["path"]._replace(path="/dev/zero")
    assert "neither a file" in _refused(Job(job.tool, {}, {"path": stamp}, job.directory, job.reader, job.cancelled))


@pytest.mark.skipif(not Path("/proc/kmsg").exists(), reason="there is no such file here")
def test_a_file_of_the_kernel_that_has_nothing_to_read_is_not_waited_for(repository: Repository) -> None:
    job = repository.job("read_file", path="a")
    stamp = job.stamps["path"]._replace(path="/proc/kmsg")
    read_file(Job(job.tool, {"limit": 1}, {"path": stamp}, job.directory, job.reader, job.cancelled))


def test_another_name_of_a_secret_is_read_as_what_it_is_named(repository: Repository) -> None:
    """A known limit: two names of one file cannot be told apart by a path."""
    secret = repository.write("secrets/key", "SECRET")
    os.link(secret, repository.path / "a.txt")
    assert repository.run("read_file", path="a.txt").text == "SECRET"


def test_it_stops_when_nobody_waits(repository: Repository) -> None:
    repository.write("a.txt", "one")
    repository.cancelled.set()
    assert repository.run("read_file", path="a.txt").failed


def _refused(job: Job) -> str:
    found = checked(read_file(job))
    assert found.failed
    assert "SECRET" not in found.text
    return found.text
