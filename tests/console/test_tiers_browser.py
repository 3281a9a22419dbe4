"""Trust tiers, what a model is sent, and the question of a switch, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, expect

from stanch.values.message import Message, Role, Text
from tests.console.tiers_world import POLICY, fill, path_of, read, switch, talked
from tests.console.visitors import Person
from tests.http.served import BY, World

PAGE = "/console/sessions"
# Somebody whose finger comes down on the button at the very moment in which it appears there.
HASTY = """() => {
  const place = document.querySelector("#asks");
  new MutationObserver(() => {
    const button = place.querySelector("[data-approve]");
    if (!button || place.dataset.hasty) return;
    place.dataset.hasty = "yes";
    button.click();
  }).observe(place, { childList: true, subtree: true });
}"""


@pytest.fixture
def world(serve: Callable[[str], World]) -> World:
    made = serve(POLICY)
    fill(made.workspace)
    return made


def test_the_question_comes_with_the_switch_and_goes_with_its_answer(world: World, browser: Browser) -> None:
    session = talked(world)
    with Person(world, browser) as person:
        page = person.page
        page.goto(f"{world.url}{PAGE}/{session}")
        page.wait_for_selector("[data-live=yes]")
        question = page.locator(".tier-question")
        expect(question).to_have_count(0)
        page.get_by_text("Use another model").click()
        page.get_by_label("Model").fill("out/asking-1")
        page.get_by_role("button", name="Use it").click()
        expect(question).to_contain_text(path_of(world, "private/pay.csv"))
        expect(page.locator("#state")).to_contain_text("its tier asks about 2")
        question.get_by_role("checkbox").first.check()
        world.service.messages.add(session, Message(Role.USER, (Text("news"),)))
        expect(page.locator("#timeline")).to_contain_text("news")
        expect(question.get_by_role("checkbox").first).to_be_checked()
        person.calm()
        question.get_by_role("button", name="Send only what is ticked").click()
        expect(page.locator("#said")).to_contain_text("1 path is sent to out/asking-1, 1 path is withheld.")
        expect(question).to_have_count(0)
        expect(page.locator("#timeline")).to_contain_text("ada (console) answered where the tier asking asks")
        expect(page.locator("#state")).not_to_contain_text("its tier asks")


def test_a_question_that_somebody_else_answered_goes_by_itself(world: World, browser: Browser) -> None:
    session = talked(world)
    switch(world, session, "out/asking-1")
    with Person(world, browser) as person:
        page = person.page
        page.goto(f"{world.url}{PAGE}/{session}")
        page.wait_for_selector("[data-live=yes]")
        question = page.locator(".tier-question")
        expect(question).to_have_count(1)
        world.service.messages.add_all(session, read(world, "private/handbook.md", "be kind", call_id="c3"))
        expect(question).to_contain_text("these 3")
        page.wait_for_selector("body.unsettled")
        names = world.service.switching.shown(session).report.asks
        world.service.switching.answer(session, send=names, withhold=[], by=BY)
        expect(question).to_have_count(0)


def test_nothing_is_sent_by_accident(world: World, browser: Browser) -> None:
    session = talked(world)
    with Person(world, browser) as person:
        page = person.page
        page.goto(f"{world.url}{PAGE}/{session}")
        page.wait_for_selector("[data-live=yes]")
        person.calm()
        page.evaluate(HASTY)
        switch(world, session, "out/asking-1")
        button = page.get_by_role("button", name="Send all")
        expect(page.locator("#asks[data-hasty]")).to_have_count(1)
        assert world.service.switching.shown(session).report.asks
        person.calm()
        page.keyboard.press("j")
        page.keyboard.press("a")
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_contain_text("2 paths are sent")
        assert not world.service.switching.shown(session).report.asks


def test_a_session_ends_with_the_second_click(world: World, browser: Browser) -> None:
    session = talked(world)
    with Person(world, browser) as person:
        page = person.page
        page.goto(f"{world.url}{PAGE}/{session}")
        expect(page.get_by_role("button", name="End it for good")).to_be_hidden()
        page.get_by_text("End the session").click()
        assert world.get(f"/api/sessions/{session}")["ended_at"] is None
        page.get_by_role("button", name="End it for good").click()
        expect(page.locator("#state")).to_contain_text("ended")
        expect(page.locator("#timeline")).to_contain_text("ada (console) ended the session")
        assert world.get(f"/api/sessions/{session}")["ended_at"] is not None


def test_folders_open_when_somebody_looks_and_stay_open_for_another_tier(world: World, browser: Browser) -> None:
    with Person(world, browser) as person:
        page = person.page
        page.get_by_role("link", name="Tiers").click()
        page.locator(".tree-tabs").get_by_role("link", name="outside", exact=True).click()
        tree = page.locator(".tree-box")
        expect(tree).not_to_contain_text("main.py")
        tree.locator("summary", has_text="src").click()
        tree.locator("summary", has_text="app").focus()
        page.keyboard.press("Enter")
        expect(tree).to_contain_text("main.py")
        expect(tree).not_to_contain_text("plans")
        tree.locator("summary", has_text="private").first.click()
        expect(tree.locator(".leaf-row", has_text="pay.csv").first).to_contain_text("denied")
        page.locator(".tree-tabs").get_by_role("link", name="asking", exact=True).click()
        expect(tree.locator(".leaf-row", has_text="pay.csv").first).to_contain_text("asks")
        expect(tree).to_contain_text("main.py")
        page.locator(".tree-tabs").get_by_role("link", name="execute").click()
        expect(tree).not_to_contain_text("main.py")
        expect(tree).to_contain_text("plans")


def test_a_session_leads_to_what_its_models_are_sent(world: World, browser: Browser) -> None:
    session = talked(world)
    switch(world, session, "out/one")
    with Person(world, browser) as person:
        page = person.page
        page.goto(f"{world.url}{PAGE}/{session}")
        page.locator("#state").get_by_role("link", name="What it is sent").click()
        expect(page.locator("mark.withheld").first).to_contain_text("[Content from")
        left, right = page.locator("#m-3 .side.stored").bounding_box(), page.locator("#m-3 .side.got").bounding_box()
        assert left is not None
        assert right is not None
        assert (left["y"], left["x"] < right["x"]) == (right["y"], True)
        page.get_by_role("link", name="house/one").click()
        expect(page.locator(".summary")).to_contain_text("everything that is stored")
        page.get_by_label("Any other model").fill("small/llama")
        page.get_by_role("button", name="Look").click()
        expect(page.locator(".summary")).to_contain_text("Limited")


@pytest.mark.parametrize("width", [360, 390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_screen(world: World, browser: Browser, width: int, dark: bool) -> None:
    wide = "w" * 200
    (world.workspace / "private" / wide).mkdir()
    session = talked(world, *read(world, f"private/{wide}", wide * 3, call_id="c3"), model=f"house/{wide}")
    switch(world, session, f"out/asking-{wide}")
    with Person(world, browser, width=width, dark=dark) as person:
        for path in ("/console/tiers?tier=outside&open=private", f"{PAGE}/{session}", f"{PAGE}/{session}/sent"):
            person.page.goto(f"{world.url}{path}")
            for summary in person.page.locator("main details:not([data-part], .folder) > summary").all():
                summary.click()
            assert person.page.evaluate("document.documentElement.scrollWidth") <= width, path
        columns = person.page.locator("#m-3 .side").evaluate_all("sides => sides.map(one => one.offsetLeft)")
        assert (columns[0] == columns[1]) == (width < 640)
