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
from tests.console.content_world import EXACT, LABEL, MARKUP, NAME, OTHER, UNKNOWN, VALUE
from tests.console.visitors import BOB, Visitor
from tests.http.served import BY, COPILOT, KEY, PERSON, World

PAGE = "/console/content"
LISTS = ("", "/runs", "/knowledge", "/tables")
VOUCH = "could not vouch"


@pytest.fixture
def world(world: World) -> World:
    made.keep(world)
    return world


def hrefs(text: str, below: str) -> list[str]:
    """The addresses on a page that lead below the pages of content, as a browser follows them."""
    return [unescape(one) for one in re.findall(rf'(?:href|hx-get)="({PAGE}{below}[^"]*)"', text)]


def assert_clean(text: str) -> None:
    """Fails where a value of the vault stands in a page, in whatever encoding."""
    said = unescape(text).encode()
    assert not any(form in said for value in (VALUE, OTHER) for form in forms(value))


def badge(visitor: Visitor, text: str) -> str:
    """What the first badge of a list says, once it was looked up."""
    return visitor.get(hrefs(text, "/badge")[0])


def file_page(path: str, **fields: object) -> str:
    query = "".join(f"&{name}={value}" for name, value in fields.items())
    return f"{PAGE}/file?path={quote(path)}{query}"


def revoke(visitor: Visitor, path: str, link: str, status: int) -> None:
    """Sends the form that ends a public link."""
    fields = {"key": visitor.key, "path": path, "link": link}
    assert visitor.client.post(f"{PAGE}/unshare", data=fields).status_code == status


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


