"""Receipts in a real browser: readable at any width, light and dark, and reached by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, expect

from tests.console.content_world import EXACT, NAME, VALUE, file
from tests.console.test_receipts import POLICY, ask, chat, filled
from tests.console.visitors import Person
from tests.http.served import BY, World, served


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with served(World(tmp_path, POLICY)) as running:
        yield filled(running)


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_screen(world: World, browser: Browser, width: int, dark: bool) -> None:
    wide = "w" * 150
    session = chat(world)
    file(world, f"{wide}/{wide}.txt", f"{VALUE} {wide * 5}", EXACT)
    ask(world, session, f"/api/files/text/{wide}/{wide}.txt")
    sent = {
        "model": "cloud/curious",
        "tier": "trusted",
        "messages": 12,
        "new": [{"name": f"{world.workspace}/{wide}", "kind": "path", "secrets": [NAME]}],
        "secrets": {NAME: "redacted", wide: "label"},
        "labels": [wide],
        "withheld": [f"{world.workspace}/private/{wide}.csv"],
    }
    world.store.append_receipts(action="model.sent", subject=session, details=[sent], by=BY)
    world.store.append_receipts(action="model.sent", subject=f"px-{wide}", details=[sent], by=BY)
    paths = [f"/sessions/{session}/receipts", f"/audit/who-saw?secret={NAME}", f"/audit/who-saw?item={wide}"]
    with Person(world, browser, width=width, dark=dark) as person:
        for path in (*paths, f"/audit/who-saw?secret={wide}", "/audit", "/audit?changes=1", f"/audit?subject={wide}"):
            person.page.goto(f"{world.url}/console{path}")
            for summary in person.page.locator("main details:not([open]) summary").element_handles():
                summary.click()
            assert person.page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_who_saw_a_secret_is_asked_by_keyboard(world: World, browser: Browser) -> None:
    chat(world)
    with Person(world, browser) as person:
        page = person.page
        page.goto(f"{world.url}/console/audit")
        page.locator("summary", has_text="Who was ever sent").focus()
        page.keyboard.press("Enter")
        page.get_by_label("A secret’s name").focus()
        page.keyboard.type(NAME)
        page.keyboard.press("Enter")
        expect(page.locator(".who-saw")).to_contain_text("production.env")
        expect(page.get_by_role("status")).to_contain_text("The log is whole")
        page.locator(".who-saw .name a").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Receipts")).to_be_visible()
        got = page.locator(".side-row", has_text="production.env").get_by_role("group", name="What it got")
        expect(got.first).to_contain_text(NAME)
        page.get_by_role("link", name=NAME).first.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Who saw it")).to_be_visible()
