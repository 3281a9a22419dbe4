"""Stored content in a real browser: badges that come by themselves, the tree, the keyboard, and nothing too wide."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, expect

from tests.console import content_world as made
from tests.console.content_world import EXACT, LABEL, UNKNOWN, VALUE
from tests.console.visitors import Person
from tests.http.served import World

PAGE = "/console/content"


@pytest.fixture
def world(world: World) -> World:
    made.keep(world)
    made.file(world, "deploy/production.env", f"key={VALUE}\n", EXACT)
    made.file(world, "deploy/staging.env", f"key={VALUE}\n", UNKNOWN)
    made.file(world, "README.md", "# The shop\n")
    made.run(world, "nightly import", EXACT, output="fine")
    return world


def test_badges_come_by_themselves_and_folders_when_they_are_opened(world: World, browser: Browser) -> None:
    with Person(world, browser) as person:
        page = person.page
        page.get_by_role("link", name="Content", exact=True).click()
        tree = page.locator(".tree-box")
        expect(tree.locator(".leaf-row", has_text="README.md")).to_contain_text("not recorded")
        expect(tree).not_to_contain_text("production.env")
        tree.locator("summary", has_text="deploy").focus()
        page.keyboard.press("Enter")
        expect(tree.locator(".leaf-row", has_text="production.env")).to_contain_text("carries 1 secret")
        expect(tree.locator(".leaf-row", has_text="staging.env")).to_contain_text("unknown")


def test_tabs_and_an_item_are_reached_by_keyboard(world: World, browser: Browser) -> None:
    with Person(world, browser) as person:
        page = person.page
        page.goto(f"{world.url}{PAGE}")
        page.get_by_role("navigation", name="Stores").get_by_role("link", name="Files").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        run = page.get_by_role("link", name="nightly import")
        expect(run).to_be_visible()
        expect(page.get_by_role("link", name="Runs")).to_have_attribute("aria-current", "page")
        run.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="nightly import")).to_be_visible()


def test_content_is_shown_as_it_is_after_a_click_alone(world: World, browser: Browser) -> None:
    with Person(world, browser) as person:
        page = person.page
        page.goto(f"{world.url}{PAGE}/file?path=deploy/production.env")
        expect(page.locator("mark.withheld")).to_have_text(LABEL)
        assert VALUE not in page.content()
        page.get_by_role("link", name="Show content as it is").click()
        expect(page.get_by_role("group", name="As it is")).to_contain_text(VALUE)
        left, right = (page.locator(".half").nth(at).bounding_box() for at in (0, 1))
        assert left is not None
        assert right is not None
        assert left["y"] == right["y"]
        with page.expect_download() as saved:
            page.get_by_role("link", name="Download", exact=True).click()
        assert saved.value.suggested_filename == "production.env"


def test_a_link_is_revoked_after_a_question(world: World, browser: Browser) -> None:
    made.share(world, "README.md")
    with Person(world, browser) as person:
        page = person.page
        page.goto(f"{world.url}{PAGE}/file?path=README.md")
        page.once("dialog", lambda asked: asked.dismiss())
        page.get_by_role("button", name="Revoke").click()
        expect(page.get_by_role("button", name="Revoke")).to_have_count(1)
        page.once("dialog", lambda asked: asked.accept())
        page.get_by_role("button", name="Revoke").click()
        expect(page.locator("#links")).to_contain_text("There is none.")


@pytest.mark.parametrize("width", [360, 390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_screen(world: World, browser: Browser, width: int, dark: bool) -> None:
    wide = "w" * 150
    made.file(world, f"{wide}/{wide}.txt", wide * 5, EXACT)
    run = made.run(world, wide, UNKNOWN, input=wide * 3, files=[{"name": wide, "text": wide}])
    document = made.document(world, wide, wide * 3, EXACT, tags=[wide[:100]])
    table = made.table(world, wide, {wide: "text", "b": "text", "c": "text"})
    made.rows(world, table, {wide: wide * 3, "b": wide, "c": VALUE}, headers=EXACT)
    paths = ["", f"?path={wide}", f"/file?path={wide}/{wide}.txt&raw=1", f"?q={wide}", "/runs", f"/run?id={run}&raw=1"]
    paths += [f"/run-file?run={run}&name={wide}", "/knowledge", f"/document?id={document}&raw=1", "/tables"]
    with Person(world, browser, width=width, dark=dark) as person:
        for path in (*paths, f"/table?id={table}&raw=1", f"/table?id={table}&q=www"):
            person.page.goto(f"{world.url}{PAGE}{path}")
            for summary in person.page.locator("main summary").all():
                summary.click()
            assert person.page.evaluate("document.documentElement.scrollWidth") <= width, path
        here = person.page.locator(".top nav [aria-current]").bounding_box()
        assert here is not None
        assert here["x"] >= 0
        assert here["x"] + here["width"] <= width
