"""What an answer in the console is told, and where a card says that its call works."""

from __future__ import annotations

import html
import json

import httpx2
import pytest

from stanch.values.approval import CallState
from tests.console.visitors import Visitor, asking, audited, call_of, command
from tests.http.served import AGENT, BY, World


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("edit", {"arguments": json.dumps({"command": "make lint"})}),
        ("approve_session", {"bypass_scope": "category"}),
        ("approve", {"note": "another"}),
    ],
)
def test_another_answer_of_the_same_person_is_not_told_to_have_been_taken(
    world: World, visitor: Visitor, action: str, fields: dict[str, str]
) -> None:
    asked = command(world)
    visitor.answer(asked, "approve")
    said = visitor.answer(asked, action, 409, **fields)
    assert "Your answer came too late and changed nothing" in said
    assert "was approved by you" in said
    assert dict(call_of(world, asked).arguments) == {"command": "make test"}
    assert world.service.bypasses.list(asked.session_id) == ()


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("reject", {"note": "not today"}),
        ("approve_15", {"bypass_scope": "category"}),
        ("edit", {"arguments": json.dumps({"command": "make lint"})}),
    ],
)
def test_the_very_same_answer_once_more_is_told_what_came_of_it(
    world: World, visitor: Visitor, action: str, fields: dict[str, str]
) -> None:
    asked = command(world)
    first, second = (visitor.answer(asked, action, 200, **fields) for _ in range(2))
    assert first == second
    assert len(audited(world, asked.request_id)) == 1
    assert len(world.service.bypasses.list(asked.session_id)) == (action == "approve_15")


def test_a_card_says_where_its_call_works(world: World, visitor: Visitor) -> None:
    elsewhere = world.workspace / "elsewhere"
    elsewhere.mkdir()
    session = world.session()
    made = world.service.calls.submit(
        session, "execute_cmd", {"command": "make deploy; rm -rf build"}, cwd="elsewhere", by=BY
    )
    assert made.call.state is CallState.AWAITING_APPROVAL
    text = visitor.get("/console/inbox")
    assert f'works in <code dir="ltr">{elsewhere}</code>' in text
    shown = world.get(f"/api/inbox/approvals/{made.call.request_id}")
    assert shown["cwd"] == str(elsewhere)


def test_what_a_command_touches_in_another_directory_is_said_to_be_there(world: World, visitor: Visitor) -> None:
    (world.workspace / "deep").mkdir()
    asking(world, "execute_cmd", {"command": "cd deep && rm -rf build"})
    asking(world, "execute_cmd", {"command": "rm -rf other"})
    text = html.unescape(visitor.get("/console/inbox"))
    assert f'which is</span> <code dir="ltr">{world.workspace}/deep/build</code>' in text
    assert f"{world.workspace}/other" not in text


def test_what_an_agent_took_back_is_not_said_to_be_the_persons_doing(world: World, visitor: Visitor) -> None:
    principal = {"kind": "delegated", "id": "ada", "service_id": "coder"}
    session = world.session(principal=principal)
    asked = asking(world, "execute_cmd", {"command": "make test"}, session_id=session)
    assert world.client(AGENT).post(f"/api/calls/{asked.call_id}/cancel", json={}).status_code == 200
    said = visitor.get(f"/console/inbox/cards?shown={asked.request_id}")
    assert "was cancelled by coder for ada (http)" in said
    assert audited(world, asked.call_id)[-1] == ("coder for ada", "http", "call.cancel")
    assert "by coder for ada" in call_of(world, asked).reason["sentence"]


def test_the_narrowest_scope_is_the_one_that_is_ticked(world: World, visitor: Visitor) -> None:
    asking(world, "mcp__mail__send", {"to": "ada"})
    text = visitor.get("/console/inbox")
    ticked = text.index('name="bypass_scope" value="mcp_server" checked')
    assert ticked < text.index("calls of any MCP server") < text.index("calls of any kind")


def test_what_is_said_of_a_mistake_is_about_the_mistake(world: World, visitor: Visitor) -> None:
    asked = command(world)
    number = '{"command": "make", "n": ' + "9" * 5000 + "}"
    said = visitor.answer(asked, "edit", 422, arguments=number)
    assert "a number in them is too long" in said
    assert "sys." not in said
    said = visitor.answer(asked, "edit", 422, arguments='{"command": 5}')
    assert ">execute_cmd: the argument" in said
    assert "There is no group &#39;nope&#39;." in visitor.get("/console/rules?group=nope", 404)
    assert "There are too many fields" in visitor.get("/console/inbox/cards?" + "&".join(["shown=a"] * 300), 400)


def test_the_address_that_is_printed_leads_to_the_console(world: World, visitor: Visitor) -> None:
    assert visitor.client.get("/").headers["location"] == "/console/inbox"
    stranger = httpx2.get(f"{world.url}/")
    assert (stranger.status_code, stranger.headers["location"]) == (303, "/login")


def test_an_address_that_is_no_page_is_told_as_a_page_is(world: World, visitor: Visitor) -> None:
    for address in ("/console/nope", "/console/sessions/x/nope"):
        assert "There is no such page." in visitor.get(address, 404)
        stranger = httpx2.get(f"{world.url}{address}")
        assert (stranger.status_code, stranger.headers["location"].partition("?")[0]) == (303, "/login")


def test_a_page_holds_no_more_than_a_browser_can_show(world: World, visitor: Visitor) -> None:
    for _ in range(8):
        asking(world, "unheard_of", {"x": "\u200b" * 100_000})
        world.service.inbox.ask(world.session(), "\u200b" * 20_000, by=BY)
    text = visitor.get("/console/inbox")
    assert len(text) < 16_000_000
    assert 1 <= text.count('class="card request"') < 8
    assert "more wait behind these" in text
    assert "16 things wait for you" in text
