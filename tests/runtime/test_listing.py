"""`list_files` names what may be seen, and nothing else."""

from __future__ import annotations

import os

import pytest

from stanch.runtime.builtin import listing
from stanch.runtime.builtin.listing import list_files
from stanch.runtime.builtin.walking import Limits
from stanch.values.call import Stamp
from stanch.values.reason import Code
from tests.runtime.file_jobs import Repository, after, checked, pieces


def lines(repository: Repository, **arguments: str) -> list[str]:
    return repository.run("list_files", **arguments).text.split("\n")


def test_a_directory_is_listed_by_name_hidden_files_too(repository: Repository) -> None:
    repository.write("b.py")
    repository.write(".env")
    repository.write("src/a.py")
    assert lines(repository) == [".env", "b.py", "src/"]
    assert lines(repository, path="src") == ["src/a.py"]


def test_an_empty_directory_is_said_to_be_one(repository: Repository) -> None:
    (repository.path / "empty").mkdir()
    assert lines(repository, path="empty") == ["There is nothing to list"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**/*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("*.py", ["a.py"]),
        ("src/*", ["src/b.py", "src/deep/", "src/x.txt"]),
        ("src/**/c.??", ["src/deep/c.py"]),
        ("src/**", ["src/b.py", "src/deep/", "src/deep/c.py", "src/x.txt"]),
        ("./src/b.py", ["src/b.py"]),
        ("*/deep/*", ["src/deep/c.py"]),
        ("none/*", ["Nothing fits the pattern"]),
        ("*.{py,ts}", ["Nothing fits the pattern. Only * and ? and ** are special in it"]),
    ],
)
def test_a_pattern_fits_whole_paths_below_the_root(repository: Repository, pattern: str, expected: list[str]) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", "src/x.txt"):
        repository.write(name)
    assert lines(repository, pattern=pattern) == expected


def test_a_pattern_may_be_absolute_and_below_the_root(repository: Repository) -> None:
    repository.write("src/b.py")
    assert lines(repository, path="src", pattern=f"{repository.path}/src/*.py") == ["src/b.py"]
    found = repository.run("list_files", path="src", pattern="/etc/*")
    assert (found.failed, "outside" in found.text) == (True, True)


@pytest.mark.parametrize("pattern", ["../*", "~/x", "a\0b", "x" * 5000])
def test_a_pattern_that_leads_elsewhere_is_refused(repository: Repository, pattern: str) -> None:
    assert repository.run("list_files", pattern=pattern).failed


def test_every_entry_is_tagged_with_its_path(repository: Repository) -> None:
    repository.write("b.py")
    repository.write("src/a.py")
    root = str(repository.path)
    assert pieces(repository.run("list_files")) == [(f"{root}/b.py", "b.py"), (f"{root}/src", "src/")]


def test_what_is_denied_is_counted_and_never_named(repository: Repository) -> None:
    for name in ("a.py", "api.key", "private/plan.md", "private/open", "secrets/deep/x", "app/secrets/y", "Secrets/z"):
        repository.write(name)
    found = repository.run("list_files", pattern="**")
    assert found.text.split("\n") == [
        "Secrets/",
        "Secrets/z",
        "a.py",
        "app/",
        "private/open",
        "5 files withheld (2 directories among them named secrets, never entered)",
    ]
    assert found.withheld == 5
    assert not [path for path in repository.asked if "/secrets" in path], "what lies in there is not even asked about"


@pytest.mark.parametrize("guess", ["api*", "nothing*", "priv*/**", "private/p*", "secrets/d*"])
def test_a_guessed_name_does_not_change_what_is_counted(repository: Repository, guess: str) -> None:
    for name in ("api.key", "private/plan.md", "secrets/deep/x"):
        repository.write(name)
    with_them = repository.run("list_files", pattern=guess)
    other = guess.replace("api", "abc").replace("priv*", "xyz*").replace("/p*", "/q*").replace("/d*", "/e*")
    assert with_them.text == repository.run("list_files", pattern=other).text


def test_whether_a_denied_directory_is_there_cannot_be_found_out_by_a_pattern(repository: Repository) -> None:
    repository.write("private/acme/plan.md")
    for pattern in ("private/acme/**", "private/other/**", "private/acme/deep/*", "private/other/deep/*"):
        assert lines(repository, pattern=pattern) == ["Nothing fits the pattern", "1 file withheld"]


def test_a_directory_that_is_withheld_may_hold_what_is_not(repository: Repository) -> None:
    repository.write("private/open/a.py")
    repository.write("private/b.py")
    assert lines(repository, pattern="**/*.py") == ["private/open/a.py", "2 files withheld"]
    assert lines(repository, pattern="private/open/*") == ["private/open/a.py"]


def test_a_root_named_secrets_is_not_entered_whoever_allows_it(repository: Repository) -> None:
    repository.write("secrets/a")
    job = repository.job("list_files")
    opened = job.stamps["path"]._replace(path=str(repository.path / "secrets"))
    found = checked(list_files(type(job)(job.tool, {}, {"path": opened}, job.directory, Stamp, job.cancelled)))
    assert found.text == "There is nothing to list\n1 file withheld (it is a directory named secrets, never entered)"


