"""Stored documents and pictures in a real browser: shown as a page that can do nothing, and attached to words."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from PIL import Image
from playwright.sync_api import Browser, expect

from tests.console import content_world as made
from tests.console.content_world import EXACT, VALUE
from tests.console.visitors import Person
from tests.http.served import PERSON, World

PAGE = "/console/content"
TEXT = f"""# The plan

![a red square](p.png) and {VALUE}

| what | when |
|------|------|
| ship | monday |

<script>document.body.innerHTML = "acted"</script>
<img src="https://x.example/p.png" alt="foreign" onerror="document.body.innerHTML = 'acted'">
<form action="/console/logout" method="post"><button>out</button></form>
<a href="https://x.example/">elsewhere</a>
"""


def picture(world: World, path: str = "docs/p.png") -> None:
    out = io.BytesIO()
    Image.new("RGB", (240, 120), "red").save(out, "PNG")
    kind = {"Content-Type": "application/octet-stream"}
    reply = world.client(PERSON).put(f"/api/files/content/{path}", content=out.getvalue(), headers=kind)
    assert reply.status_code == 200, reply.text


@pytest.fixture
def world(world: World) -> World:
    made.keep(world)
    made.file(world, "docs/plan.md", TEXT, EXACT)
    picture(world)
    return world


def test_a_document_is_a_page_that_can_do_nothing(world: World, browser: Browser) -> None:
    with Person(world, browser) as person:
        page = person.page
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{world.url}{PAGE}/file?path=docs/plan.md")
        assert VALUE not in page.content()
        page.get_by_role("link", name="As a page").click()
        frame = page.frame_locator("iframe.file-page")
        expect(frame.get_by_role("heading", name="The plan")).to_be_visible()
        expect(frame.locator("td", has_text="monday")).to_be_visible()
        square = frame.get_by_role("img", name="a red square")
        expect(square).to_be_visible()
        assert square.evaluate("one => one.naturalWidth") == 240
        expect(frame.locator("body")).to_contain_text(VALUE)
        expect(frame.locator("form, button, script, input")).to_have_count(0)
        assert frame.locator("body").evaluate("() => self.origin") == "null"
        assert [url for url in asked if not url.startswith((world.url, "data:"))] == []
        with page.expect_download() as saved:
            page.get_by_role("link", name="PDF", exact=True).click()
        assert saved.value.suggested_filename == "plan.pdf"


def test_a_picture_is_shown_and_what_is_none_says_so(world: World, browser: Browser) -> None:
    made.file(world, "bad.pdf", "%PDF-nothing")
    with Person(world, browser) as person:
        page = person.page
        page.goto(f"{world.url}{PAGE}/file?path=docs/p.png&page=1")
        shown = page.frame_locator("iframe.file-page").get_by_role("img")
        expect(shown).to_be_visible()
        assert shown.evaluate("one => one.naturalWidth") == 240
        page.goto(f"{world.url}{PAGE}/file?path=bad.pdf&page=1")
        expect(page.frame_locator("iframe.file-page").locator("p")).to_contain_text("cannot be read")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_too_wide(world: World, browser: Browser, width: int) -> None:
    with Person(world, browser, width=width) as person:
        person.page.goto(f"{world.url}{PAGE}/file?path=docs/plan.md&page=1")
        expect(person.page.frame_locator("iframe.file-page").get_by_role("heading")).to_be_visible()
        assert person.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_file_that_may_not_be_attached_is_told_of_and_nothing_is_said(world: World, browser: Browser) -> None:
    session = world.session(model="fake/scripted")
    with Person(world, browser) as person:
        page = person.page
        page.goto(f"{world.url}/console/sessions/{session}")
        page.fill("#text", "look at it")
        page.get_by_text("Attach stored files").click()
        page.fill("#attachments", "docs/plan.md")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#speak-problem")).to_contain_text("Withheld by the trust tier")
        expect(page.locator("#text")).to_have_value("look at it")
        expect(page.locator("#attachments")).to_have_value("docs/plan.md")
        page.fill("#attachments", "nowhere.png")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#speak-problem")).to_contain_text("nowhere.png")
    assert world.get(f"/api/sessions/{session}/messages")["total"] == 0
