"""Whose line is whose in a result: what hostile names and contents may and may not bring about.

A span must never give one file's text to another alone: the file that a line came from is always among its tags.
"""

from __future__ import annotations

import posixpath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.values.message import Origin
from tests.tiers.tagging import owners, result_tags, subtree

GREP = {"pattern": "x", "path": "/repo", "output_mode": "content", "-n": True}


def lines(text: str, **arguments: Any) -> list[set[str]]:
    return [found for _, found in owners(text, result_tags("Grep", GREP | arguments, text))]


def test_each_line_is_of_its_file() -> None:
    text = "src/a.py:3:one\nsrc/a.py:9:two\ndocs/x.md:1:three"
    assert lines(text) == [{"/repo/src/a.py"}, {"/repo/src/a.py"}, {"/repo/docs/x.md"}]
    spans = [(tag.name, tag.span) for tag in result_tags("Grep", GREP, text)]
    assert spans == [("/repo/src/a.py", (0, 29)), ("/repo/docs/x.md", (30, 47))]


@pytest.mark.parametrize(
    "line",
    [
        "secrets/k:3:public/a.md:1:KEY",
        "secrets/k:3:x:4:y:5:z",
        "secrets/k:12:10:12:33 KEY",
        "secrets/k:3:-1-public/a.md-2-KEY",
        "/repo/secrets/k:3:/repo/public/a.md:7:KEY",
        "secrets/k:3:\rpublic/a.md:1:KEY",
        "secrets/k:3:\u2028public/a.md:1:KEY",
        "secrets/k:3:" + ":1:" * 50,
    ],
)
def test_a_line_that_imitates_another_files_stays_its_own(line: str) -> None:
    found = lines(f"public/a.md:1:hi\n{line}")[1]
    assert found & {"/repo/secrets/k", "/repo"}


def test_a_name_that_holds_what_ends_a_name() -> None:
    (found,) = lines("public:1:/secrets/k:3:KEY")
    assert {"/repo/public", "/repo/public:1:/secrets/k"} <= found


def test_a_context_line_is_of_a_file_that_was_found_in_its_group() -> None:
    text = "secrets/k-2-before 10:12:33\nsecrets/k:3:KEY\nsecrets/k-4-public/a.md-1-after\n--\npublic/a.md:1:hi"
    found = lines(text, **{"-C": 1})
    assert "/repo/secrets/k" in found[0]
    assert "/repo/secrets/k" in found[1]
    assert "/repo/secrets/k" in found[2]
    assert found[3] == set()
    assert found[4] == {"/repo/public/a.md"}


@pytest.mark.parametrize("line", ["KEY without a name", "secrets/k-3-context of nothing", ":3:no name", "C:\\k:3:KEY"])
def test_a_line_of_no_file_puts_all_in_doubt(line: str) -> None:
    text = f"public/a.md:1:hi\n{line}"
    assert result_tags("Grep", GREP, text) == (subtree("/repo"),)


def test_without_numbers_every_colon_may_end_the_name() -> None:
    arguments = {key: value for key, value in GREP.items() if key != "-n"}
    text = "conf/.env:KEY see public/a.md:12: x"
    ((_, found),) = owners(text, result_tags("Grep", arguments, text))
    assert "/repo/conf/.env" in found


def test_a_line_with_too_many_readings_may_be_of_all_that_was_searched() -> None:
    arguments = {key: value for key, value in GREP.items() if key != "-n"}
    text = "a.py:" + "x:" * 40
    assert [tag.origin for tag in result_tags("Grep", arguments, text)] == [Origin.SUBTREE]


def test_a_name_outside_of_what_was_searched_puts_all_in_doubt() -> None:
    text = "docs/x.md:1:hi\n/etc/passwd:1:root"
    assert result_tags("Grep", GREP | {"path": "/repo/docs"}, text) == (subtree("/repo/docs"),)


