"""Stored content in the console: what is known of it, what a model gets, and no value of the vault in any name."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote

import pytest

from stanch.app.projecting import Projecting
from stanch.content.provenance import OfItems, tell_provenance
from stanch.content.provenance_told import CAUSES, Of
from stanch.delivery.admit import ContentRefused
from stanch.delivery.source import Kind
from stanch.provenance.states import Cause
from stanch.secrets.encodings import forms
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret
from stanch.values.fault import BrokenRow
from stanch.values.identity import Principal
from tests.console import content_world as made
from tests.console.content_world import (
    EXACT,
    MARKUP,
    OTHER,
    PAGE,
    UNKNOWN,
    VALUE,
    assert_clean,
    badge,
    file_page,
    hrefs,
    revoke,
)
from tests.console.visitors import BOB, Visitor
from tests.http.served import BY, COPILOT, KEY, PERSON, World

LISTS = ("", "/runs", "/knowledge", "/tables")
VOUCH = "could not vouch"


@pytest.fixture
def world(world: World) -> World:
    made.keep(world)
    return world


def test_an_empty_store_has_four_lists(visitor: Visitor) -> None:
    for below in LISTS:
        text = visitor.get(f"{PAGE}{below}")
        assert text.count('aria-current="page"') >= 2
        assert "There is none." in text or "Nothing lies here." in text


@pytest.mark.parametrize(
    ("headers", "content", "says"),
    [
        (EXACT, VALUE, "carries 1 secret"),
        (EXACT, "nothing", "clean"),
        (None, VALUE, "not recorded"),
        (UNKNOWN, "x", VOUCH),
    ],
)
def test_the_badge_of_a_file_is_looked_up_for_itself(
    world: World, visitor: Visitor, headers: dict[str, str] | None, content: str, says: str
) -> None:
    made.file(world, "a.txt", content, headers)
    reads = world.service.content.seals.reads
    text = visitor.get(PAGE)
    assert says not in text
    assert world.service.content.seals.reads == reads, "a list looks nothing up"
    assert says in badge(visitor, text)


def test_the_tree_is_shown_folder_by_folder(world: World, visitor: Visitor) -> None:
    for path in ("a.txt", "a/deep/one.txt", "a/deep/two.txt", "a.d/x", "b/y", "a/z.txt"):
        made.file(world, path, "x")
    text = visitor.get(PAGE)
    assert re.findall(r'<code dir="ltr">([^<]*)</code>', text) == ["a.d", "a.txt", "a", "b"]
    inside = visitor.get(f"{PAGE}/folder?path=a")
    assert re.findall(r'<code dir="ltr">([^<]*)</code>', inside) == ["deep", "z.txt"]
    assert "one.txt" in visitor.get(f"{PAGE}?path=a/deep")
    assert "Nothing lies here." in visitor.get(f"{PAGE}?path=nowhere")


@pytest.mark.parametrize("at_once", [1, 2])
def test_every_entry_of_a_large_folder_comes_once(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("stanch.surfaces.console.content.MOST_ENTRIES", at_once)
    monkeypatch.setattr("stanch.content.folders.AT_ONCE", 2)
    names = ["a", "a/1", "a/2", "a/3", "a.b", "a0", "c/1", "c/2", "c/3", "c/4", "d"]
    for name in names[1:]:
        made.file(world, name, "x")
    seen: list[str] = []
    address = f"{PAGE}/folder"
    for _ in range(len(names)):
        text = visitor.get(address)
        seen += re.findall(r'<code dir="ltr">([^<]*)</code>', text)
        address = next((one for one in hrefs(text, "/folder") if "start=" in one), "")
        if not address:
            break
    assert seen == ["a.b", "a", "a0", "c", "d"]


def test_markup_in_every_name_is_text(world: World, visitor: Visitor) -> None:
    made.file(world, f"a/{MARKUP}.txt", MARKUP, EXACT)
    run = made.run(world, MARKUP, EXACT, input=MARKUP, steps=[{"tool": MARKUP, "arguments": {MARKUP: MARKUP}}])
    document = made.document(world, MARKUP, MARKUP, tags=[MARKUP])
    table = made.table(world, "plain", {MARKUP: "text"})
    made.rows(world, table, {MARKUP: MARKUP})
    pages = [*LISTS, "?path=a", f"/file?path={quote(f'a/{MARKUP}.txt')}", f"/run?id={run}&raw=1"]
    pages += [f"/document?id={document}&raw=1", f"/table?id={table}&raw=1", "?q=alert", "/knowledge?q=script"]
    for path in (*pages, f"/table?id={table}&q=alert", f"/runs?q={quote(MARKUP)}", f"/knowledge?tag={quote(MARKUP)}"):
        text = visitor.get(f"{PAGE}{path}")
        assert "<script>alert" not in text, path


def test_a_value_in_a_name_is_in_no_page_and_its_item_is_reached(world: World, visitor: Visitor) -> None:
    folder = f"keys {VALUE.replace('/', '')}"
    world.service.vault.set("FLAT", Secret(VALUE.replace("/", "")), by=BY)
    made.file(world, f"{folder}/a.txt", "plain")
    made.run(world, f"of {VALUE}", EXACT, files=[{"name": f"{folder}.txt", "text": "of the run"}])
    made.document(world, f"titled {VALUE}", f"words {VALUE}", EXACT, tags=[VALUE])
    table = made.table(world, f"table {folder}", {f"column {VALUE}": "text"})
    made.rows(world, table, {f"column {VALUE}": VALUE}, headers=EXACT)
    todo, seen = [f"{PAGE}{below}" for below in LISTS], set()
    while todo:
        address = todo.pop()
        if address in seen or "raw=1" in address or "/download" in address:
            continue
        seen.add(address)
        text = visitor.get(address)
        assert not any(form in unescape(text).encode() for form in forms(VALUE.replace("/", ""))), address
        assert_clean(text)
        assert_clean(address)
        todo += hrefs(text, "")
    for kind in ("/file?", "/run?", "/run-file?", "/document?", "/table?", "/badge?", "/folder?"):
        assert any(kind in address for address in seen), kind
    assert any("tag_hidden" in address for address in seen)


def test_a_hidden_address_is_good_for_one_login(world: World, visitor: Visitor) -> None:
    made.file(world, f"a {OTHER.replace('/', '')}", "mine alone")
    world.service.vault.set("FLAT", Secret(OTHER.replace("/", "")), by=BY)
    address = next(one for one in hrefs(visitor.get(PAGE), "/file") if "path_hidden" in one)
    assert "mine alone" in visitor.get(address)
    with Visitor(world, BOB) as bob:
        bob.get(address, 404)
    visitor.get(f"{PAGE}/file?path_hidden=0", 404)


def test_what_is_searched_for_is_not_repeated_where_it_is_a_value(world: World, visitor: Visitor) -> None:
    made.file(world, "env", f"key {VALUE}", EXACT)
    for below in LISTS:
        assert_clean(visitor.get(f"{PAGE}{below}?q={quote(VALUE)}"))


@pytest.mark.parametrize("principal", [BOB, KEY])
def test_what_is_somebody_elses_is_not_there(world: World, principal: Principal) -> None:
    made.file(world, "secret-plan.txt", "of ada", principal=PERSON, mine=True)
    run = made.send(world, "POST", "/api/runs", {"name": "ada-run", "personal": True, "input": 1}, None, PERSON)["id"]
    body = {"title": "ada-doc", "text": "ada words", "personal": True, "tags": ["ada-tag"]}
    document = made.send(world, "POST", "/api/knowledge/documents", body, None, PERSON)["id"]
    body = {"name": "ada-table", "columns": [{"name": "n"}], "personal": True}
    table = made.send(world, "POST", "/api/tables", body, None, PERSON)["id"]
    body = {"rows": [{"n": "ada-cell"}]}
    made.send(world, "POST", f"/api/tables/{table}/rows", body, None, PERSON)
    with Visitor(world, PERSON) as ada, Visitor(world, principal) as other:
        for below, word in (
            ("", "secret-plan"),
            ("/runs", "ada-run"),
            ("/knowledge", "ada-doc"),
            ("/tables", "ada-table"),
        ):
            assert word in ada.get(f"{PAGE}{below}")
            text = other.get(f"{PAGE}{below}")
            assert word not in text
            assert "ada-tag" not in text
        items = ["/file?path=secret-plan.txt", f"/run?id={run}", f"/document?id={document}", f"/table?id={table}"]
        downloads = ["kind=file&path=secret-plan.txt", f"kind=document&id={document}", f"kind=table&id={table}"]
        for path in [*items, *(f"/download?{one}" for one in downloads)]:
            ada.get(f"{PAGE}{path}")
            other.get(f"{PAGE}{path}", 404)
        for query in (f"kind=run&id={run}", "kind=file&id=secret-plan.txt", f"kind=row&id={table}/1"):
            assert "gone" in other.get(f"{PAGE}/badge?{query}")
            assert "gone" not in ada.get(f"{PAGE}/badge?{query}")
        revoke(other, "secret-plan.txt", "link_1", 404)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *((f"/{kind}?id=nothing", 404) for kind in ("run", "document", "table")),
        ("/file?path=nothing", 404),
        ("/file", 404),
        ("/file?path=../../etc/passwd", 422),
        ("/file?path=a&version=-1", 404),
        ("/run-file?run=nothing&name=x", 404),
        ("/runs?cursor=nonsense", 422),
        ("/badge?kind=secret&id=1", 404),
        ("/badge?kind=row", 404),
        ("/folder?path=a&start=b", 422),
        (f"?q={'x' * 2000}", 200),
        ("/runs?state=flying", 200),
    ],
)
def test_what_is_not_there_is_said_to_be_so(visitor: Visitor, path: str, status: int) -> None:
    visitor.get(f"{PAGE}{path}", status)


def test_broken_rows_are_told_of_where_they_stand(world: World, visitor: Visitor) -> None:
    made.file(world, "whole.txt", "x")
    made.file(world, "broken.txt", "x")
    run = made.run(world, "broken-run", EXACT)
    made.run(world, "whole-run", EXACT)
    document = made.document(world, "broken-doc", "words")
    table = made.table(world, "rows", {"n": "text"})
    made.rows(world, table, {"n": "one"}, {"n": "two"})
    world.rows("UPDATE files SET size = -1 WHERE path = 'broken.txt'")
    world.rows(f"UPDATE runs SET state = 'flying' WHERE id = '{run}'")
    world.rows(f"UPDATE knowledge_documents SET size = -5 WHERE id = '{document}'")
    world.rows("UPDATE content_rows SET cells = '[broken' WHERE id = 1")
    for below, word in (("", "whole.txt"), ("/runs", "whole-run"), ("/knowledge", ""), (f"/table?id={table}", "two")):
        text = visitor.get(f"{PAGE}{below}")
        assert "cannot be read" in text, below
        assert word in text
    visitor.get(f"{PAGE}/file?path=broken.txt", 500)
    assert "cannot be read" in visitor.get(f"{PAGE}/badge?kind=file&id=broken.txt")
    assert "cannot be read" in visitor.get(f"{PAGE}/badge?kind=row&id={table}/1")


def test_a_vault_that_cannot_be_opened_shows_nothing_of_any_item(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.file(world, "env", "plain-words", EXACT)

    def broken(_: Projecting) -> Projector:
        raise BrokenRow("vault_values", "1", "its key is gone")

    monkeypatch.setattr(Projecting, "projector", broken)
    monkeypatch.setattr(world.service.projecting, "_made", None)
    text = visitor.get(file_page("env"))
    assert "plain-words" not in text
    assert "withheld" in text
    text = visitor.get(PAGE)
    assert "cannot be opened" in text
    assert "env" not in text.partition("<main")[2]


def test_nobody_sees_content_without_a_login(world: World, visitor: Visitor) -> None:
    visitor.client.cookies.clear()
    for below in (*LISTS, "/file?path=a", "/badge?kind=file&id=a", "/download?kind=file&path=a", "/folder"):
        assert visitor.client.get(f"{PAGE}{below}").status_code == 303


def test_no_model_is_told_what_is_known_of_an_item(world: World) -> None:
    made.file(world, "env", VALUE, EXACT)
    session = world.session(principal={"kind": "delegated", "id": "ada", "service_id": "copilot"})
    access = world.service.content.access(COPILOT, BY, session_id=session)
    with pytest.raises(ContentRefused):
        tell_provenance(access, OfItems(kind=Of.FILE, ids=("env",)))


def test_every_cause_has_words_and_every_kind_is_one_of_the_gates() -> None:
    assert set(CAUSES) == set(Cause)
    assert {one.value for one in Of} <= {one.value for one in Kind}
