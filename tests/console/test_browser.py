"""The inbox in a real browser."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, expect

from stanch.app.wiring import ADMINISTRATOR
from stanch.values.approval import ApprovalState, CallState
from tests.console.visitors import BOB, Person, Visitor, approval_of, asking, audited, call_of, command, resolved
from tests.http.served import BY, World, until


def test_a_new_request_appears_by_itself_and_is_approved(world: World, person: Person) -> None:
    expect(person.page.locator("#empty")).to_be_visible()
    asked = command(world, "make test")
    expect(person.card(asked)).to_be_visible()
    expect(person.page).to_have_title("(1) Inbox · Stanch")
    person.calm()
    person.card(asked).get_by_role("button", name="Approve", exact=True).click()
    assert resolved(world, asked).state is ApprovalState.APPROVED
    assert "You approved a call of execute_cmd" in person.said()
    expect(person.card(asked)).to_have_count(0)
    expect(person.page.locator("#empty")).to_be_visible()


def test_a_rejection_with_a_note(world: World, person: Person) -> None:
    asked = command(world)
    card = person.card(asked)
    card.locator("[data-reject] > summary").click()
    card.get_by_label("A note for the agent").fill("not on a Friday")
    card.get_by_role("button", name="Reject").click()
    found = resolved(world, asked)
    assert (found.state, found.note, found.surface) == (ApprovalState.REJECTED, "not on a Friday", "console")


def test_an_approval_for_fifteen_minutes_shows_its_scope_first(world: World, person: Person) -> None:
    session = world.session()
    asked = asking(world, "execute_cmd", {"command": "make test"}, session_id=session)
    card = person.card(asked)
    card.locator("[data-longer] > summary").click()
    expect(card.get_by_label("shell calls")).to_be_checked()
    person.calm()
    card.get_by_role("button", name="Approve for 15 minutes").click()
    resolved(world, asked)
    until(lambda: len(world.service.overview.bypasses()) == 1, "the bypass")
    later = world.service.calls.submit(session, "execute_cmd", {"command": "make lint"}, by=BY)
    assert later.call.state is CallState.PENDING
    person.page.goto(f"{world.url}/console/bypasses")
    person.page.get_by_role("button", name="End it").click()
    expect(person.page.get_by_text("None holds")).to_be_visible()


def test_an_edit_is_refused_in_place_and_then_approved(world: World, person: Person) -> None:
    asked = asking(world, "write_file", {"path": "a.md", "content": "x"})
    card = person.card(asked)
    card.locator("[data-edit] > summary").click()
    person.calm()
    for text, why in (
        ("{", "This is no JSON"),
        ('{"path": "secrets/key", "content": "x"}', "The edited call is refused"),
    ):
        card.locator("textarea").fill(text)
        card.get_by_role("button", name="Edit and approve").click()
        expect(card.get_by_role("alert")).to_contain_text(why)
        assert approval_of(world, asked).state is ApprovalState.OPEN
        expect(card.locator("textarea")).to_have_value(text)
        expect(card.locator("textarea")).to_be_focused()
    card.locator("textarea").fill(json.dumps({"path": "b.md", "content": "y"}))
    card.get_by_role("button", name="Edit and approve").click()
    until(lambda: approval_of(world, asked).state is not ApprovalState.OPEN, "an answer")


def test_a_double_click_answers_once(world: World, person: Person) -> None:
    asked, other = command(world), command(world, "make lint")
    expect(person.card(other)).to_be_visible()
    person.calm()
    person.card(asked).get_by_role("button", name="Approve", exact=True).dblclick()
    resolved(world, asked)
    expect(person.card(asked)).to_have_count(0)
    assert audited(world, asked.request_id) == [("ada", "console", "approval.approved")]
    # What moved up under the pointer is not answered by the second click.
    assert approval_of(world, other).state is ApprovalState.OPEN


def test_the_slower_one_is_told_who_won(world: World, person: Person) -> None:
    asked = command(world)
    expect(person.card(asked)).to_be_visible()
    person.calm()
    # The page does not hear of it in time.
    person.page.route("**/console/inbox/cards*", lambda route: route.abort())
    with Visitor(world, BOB) as bob:
        bob.answer(asked, "reject")
    person.card(asked).get_by_role("button", name="Approve", exact=True).click()
    expect(person.page.locator("#said")).to_contain_text("came too late and changed nothing")
    assert "rejected by bob (console)" in person.said()
    assert approval_of(world, asked).state is ApprovalState.REJECTED
    person.complaints.clear()


def test_what_somebody_else_answered_goes_away_and_is_said(world: World, person: Person) -> None:
    asked = command(world)
    expect(person.card(asked)).to_be_visible()
    with Visitor(world, BOB) as bob:
        bob.answer(asked, "approve")
    expect(person.card(asked)).to_have_count(0)
    assert "was approved by bob (console)" in person.said()


def test_what_a_person_is_writing_outlives_news(world: World, person: Person) -> None:
    asked = command(world)
    card = person.card(asked)
    card.locator("[data-reject] > summary").click()
    card.get_by_label("A note for the agent").fill("half a thou")
    news = command(world, "make lint")
    expect(person.card(news)).to_be_visible()
    expect(card.get_by_label("A note for the agent")).to_have_value("half a thou")
    expect(card.get_by_label("A note for the agent")).to_be_focused()


def test_a_question_is_answered(world: World, person: Person) -> None:
    asked = world.service.inbox.ask(world.session(), "Which branch?", choices=["main", "next"], by=BY)
    expect(person.page.get_by_role("button", name="next")).to_be_visible()
    person.calm()
    person.page.get_by_role("button", name="next").click()
    until(lambda: world.service.overview.question(asked.request_id).answer == "next", "the answer")


# --- keyboard --------------------------------------------------------------------------------------------------------


def test_the_keyboard_moves_and_approves_with_a_second_key(world: World, person: Person) -> None:
    first, second = command(world, "make a"), command(world, "make b")
    expect(person.card(second)).to_be_visible()
    person.calm()
    press = person.page.keyboard.press
    press("j")
    expect(person.card(first)).to_be_focused()
    press("j")
    expect(person.card(second)).to_be_focused()
    press("k")
    press("a")
    expect(person.card(first).get_by_role("button", name="Approve")).to_be_focused()
    assert approval_of(world, first).state is ApprovalState.OPEN
    press("Enter")
    assert resolved(world, first).state is ApprovalState.APPROVED
    expect(person.card(first)).to_have_count(0)
    expect(person.card(second)).to_be_focused()
    press("r")
    person.page.keyboard.type("no, j and a are letters here")
    press("Enter")
    found = resolved(world, second)
    assert (found.state, found.note) == (ApprovalState.REJECTED, "no, j and a are letters here")


def test_no_key_alone_approves(world: World, person: Person) -> None:
    asked = command(world)
    expect(person.card(asked)).to_be_visible()
    for key in ("Enter", " ", "a", "y", "Enter"):
        person.page.locator("h1").click()
        person.page.keyboard.press(key)
    person.page.keyboard.press("j")
    person.page.keyboard.press("Enter")
    assert approval_of(world, asked).state is ApprovalState.OPEN


def test_what_has_just_appeared_cannot_be_approved_yet(world: World, person: Person) -> None:
    """Pressed by a script at the very moment, as a click that was meant for something else would be."""
    person.page.evaluate(
        """() => new MutationObserver((_, watching) => {
            const button = document.querySelector("[data-approve]");
            if (button) { watching.disconnect(); button.click(); document.body.dataset.pressed = "yes"; }
        }).observe(document.querySelector("#cards"), {childList: true, subtree: true})"""
    )
    asked = command(world)
    person.page.wait_for_selector("body[data-pressed]")
    person.calm()
    assert approval_of(world, asked).state is ApprovalState.OPEN
    assert call_of(world, asked).state is CallState.AWAITING_APPROVAL


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_hostile_text_is_seen_and_does_nothing(world: World, person: Person) -> None:
    text = 'echo "\u202egnp.exe" \u200b <script>document.title = "owned"</script><img src=x onerror=alert(1)>'
    asked = command(world, text)
    card = person.card(asked)
    expect(card.locator(".command .odd").first).to_have_text("\\u202e")
    expect(card.locator(".command")).to_contain_text("<script>")
    assert person.page.locator("#cards script, #cards img").count() == 0
    assert "owned" not in person.page.title()


def test_right_to_left_letters_stand_in_the_order_in_which_they_are_run(world: World, person: Person) -> None:
    asked = command(world, "rm אב/גד")
    row = person.card(asked).locator(".command .row").first
    expect(row).to_be_visible()
    places = row.evaluate(
        """(row) => { const text = row.firstChild; return [3, 4, 5, 6, 7].map((at) => {
            const range = document.createRange(); range.setStart(text, at); range.setEnd(text, at + 1);
            return range.getBoundingClientRect().left; }); }"""
    )
    assert places == sorted(places)


@pytest.mark.parametrize("width", [360, 390, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_screen(world: World, browser: Browser, width: int, dark: bool) -> None:
    command(world, "curl https://example.com/" + "a" * 300 + " && make " + "b" * 200)
    asking(world, "mcp__github__create_issue", {"title": "x" * 300, "body": "y\n" * 30})
    with Person(world, browser, width=width, dark=dark) as person:
        for path in ("inbox", "rules", "rules?edit=1", "bypasses", "audit"):
            person.page.goto(f"{world.url}/console/{path}")
            assert person.page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_every_page_is_in_the_bar_of_a_wide_screen_also_for_the_first_one_who_logs_in(
    world: World, browser: Browser
) -> None:
    command(world)
    with Person(world, browser, ADMINISTRATOR) as person:
        assert person.page.locator(".top nav").evaluate("nav => nav.scrollWidth - nav.clientWidth") == 0


def test_the_page_says_when_it_is_not_live_any_more(world: World, person: Person) -> None:
    expect(person.page.locator("#live")).to_have_text("live")
    for (token,) in world.rows("SELECT id FROM tokens"):
        world.store.revoke_token(token, by=BY)
    person.page.wait_for_url("**/login")
    person.complaints.clear()


# --- rules -----------------------------------------------------------------------------------------------------------


def test_rules_are_edited_linted_and_tried(world: World, person: Person) -> None:
    page = person.page
    page.goto(f"{world.url}/console/rules")
    page.get_by_role("link", name="Add a rule").click()
    page.get_by_label("Tool", exact=True).fill("Raed")
    page.get_by_label("Priority").fill("20")
    page.get_by_role("button", name="Save").first.click()
    expect(page.locator(".finding")).to_contain_text("did you mean 'Read'")
    made = max(row[0] for row in world.rows("SELECT id FROM rules"))
    page.locator(f"#rule-{made}").get_by_role("link", name="Edit").click()
    page.get_by_label("Tool", exact=True).fill("execute_cmd")
    page.get_by_label("Command for shell calls").fill("git push *")
    page.locator("select[name=action]").select_option("deny")
    page.get_by_label("Priority").fill("1")
    page.get_by_role("button", name="Save").first.click()
    expect(page.locator(".finding")).to_have_count(0)
    page.get_by_label("A shell command").fill("cd docs && git push origin main")
    page.get_by_role("button", name="Ask the gate").click()
    expect(page.locator(".verdict")).to_contain_text("denied")
    expect(page.locator("#tried")).to_contain_text(f"Rule {made} of default")
    expect(page.locator("#tried")).to_contain_text("git push origin main")
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator(f"#rule-{made}").get_by_role("button", name="Remove").click()
    expect(page.locator(f"#rule-{made}")).to_have_count(0)
    assert not world.rows(f"SELECT id FROM rules WHERE id = {made}")


def test_the_log_is_verified_in_place(world: World, person: Person) -> None:
    person.page.goto(f"{world.url}/console/audit")
    person.page.get_by_role("button", name="Verify the log").click()
    expect(person.page.locator("#verified")).to_contain_text("The log is whole")


def test_a_plan_is_answered_as_one_and_no_single_key_does_it(world: World, person: Person) -> None:
    calls = [{"tool": "execute_cmd", "arguments": {"command": f"make {at}"}} for at in range(3)]
    said = world.post("/api/judge/plan", {"session_id": world.session(), "calls": calls, "submit": True})
    page = person.page
    page.wait_for_selector("form.plan")
    person.calm()
    page.locator("form.plan input[name=note]").fill("fine")
    page.locator("form.plan input[name=note]").press("Enter")
    page.locator("form.plan input[name=call]").nth(1).focus()
    page.keyboard.press("Enter")
    assert [world.store.get_call(one["call_id"]).state.value for one in said] == ["awaiting_approval"] * 3
    page.locator("form.plan input[name=call]").nth(1).uncheck()
    page.click("form.plan button.approve")
    assert "You approved calls 1, 3 of a plan." in person.said()
    page.wait_for_selector("form.plan", state="detached")
    assert page.locator("[data-card]").count() == 1
    assert [world.store.get_call(one["call_id"]).state.value for one in said] == [
        "pending",
        "awaiting_approval",
        "pending",
    ]
