"""Sessions in a real browser: live, by keyboard, at phone width."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, expect

from stanch.runtime.scripted_reply import say, use
from stanch.values.message import Call, Message, Result, Role, Text
from tests.console.visitors import Person, asking
from tests.http.conversing import Talk, talking
from tests.http.served import BY, until

PAGE = "/console/sessions"


@contextmanager
def at(world: Talk, browser: Browser, session: str) -> Iterator[Person]:
    """A person who looks at a session, live."""
    with Person(world, browser) as person:
        person.page.goto(f"{world.url}{PAGE}/{session}")
        person.page.wait_for_selector("[data-live=yes]")
        yield person


def test_a_person_begins_reads_along_approves_and_speaks_on(tmp_path: Path, browser: Browser) -> None:
    gate = threading.Event()
    script = [
        use("execute_cmd", saying="I try.", command="true"),
        replace(say("Word after word of the answer comes, and all is well."), gate=gate, gate_after=4),
        say("Once more."),
    ]
    with talking(tmp_path, script) as world, Person(world, browser) as person:
        page = person.page
        page.get_by_role("link", name="Sessions").click()
        page.get_by_label("What it is to do").fill("Try it")
        page.get_by_role("button", name="Begin").click()
        page.wait_for_url("**/console/sessions/*")
        card = page.locator("[data-card]")
        expect(card).to_contain_text("true")
        expect(page.locator("#timeline")).to_contain_text("I try.")
        person.calm()
        card.get_by_role("button", name="Approve", exact=True).click()
        expect(page.locator("#said")).to_contain_text("You approved a call of execute_cmd")
        expect(card).to_have_count(0)
        expect(page.locator("#draft")).to_contain_text("Word after")
        expect(page.locator("#state")).to_contain_text("at work")
        gate.set()
        expect(page.locator("#timeline")).to_contain_text("and all is well.")
        expect(page.locator("#draft")).to_be_hidden()
        expect(page.locator("#state")).to_contain_text("completed")
        expect(page.locator("#timeline")).to_contain_text("Approved by ada (console)")
        page.get_by_label("Say something to the agent").fill("And again")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#timeline")).to_contain_text("Once more.")
        expect(page.get_by_label("Say something to the agent")).to_have_value("")
        expect(page.get_by_label("Say something to the agent")).to_be_focused()


def test_a_turn_is_stopped_and_what_waited_goes(tmp_path: Path, browser: Browser) -> None:
    with talking(tmp_path, [use("execute_cmd", command="make")]) as world:
        session = world.session()
        turn = world.say(session)["id"]
        with at(world, browser, session) as person:
            expect(person.page.locator("[data-card]")).to_have_count(1)
            person.page.get_by_role("button", name="Stop").click()
            expect(person.page.locator("#said")).to_contain_text("You stopped the turn")
            expect(person.page.locator("[data-card]")).to_have_count(0)
            expect(person.page.locator("#timeline")).to_contain_text("The turn was stopped: Stopped by ada")
            expect(person.page.get_by_role("button", name="Stop")).to_have_count(0)
        assert world.get(f"/api/turns/{turn}")["state"] == "stopped"


def test_what_is_said_while_a_turn_is_under_way_is_not_lost(tmp_path: Path, browser: Browser) -> None:
    with talking(tmp_path, [use("execute_cmd", command="make")]) as world:
        session = world.session()
        world.say(session)
        with at(world, browser, session) as person:
            person.page.get_by_label("Say something to the agent").fill("half a thought")
            person.page.get_by_role("button", name="Send").click()
            expect(person.page.get_by_role("alert")).to_contain_text("has a turn under way")
            expect(person.page.get_by_label("Say something to the agent")).to_have_value("half a thought")


def test_what_is_open_stays_open_when_news_come(tmp_path: Path, browser: Browser) -> None:
    long = "\n".join(f"line {at}" for at in range(200))
    with talking(tmp_path, []) as world:
        session = world.session()
        made = (
            Message(Role.ASSISTANT, (Call("c1", "read_file", {"path": "a.txt"}),), model="a/b"),
            Message(Role.TOOL, (Result("c1", (Text(long),), "read_file"),)),
        )
        world.service.messages.add_all(session, made)
        asked = asking(world, "execute_cmd", {"command": "make"}, session_id=session)
        with at(world, browser, session) as person:
            page = person.page
            page.locator(".result > summary").click()
            expect(page.locator(".result")).not_to_contain_text("line 199")
            page.get_by_role("link", name="Show all of it").click()
            expect(page.locator(".result")).to_contain_text("line 199")
            card = person.card(asked)
            card.locator("[data-reject] > summary").click()
            card.get_by_label("A note for the agent").fill("half a thou")
            page.get_by_label("Say something to the agent").fill("and half a word")
            world.service.messages.add(session, Message(Role.USER, (Text("news"),)))
            expect(page.locator("#timeline")).to_contain_text("news")
            expect(page.locator(".result")).to_contain_text("line 199")
            expect(page.locator(".result > .long")).to_be_visible()
            expect(card.get_by_label("A note for the agent")).to_have_value("half a thou")
            expect(page.get_by_label("Say something to the agent")).to_have_value("and half a word")


def test_nothing_is_approved_that_has_just_moved(tmp_path: Path, browser: Browser) -> None:
    with talking(tmp_path, []) as world:
        session = world.session()
        asking(world, "execute_cmd", {"command": "make"}, session_id=session)
        with at(world, browser, session) as person:
            person.calm()
            world.service.messages.add(session, Message(Role.USER, (Text("news"),)))
            person.page.wait_for_selector("body.unsettled")


def test_a_subagents_work_is_opened_within_its_parents(tmp_path: Path, browser: Browser) -> None:
    with talking(tmp_path, []) as world:
        session = world.session()
        child = world.session(agent_id="helper", parent_id=session)
        asked = asking(world, "execute_cmd", {"command": "make deep"}, session_id=child)
        with at(world, browser, session) as person:
            page = person.page
            expect(page.locator(".below-box > summary")).to_contain_text("1 waits")
            page.locator(".below-box > summary").click()
            expect(person.card(asked)).to_contain_text("make deep")
            person.calm()
            person.card(asked).get_by_role("button", name="Approve", exact=True).click()
            until(lambda: world.get("/api/inbox")["total"] == 0, "the answer")
            expect(page.locator(".below-box")).to_contain_text("Approved by ada (console)")
            page.get_by_role("link", name="Its own page").click()
            page.wait_for_url(f"**/{child}")
            expect(page.locator("h1")).to_have_text("helper")


def test_the_list_is_live(tmp_path: Path, browser: Browser) -> None:
    with talking(tmp_path, []) as world, Person(world, browser) as person:
        person.page.goto(f"{world.url}{PAGE}")
        expect(person.page.locator("#rows")).to_contain_text("There is no session yet")
        person.page.wait_for_selector("[data-live=yes]")
        session = world.session(agent_id="claude")
        asking(world, "execute_cmd", {"command": "make"}, session_id=session)
        expect(person.page.locator(f"#session-{session}")).to_contain_text("1 waits")


@pytest.mark.parametrize("width", [360, 390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_screen(tmp_path: Path, browser: Browser, width: int, dark: bool) -> None:
    with talking(tmp_path, []) as world:
        session = world.session(agent_id="a" * 200, model="provider/" + "m" * 200)
        world.session(parent_id=session, agent_id="b" * 200)
        wide = "w" * 400
        made = (
            Message(Role.USER, (Text(wide),)),
            Message(Role.ASSISTANT, (Text(wide), Call("c1", "t" * 200, {"k" * 90: wide})), model="a/" + "b" * 200),
            Message(Role.TOOL, (Result("c1", (Text(wide),), "t"),)),
        )
        world.service.messages.add_all(session, made)
        asking(world, "execute_cmd", {"command": f"make {wide}"}, session_id=session)
        world.post(f"/api/sessions/{session}/bypasses", {"secs": 0}, 201)
        with Person(world, browser, width=width, dark=dark) as person:
            for path in (PAGE, f"{PAGE}/{session}"):
                person.page.goto(f"{world.url}{path}")
                for summary in person.page.locator("main details:not([data-part]) > summary").all():
                    summary.click()
                assert person.page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_the_page_says_when_its_login_is_over(tmp_path: Path, browser: Browser) -> None:
    with talking(tmp_path, []) as world:
        session = world.session()
        with at(world, browser, session) as person:
            for (token,) in world.rows("SELECT id FROM tokens"):
                world.store.revoke_token(token, by=BY)
            person.page.wait_for_url("**/login")
            person.complaints.clear()
