"""The console's pages of workbenches: names that code chose, secrets that came near, who may look, what is removed."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from pathlib import Path

import httpx2
import pytest

from stanch.app.workbench_clearing import Clearing
from stanch.secrets.encodings import forms
from stanch.surfaces.console.workbench import MOST_ENTRIES
from stanch.surfaces.console.workbench_list import MOST_ROWS
from tests.console import workbench_world as made
from tests.console.content_world import MARKUP, NAME, VALUE
from tests.console.visitors import BOB, Visitor, audited, token_of
from tests.console.workbench_world import CALL, GONE, GONE_NAME, HOSTILE, TURNED, page
from tests.delivery.benching import Chat, all_kinds
from tests.delivery.stage import staged
from tests.http.served import AGENTS, BY, CLIENT, KEY, PLAIN, SECONDS, WORKFLOW, World

_LINK = r'href="([^"]*/workbench/{}[^"]*)"'


@pytest.fixture
def session(world: World) -> str:
    return made.session(world)


def links(text: str, to: str) -> list[str]:
    """The addresses of files, downloads or outputs on a page."""
    return [unescape(one) for one in re.findall(_LINK.format(to), text)]


def forms_of(text: str) -> list[dict[str, str]]:
    """The fields of each form that removes an entry."""
    found = re.findall(r'action="[^"]*/remove"[^>]*>(.*?)</form>', text, re.DOTALL)
    return [
        {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', one)} for one in found
    ]


def remove(visitor: Visitor, session: str, status: int, **fields: str) -> None:
    """Sends the form that removes an entry, as a browser does."""
    sent = {name: re.sub("\r?\n", "\r\n", value) for name, value in {**fields, "key": visitor.key}.items()}
    reply = visitor.client.post(page(session, "/remove"), data=sent)
    assert reply.status_code == status, reply.text


def assert_clean(text: str) -> None:
    said = unescape(text).encode()
    assert not any(form in said for value in (VALUE, GONE) for form in forms(value))


def test_one_that_was_never_used(visitor: Visitor, session: str) -> None:
    text = visitor.get(page(session))
    assert "clean" in text
    assert "Nothing lies there." in text
    assert "No code was run yet." in text
    visitor.get(page("nobody"), 404)
    assert f'href="{page(session)}"' in visitor.get(f"/console/sessions/{session}")
    assert not (visitor.world.root / "workbenches").exists()


def test_names_that_code_chose(world: World, visitor: Visitor, session: str) -> None:
    for at, name in enumerate(HOSTILE):
        made.put(world, session, name, f"text {at}\n")
    made.put(world, session, made.BYTES, "bytes\n")
    made.taint(world, session)
    text = visitor.get(page(session))
    assert "<script>alert" not in text
    assert 'onmouseover="alert' not in text
    assert not set("\u202e\x1b\udce9") & set(text)
    assert "caf\\xe9" in unescape(text)
    found = links(text, "file")
    assert len(found) == len(HOSTILE) + 2
    texts = [visitor.get(f"{one}&raw=1") for one in found]
    for at, _ in enumerate(HOSTILE):
        assert sum(f"text {at}\n" in one or f"text {at}<" in one for one in texts) == 1, at
    assert sum("bytes" in re.sub(r"<[^>]*>", " ", one).split() for one in texts) == 1
    for one in texts:
        assert "<script>alert" not in one
        assert not set("\u202e\x1b") & set(one)
    for address in links(text, "download"):
        reply = visitor.client.get(address)
        assert reply.headers["content-type"] == "application/octet-stream"
        said = reply.headers["content-disposition"]
        assert said.startswith("attachment; ")
        assert "%E2%80%AE" not in said
        assert (reply.headers["x-content-type-options"], reply.headers["cache-control"]) == ("nosniff", "no-store")
    for fields in reversed(forms_of(text)):
        remove(visitor, session, 303, **fields)
    assert "Nothing lies there." in visitor.get(page(session))


def test_no_name_and_no_address_holds_a_secret(world: World, visitor: Visitor, session: str) -> None:
    """Neither one of the vault, nor one that the workbench alone remembers."""
    made.known_secrets(world, session)
    for value in (VALUE.replace("/", "-slash-"), GONE):
        made.put(world, session, f"{value}.txt", "inside\n")
    made.put(world, session, GONE.encode().hex(), "inside\n")
    made.put(world, session, "v/" + VALUE, "inside\n")
    text = visitor.get(page(session))
    assert_clean(text)
    assert f"{{{{{GONE_NAME}}}}}.txt" in unescape(re.sub(r"<[^>]*>", "", text))
    for address in links(text, "file"):
        found = visitor.get(f"{address}&raw=1" if "e.env" not in address else address)
        assert_clean(found)
        assert "inside" in found or "e.env" in address
    for address in links(text, "download"):
        assert_clean(visitor.client.get(address).headers["content-disposition"])
    with Visitor(world, BOB) as other:
        hidden = [one for one in links(text, "file") if "_hidden" in one]
        assert hidden
        other.get(hidden[0], 404)
    for fields in forms_of(text):
        assert visitor.client.post(page(session, "/remove"), data={**fields, "key": visitor.key}).status_code in (
            303,
            404,
        )


def test_a_file_as_a_model_gets_it_and_as_it_is(world: World, visitor: Visitor, session: str) -> None:
    made.known_secrets(world, session)
    text = visitor.get(page(session))
    assert "remembers 2 secrets" in text
    assert (NAME in text, GONE_NAME in text) == (True, True)
    (address,) = links(text, "file")
    shown = visitor.get(address)
    assert_clean(shown)
    assert shown.count('class="withheld"') == 2
    as_it_is = unescape(visitor.get(f"{address}&raw=1"))
    assert f"key={VALUE}" in as_it_is
    assert f"old={GONE}" in as_it_is
    made.taint(world, session)
    withheld = visitor.get(address)
    assert_clean(withheld)
    assert "while something tainted lies in this workbench" in withheld
    assert "key=" not in withheld


def test_what_is_no_text_and_what_is_long(
    world: World, visitor: Visitor, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.known_secrets(world, session)
    made.put(world, session, "a.bin", b"\x89PNG\xff\xfe")
    made.put(world, session, "b.bin", f"{VALUE[:9]}\0{VALUE[9:]}")
    made.put(world, session, "c.txt", ("y" * 1023 + "\n") * 1024)
    made.put(world, session, "d.txt", f"{'x' * 991}{VALUE}")
    for at in ("a.bin", "b.bin"):
        for raw in ("", "&raw=1"):
            assert "It is no text" in visitor.get(page(session, f"/file?path={at}{raw}"))
    assert "Show more of it" in visitor.get(page(session, "/file?path=c.txt"))
    assert "the download has all" in visitor.get(page(session, "/file?path=c.txt&all=1"))
    # The secret stands where the page stops reading: its beginning is not shown either.
    monkeypatch.setattr("stanch.surfaces.console.workbench_file.MOST_BYTES", 1000)
    shown = visitor.get(page(session, "/file?path=d.txt&all=1"))
    assert "the download has all" in shown
    assert VALUE[:9] not in unescape(shown)


@pytest.mark.parametrize(
    "path", ["../lock", "..", ".", "", "/etc/passwd", "a//b", "way/secret", "way", "nope", "fifo", "a%00b"]
)
@pytest.mark.parametrize("what", ["file", "download"])
def test_no_address_leads_out(
    what: str, path: str, world: World, visitor: Visitor, session: str, tmp_path: Path
) -> None:
    import os

    (tmp_path / "secret").write_text("outside")
    place = made.put(world, session, "a")
    (place.parent / "way").symlink_to(tmp_path)
    os.mkfifo(place.parent / "fifo")
    text = visitor.get(page(session))
    assert len(links(text, "file")) == 1
    reply = visitor.client.get(page(session, f"/{what}?path={path}&raw=1"))
    assert reply.status_code in (404, 422), reply.text
    assert "outside" not in reply.text
    done = visitor.client.post(page(session, "/remove"), data={"key": visitor.key, "path": unescape(path)})
    assert done.status_code in (303, 404, 422)
    assert (tmp_path / "secret").read_text() == "outside"


def test_a_taint_is_told_in_words(world: World, visitor: Visitor, session: str) -> None:
    made.put(world, session, "before.txt")
    made.taint(world, session)
    text = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", "", visitor.get(page(session)))))
    assert f"since file:in/{MARKUP} came in" in text
    assert "It is a copy of file:in/" in text
    assert text.count("✕ tainted") == 2
    assert text.count("✓ known") == 1
    with world.service.workbenches.held(session, by=BY) as bench, bench.run():
        during = visitor.get(page(session))
    assert "nobody has seen its end" in during
    assert during.count("✕ </span>tainted") == 3


def test_a_withheld_output_waits_until_somebody_read_it(world: World, visitor: Visitor, session: str) -> None:
    made.taint(world, session)
    text = visitor.get(page(session))
    assert "waits for you" in text
    assert "1 output waits" in visitor.get("/console/workbenches")
    (address,) = links(text, "output")
    shown = visitor.get(address)
    assert "<script>alert" not in shown
    assert "\u202e" not in shown
    assert "printed" in shown
    assert "waits for you" not in visitor.get(page(session))
    assert world.service.workbenches.outputs(session).unread() == 0
    # One that was kept before the vault knew a value.
    world.service.workbenches.outputs(session).keep(CALL, f"it is {VALUE}")
    assert_clean(visitor.get(address))
    for call in ("nope", "../../lock", "", "call_ffffffffffffffffffffffff"):
        visitor.get(page(session, f"/output?call={call}"), 404)


def test_a_real_run_that_was_withheld(tmp_path: Path) -> None:
    with staged(tmp_path) as stage, Visitor(stage) as visitor:
        all_kinds(stage)
        chat = Chat(stage)
        chat.taint()
        assert chat.bash("cat u.txt; echo '<b>code</b>'").startswith("Withheld")
        text = visitor.get(page(chat.id))
        (run,) = stage.service.calls.list(chat.id, tool="run_code").items
        assert f"<code>{run.id}</code>" in text
        assert "withheld from the model" in text
        assert "&lt;b&gt;code&lt;/b&gt;" in text
        shown = visitor.get(links(text, "output")[0])
        stage.assert_clean(shown)
        assert "{{PAY_KEY}}" in unescape(shown)
        assert "; tainted" in text


def test_it_is_emptied_after_a_second_word(world: World, visitor: Visitor, session: str) -> None:
    made.known_secrets(world, session)
    made.taint(world, session)
    text = visitor.get(page(session))
    assert "1 output that nobody has read goes, too." in unescape(text)
    visitor.send(page(session, "/clear"), 422)
    visitor.send(page(session, "/clear"), 422, confirm="no")
    assert world.service.workbenches.look(session)[1].entries
    with world.service.workbenches.held(session, by=BY):
        assert (
            "another call works in this workbench" in visitor.send(page(session, "/clear"), 409, confirm="yes").lower()
        )
        remove(visitor, session, 409, path="u.txt")
    visitor.send(page(session, "/clear"), 303, confirm="yes")
    memory, registry, entries = world.service.workbenches.look(session)
    assert (registry.entries, memory.is_tainted, dict(entries)) == ((), False, {})
    assert ("ada", "console", "workbench.clear") in audited(world, session)
    assert "all of it was removed, and what it remembered" in visitor.get(page(session))


def test_removing_the_taint_frees_it(world: World, visitor: Visitor, session: str) -> None:
    made.put(world, session, "d/in")
    made.taint(world, session)
    remove(visitor, session, 303, path="u.txt")
    assert not world.service.workbenches.look(session)[0].is_tainted
    remove(visitor, session, 404, path="u.txt")
    remove(visitor, session, 303, path="d")
    assert "Nothing lies there." in visitor.get(page(session))


def test_a_form_of_somebody_else_changes_nothing(world: World, visitor: Visitor, session: str) -> None:
    made.taint(world, session)
    for below, fields in (("/clear", {"confirm": "yes"}), ("/remove", {"path": "u.txt"})):
        path = page(session, below)
        for key, headers in (("no key", {}), (visitor.key, {"Origin": "https://evil.example"})):
            reply = visitor.client.post(path, data={"key": key, **fields}, headers=headers)
            assert reply.status_code == 403
        assert visitor.client.get(path).status_code in (404, 405)
    assert world.service.workbenches.look(session)[0].is_tainted


@pytest.mark.parametrize("principal", [*AGENTS, CLIENT, WORKFLOW], ids=lambda one: f"{one.kind}-{one.service_id}")
def test_no_agent_gets_here(principal: object, world: World, session: str) -> None:
    made.taint(world, session)
    with httpx2.Client(base_url=world.url, timeout=SECONDS, headers={"Origin": world.url}, verify=PLAIN) as client:
        token = token_of(world, principal)  # type: ignore[arg-type]
        assert client.post("/login", data={"token": token}).status_code == 403
        client.headers["Authorization"] = f"Bearer {token}"
        for path in (
            "/console/workbenches",
            *(page(session, one) for one in ("", "/file?path=u.txt", "/download?path=u.txt")),
        ):
            reply = client.get(path)
            assert (reply.status_code, reply.headers["location"]) == (303, "/login"), path
        assert client.get(page(session, f"/output?call={CALL}")).status_code == 303
        assert client.post(page(session, "/clear"), data={"confirm": "yes"}).headers["location"] == "/login"
    assert world.service.workbenches.look(session)[0].is_tainted
    assert world.service.workbenches.outputs(session).unread() == 1


def test_a_key_may_what_it_may_over_rest(world: World, session: str) -> None:
    made.taint(world, session)
    with Visitor(world, KEY) as key:
        assert "tainted" in key.get(page(session))
        key.send(page(session, "/clear"), 303, confirm="yes")


def test_a_memory_that_cannot_be_read(world: World, visitor: Visitor, session: str) -> None:
    made.known_secrets(world, session)
    made.put(world, session, GONE)
    world.rows("UPDATE workbenches SET history = 'AAAA'")
    text = visitor.get(page(session))
    assert "cannot be read" in text
    assert_clean(text)
    assert not links(text, "file")
    visitor.get(page(session, "/file?path=e.env"), 503)
    visitor.get(page(session, "/download?path=e.env"), 503)
    remove(visitor, session, 503, path="e.env")
    assert "cannot be read" in visitor.get("/console/workbenches")
    visitor.send(page(session, "/clear"), 303, confirm="yes")
    assert "Nothing lies there." in visitor.get(page(session))


def test_the_list_and_how_long_each_stays(world: World, visitor: Visitor, session: str) -> None:
    assert "There is none yet." in visitor.get("/console/workbenches")
    made.put(world, session, "a")
    made.known_secrets(world, session)
    other = world.session()
    made.put(world, other, "a")
    made.taint(world, other)
    text = visitor.get("/console/workbenches")
    assert text.index(other) < text.index(session)
    assert "remembers 2 secrets" in text
    assert "tainted" in text
    assert "Each stays until somebody empties it." in text
    world.service.clearing.after = timedelta(hours=24)
    for one in (session, other):
        world.service.sessions.end(one, by=BY)
    text = visitor.get("/console/workbenches")
    assert text.count("to be removed") == 1
    assert "each stays for 24 hours" in text
    assert "it is to be removed" in visitor.get(page(session))
    assert "It stays until what was withheld of it has been read." in visitor.get(page(other))
    assert Clearing(world.service.workbenches).clear_due(timedelta(0)) == [session]
    assert "its session had ended: all of it was removed, and what it remembered" in visitor.get(page(session))
    for _ in range(MOST_ROWS):
        made.put(world, world.session(), "a")
    text = visitor.get("/console/workbenches")
    assert other not in text
    assert other in visitor.get(f"/console/workbenches?start={MOST_ROWS}")
    for odd in ("-1", "x", "9" * 30, "%0a"):
        visitor.get(f"/console/workbenches?start={odd}")


def test_more_entries_than_a_page_holds(world: World, visitor: Visitor, session: str) -> None:
    folder = made.put(world, session, "first").parent
    for at in range(MOST_ENTRIES + 5):
        (folder / f"f{at:05}").write_text("x")
    text = visitor.get(page(session))
    assert f"{MOST_ENTRIES} of {MOST_ENTRIES + 6} entries are shown" in text
    assert len(links(text, "file")) == MOST_ENTRIES
    assert TURNED not in text
