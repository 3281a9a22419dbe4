"""Items of stored content in the console: each as a model gets it, and as it is once a person asks for that."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote

import pytest

from stanch.content.provenance_told import CAUSES
from stanch.provenance.states import Cause
from stanch.secrets.text import Secret
from tests.console import content_world as made
from tests.console.content_world import (
    EXACT,
    LABEL,
    MARKUP,
    NAME,
    PAGE,
    UNKNOWN,
    VALUE,
    assert_clean,
    badge,
    file_page,
    revoke,
)
from tests.console.visitors import Visitor
from tests.http.served import BY, COPILOT, PERSON, World


@pytest.fixture
def world(world: World) -> World:
    made.keep(world)
    return world


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


def test_bytes_that_are_gone_are_said_to_be(world: World, visitor: Visitor) -> None:
    made.file(world, "gone.txt", "words", EXACT)
    for place in (world.root / "blobs").rglob("*"):
        if place.is_file():
            place.unlink()
    text = visitor.get(file_page("gone.txt"))
    assert CAUSES[Cause.VERSION_MISMATCH] in unescape(text)
    assert "words" not in text.partition("<main")[2].replace("in words", "")


def test_a_preview_leaves_nothing_in_the_audit_log(world: World, visitor: Visitor) -> None:
    made.file(world, "env", VALUE, EXACT)
    before = world.rows("SELECT count(*) FROM audit")
    visitor.get(file_page("env"))
    visitor.get(file_page("env", raw=1))
    assert world.rows("SELECT count(*) FROM audit") == before
