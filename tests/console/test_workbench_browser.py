"""Workbenches in a real browser: nothing too wide, light and dark, by keyboard, and asked once more before bytes go."""

from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, Dialog, expect

from tests.console import workbench_world as made
from tests.console.visitors import Person
from tests.console.workbench_world import CALL, HOSTILE, page
from tests.http.served import BY, World


@pytest.fixture
def session(world: World) -> str:
    """A session whose workbench has a bit of everything."""
    session = made.session(world)
    made.known_secrets(world, session)
    for name in HOSTILE:
        made.put(world, session, name)
    made.put(world, session, "out/report.md", "# A report\n" * 500)
    made.taint(world, session)
    wide = "w" * 150
    made.put(world, session, f"{wide}/{wide}.txt", wide * 9)
    arguments = {"code": f"print(1)\n# {wide * 3}", "language": "python"}
    world.service.calls.submit(session, "run_code", arguments, by=BY)
    return session


@pytest.mark.parametrize("width", [360, 390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_screen(world: World, session: str, browser: Browser, width: int, dark: bool) -> None:
    wide = "w" * 150
    paths = [page(session), "/console/workbenches", page(session, f"/output?call={CALL}"), "/console/sessions"]
    paths += [page(session, f"/file?path={wide}/{wide}.txt&raw=1"), page(session, "/file?path=e.env")]
    with Person(world, browser, width=width, dark=dark) as person:
        for path in paths:
            person.page.goto(f"{world.url}{path}")
            for summary in person.page.locator("main details:not([open]) summary").element_handles():
                summary.click()
            assert person.page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_what_code_called_its_files_does_nothing(world: World, session: str, browser: Browser) -> None:
    """Whatever a page would run complains, which fails the test; a name leads to its own file and to no other."""
    with Person(world, browser) as person:
        view = person.page
        dialogs: list[str] = []

        def answer(asked: Dialog) -> None:
            dialogs.append(asked.message)
            asked.accept()

        view.on("dialog", answer)
        view.goto(f"{world.url}{page(session)}")
        for at in range(len(HOSTILE)):
            view.locator("#files .name a").nth(at).click()
            expect(view.get_by_role("heading", name="Its text")).to_be_visible()
            view.go_back()
        with view.expect_download() as saved:
            view.locator("#files .item", has_text="gpj.exe").get_by_role("link", name="Download").click()
        assert "\u202e" not in saved.value.suggested_filename
        assert dialogs == []
        count = view.locator("#files .item").count()
        view.locator("#files .item", has_text="break").get_by_role("button").click()
        expect(view.locator("#files .item")).to_have_count(count - 1)
        assert len(dialogs) == 1
        assert "\n" not in dialogs[0]


def test_it_is_emptied_by_keyboard_after_a_second_step(world: World, session: str, browser: Browser) -> None:
    with Person(world, browser) as person:
        view = person.page
        view.goto(f"{world.url}/console/sessions/{session}")
        view.get_by_role("link", name="Workbench", exact=True).click()
        expect(view.get_by_role("button", name="Remove all of it for good")).not_to_be_visible()
        view.locator("summary", has_text="Remove all of it").focus()
        view.keyboard.press("Enter")
        view.keyboard.press("Tab")
        view.keyboard.press("Enter")
        expect(view.locator("#files")).to_contain_text("Nothing lies there.")
    assert not world.service.workbenches.look(session)[2]
