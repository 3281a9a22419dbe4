"""While a search runs, another process swaps a directory for a link to a closed one: nothing of that is ever shown."""

from __future__ import annotations

import os

import pytest

from stanch.runtime.builtin import walking
from stanch.runtime.builtin.listing import list_files
from tests.paths.test_race import _exchange_works, swapping
from tests.runtime.file_jobs import RUN, Repository

TRIES = 20_000 if os.environ.get("STANCH_SOAK") else 1_500


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("grep_files", {"pattern": "."}), ("list_files", {"pattern": "**/*"}), ("list_files", {"pattern": "open/*"})],
)
def test_what_a_swapped_directory_leads_to_is_never_shown(
    repository: Repository, tool: str, arguments: dict[str, str]
) -> None:
    repository.write("private/in/SECRET", "SECRET")
    repository.write("open/fine", "fine")
    (repository.path / "link").symlink_to("private/in")
    if not _exchange_works(repository.path):
        pytest.skip("this file system cannot exchange two names")
    job, fine, missed = repository.job(tool, **arguments), 0, 0
    with swapping(repository.path / "open", repository.path / "link"):
        for _ in range(TRIES):
            text = RUN[tool](job).text
            assert "SECRET" not in text
            fine += "fine" in text
            missed += "could not be read" in text.lower() or "withheld" in text
    assert fine > 0, "nothing was ever shown, so nothing was proved"
    assert missed > 0, "the swap never came in between, so nothing was proved"


def test_what_the_kernel_makes_up_is_not_entered(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.write("proc/1/mem", "x")
    repository.write("a", "x")
    monkeypatch.setattr(walking, "_MADE_UP", (str(repository.path / "proc"),))
    assert list_files(repository.job("list_files", pattern="**")).text.split("\n") == ["a", "proc/"]
    assert repository.run("list_files", path="proc", pattern="**").text.split("\n") == ["proc/1/", "proc/1/mem"]


def test_descriptors_are_closed_however_a_walk_ends(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        repository.write(f"a/b/c/{number}", "x\n")
    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr("stanch.runtime.builtin.listing.MOST_LINES", 2)
    monkeypatch.setattr("stanch.runtime.builtin.searching.MOST_LINES", 2)
    for tool, arguments in (("list_files", {"pattern": "**"}), ("grep_files", {"pattern": "x"})):
        repository.run(tool, **arguments)
    repository.run("list_files", pattern="a/none/**")
    repository.run("list_files", pattern="a/b/c/1/**")
    repository.cancelled.set()
    repository.run("grep_files", pattern="x")
    assert len(os.listdir("/proc/self/fd")) == before
