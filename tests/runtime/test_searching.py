"""`grep_files` finds lines in what may be read, and says nothing of the rest."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.runtime.builtin import content, expressions, searching
from stanch.runtime.builtin.expressions import Expression
from stanch.runtime.builtin.searching import grep_files
from stanch.runtime.builtin.walking import Limits
from stanch.values.call import Stamp
from tests.runtime.file_jobs import Repository, after, checked, pieces


def found_in(repository: Repository, pattern: str, **arguments: str) -> list[str]:
    return repository.run("grep_files", pattern=pattern, **arguments).text.split("\n")


def test_lines_that_match_are_shown_with_their_place(repository: Repository) -> None:
    repository.write("a.py", "one\ntwo needle\n\nneedle needle\n")
    repository.write("src/.b", "needle")
    assert found_in(repository, "needle") == ["a.py:2:two needle", "a.py:4:needle needle", "src/.b:1:needle"]
    assert found_in(repository, "n.+le$", path="src") == ["src/.b:1:needle"]
    assert found_in(repository, "needle", path="a.py")[0] == "a.py:2:two needle"
    assert found_in(repository, "nothing") == ["No line matches"]


def test_every_file_has_the_span_of_its_lines(repository: Repository) -> None:
    a, b = repository.write("a.py", "x1\nx2\n"), repository.write("b.py", "é x3\n")
    assert pieces(repository.run("grep_files", pattern="x")) == [
        (str(a), "a.py:1:x1\na.py:2:x2"),
        (str(b), "b.py:1:é x3"),
    ]


def test_a_search_over_the_root_shows_nothing_that_is_denied(repository: Repository) -> None:
    for name in ("secrets/a", "app/secrets/deep/b", "api.key", "private/plan", "private/open", "a.py", "Secrets/c"):
        repository.write(name, f"needle in {name}\n")
    found = repository.run("grep_files", pattern="needle")
    assert found.text.split("\n") == [
        "Secrets/c:1:needle in Secrets/c",
        "a.py:1:needle in a.py",
        "private/open:1:needle in private/open",
        "4 files withheld (2 directories among them named secrets, never entered)",
    ]
    assert found.withheld == 4
    assert not [path for path in repository.asked if "/secrets" in path]


def test_what_is_withheld_is_counted_whatever_the_pattern(repository: Repository) -> None:
    repository.write("api.key", "needle")
    for pattern, glob in (("needle", "*"), ("other", "*"), ("needle", "a*"), ("needle", "b*"), ("x", "**/b")):
        assert found_in(repository, pattern, glob=glob) == ["No line matches", "1 file withheld"]


@pytest.mark.parametrize(
    ("glob", "names"),
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("src/*", ["src/b.py"]),
        ("**/b.*", ["src/b.py"]),
        ("/*", []),
        ("**", ["a.py", "c", "src/b.py"]),
    ],
)
def test_a_glob_says_which_files(repository: Repository, glob: str, names: list[str]) -> None:
    for name in ("a.py", "src/b.py", "c"):
        repository.write(name, "x")
    found = repository.run("grep_files", pattern="x", glob=glob)
    assert [line.partition(":")[0] for line in found.text.split("\n") if ":1:" in line] == names


def test_links_are_not_followed(repository: Repository) -> None:
    repository.write("a.py", "needle")
    repository.write("secrets/key", "needle")
    (repository.path / "b.py").symlink_to("a.py")
    (repository.path / "c.py").symlink_to("secrets/key")
    (repository.path / "d").symlink_to("secrets")
    assert [line for line in found_in(repository, "needle") if ":" in line] == ["a.py:1:needle"]


def test_git_and_binary_files_are_not_searched(repository: Repository) -> None:
    repository.write(".git/config", "needle")
    repository.write("a.bin", b"\0needle")
    repository.write("a.py", "needle")
    assert found_in(repository, "needle") == ["a.py:1:needle", "Not searched: 1 binary file"]
    assert found_in(repository, "needle", path=".git") == [".git/config:1:needle"]


def test_large_files_are_not_searched_and_counted(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content.read_whole, "__defaults__", (100,))
    repository.write("a.py", "needle\n" * 100)
    repository.write("b.py", "needle\n")
    assert found_in(repository, "needle") == ["b.py:1:needle", "Not searched: 1 file of more than 10 MB"]


def test_pipes_devices_and_sockets_are_not_opened(repository: Repository) -> None:
    os.mkfifo(repository.path / "pipe")
    repository.write("a.py", "needle")
    assert found_in(repository, "needle") == ["a.py:1:needle"]


def test_odd_names_and_odd_bytes(repository: Repository) -> None:
    repository.write("new\nline", "needle")
    repository.write("latin", "grün needle\n".encode("latin-1"))
    found = repository.run("grep_files", pattern="needle")
    assert found.text.split("\n") == [
        "latin:1:gr\ufffdn needle",
        "new\\nline:1:needle",
        "Not all UTF-8 text: 1 file, shown with \ufffd",
    ]
    assert len(found.tags) == 2
    assert found_in(repository, "^gr.n needle$")[0] == "latin:1:gr\ufffdn needle"


def test_windows_line_ends_are_line_ends(repository: Repository) -> None:
    repository.write("a.py", "needle\r\nother\r\n")
    assert found_in(repository, "needle$") == ["a.py:1:needle"]


def test_a_file_that_becomes_something_else_is_counted_and_not_read(repository: Repository) -> None:
    secret = repository.write("secrets/key", "needle SECRET")
    a, b, c = (repository.write(name, "needle") for name in ("a", "b", "c"))

    def swap() -> None:
        a.unlink()
        a.mkdir()
        b.unlink()
        b.symlink_to(secret)
        c.unlink()

    found = repository.run("grep_files", after(repository.reader, swap, "/a"), pattern="needle")
    assert "SECRET" not in found.text
    assert "Could not be read: 2 entries" in found.text
    assert "2 files withheld" in found.text, "b, which is a link to a secret by now, and the directory of the secret"


def test_a_file_swapped_for_a_link_to_an_open_one_is_not_shown_as_itself(repository: Repository) -> None:
    repository.write("src/b", "needle elsewhere")
    file = repository.write("x", "needle")

    def swap() -> None:
        file.unlink()
        file.symlink_to("src/b")

    found = repository.run("grep_files", after(repository.reader, swap, "/b"), pattern="needle")
    assert found.text.split("\n") == ["src/b:1:needle elsewhere", "Could not be read: 1 entry"]


def test_a_directory_swapped_for_a_link_is_not_entered(repository: Repository) -> None:
    repository.write("a", "needle")
    repository.write("src/x", "needle")
    repository.write("private/x", "needle SECRET")

    def swap() -> None:
        (repository.path / "src").rename(repository.path / ".." / "old")
        (repository.path / "src").symlink_to("private")

    found = repository.run("grep_files", after(repository.reader, swap, "/a"), pattern="needle")
    assert found.text.split("\n") == ["a:1:needle", "Could not be read: 1 entry", "1 file withheld"]


def test_a_directory_swapped_after_a_file_in_it_was_judged_is_not_followed(repository: Repository) -> None:
    repository.write("src/x", "needle")
    repository.write("private/x", "needle SECRET")

    def swap() -> None:
        (repository.path / "src").rename(repository.path / ".." / "old")
        (repository.path / "src").symlink_to("private")

    found = repository.run("grep_files", after(repository.reader, swap, "/src/x"), pattern="needle")
    assert found.text.split("\n") == ["No line matches", "Could not be read: 1 entry", "1 file withheld"]


def test_what_cannot_be_opened_is_counted_and_the_rest_is_searched(repository: Repository) -> None:
    repository.write("a", "needle")
    repository.write("b", "needle")

    def reader(path: str) -> Stamp | None:
        stamp = repository.reader(path)
        return stamp._replace(path=str(repository.path / "gone")) if stamp and path.endswith("/a") else stamp

    assert repository.run("grep_files", reader, pattern="needle").text.split("\n") == [
        "b:1:needle",
        "Could not be read: 1 entry",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_the_system_forbids_is_counted(repository: Repository) -> None:
    repository.write("a", "needle").chmod(0)
    repository.write("d/x", "needle")
    repository.write("e", "needle")
    (repository.path / "d").chmod(0)
    try:
        assert found_in(repository, "needle") == ["e:1:needle", "Could not be read: 2 entries"]
    finally:
        (repository.path / "d").chmod(0o700)


@pytest.mark.parametrize(
    "pattern", ["(", "[a", "a{2000}", "(?=x)", "\\1", "*", "", "\ud800", "x" * 5000, "(?:\\pL{500}){2}"]
)
def test_a_bad_expression_is_said(repository: Repository, pattern: str) -> None:
    repository.write("a", "x")
    found = repository.run("grep_files", pattern=pattern)
    assert (found.failed, "pattern" in found.text) == (True, True)
    found.text.encode()


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "(.*)*x", "(?:a?){500}a{500}b", "[^\\x00]{0,900}\\x{10FFFF}"]
)
def test_an_expression_that_others_hang_on_takes_no_time(repository: Repository, pattern: str) -> None:
    repository.write("a", "a" * 30_000 + "!")
    assert found_in_at_once(repository, pattern)


def found_in_at_once(repository: Repository, pattern: str) -> bool:
    return not grep_files(repository.job("grep_files", pattern=pattern), Limits(seconds=60)).text.count("seconds")


def test_a_long_line_is_shown_around_the_match(repository: Repository) -> None:
    repository.write("a.js", "é" * 5000 + "needle" + "y" * 100_000)
    (line,) = found_in(repository, "needle")
    assert line.startswith("a.js:1:…éé")
    assert "éneedley" in line
    assert line.endswith("y…")
    assert len(line) < 520


def test_lines_are_found_behind_a_line_that_is_longer_than_a_chunk(repository: Repository) -> None:
    repository.write("a", "x" * (3 * expressions.CHUNK) + "^needle\nneedle\n")
    assert found_in(repository, "^needle") == ["a:2:needle"]


def test_too_many_lines_are_cut_off_and_said(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "MOST_LINES", 3)
    repository.write("a", "x\n" * 3)
    assert found_in(repository, "x") == ["a:1:x", "a:2:x", "a:3:x"]
    repository.write("b", "x\n")
    assert found_in(repository, "x")[3:] == ["Only the first 3 lines shown: search for something narrower"]


def test_a_long_result_is_cut_and_its_spans_with_it(repository: Repository) -> None:
    for number in range(9):
        repository.write(f"f{number}", "".join(f"{number} {'x' * 480}\n" for _ in range(100)))
    found = repository.run("grep_files", pattern="x")
    assert "characters left out …]" in found.text
    assert len(found.tags) < 9
    for name, piece in pieces(found):
        kept = [line for line in piece.strip("\n").split("\n") if not line.startswith("[…")]
        assert all(line.startswith(f"f{name[-1]}:") for line in kept)


def test_a_search_ends_when_its_time_is_over_or_nobody_waits(repository: Repository) -> None:
    repository.write("a", "x")
    repository.write("b", "x")
    late = checked(grep_files(repository.job("grep_files", pattern="x"), Limits(seconds=0)))
    assert late.text.split("\n") == ["No line matches", "Not everything was looked at: it took more than 0 seconds"]
    found = repository.run("grep_files", after(repository.reader, repository.cancelled.set, "/a"), pattern="x")
    assert (found.failed, found.text) == (True, "Cancelled: nobody waits for it any more")


@pytest.mark.parametrize("text", ["x" * (9 * expressions.CHUNK), ("x" * 99 + "\n") * 9000], ids=["one line", "many"])
def test_the_clock_is_looked_at_within_a_file(text: str) -> None:
    looks = iter([True, True, False])
    assert not list(Expression("needle").hits(text.encode(), lambda: next(looks)))
    assert not list(looks), "it went on until it was told to stop"


EXPRESSIONS = ["a", "^", "$", "x*", "a|^b", "^$", "a\\s*b", "(?i)A", "[^a]", "b$", "", "^a.*b$"]


@given(st.text(alphabet="ab\n é", max_size=40), st.sampled_from([one for one in EXPRESSIONS if one]), st.integers(1, 9))
def test_it_finds_the_lines_that_the_standard_library_finds(text: str, pattern: str, chunk: int) -> None:
    lines = text.split("\n")
    wanted = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if re.search(pattern, line) and not (number == len(lines) and not line)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expressions, "CHUNK", max(chunk, *(len(line.encode()) + 1 for line in lines)))
        found = [(hit.line, hit.text.decode()) for hit in Expression(pattern).hits(text.encode(), lambda: True)]
    assert found == wanted
