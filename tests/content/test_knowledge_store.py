"""Documents in both databases: found by words, by nobody else, whole or not at all."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from stanch.content.knowledge_chunks import ListChunks as Chunks
from stanch.content.knowledge_chunks import SearchKnowledge, list_chunks, search_knowledge
from stanch.content.knowledge_writing import (
    ChangeDocument,
    DeleteDocument,
    change_document,
    delete_document,
)
from stanch.storage.knowledge_records import FoundChunk
from stanch.values.fault import BadFields, BadInput, BrokenRow, Conflict, NotFound, StoreUnreadable
from tests.content.knowledge_world import Knowledge, knowledge
from tests.stores.places import SECONDS, Place, SqlitePlace, all_of, together

TABLES = ("knowledge_documents", "knowledge_chunks", "knowledge_tags", "audit")
FORKS = multiprocessing.get_context("forkserver")


@pytest.fixture
def world(place: Place, tmp_path: Path) -> Iterator[Knowledge]:
    with knowledge(place, tmp_path) as made:
        yield made


def found(world: Knowledge, query: str, person: str | None = "ada", **more: object) -> list[tuple[str, int]]:
    """The document and number of each chunk that is found, the best first."""
    page = search_knowledge(world.access(person), SearchKnowledge(query=query, **more))  # type: ignore[arg-type]
    assert page.total == len(page.items)
    return [(one.document, one.number) for one in page.items]  # type: ignore[union-attr]


def dump(world: Knowledge) -> list[object]:
    return [sorted(world.place.rows(f"SELECT * FROM {table}"), key=repr) for table in TABLES]


def in_step(world: Knowledge) -> None:
    """Fails where what words are looked up in is not what the chunks hold."""
    chunks = {row[0]: set(row[1].split()) for row in world.place.rows("SELECT id, words FROM knowledge_chunks")}
    if isinstance(world.place, SqlitePlace):
        world.place.rows("INSERT INTO knowledge_words(knowledge_words, rank) VALUES ('integrity-check', 1)")
        return
    rows = world.place.rows("SELECT id, tsvector_to_array(words) FROM knowledge_words")
    assert {row[0]: set(row[1]) for row in rows} == chunks


@pytest.mark.parametrize(
    "query",
    [
        '"',
        'apple" OR "pear',
        "apple'; DROP TABLE knowledge_chunks; --",
        "words:apple",
        "NEAR(apple pear, 5)",
        "appl*",
        "^apple",
        "-apple",
        "apple AND NOT pear",
        "{apple}: pear",
        "'apple' | 'pear'",
        "apple & !pear",
        "apple:*",
        "apple <-> pear",
        "a\x00pple",
        "\\",
        "%",
        ":looked_up",
    ],
)
def test_a_query_is_words_and_no_syntax(world: Knowledge, query: str) -> None:
    only = world.add("An apple alone.")
    both = world.add("An apple and a pear.")
    words = {word for word in ("apple", "pear") if word in query.replace("\x00", "")}
    try:
        hits = {document for document, _ in found(world, query)}
    except BadFields:
        hits = set()
    assert hits in (set(), {both}) if "pear" in words else hits in (set(), {only, both})
    in_step(world)
    assert {document for document, _ in found(world, "apple")} == {only, both}


def test_only_whole_words_are_found(world: Knowledge) -> None:
    """WHY: whoever could ask for beginnings could spell out a secret."""
    document = world.add("the value is s3cr3tvalue9")
    assert found(world, "s3cr3tvalue9") == [(document, 0)]
    for part in ("s3cr3t", "s3cr3t*", "s3cr3tvalu", "value9"):
        assert found(world, part) == []


def test_all_words_have_to_stand_in_one_chunk(world: Knowledge) -> None:
    document = world.add("Apples are red.\n\n" + "filler words go here " * 50 + "\n\nPears are green.")
    last = world.stores.document(document, "ada").chunks - 1
    assert last > 0
    assert found(world, "pears GREEN") == [(document, last)]
    assert found(world, "apples pears") == []
    assert found(world, "apples banana") == []
    with pytest.raises(BadFields, match="1 to 16"):
        found(world, "?!")
    with pytest.raises(BadFields, match="1 to 16"):
        found(world, " ".join(f"w{number}" for number in range(17)))
    for word in ("", "a b", 'a"', "a'", "A", "é", "a*"):
        with pytest.raises(BadInput):
            world.stores.find_chunks([word], "ada")


def test_nothing_of_another_owner_has_a_part_in_an_answer(world: Knowledge) -> None:
    mine = world.add("the plan for bananas", by=world.access("ada"), personal=True, tags=("plan",))
    shared = world.add("the plan for everybody", tags=("plan",))
    before = [(one.chunk.id, one.score) for one in hits(world, "ada")]
    theirs = [
        world.add("plan plan plan of cleo", by=world.access("cleo"), personal=True, tags=("plan", "cleo"))
        for _ in range(5)
    ]
    assert [(one.chunk.id, one.score) for one in hits(world, "ada")] == before, "scores stay what they were"
    assert {document for document, _ in found(world, "plan")} == {mine, shared}
    assert found(world, "plan", None) == [(shared, 0)]
    for asked in (theirs, [*theirs, mine], [mine]):
        expected = [mine] if mine in asked else []
        assert [document for document, _ in found(world, "plan", documents=tuple(asked))] == expected
    assert found(world, "plan", tags=("cleo",)) == []
    assert found(world, "cleo") == []
    assert found(world, "plan", "cleo", documents=(mine,)) == []
    for document in theirs:
        for ask in (
            lambda one=document: list_chunks(world.access(), Chunks(id=one)),
            lambda one=document: change_document(world.access(), ChangeDocument(id=one, title="mine")),
            lambda one=document: delete_document(world.access(), DeleteDocument(id=one)),
        ):
            with pytest.raises(NotFound):
                ask()
    assert world.stores.list_documents("ada").total == 2
    assert [(one.tag, one.count) for one in world.stores.list_tags("ada").items] == [("plan", 2)]
    assert world.stores.list_tags("cleo").total == 2
    assert set(world.stores.list_tags("ada").items[0].documents) == {mine, shared}


def hits(world: Knowledge, person: str) -> list[FoundChunk]:
    return [one for one in world.stores.find_chunks(["plan"], person).items if isinstance(one, FoundChunk)]


def test_pages_give_every_chunk_once_the_best_first(world: Knowledge) -> None:
    ids = [world.add(f"{'apple ' * number} and some more words", tags=("fruit",)) for number in (1, 3, 2, 3, 1)]
    page = all_of(lambda **more: world.stores.find_chunks(["apple"], "ada", tags=("fruit",), **more))
    assert [one.chunk.document_id for one in page][0:2] == sorted([ids[1], ids[3]])
    assert [one.chunk.document_id for one in page][2] == ids[2]
    assert sorted(one.chunk.document_id for one in page) == sorted(ids)
    assert [one.score for one in page] == sorted((one.score for one in page), reverse=True)
    first = world.stores.find_chunks(["apple"], "ada", limit=2)
    assert first.total == 5
    for other in (["and"], ["apple", "and"]):
        with pytest.raises(BadInput, match="cursor"):
            world.stores.find_chunks(other, "ada", cursor=first.next)
    for cursor in ("", "x", "é", "W10", first.next + "A" if first.next else ""):
        with pytest.raises(BadInput, match="cursor"):
            world.stores.find_chunks(["apple"], "cleo", cursor=cursor)
    long = world.add("\n\n".join(f"paragraph {number} " + "word " * 190 for number in range(9)))
    chunks = all_of(lambda **more: world.stores.list_chunks(long, "ada", **more))
    assert [one.number for one in chunks] == list(range(len(chunks)))
    assert len(chunks) >= 9
    listed = all_of(lambda **more: world.stores.list_documents("ada", **more))
    assert [one.id for one in listed] == [long, *reversed(ids)]


def test_a_change_of_text_takes_the_old_words_away(world: Knowledge) -> None:
    document = world.add("about apples\n\n" + "much more of it " * 100, tags=("b", "a"))
    change_document(world.access(), ChangeDocument(id=document, text="about pears"))
    assert (found(world, "apples"), found(world, "pears")) == ([], [(document, 0)])
    in_step(world)
    change_document(world.access(), ChangeDocument(id=document, title="New", tags=("c",)))
    record = world.stores.document(document, "ada")
    assert (record.title, record.tags, record.chunks) == ("New", ("c",), 1)
    assert found(world, "pears", tags=("c",)) == [(document, 0)]
    delete_document(world.access(), DeleteDocument(id=document))
    assert found(world, "pears") == []
    in_step(world)
    assert dump(world)[:3] == [[], [], []]


def test_words_that_were_changed_by_hand_are_looked_up_as_they_are(world: Knowledge) -> None:
    document = world.add("about apples")
    world.place.rows("UPDATE knowledge_chunks SET words = ' pears '")
    in_step(world)
    assert (found(world, "apples"), found(world, "pears")) == ([], [(document, 0)])


def test_a_document_that_cannot_be_kept_whole_is_not_kept(world: Knowledge) -> None:
    world.add("what was there")
    before = dump(world)
    world.place.refuse("knowledge_chunks", "INSERT", "NEW.number = 3")
    with pytest.raises(StoreUnreadable) as raised:
        world.add("\n\n".join(f"hidden {number} " + "word " * 190 for number in range(9)), tags=("t",))
    assert "hidden" not in str(raised.value)
    assert dump(world) == before
    in_step(world)
    assert found(world, "hidden") == []


def test_a_change_that_fails_leaves_the_old_text(world: Knowledge) -> None:
    document = world.add("what was there")
    before = dump(world)
    world.place.refuse("knowledge_chunks", "INSERT", "NEW.number = 1")
    with pytest.raises(StoreUnreadable):
        change_document(world.access(), ChangeDocument(id=document, text="new\n\n" + "word " * 400))
    assert dump(world) == before
    assert found(world, "there") == [(document, 0)]


def test_of_two_who_change_at_once_one_is_told(world: Knowledge) -> None:
    document = world.add("about apples")
    before = world.stores.document(document, "ada")
    ways = [
        lambda title=title: world.stores.change_document(
            before, replace(before, title=title), None, provenance={}, by=world.access().by
        )
        for title in ("one", "two")
    ]
    ended = together(*ways)
    assert sorted(type(one).__name__ for one in ended) == ["Conflict", "DocumentRecord"]
    assert any(isinstance(one, Conflict) for one in ended)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE knowledge_documents SET title = ''", "'title' is empty"),
        ("UPDATE knowledge_documents SET created_at = 'now'", "'created_at' is no moment"),
        ("UPDATE knowledge_documents SET size = -1", "'size' must be"),
    ],
)
def test_a_row_that_was_changed_by_hand_is_named(world: Knowledge, statement: str, problem: str) -> None:
    document = world.add("about apples")
    world.place.rows(statement)
    with pytest.raises(BrokenRow, match=problem):
        world.stores.document(document, "ada")
    (listed,) = world.stores.list_documents("ada").items
    assert not hasattr(listed, "title")
    world.place.rows("UPDATE knowledge_chunks SET text = ''")
    assert "problem" in search_knowledge(world.access(), SearchKnowledge(query="apples")).items[0].model_dump()


def test_no_audit_row_holds_content(world: Knowledge) -> None:
    document = world.add("marker one", title="marker two", tags=("marker-three",))
    change_document(world.access(), ChangeDocument(id=document, title="marker four", text="marker five"))
    delete_document(world.access(), DeleteDocument(id=document))
    rows = world.place.rows("SELECT action, subject, detail FROM audit WHERE action LIKE 'knowledge%'")
    assert [row[0] for row in rows] == ["knowledge.add", "knowledge.change", "knowledge.delete"]
    assert "marker" not in repr(rows)


def adding(place: Place, root: Path, started: Connection) -> None:
    """Adds documents for as long as it lives."""
    with knowledge(place, root) as world:
        world.add("the first")
        started.send(1)
        while True:
            world.add("\n\n".join(f"chunk {number} " + "word " * 190 for number in range(30)), tags=("t",))


def test_a_kill_leaves_no_half_of_a_document(place: Place, tmp_path: Path) -> None:
    for round_number in range(4):
        ours, theirs = FORKS.Pipe(duplex=False)
        child = FORKS.Process(target=adding, args=(place, tmp_path, theirs), daemon=True)
        child.start()
        theirs.close()
        assert ours.poll(SECONDS)
        child.join(0.05 + 0.03 * round_number)
        child.kill()
        child.join(SECONDS)
        with knowledge(place, tmp_path) as world:
            world.add("and one more")
            counted = dict(world.place.rows("SELECT document_id, count(*) FROM knowledge_chunks GROUP BY document_id"))
            said = dict(world.place.rows("SELECT id, chunks FROM knowledge_documents"))
            assert counted == said
            assert world.store.verify_audit().broken is None
            in_step(world)