def test_names_of_files_are_of_these_files() -> None:
    text = "Found 2 files\n/repo/src/a.py\n/repo/secrets/k"
    arguments = {"pattern": "x", "path": "/repo"}
    found = owners(text, result_tags("Grep", arguments, text))
    assert [one for _, one in found] == [set(), {"/repo/src/a.py"}, {"/repo/secrets/k"}]
    counted = result_tags("Grep", arguments | {"output_mode": "count"}, "src/a.py:3\nsecrets/k:12")
    assert [tag.name for tag in counted] == ["/repo/src/a.py", "/repo/secrets/k"]


def test_lines_below_a_heading() -> None:
    text = "Found 2 matches\n/repo/docs/x.md:\n  Line 3: /repo/public/a.md:\n\n/repo/secrets/k:\n  Line 1: KEY\n"
    tags = result_tags("grep", {"pattern": "x", "path": "/repo"}, text)
    docs, key = {"/repo/docs/x.md"}, {"/repo/secrets/k"}
    assert [one for _, one in owners(text, tags)] == [set(), docs, docs, set(), key, key, set()]
    gemini = 'Found 1 match for pattern "x" in path ".":\n---\nFile: secrets/k\nL1: KEY\nL2- File: public/a.md\n---'
    tags = result_tags("search_file_content", {"pattern": "x"}, gemini)
    assert [one for _, one in owners(gemini, tags)] == [set(), set(), key, key, key, set()]


def test_a_listing_names_each_file() -> None:
    text = "- /repo/\n  - src/\n    - a.py\n  - secrets/\n    - k"
    tags = result_tags("LS", {"path": "/repo"}, text)
    found = [one for _, one in owners(text, tags)]
    assert found == [{"/repo"}, {"/repo/src"}, {"/repo/src/a.py"}, {"/repo/secrets"}, {"/repo/secrets/k"}]
    tags = result_tags("list_directory", {"path": "/repo"}, "Directory listing for /repo:\n[DIR] src\nk")
    assert [tag.name for tag in tags] == ["/repo/src", "/repo/k"]


def test_a_result_that_is_empty_or_all_notes_has_no_tags() -> None:
    for text in ("", "No matches found", "\n"):
        assert result_tags("Grep", GREP, text) == ()


NAMES = st.text(st.sampled_from("ab.:-1/ "), min_size=1, max_size=8).map(lambda name: f"d/{name}x")
CONTENT = st.text(st.sampled_from("ab:-1/\r \u2028"), max_size=12)


@given(st.lists(st.tuples(NAMES, st.integers(1, 99), CONTENT, st.booleans()), min_size=1, max_size=6), st.booleans())
def test_the_file_of_a_line_is_always_among_its_tags(found: list[tuple[str, int, str, bool]], numbered: bool) -> None:
    name = found[0][0]
    rows = [
        (name, *found[0][1:3], False),
        *((name if around else other, n, c, around) for other, n, c, around in found[1:]),
    ]
    written = []
    for path, number, content, around in rows:
        mark = "-" if around else ":"
        written.append(f"{path}{mark}{number}{mark}{content}" if numbered else f"{path}{mark}{content}")
    text = "\n".join(written)
    tags = result_tags("Grep", GREP | {"-n": numbered}, text)
    for (path, *_), (_, owned) in zip(rows, owners(text, tags), strict=True):
        real = posixpath.normpath(f"/repo/{path}")
        assert real in owned or "/repo" in owned


@pytest.mark.parametrize(
    "line", ["a.py:1:x", "a:1:" * 40, "a-1-" * 200, "x" * 200, "- " * 100, "a.py:1:" + ":-1-" * 200, "--"]
)
def test_a_long_result_takes_time_in_proportion(line: str) -> None:
    """No time is asserted: what would not be in proportion would not end."""
    text = "\n".join([line] * 3_000)
    for tool in ("Grep", "grep", "LS", "Glob"):
        for numbered in (True, False):
            assert result_tags(tool, GREP | {"-n": numbered}, text) is not None
    one = line * 20_000
    assert result_tags("Grep", GREP, one) is not None