def test_links_are_named_and_never_followed(repository: Repository) -> None:
    repository.write("src/a.py")
    repository.write("secrets/key")
    (repository.path / "loop").symlink_to(repository.path)
    (repository.path / "to-src").symlink_to("src")
    (repository.path / "to-secret").symlink_to("secrets/key")
    (repository.path / "to-secrets").symlink_to("secrets")
    found = lines(repository, pattern="**")
    assert found == [
        "loop (link)",
        "src/",
        "src/a.py",
        "to-src (link)",
        "3 files withheld (1 directory among them named secrets, never entered)",
    ]


def test_a_link_in_a_denied_directory_is_not_named_though_it_leads_out(repository: Repository) -> None:
    repository.write("a.py")
    repository.write("private/b")
    (repository.path / "private" / "acme").symlink_to(repository.path / "a.py")
    assert lines(repository, pattern="**") == ["a.py", "3 files withheld"]


def test_pipes_and_odd_names_do_not_stop_it(repository: Repository) -> None:
    os.mkfifo(repository.path / "pipe")
    repository.write("new\nline.txt")
    repository.write("\u202etxt.exe")
    repository.write("-rf")
    found = lines(repository)
    assert found == ["-rf", "new\\nline.txt", "pipe (special file)", "\\u202etxt.exe"]


def test_a_name_that_is_no_text_is_shown_escaped_where_it_may_be_seen(repository: Repository) -> None:
    raw = os.fsencode(repository.path) + b"/bad\xff.txt"
    with open(raw, "wb"):
        pass
    assert lines(repository) == ["There is nothing to list", "1 file withheld"]
    found = checked(list_files(repository.job("list_files", lambda path: Stamp(path, path, path))))
    assert found.text == "bad\\udcff.txt"


def test_a_stamp_that_is_refused_is_never_shown(repository: Repository) -> None:
    repository.write("a")
    repository.write("b")
    codes = {"a": Code.PATH_UNREADABLE, "b": Code.PATH_PROTECTED}
    found = repository.run("list_files", lambda path: Stamp(path, refusal=codes[path[-1]]))
    assert found.text.split("\n") == ["There is nothing to list", "Could not be read: 1 entry", "1 file withheld"]


def test_git_is_named_and_entered_only_where_it_is_asked_for(repository: Repository) -> None:
    repository.write(".git/config")
    repository.write(".github/x.yml")
    assert lines(repository, pattern="**") == [".git/", ".github/", ".github/x.yml"]
    assert lines(repository, pattern=".git/*") == [".git/config"]
    assert lines(repository, pattern="**/.git/**") == [".git/", ".git/config"]


def test_a_file_is_no_directory(repository: Repository) -> None:
    repository.write("a.py")
    found = repository.run("list_files", path="a.py")
    assert (found.failed, found.text) == (True, "It is a file, not a directory: read_file shows what is in it")


def test_a_directory_that_is_gone_is_said(repository: Repository) -> None:
    assert repository.run("list_files", path="gone").text == "There is no such file or directory: gone"


def test_too_many_entries_are_cut_off_and_said(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(9):
        repository.write(f"d/{number}")
    found = checked(list_files(repository.job("list_files", pattern="**"), Limits(entries=5)))
    assert found.text.split("\n")[-1] == "Not everything was looked at: there are more than 5 entries"
    assert len(found.tags) == 5
    monkeypatch.setattr(listing, "MOST_LINES", 3)
    found = repository.run("list_files", path="d")
    assert found.text.split("\n") == [
        *("d/0", "d/1", "d/2"),
        "Only the first 3 are listed: name a directory in path, or a narrower pattern",
    ]


def test_exactly_as_many_as_are_shown_is_not_called_more(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_LINES", 2)
    repository.write("a")
    repository.write("b")
    assert lines(repository) == ["a", "b"]


def test_a_search_ends_when_its_time_is_over(repository: Repository) -> None:
    repository.write("a")
    found = list_files(repository.job("list_files"), Limits(seconds=0))
    assert found.text.split("\n") == [
        "There is nothing to list",
        "Not everything was looked at: it took more than 0 seconds",
    ]


def test_it_goes_no_deeper_than_it_may(repository: Repository) -> None:
    repository.write("a/b/c/d")
    found = checked(list_files(repository.job("list_files", pattern="**"), Limits(depth=2)))
    assert found.text.split("\n") == ["a/", "a/b/", "a/b/c/", "Not entered: 1 directory below 2 others"]


def test_it_stops_when_nobody_waits(repository: Repository) -> None:
    repository.write("a")
    repository.write("b")
    found = repository.run("list_files", after(repository.reader, repository.cancelled.set, "/a"))
    assert (found.failed, found.text) == (True, "Cancelled: nobody waits for it any more")


@pytest.mark.parametrize("value", [3, ["*"], {"a": 1}])
def test_a_pattern_that_is_no_text_is_refused(repository: Repository, value: object) -> None:
    job = repository.job("list_files")
    found = list_files(type(job)(job.tool, {"pattern": value}, job.stamps, job.directory, job.reader, job.cancelled))
    assert (found.failed, found.text) == (True, "The argument pattern has to be a text")
