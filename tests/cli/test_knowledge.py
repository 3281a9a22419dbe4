"""`stanch knowledge`: a person's and a script's way to documents."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Ended, Stanch
from tests.http.served import BY, PERSON, World, served

Run = Callable[..., Ended]


@pytest.fixture
def run(stanch: Stanch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs a command of the group against a server."""
    with served(World(tmp_path)) as world:
        monkeypatch.setenv("STANCH_URL", world.url)
        monkeypatch.setenv("STANCH_TOKEN", world.store.create_token(name="t", principal=PERSON, by=BY).secret)
        monkeypatch.delenv("STANCH_SESSION", raising=False)
        monkeypatch.chdir(tmp_path)
        yield lambda *words, stdin=None: stanch("knowledge", *words, stdin=stdin)


def added(run: Run, *words: str, stdin: str | None = None) -> str:
    ended = run("add", *words, "--json", stdin=stdin)
    assert ended.code == 0, ended
    return str(ended.json["id"])


def test_a_file_becomes_a_document_that_is_found(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Apples\n\nApples are red.\n", "utf-8")
    one = added(run, "notes.md", "--tag", "fruit", "--tag", "red")
    listed = run("list")
    assert listed.code == 0
    assert f"{one}  notes.md [fruit] [red]  26 characters, 1 chunk" in listed.out
    assert run("read", one).out == "# Apples\n\nApples are red.\n"
    assert run("read", one, "--start", "2", "--end", "8").out == "Apples\n"
    assert run("read", one, "--about", "--json").json["document"]["media_type"] == "text/markdown"
    found = run("search", "RED", "apples")
    assert "notes.md" in found.out
    assert "Apples are red." in found.out
    assert run("search", "apples", "--document", one, "--tag", "fruit", "--json").json["total"] == 1
    assert "there is nothing" in run("search", "pears").err
    assert f"{one}#0" in run("chunks", one).out
    assert run("tags").out == "     1  fruit\n     1  red\n"


def test_a_document_is_changed_and_deleted(run: Run) -> None:
    one = added(run, "-", "--title", "One", "--personal", stdin="about apples")
    assert "of ada" in run("change", one, "--title", "Two", "--tag", "t").out
    assert "[t]" not in run("change", one, "--no-tags", "--text", "-", stdin="about pears").out
    assert run("read", one).out == "about pears\n"
    assert run("rm", one).out == f"{one} is deleted\n"
    gone = run("read", one)
    assert (gone.code, gone.out) == (1, "")
    assert "there is no document" in gone.err


def test_an_archive_is_written_once_it_is_whole(run: Run, tmp_path: Path) -> None:
    one = added(run, "-", "--title", "One", stdin="about apples")
    assert run("export", "--out", "all.zip").code == 0
    assert f"{one}/original.txt" in zipfile.ZipFile(tmp_path / "all.zip").namelist()
    again = run("export", one, "--out", "all.zip")
    assert (again.code, "--force" in again.err) == (2, True)
    assert run("export", one, "--out", "all.zip", "--force", "--json").json["bytes"] > 0
    assert run("export", "none", "--out", "none.zip").code == 1
    assert not (tmp_path / "none.zip").exists()


def test_pages_say_how_to_go_on(run: Run) -> None:
    for number in range(3):
        added(run, "-", "--title", str(number), stdin="text")
    page = run("list", "--limit", "2")
    assert len(page.out.splitlines()) == 2
    following = page.err.partition("--cursor ")[2].split()[0]
    assert len(run("list", "--limit", "2", "--cursor", following).out.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("add", "gone.txt"), "cannot be read"),
        (("add", "-"), "needs a --title"),
        (("change", "x"), "say what is to be changed"),
        (("change", "x", "--tag", "a", "--no-tags"), "not both"),
        (("change", "x", "--text", "-"), "UTF-8"),
        (("search", "?!"), "1 to 16"),
    ],
)
def test_a_mistake_is_one_line(run: Run, words: tuple[str, ...], problem: str) -> None:
    ended = run(*words, stdin=b"\xff")
    assert (ended.code, ended.out) == (2, "")
    assert problem in ended.err
    assert len(ended.err.splitlines()) == 1


def test_what_is_printed_cannot_act_on_a_terminal(run: Run) -> None:
    one = added(run, "-", "--title", "a\u202eb", stdin="needle \x1b[31m red")
    assert "\u202e" not in run("list").out
    assert "\x1b" not in run("search", "needle").out + run("chunks", one).out
    assert json.loads(run("read", one, "--json").out)["text"] == "needle \x1b[31m red"