def test_every_entry_of_a_large_folder_comes_once(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stanch.surfaces.console.content.MOST_ENTRIES", 2)
    monkeypatch.setattr("stanch.content.folders.AT_ONCE", 2)
    names = ["a", "a/1", "a/2", "a/3", "a.b", "a0", "c/1", "c/2", "c/3", "c/4", "d"]
    for name in names[1:]:
        made.file(world, name, "x")
    seen: list[str] = []
    address = f"{PAGE}/folder"
    while address:
        text = visitor.get(address)
        seen += re.findall(r'<code dir="ltr">([^<]*)</code>', text)
        address = next((one for one in hrefs(text, "/folder") if "start=" in one), "")
    assert seen == ["a.b", "a", "a0", "c", "d"]


def test_a_file_is_shown_as_a_model_gets_it_until_somebody_asks(world: World, visitor: Visitor) -> None:
    made.file(world, "env", f"key={VALUE}\nport=1\n", EXACT)
    text = visitor.get(file_page("env"))
    assert_clean(text)
    assert LABEL in text
    assert f"redacted: {NAME}" in text
    assert "secrets cannot be taken out of bytes" in text
    assert "As it is" not in text
    raw = visitor.get(file_page("env", raw=1))
    assert VALUE in raw
    assert LABEL in raw


def test_what_is_previewed_is_what_a_model_gets(world: World, visitor: Visitor) -> None:
    made.file(world, "env", f"key={VALUE}\n", EXACT)
    session = world.session(principal={"kind": "delegated", "id": "ada", "service_id": "copilot"})
    reply = world.client(COPILOT).get("/api/files/text/env", headers={"Stanch-Session": session})
    assert reply.status_code == 200, reply.text
    lines = re.findall(r'<div class="row">(.*?)</div>', visitor.get(file_page("env")))
    assert "\n".join(re.sub("<[^>]*>", "", unescape(one)) for one in lines) == reply.json()["text"].rstrip("\n")


def test_an_unknown_file_is_withheld_and_says_why(world: World, visitor: Visitor) -> None:
    made.file(world, "env", f"key={VALUE}\nplain-words\n", UNKNOWN)
    text = visitor.get(file_page("env"))
    assert_clean(text)
    assert "plain-words" not in text
    assert f"withheld: nobody can say which secrets it carries: {CAUSES[Cause.INCOMPLETE]}" in unescape(text)
    assert "plain-words" in visitor.get(file_page("env", raw=1))


def test_a_file_that_was_changed_past_the_store_is_unknown(world: World, visitor: Visitor) -> None:
    made.file(world, "env", "harmless", EXACT)
    made.file(world, "other", "something else", EXACT)
    digest = world.rows("SELECT digest FROM files WHERE path = 'other'")[0][0]
    world.rows(f"UPDATE file_versions SET digest = '{digest}' WHERE path = 'env'")
    assert CAUSES[Cause.VERSION_MISMATCH] in badge(visitor, visitor.get(PAGE))


def test_versions_are_listed_and_each_has_its_own_page(world: World, visitor: Visitor) -> None:
    made.file(world, "env", f"first {VALUE}", EXACT)
    made.file(world, "env", "second", EXACT)
    text = visitor.get(file_page("env"))
    assert "second" in text
    old = visitor.get(file_page("env", version=1))
    assert_clean(old)
    assert LABEL in old
    assert "not the newest" in old
    world.client(PERSON).delete("/api/files/content/env")
    deleted = visitor.get(file_page("env"))
    assert "its versions are kept" in deleted
    assert "second" in deleted
    visitor.get(file_page("env", version=7), 404)


def test_links_are_listed_without_their_tokens_and_revoked(world: World, visitor: Visitor) -> None:
    made.file(world, "open.txt", "x")
    tokens = [made.share(world, "open.txt"), made.share(world, "open.txt")]
    text = visitor.get(file_page("open.txt"))
    assert text.count(">Revoke</button>") == 2
    assert not any(token in text for token in tokens)
    link = re.findall(r'name="link" value="([^"]+)"', text)[0]
    revoke(visitor, "open.txt", link, 303)
    assert visitor.get(file_page("open.txt")).count(">Revoke</button>") == 1
    assert visitor.client.post(f"{PAGE}/unshare", data={"path": "open.txt", "link": link}).status_code == 403
    revoke(visitor, "open.txt", "", 404)
    assert visitor.get(file_page("open.txt")).count(">Revoke</button>") == 1, "no name is not every link"


def test_a_download_is_saved_and_never_opened(world: World, visitor: Visitor) -> None:
    made.file(world, 'x"y.html', f"{MARKUP}{VALUE}")
    name = quote('x"y.html')
    reply = visitor.client.get(f"{PAGE}/download?kind=file&path={name}")
    assert reply.content == f"{MARKUP}{VALUE}".encode()
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-disposition"].startswith('attachment; filename="x_y.html"')
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    visitor.get(f"{PAGE}/download?kind=session&id=1", 404)


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


def test_a_run_is_shown_value_by_value(world: World, visitor: Visitor) -> None:
    steps = [{"tool": "fetch", "arguments": {"url": "u"}, "result": {"key": VALUE}, "logs": [f"with {VALUE}", "done"]}]
    files = [{"name": "out.json", "text": f'"{VALUE}"', "media_type": "application/json"}]
    run = made.run(world, "import", EXACT, steps=steps, output="fine", files=files)
    unknown = made.run(world, "digest", UNKNOWN, output=f"plain-words {VALUE}")
    text = visitor.get(f"{PAGE}/run?id={run}")
    assert_clean(text)
    assert text.count(LABEL) == 2
    assert VALUE in visitor.get(f"{PAGE}/run?id={run}&raw=1")
    text = visitor.get(f"{PAGE}/run?id={unknown}")
    assert "plain-words" not in text
    assert "nobody can say which secrets it carries (incomplete)" in text
    assert "plain-words" in visitor.get(f"{PAGE}/run?id={unknown}&raw=1")
    text = visitor.get(f"{PAGE}/run-file?run={run}&name=out.json")
    assert_clean(text)
    assert LABEL in text
    assert VALUE in visitor.get(f"{PAGE}/run-file?run={run}&name=out.json&raw=1")
    saved = visitor.client.get(f"{PAGE}/download?kind=run_file&run={run}&name=out.json")
    assert saved.text == f'"{VALUE}"'


def test_runs_are_found_by_name_and_state(world: World, visitor: Visitor) -> None:
    made.run(world, "Nightly import", EXACT)
    made.run(world, "digest", EXACT)
    text = visitor.get(f"{PAGE}/runs?q=IMPORT")
    assert "Nightly import" in text
    assert "digest" not in text
    assert "Nightly" in visitor.get(f"{PAGE}/runs?state=recorded")
    assert "Nightly" not in visitor.get(f"{PAGE}/runs?state=failed")


def test_a_document_is_shown_chunk_by_chunk(world: World, visitor: Visitor) -> None:
    text = f"{'Plain words. ' * 120}\n\nThe key is {VALUE}.\n\n{'Further words. ' * 120}"
    document = made.document(world, "Handbook", text, EXACT, tags=["shop"])
    made.document(world, "Draft", "hidden words", UNKNOWN)
    page = visitor.get(f"{PAGE}/document?id={document}")
    assert_clean(page)
    assert LABEL in page
    assert "clean" in page
    assert VALUE in visitor.get(f"{PAGE}/document?id={document}&raw=1")
    found = visitor.get(f"{PAGE}/knowledge?q=key")
    assert_clean(found)
    assert LABEL in found
    found = visitor.get(f"{PAGE}/knowledge?q=hidden")
    assert "1 found" in found
    assert "a model would not get it" in found
    assert "hidden words" not in found
    assert "Draft" not in visitor.get(f"{PAGE}/knowledge?tag=shop")


def test_a_table_is_shown_row_by_row(world: World, visitor: Visitor) -> None:
    table = made.table(world, "accounts", {"name": "text", "token": "text"})
    made.rows(world, table, {"name": "shop", "token": VALUE}, headers=EXACT)
    made.rows(world, table, {"name": "draft-name", "token": VALUE}, headers=UNKNOWN)
    made.rows(world, table, {"name": "old-name", "token": None})
    text = visitor.get(f"{PAGE}/table?id={table}")
    assert_clean(text)
    assert LABEL in text
    assert "draft-name" not in text
    assert "old-name" in text
    assert text.count("carries 1 secret") == 1
    assert "withheld: nobody can say" in text
    raw = visitor.get(f"{PAGE}/table?id={table}&raw=1")
    assert raw.count(VALUE) == 2
    assert "draft-name" in raw
    found = visitor.get(f"{PAGE}/table?id={table}&q=draft")
    assert "draft-name" not in found
    assert "1 row found" in found
    assert "accounts" in visitor.get(f"{PAGE}/tables?q=ACC")
    assert "accounts" not in visitor.get(f"{PAGE}/tables?q=nothing")


def test_a_secret_that_is_too_short_is_replaced_in_a_cell_and_withholds_a_file(world: World, visitor: Visitor) -> None:
    world.service.vault.set("PIN", Secret("4711"), by=BY)
    short = {"Stanch-Secrets": "PIN"}
    made.file(world, "pin.txt", "4711", short)
    table = made.table(world, "pins", {"pin": "text"})
    made.rows(world, table, {"pin": "4711"}, headers=short)
    text = visitor.get(file_page("pin.txt")).partition("<main")[2]
    assert "too short" in text
    assert "4711" not in text
    text = visitor.get(f"{PAGE}/table?id={table}").partition("<main")[2]
    assert "{{PIN}}" in text
    assert "4711" not in text


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


def test_bytes_that_are_gone_are_said_to_be(world: World, visitor: Visitor) -> None:
    made.file(world, "gone.txt", "words", EXACT)
    for place in (world.root / "blobs").rglob("*"):
        if place.is_file():
            place.unlink()
    text = visitor.get(file_page("gone.txt"))
    assert CAUSES[Cause.VERSION_MISMATCH] in unescape(text)
    assert "words" not in text.partition("<main")[2].replace("in words", "")


def test_a_vault_that_cannot_be_opened_shows_nothing_of_any_item(
    world: World, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.file(world, "env", "plain-words", EXACT)

    def broken(_: Projecting) -> Projector:
        raise BrokenRow("vault_values", "1", "its key is gone")

    monkeypatch.setattr(Projecting, "projector", broken)
    monkeypatch.setattr(world.service.projecting, "_made", None)
    reply = visitor.client.get(file_page("env"))
    assert reply.status_code == 500
    assert "plain-words" not in reply.text
    text = visitor.get(PAGE)
    assert "cannot be opened" in text
    assert "env" not in text.partition("<main")[2]


def test_nobody_sees_content_without_a_login(world: World, visitor: Visitor) -> None:
    visitor.client.cookies.clear()
    for below in (*LISTS, "/file?path=a", "/badge?kind=file&id=a", "/download?kind=file&path=a", "/folder"):
        assert visitor.client.get(f"{PAGE}{below}").status_code == 303


def test_a_preview_leaves_nothing_in_the_audit_log(world: World, visitor: Visitor) -> None:
    made.file(world, "env", VALUE, EXACT)
    before = world.rows("SELECT count(*) FROM audit")
    visitor.get(file_page("env"))
    visitor.get(file_page("env", raw=1))
    assert world.rows("SELECT count(*) FROM audit") == before


def test_no_model_is_told_what_is_known_of_an_item(world: World) -> None:
    made.file(world, "env", VALUE, EXACT)
    session = world.session(principal={"kind": "delegated", "id": "ada", "service_id": "copilot"})
    access = world.service.content.access(COPILOT, BY, session_id=session)
    with pytest.raises(ContentRefused):
        tell_provenance(access, OfItems(kind=Of.FILE, ids=("env",)))


def test_every_cause_has_words_and_every_kind_is_one_of_the_gates() -> None:
    assert set(CAUSES) == set(Cause)
    assert {one.value for one in Of} <= {one.value for one in Kind}
