"""Is every decision record short, numbered once, whole, and followed by a proof that still exists?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SECTIONS = ["Status", "Question", "Forces", "Options", "Decision", "Consequences", "Proof"]
MAX_LINES = 60
PATH = re.compile(r"`([\w./-]*/[\w./-]+|\.importlinter)`")


def problems(name: str, text: str, root: Path) -> list[str]:
    """What is wrong with one record: its name, its length, its sections, or what its proof names."""
    found: list[str] = []
    if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name):
        found.append("is not named NNNN-some-words.md")
    elif not text.startswith(f"# {name[:4]} "):
        found.append(f"does not begin with its number: # {name[:4]} ...")
    if len(text.splitlines()) > MAX_LINES:
        found.append(f"is longer than {MAX_LINES} lines")
    parts = re.split(r"^## +(.+?) *$", text, flags=re.MULTILINE)
    if parts[1::2] != SECTIONS:
        return [*found, f"has the sections {parts[1::2]}, not {SECTIONS}"]
    empty = [section for section, body in zip(parts[1::2], parts[2::2], strict=True) if not body.strip()]
    if empty:
        found.append(f"has empty sections: {empty}")
    proofs = PATH.findall(parts[-1])
    if not proofs:
        found.append("names no test, case file or contract as its proof")
    found += [f"names a proof that does not exist: {proof}" for proof in proofs if not (root / proof).is_file()]
    return found


def test_every_record_is_whole_and_proved(root: Path) -> None:
    records = sorted((root / "docs" / "decisions").glob("*"))
    assert records
    found = [f"{path.name} {one}" for path in records for one in problems(path.name, path.read_text("utf-8"), root)]
    assert not found, "\n".join(found)


def test_no_number_is_used_twice(root: Path) -> None:
    numbers = [path.name[:4] for path in (root / "docs" / "decisions").glob("*.md")]
    assert len(numbers) == len(set(numbers)), f"numbers used twice: {sorted(numbers)}"


GOOD = "# 0009 · Title\n\n" + "".join(f"## {name}\n\nSomething.\n\n" for name in SECTIONS) + "`tests/laws/test_x.py`\n"


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("0009-title.md", GOOD, 0),
        ("9-title.md", GOOD, 1),
        ("0008-title.md", GOOD, 1),
        ("0009-title.md", GOOD + "\n" * MAX_LINES, 1),
        ("0009-title.md", GOOD.replace("## Forces", "## Powers"), 1),
        ("0009-title.md", GOOD.replace("## Status\n\nSomething.", "## Status\n"), 1),
        ("0009-title.md", GOOD.replace("`tests/laws/test_x.py`", "Trust us."), 1),
        ("0009-title.md", GOOD.replace("test_x", "test_gone"), 1),
    ],
)
def test_a_broken_record_is_noticed(name: str, text: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "tests" / "laws").mkdir(parents=True)
    (tmp_path / "tests" / "laws" / "test_x.py").touch()
    assert len(problems(name, text, tmp_path)) == count
