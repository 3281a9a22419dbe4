"""What a person is shown of a write before it happens."""

from __future__ import annotations

from pathlib import Path

import pytest

import stanch
from stanch.app.diffs import diff_of


def shown(folder: Path, before: str | None, after: str) -> list[str]:
    """The changed lines of a write."""
    file = folder / "a.txt"
    if before is not None:
        file.write_bytes(before.encode())
    (folder / "stanch.toml").write_text("version = 1\n", "utf-8")
    session = stanch.open(folder / "stanch.toml").session()
    diff = diff_of(session.check("write_file", {"path": str(file), "content": after}).call)
    assert diff is not None
    return [line for line in diff.split("\n")[2:] if not line.startswith("@@")]


def test_a_new_file_is_all_added(tmp_path: Path) -> None:
    assert shown(tmp_path, None, "one\ntwo\n") == ["+one", "+two"]


@pytest.mark.parametrize("odd", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_a_separator_that_is_no_line_end_is_not_lost(tmp_path: Path, odd: str) -> None:
    assert shown(tmp_path, "one\n", f"one{odd}\n") == ["-one", f"+one{odd}"]


def test_a_missing_last_line_end_is_said(tmp_path: Path) -> None:
    assert shown(tmp_path, "one\n", "one") == [" one", "+\\ No newline at end of file"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"content": "new\n", "old": "one", "new": "two"},
        {"content": "new\n", "text": "other\n"},
        {"old": "one", "new": "two", "old_string": "one", "new_string": "three"},
    ],
)
def test_what_can_be_meant_in_two_ways_has_no_diff(tmp_path: Path, arguments: dict[str, str]) -> None:
    (tmp_path / "a.txt").write_text("one\n", "utf-8")
    (tmp_path / "stanch.toml").write_text("version = 1\n", "utf-8")
    session = stanch.open(tmp_path / "stanch.toml").session()
    assert diff_of(session.check("write_file", {"path": str(tmp_path / "a.txt"), **arguments}).call) is None
