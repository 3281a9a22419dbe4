"""What is known of documents and chunks, and what of them a model is given for it."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.content.file_writing import WriteFile, write_file
from stanch.content.knowledge import (
    ListDocuments,
    ListTags,
    ReadDocument,
    list_documents,
    list_tags,
    read_document,
)
from stanch.content.knowledge_chunks import ListChunks, SearchKnowledge, list_chunks, search_knowledge
from stanch.content.knowledge_cutting import WANTED
from stanch.content.knowledge_export import ExportKnowledge, export_knowledge
from stanch.content.knowledge_provenance import KnownChunks, KnownDocuments
from stanch.content.knowledge_writing import (
    ChangeDocument,
    DeleteDocument,
    ImportDocument,
    change_document,
    delete_document,
    import_document,
)
from stanch.delivery.admit import ContentRefused
from stanch.provenance.states import CLEAN, UNRECORDED, Cause, Exact, Provenance, Unknown
from stanch.storage.knowledge_records import ChunkRecord
from stanch.values.fault import BadFields, BadInput, Conflict
from stanch.values.reason import Code
from tests.content.knowledge_world import LABEL, VALUE, Knowledge, knowledge
from tests.stores.places import Place, SqlitePlace

FILLER = "words " * 400


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """WHY one database: nothing here is asked of it that the other does not do as well."""
    return SqlitePlace(str(tmp_path / "store.db"))


@pytest.fixture
def world(place: Place, tmp_path: Path) -> Iterator[Knowledge]:
    with knowledge(place, tmp_path) as made:
        yield made


def known(world: Knowledge, document: str) -> Provenance:
    record = world.stores.document(document, "ada")
    return KnownDocuments(world.access(), [record]).of(document)()


def chunk_states(world: Knowledge, document: str) -> list[Provenance]:
    page = world.stores.list_chunks(document, "ada", limit=500)
    chunks = [one for one in page.items if isinstance(one, ChunkRecord)]
    known_chunks = KnownChunks(world.access(), chunks)
    return [known_chunks.of(one)() for one in chunks]


def names(provenance: Provenance) -> set[str]:
    assert isinstance(provenance, Exact)
    return {entry.name for entry in provenance.entries}


def fragments(text: str, of: str = VALUE) -> set[str]:
    """The parts of a secret of five letters and more that stand in a text."""
    return {of[at : at + 5] for at in range(len(of) - 4) if of[at : at + 5] in text}


# --- what is known ---------------------------------------------------------------------------------------------------


def test_each_chunk_is_known_by_itself(world: Knowledge) -> None:
    document = world.add(f"{FILLER}\n\nthe key is {VALUE}\n\n{FILLER}", by=world.workflow())
    assert names(known(world, document)) == {"PAY_KEY"}
    states = [names(one) for one in chunk_states(world, document)]
    assert states[0] == states[-1] == set()
    assert {"PAY_KEY"} in states


def test_what_a_writer_says_becomes_the_state(world: Knowledge) -> None:
    assert known(world, world.add("plain")) == UNRECORDED
    assert known(world, world.add("plain", by=world.workflow())) == CLEAN
    unknown = world.add("plain", by=world.workflow(complete=False))
    assert known(world, unknown) == Unknown(Cause.INCOMPLETE)
    assert chunk_states(world, unknown) == [Unknown(Cause.INCOMPLETE)]
    assert names(known(world, world.add("plain", title=f"T {VALUE}", by=world.workflow()))) == {"PAY_KEY"}
    assert names(known(world, world.add("plain", tags=(VALUE,), by=world.workflow()))) == {"PAY_KEY"}
    assert names(known(world, world.add(f"a model says {VALUE}", by=world.model()))) == {"PAY_KEY"}


def test_parts_that_are_replaced_are_known_anew_and_the_others_stay(world: Knowledge) -> None:
    document = world.add(VALUE, by=world.workflow())
    change_document(world.access(), ChangeDocument(id=document, title="Another", tags=("t",)))
    assert names(known(world, document)) == {"PAY_KEY"}
    change_document(world.access(), ChangeDocument(id=document, text="plain"))
    assert known(world, document) == UNRECORDED
    change_document(world.workflow(complete=False), ChangeDocument(id=document, title="Another"))
    assert known(world, document) == Unknown(Cause.INCOMPLETE)
    change_document(world.workflow(), ChangeDocument(id=document, title="Mine"))
    assert known(world, document) == CLEAN


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE knowledge_documents SET title = 'other'",
        "UPDATE knowledge_documents SET media_type = 'text/html'",
        "UPDATE knowledge_documents SET owner = 'ada'",
        "UPDATE knowledge_documents SET path = 'a.txt'",
        "UPDATE knowledge_documents SET original = substr(original, 2) || '0'",
        "UPDATE knowledge_documents SET text = substr(text, 2) || '0'",
        "UPDATE knowledge_tags SET tag = 'other'",
        "INSERT INTO knowledge_tags SELECT id, 'more' FROM knowledge_documents",
    ],
)
def test_a_document_changed_behind_our_back_is_unknown(world: Knowledge, statement: str) -> None:
    document = world.add("plain", tags=("t",), by=world.workflow())
    world.place.rows(statement)
    assert known(world, document) == Unknown(Cause.VERSION_MISMATCH)
    page = list_documents(world.model(), ListDocuments())
    assert (page.items, page.total, page.withheld) == ((), 1, 1)
    assert page.reasons == {"content_unknown": 1}


@pytest.mark.parametrize(
    ("statement", "cause"),
    [
        ("UPDATE knowledge_chunks SET text = 'other'", Cause.VERSION_MISMATCH),
        ("UPDATE knowledge_chunks SET start = 1", Cause.VERSION_MISMATCH),
        ("UPDATE knowledge_chunks SET sheet = 'other'", Cause.VERSION_MISMATCH),
        ("UPDATE knowledge_chunks SET number = 7", Cause.TAMPERED),
        ("UPDATE knowledge_documents SET text = substr(text, 2) || '0'", Cause.VERSION_MISMATCH),
        ("UPDATE knowledge_chunks SET provenance = substr(provenance, 1, 40)", Cause.TAMPERED),
    ],
)
def test_a_chunk_changed_behind_our_back_is_unknown(world: Knowledge, statement: str, cause: Cause) -> None:
    document = world.add("plain words", by=world.workflow())
    world.place.rows(statement)
    assert chunk_states(world, document) == [Unknown(cause)]
    assert list_chunks(world.model(), ListChunks(id=document)).items == ()
    assert list_chunks(world.access(), ListChunks(id=document)).withheld == 0


def test_provenance_does_not_move_from_one_document_to_another(world: Knowledge) -> None:
    clean, dirty = world.add("plain", by=world.workflow()), world.add("plain", by=world.workflow(complete=False))
    for table, key in (("knowledge_documents", "id"), ("knowledge_chunks", "document_id")):
        world.place.rows(
            f"UPDATE {table} SET provenance = (SELECT provenance FROM {table} WHERE {key} = '{clean}')"
            f" WHERE {key} = '{dirty}'"
        )
    assert chunk_states(world, dirty) == [Unknown(Cause.TAMPERED)]
    assert known(world, dirty) == Unknown(Cause.TAMPERED)


def test_a_personal_document_with_the_secret_of_another_user_is_unknown(world: Knowledge) -> None:
    world.user_secret("BRAMS", "brams-own-value-4711", "bram")
    text = "it is brams-own-value-4711"
    mine = world.add(text, by=world.workflow("BRAMS"), personal=True)
    shared = world.add(text, by=world.workflow("BRAMS"))
    assert known(world, mine) == Unknown(Cause.SCOPE_MISMATCH)
    assert names(known(world, shared)) == {"BRAMS"}


def test_nobody_but_a_model_is_classified(world: Knowledge) -> None:
    document = world.add(f"the key is {VALUE}", tags=("t",), by=world.workflow(complete=False))
    access = world.access()
    assert VALUE in str(read_document(access, ReadDocument(id=document)).text)
    assert VALUE in repr(list_chunks(access, ListChunks(id=document)).items)
    assert VALUE in repr(search_knowledge(access, SearchKnowledge(query="key")).items)
    assert list_documents(access, ListDocuments()).withheld == 0
    assert list_tags(access, ListTags()).items[0].tag == "t"
    b"".join(export_knowledge(access, ExportKnowledge()).chunks)
    change_document(access, ChangeDocument(id=document, title="t"))
    delete_document(access, DeleteDocument(id=document))
    assert world.seals.reads == 0


# --- what a model is given -------------------------------------------------------------------------------------------


def split(cut: int, secret: str = VALUE) -> str:
    """A text in which the first chunk ends within the secret, after so many of its letters."""
    return "x" * (WANTED - cut) + secret + "y" * 500 + "\n\nneedle"


@pytest.mark.parametrize("cut", [1, 6, len(VALUE) // 2, len(VALUE) - 1])
@pytest.mark.parametrize("recorded", [True, False])
def test_a_secret_across_the_border_of_two_chunks_is_in_neither(world: Knowledge, cut: int, recorded: bool) -> None:
    document = world.add(split(cut), by=world.workflow() if recorded else world.access())
    as_kept = [one.text for one in list_chunks(world.access(), ListChunks(id=document)).items]  # type: ignore[union-attr]
    assert as_kept[0].endswith(VALUE[:cut])
    if recorded:
        assert [names(one) for one in chunk_states(world, document)][:2] == [{"PAY_KEY"}, {"PAY_KEY"}]
    given = [one.text for one in list_chunks(world.model(), ListChunks(id=document)).items]  # type: ignore[union-attr]
    assert [LABEL in text for text in given[:2]] == [True, True]
    assert not fragments("".join(given))


def test_a_split_form_of_a_secret_is_in_neither_chunk(world: Knowledge) -> None:
    form = base64.b64encode(VALUE.encode()).decode()
    document = world.add(split(9, form), by=world.workflow())
    given = "".join(one.text for one in list_chunks(world.model(), ListChunks(id=document)).items)  # type: ignore[union-attr]
    assert not fragments(given, form.rstrip("="))
    assert LABEL in given


def test_a_chunk_whose_surroundings_cannot_be_read_is_left_out(world: Knowledge) -> None:
    document = world.add(split(9))
    for file in (world.blobs._root).rglob("*"):
        if file.is_file():
            file.write_bytes(b"other")
    page = list_chunks(world.model(), ListChunks(id=document))
    assert (page.items, page.withheld) == ((), page.total)
    assert len(list_chunks(world.access(), ListChunks(id=document)).items) == page.total


@pytest.mark.parametrize("characters", [20, 30, 45, 60])
@pytest.mark.parametrize("before", ["needle ", "needle and some words ", f"needle {'w ' * 12}"])
def test_a_snippet_is_cut_after_it_was_projected(world: Knowledge, characters: int, before: str) -> None:
    world.add(f"{before}{VALUE}{VALUE} " + "words " * 30, by=world.workflow())
    asked = SearchKnowledge(query="needle", characters=characters)
    (raw,) = search_knowledge(world.access(), asked).items
    assert len(raw.text) == characters  # type: ignore[union-attr]
    (given,) = search_knowledge(world.model(), asked).items
    assert not fragments(given.text)  # type: ignore[union-attr]


def test_a_search_leaves_out_what_nobody_can_vouch_for_and_counts_it(world: Knowledge) -> None:
    world.add(f"needle {VALUE}", title=f"T {VALUE}", by=world.workflow(complete=False))
    shown = world.add(f"needle {VALUE}", title="Shown", by=world.workflow())
    page = search_knowledge(world.model(), SearchKnowledge(query="needle"))
    assert (page.total, page.withheld, page.reasons) == (2, 1, {"content_unknown": 1})
    assert [(one.document, one.text, one.title) for one in page.items] == [(shown, f"needle {LABEL}", "Shown")]  # type: ignore[union-attr]


def test_a_title_that_may_not_be_given_is_left_out_of_what_was_found(world: Knowledge) -> None:
    document = world.add("needle", by=world.workflow())
    change_document(world.workflow(complete=False), ChangeDocument(id=document, title=f"T {VALUE}"))
    (given,) = search_knowledge(world.model(), SearchKnowledge(query="needle")).items
    assert (given.text, given.title) == ("needle", None)  # type: ignore[union-attr]


def test_a_single_document_that_nobody_can_vouch_for_is_refused(world: Knowledge) -> None:
    document = world.add(f"it is {VALUE}", by=world.workflow(complete=False))
    for whole in (True, False):
        with pytest.raises(ContentRefused) as refused:
            read_document(world.model(), ReadDocument(id=document, text=whole))
        assert refused.value.reason.code is Code.CONTENT_UNKNOWN
    entries = world.add(f"it is {VALUE} here", by=world.workflow())
    for start, end in ((0, None), (10, None), (3, 12), (0, 9)):
        text = read_document(world.model(), ReadDocument(id=entries, start=start, end=end)).text
        assert text is not None
        assert not fragments(text)


def test_a_tag_is_given_where_one_document_that_has_it_may_say_so(world: Knowledge) -> None:
    unknown = world.workflow(complete=False)
    world.add("a", tags=("shared", "hidden"), by=unknown)
    world.add("b", tags=("shared",), by=world.workflow())
    page = list_tags(world.model(), ListTags())
    assert [(one.tag, one.count) for one in page.items] == [("shared", 2)]
    assert (page.total, page.withheld) == (2, 1)
    assert [one.tag for one in list_tags(world.access(), ListTags()).items] == ["hidden", "shared"]


def test_a_cursor_holds_no_tag(world: Knowledge) -> None:
    for number in range(3):
        world.add("a", tags=(f"{VALUE}{number}",))
    page = list_tags(world.model(), ListTags(limit=1))
    assert page.next == "1"
    assert len(list_tags(world.model(), ListTags(limit=1, cursor=page.next)).items) == 1
    with pytest.raises(BadInput):
        list_tags(world.access(), ListTags(cursor="-1"))


def test_a_written_document_that_may_not_be_told_of_is_kept_all_the_same(world: Knowledge) -> None:
    document = world.add("plain", by=world.workflow(complete=False))
    with pytest.raises(ContentRefused) as refused:
        change_document(world.model(), ChangeDocument(id=document, title="By a model"))
    assert refused.value.saved
    assert world.stores.document(document, "ada").title == "By a model"


# --- how documents come in -------------------------------------------------------------------------------------------


def test_a_file_of_the_workspace_brings_along_what_is_known_of_it(world: Knowledge) -> None:
    def made(by: Any, path: str, **more: Any) -> str:
        write_file(by, WriteFile(path=path, content=f"the key is {VALUE}", **more))
        return import_document(world.access(), ImportDocument(path=path)).id

    assert names(known(world, made(world.workflow(), "a.txt"))) == {"PAY_KEY"}
    unknown = made(world.workflow(complete=False), "b.txt")
    assert isinstance(known(world, unknown), Unknown)
    assert isinstance(chunk_states(world, unknown)[0], Unknown)
    assert known(world, made(world.access(), "c/d.txt")) == UNRECORDED
    record = world.stores.document(made(world.access(), "own/e.txt", mine=True), "ada")
    assert (record.title, record.path, record.owner, record.media_type) == ("e.txt", "own/e.txt", "ada", "text/plain")


def test_a_document_of_a_file_lies_where_the_file_does_for_a_tier(world: Knowledge) -> None:
    write_file(world.access(), WriteFile(path="private/a.txt", content="needle"))
    import_document(world.access(), ImportDocument(path="private/a.txt"))
    access = world.model()
    search_knowledge(access, SearchKnowledge(query="needle"))
    list_documents(access, ListDocuments())
    assert {one.source.path for one in access.delivery.settled} == {"/repo/private/a.txt"}


def test_nothing_is_kept_where_nobody_waits_any_more(world: Knowledge) -> None:
    cancelled, told = threading.Event(), list[tuple[int, int | None]]()

    def note(done: int, all_of_it: int | None) -> None:
        told.append((done, all_of_it))
        cancelled.set()

    with pytest.raises(Conflict):
        world.add(FILLER * 3, by=world.access(told=note, cancelled=cancelled))
    assert told[0][0] == 0
    assert world.stores.list_documents("ada").total == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "a\nb"},
        {"title": " "},
        {"title": "\x1b[31m"},
        {"tags": ("a\tb",)},
        {"tags": (" ",)},
        {"text": " \n "},
    ],
)
def test_what_cannot_be_kept_is_refused_in_words_that_do_not_repeat_it(
    world: Knowledge, fields: dict[str, Any]
) -> None:
    with pytest.raises(BadFields) as refused:
        world.add(fields.pop("text", "text"), **fields)
    assert "\x1b" not in str(refused.value)
    assert world.stores.list_documents("ada").total == 0


def test_text_that_a_database_cannot_hold_is_kept_without_it(world: Knowledge) -> None:
    with pytest.raises(BadInput):
        world.add("a\0b")
    with pytest.raises(BadFields, match="person"):
        world.add("a", by=world.access(None), personal=True)
