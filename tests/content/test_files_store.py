"""The rows of files, in each database: paths, versions, moves, deletions, links, and who is told to be late."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator

import pytest

from stanch.storage.content_store import ContentStore
from stanch.storage.store import Store
from stanch.values.fault import BadInput, BrokenRow, Conflict, Fault, NotFound
from stanch.values.files import FileRecord, NewVersion
from stanch.values.records import Actor, Broken
from tests.stores.places import Place, all_of, together

BY = Actor("ada", "test")
ADA, BRAM, WORKSPACE = ("ada", None), ("bram", None), (None,)


@pytest.fixture
def files(place: Place) -> Iterator[ContentStore]:
    store = Store.open(place.url)
    store.migrate()
    yield ContentStore(store)
    store.close()


def version(text: str = "x", **more: object) -> NewVersion:
    data = text.encode()
    given = {"media_type": "text/plain", **more}
    return NewVersion(secrets.token_hex(8), hashlib.sha256(data).hexdigest(), len(data), **given)  # type: ignore[arg-type]


def write(files: ContentStore, path: str, text: str = "x", **more: object) -> FileRecord:
    return files.write_file(path, version(text), ADA, by=BY, **more)  # type: ignore[arg-type]


def paths(files: ContentStore, holders: tuple[str | None, ...] = ADA, below: str = "") -> list[str]:
    found = all_of(lambda **more: files.list_files(holders, below=below, **more))
    return [one.path for one in found]


def test_versions_follow_one_another_and_all_stay(files: ContentStore) -> None:
    first, second = write(files, "a/b.txt", "one"), write(files, "a/b.txt", "two")
    assert (first.id, first.version, second.version) == (second.id, 1, 2)
    assert files.file_at("a/b.txt", WORKSPACE) == second
    found = all_of(lambda **more: files.list_file_versions(first.id, **more))
    assert [(one.number, one.digest) for one in found] == [(2, second.digest), (1, first.digest)]
    assert files.file_version(first.id, 1).by == "ada"
    for number in (0, 3, 1 << 70):
        with pytest.raises(NotFound):
            files.file_version(first.id, number)


def test_a_change_needs_the_version_that_it_was_made_for(files: ContentStore) -> None:
    write(files, "a", expected=0)
    with pytest.raises(Conflict, match=r"has the version 1 by now$"):
        write(files, "a", expected=0)
    write(files, "a", expected=1)
    changes: list[Callable[[], object]] = [
        lambda: write(files, "a", expected=1),
        lambda: files.move_file("a", "b", ADA, expected=1, by=BY),
        lambda: files.delete_file("a", ADA, expected=1, by=BY),
    ]
    for change in changes:
        with pytest.raises(Conflict, match="has the version 2 by now"):
            change()
    with pytest.raises(Conflict, match="is not there"):
        write(files, "b", expected=1)
    assert files.file_at("a", ADA).version == 2


def test_of_many_edits_at_once_one_wins(files: ContentStore) -> None:
    write(files, "a", "0")
    ended = together(*(lambda n=n: write(files, "a", str(n), expected=1) for n in range(6)))
    won = [one for one in ended if isinstance(one, FileRecord)]
    assert len(won) == 1
    assert all(isinstance(one, FileRecord | Conflict) for one in ended), ended
    assert files.file_at("a", ADA) == won[0]
    made = together(*(lambda: write(files, "new", expected=0) for _ in range(6)))
    assert len([one for one in made if isinstance(one, FileRecord)]) == 1


def test_a_path_belongs_to_one_holder(files: ContentStore) -> None:
    mine = files.write_file("p", version("mine"), ADA, holder="ada", by=BY)
    # Somebody else does not see it, and nothing tells them that the path is taken.
    theirs = files.write_file("p", version("shared"), BRAM, by=BY)
    assert (mine.owner, theirs.owner) == ("ada", None)
    assert files.file_at("p", ADA) == mine
    assert files.file_at("p", BRAM) == files.file_at("p", WORKSPACE) == theirs
    assert files.list_files(BRAM).total == 1
    assert files.list_files(ADA).total == 2
    with pytest.raises(Conflict, match="of the workspace"):
        files.write_file("p", version(), BRAM, holder="bram", by=BY)
    with pytest.raises(NotFound):
        files.delete_file("q", BRAM, by=BY)


def test_a_deleted_file_keeps_its_versions_and_frees_its_path(files: ContentStore) -> None:
    old = write(files, "a", "old")
    gone = files.delete_file("a", ADA, by=BY)
    assert gone.deleted_at is not None
    with pytest.raises(NotFound):
        files.file_at("a", ADA)
    assert files.file_at("a", ADA, deleted=True).id == old.id
    new = write(files, "a", "new")
    assert (new.id != old.id, new.version) == (True, 1)
    assert files.file_at("a", ADA, deleted=True) == new
    assert files.file_version(old.id, 1).digest == old.digest


def test_moves_keep_what_was(files: ContentStore) -> None:
    old = write(files, "a/b")
    write(files, "c")
    with pytest.raises(Conflict, match="already is a file 'c'"):
        files.move_file("a/b", "c", ADA, by=BY)
    moved = files.move_file("a/b", "a", ADA, by=BY)
    assert (moved.id, moved.path, moved.version) == (old.id, "a", 1)
    assert files.file_version(old.id, 1).path == "a/b"
    with pytest.raises(NotFound):
        files.move_file("a/b", "x", ADA, by=BY)


def test_no_file_lies_below_a_file(files: ContentStore) -> None:
    write(files, "a/b/c")
    for path in ("a", "a/b", "a/b/c/d", "a/b/c/d/e"):
        with pytest.raises(Conflict):
            write(files, path)
    write(files, "a/b.c")
    write(files, "a/bc")
    assert paths(files) == ["a/b.c", "a/b/c", "a/bc"]
    assert paths(files, below="a/b") == ["a/b/c"]
    assert paths(files, below="a/b/c") == ["a/b/c"]
    assert paths(files, below="%") == paths(files, below="a_b") == []


@pytest.mark.parametrize(
    "path", ["%", "_", "*", "ä/ö", "a b", "'; DROP TABLE files; --", "\u202egpj", "x" * 1_024, "🙂"]
)
def test_odd_names_are_names(files: ContentStore, path: str) -> None:
    write(files, path)
    assert files.file_at(path, ADA).path == path
    assert paths(files, below=path) == [path]


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800", "ä" * 513])
def test_what_no_database_holds_is_refused(files: ContentStore, path: str) -> None:
    with pytest.raises(BadInput):
        write(files, path)
    with pytest.raises(NotFound):
        files.file_at(path, ADA)
    assert paths(files) == []


@pytest.mark.parametrize("media_type", ["", "text/plain\r\nSet-Cookie: x", "a" * 201, "ä/ö", "text/html\n"])
def test_a_media_type_is_fit_for_a_header(files: ContentStore, media_type: str) -> None:
    with pytest.raises(BadInput, match="media_type"):
        files.write_file("a", version(media_type=media_type), ADA, by=BY)


def test_a_row_that_was_changed_is_broken_and_not_skipped(files: ContentStore, place: Place) -> None:
    write(files, "a")
    write(files, "b")
    place.rows("UPDATE files SET digest = 'zz' WHERE path = 'a'")
    with pytest.raises(BrokenRow):
        files.file_at("a", ADA)
    page = files.list_files(ADA)
    assert [isinstance(one, Broken) for one in page.items] == [True, False]
    assert page.total == 2
    assert paths_of(page.items) == ["b"]


def paths_of(items: tuple[FileRecord | Broken, ...]) -> list[str]:
    return [one.path for one in items if isinstance(one, FileRecord)]


def test_links_are_kept_without_their_tokens(files: ContentStore, place: Place) -> None:
    file = write(files, "a", "old")
    pinned = files.add_file_link(file.id, "link_1", "1" * 64, version=1, expected=1, by=BY)
    newest = files.add_file_link(file.id, "link_2", "2" * 64, version=None, expected=1, by=BY)
    assert files.linked_file("1" * 64) == (pinned, file)
    with pytest.raises(Conflict):
        files.add_file_link(file.id, "link_3", "3" * 64, version=1, expected=2, by=BY)
    assert [one.id for one in all_of(lambda **more: files.list_file_links(file.id, **more))] == ["link_1", "link_2"]
    assert files.revoke_file_links(file.id, "link_1", by=BY) == 1
    for link in ("link_1", "link_9", "\0"):
        with pytest.raises(NotFound):
            files.revoke_file_links(file.id, link, by=BY)
    for token in ("1" * 64, "3" * 64, ""):
        with pytest.raises(NotFound, match=r"^there is no such link$"):
            files.linked_file(token)
    files.move_file("a", "b", ADA, by=BY)
    assert files.linked_file("2" * 64)[1].path == "b"
    files.delete_file("b", ADA, by=BY)
    with pytest.raises(NotFound):
        files.linked_file("2" * 64)
    with pytest.raises(NotFound):
        files.add_file_link(file.id, "link_4", "4" * 64, version=None, expected=1, by=BY)
    assert newest.version is None
    assert not [row for row in place.rows("SELECT detail FROM audit") if "1" * 64 in row[0]]


def test_bytes_that_any_version_has_are_named(files: ContentStore) -> None:
    old, new = write(files, "a", "old"), write(files, "a", "new")
    files.delete_file("a", ADA, by=BY)
    none = hashlib.sha256(b"none").hexdigest()
    assert files.named_bytes([old.digest, new.digest, none]) == {old.digest, new.digest}


def test_the_log_says_what_was_changed_and_nothing_else(files: ContentStore, place: Place) -> None:
    write(files, "a", "some content")
    files.move_file("a", "b", ADA, by=BY)
    files.delete_file("b", ADA, by=BY)
    rows = place.rows("SELECT action, detail FROM audit ORDER BY seq")
    assert [action for action, _ in rows][-3:] == ["files.write", "files.move", "files.delete"]
    assert "some content" not in str(rows)


def test_what_is_refused_changes_nothing(files: ContentStore, place: Place) -> None:
    write(files, "a")
    before = place.each("SELECT * FROM files", "SELECT * FROM file_versions", "SELECT count(*) FROM audit")
    changes: list[Callable[[], object]] = [
        lambda: write(files, "a", expected=9),
        lambda: write(files, "a/b"),
        lambda: files.move_file("a", "a/b/\0", ADA, by=BY),
        lambda: files.delete_file("none", ADA, by=BY),
    ]
    for change in changes:
        with pytest.raises(Fault):
            change()
    assert place.each("SELECT * FROM files", "SELECT * FROM file_versions", "SELECT count(*) FROM audit") == before
