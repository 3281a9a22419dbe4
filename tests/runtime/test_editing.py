"""`edit_file` replaces exactly what was named, and shows it as a person was shown it."""

from __future__ import annotations

import difflib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.app.diffs import diff_of
from stanch.runtime.builtin.replacing import NoEdit, edited, unified
from tests.runtime.file_jobs import Repository, pieces


def test_the_one_place_is_replaced_and_shown(repository: Repository) -> None:
    file = repository.write("a.py", "one\ntwo\nthree\n")
    found = repository.run("edit_file", path="a.py", old="two", new="2")
    assert found.text == "Edited a.py in 1 place\n--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert file.read_text() == "one\n2\nthree\n"
    assert pieces(found) == [(str(file), found.text)]


def test_every_place_is_replaced_where_that_is_asked_for(repository: Repository) -> None:
    file = repository.write("a.py", "x = x\n" * 3)
    found = repository.run("edit_file", path="a.py", old="x", new="y", all=True)
    assert found.text.startswith("Edited a.py in 6 places\n")
    assert file.read_text() == "y = y\n" * 3


@pytest.mark.parametrize(
    ("before", "old", "new", "says"),
    [
        ("a\nb\n", "c", "d", "old is not in the file: it has to be there letter for letter"),
        ("a\nb\na a\n", "a", "d", "old is in the file 3 times, at the lines 1, 3: take in more"),
        ("aaa", "aa", "b", "old is in the file 2 times, at the lines 1"),
        ("a", "", "d", "old is empty"),
        ("a", "a", "a", "nothing would be changed"),
        ("a\r\nb\r\n", "a\nb", "c", "The lines of this file end in \\r\\n"),
        ("a\nb\n", "a\r\nb", "c", "The lines of this file end in \\n"),
    ],
)
def test_an_edit_that_cannot_be_made_says_why(
    repository: Repository, before: str, old: str, new: str, says: str
) -> None:
    file = repository.write("a.txt", before)
    found = repository.run("edit_file", path="a.txt", old=old, new=new)
    assert (found.failed, says.lower() in found.text.lower()) == (True, True), found.text
    assert file.read_bytes() == before.encode()


def test_many_places_are_not_all_told() -> None:
    with pytest.raises(NoEdit, match=r"50 times, at the lines 1, 2, .*, 20, …: take"):
        edited("x\n" * 50, "x", "y")


def test_a_file_that_is_not_there_is_not_made(repository: Repository) -> None:
    found = repository.run("edit_file", path="a.txt", old="a", new="b")
    assert (found.failed, found.text) == (True, "There is no such file or directory: a.txt")
    assert not list(repository.path.iterdir())


def test_line_ends_and_odd_separators_are_kept(repository: Repository) -> None:
    file = repository.write("a.txt", "one\r\ntwo\x0cthree\u2028\r\n")
    repository.run("edit_file", path="a.txt", old="two", new="2")
    assert file.read_bytes() == "one\r\n2\x0cthree\u2028\r\n".encode()


@pytest.mark.parametrize("arguments", [{"old": 1, "new": "b"}, {"old": "a"}, {"old": "a", "new": "b", "all": "yes"}])
def test_arguments_of_another_kind_are_refused(repository: Repository, arguments: dict[str, object]) -> None:
    file = repository.write("a.txt", "a")
    assert repository.run("edit_file", path="a.txt", **arguments).failed
    assert file.read_text() == "a"


@pytest.mark.parametrize(
    ("before", "arguments"),
    [
        ("one\ntwo\n", {"old": "two", "new": "2"}),
        ("x\ny\nx\n", {"old": "x", "new": "z", "all": True}),
        ("x\ny\nx\n", {"old": "x", "new": "z"}),
        ("aaa", {"old": "aa", "new": "b"}),
        ("x", {"old": "", "new": "b"}),
        ("one\ntwo", {"old": "two", "new": "two\n"}),
    ],
)
def test_the_edit_is_the_one_that_a_person_was_shown(
    repository: Repository, before: str, arguments: dict[str, object]
) -> None:
    file = repository.write("a.txt", before)
    call = repository.session.check("edit_file", {"path": "a.txt", **arguments}).call
    shown = diff_of(call)
    found = repository.run("edit_file", path="a.txt", **arguments)
    assert found.failed is (shown is None)
    if shown is not None:
        assert applied(before, shown.split("\n")) == lines_of(file.read_text())


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else [*lines, "\\ No newline at end of file"]


def applied(before: str, diff: list[str]) -> list[str]:
    """The lines that a unified diff makes of a text; it has to fit."""
    was, out, at = lines_of(before), list[str](), 0
    for line in diff[2:]:
        head = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
        if head is not None:
            begin = int(head[1]) - (head[2] != "0")
            out += was[at:begin]
            at = begin
            assert int(head[3]) - (head[4] != "0") == len(out)
        elif line[0] == "+":
            out.append(line[1:])
        else:
            assert was[at] == line[1:]
            at += 1
            if line[0] == " ":
                out.append(line[1:])
    return out + was[at:]


SMALL = st.text(alphabet="ab\n", max_size=60)


@given(SMALL, st.text(alphabet="ab\n", min_size=1, max_size=4), st.text(alphabet="ac\n", max_size=4))
def test_the_diff_is_what_was_changed(before: str, old: str, new: str) -> None:
    try:
        found = edited(before, old, new, everywhere=True)
    except NoEdit:
        return
    assert found.text == before.replace(old, new)
    diff = unified(before, old, new, found.places, "a").split("\n")
    assert applied(before, diff) == lines_of(found.text)
    changed = [line for line in diff[2:] if line[0] in "+-"]
    least = [line for line in difflib.ndiff(lines_of(before), lines_of(found.text)) if line[0] in "+-"]
    assert changed or not least


def test_a_diff_has_no_more_around_it_than_three_lines() -> None:
    before = "".join(f"{number}\n" for number in range(100))
    found = edited(before, "50\n", "")
    assert unified(before, "50\n", "", found.places, "a").split("\n")[2:] == [
        "@@ -48,7 +48,6 @@",
        *(" 47", " 48", " 49", "-50", " 51", " 52", " 53"),
    ]


def test_an_edit_of_a_large_file_is_shown_at_once() -> None:
    """Comparing these two texts line by line would take minutes."""
    before = "".join(f"{number % 200}\n" for number in range(200_000)) + "end\n"
    found = edited(before, "7", "8", everywhere=True)
    assert unified(before, "7", "8", found.places, "a").count("\n") > 100_000
