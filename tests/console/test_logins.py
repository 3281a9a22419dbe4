"""Logging in and out, who may, and where a form has to come from."""

from __future__ import annotations

import logging

import httpx2
import pytest

from stanch.surfaces.console.logins import LoginRefused, Logins
from stanch.values.identity import Principal
from tests.console.visitors import POLICY, Visitor, command, token_of
from tests.http.served import AGENTS, BY, CLIENT, KEY, WORKFLOW, World

PAGES = ("/console/inbox", "/console/inbox/cards", "/console/rules", "/console/rules?edit=new", "/console/bypasses")
EVERY = (*PAGES, "/console/audit", "/login")


def login(world: World, token: str, **headers: str) -> httpx2.Response:
    """What a login is answered with."""
    headers = {"Origin": world.url, **headers}
    return httpx2.post(f"{world.url}/login", data={"token": token}, headers=headers)


@pytest.mark.parametrize("path", [*PAGES, "/console/audit", "/console", "/console/stream"])
def test_nothing_is_shown_without_a_login(world: World, path: str) -> None:
    reply = httpx2.get(world.url + path)
    assert (reply.status_code, reply.headers["location"]) == (303, "/login")


def test_a_login_holds_a_random_id_that_scripts_and_other_sites_cannot_have(world: World) -> None:
    token = token_of(world)
    reply = login(world, token)
    assert (reply.status_code, reply.headers["location"]) == (303, "/console/inbox")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Max-Age=" in cookie
    assert token not in cookie


def test_a_wrong_token_is_told_so_and_is_in_no_answer_and_no_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = "stanch_" + "x" * 43
    with caplog.at_level(logging.DEBUG):
        for token in (wrong, "", "ü" * 50, "a" * 100_000):
            reply = login(world, token)
            assert reply.status_code == 403
            assert "This token opens nothing" in reply.text
            assert not token or token not in reply.text
            assert "set-cookie" not in reply.headers
    assert wrong not in caplog.text


@pytest.mark.parametrize("principal", [*AGENTS, CLIENT, WORKFLOW], ids=str)
def test_whoever_acts_for_a_model_does_not_get_in(world: World, principal: Principal) -> None:
    reply = login(world, token_of(world, principal))
    assert reply.status_code == 403
    assert "belongs to an agent" in reply.text
    assert "set-cookie" not in reply.headers


def test_a_persons_key_gets_in(world: World) -> None:
    assert login(world, token_of(world, KEY)).status_code == 303


def test_logging_out_ends_the_login(world: World, visitor: Visitor) -> None:
    visitor.send("/logout", 303)
    assert visitor.client.get("/console/inbox").status_code == 303


def test_a_revoked_token_ends_its_logins(world: World, visitor: Visitor) -> None:
    for (token,) in world.rows("SELECT id FROM tokens"):
        world.store.revoke_token(token, by=BY)
    assert visitor.client.get("/console/inbox").status_code == 303


def test_a_login_ends_by_itself(world: World) -> None:
    logins = Logins(world.service, longest=0)
    assert logins.find(logins.begin(token_of(world))) is None


def test_logins_are_known_by_digests_alone(world: World) -> None:
    logins = Logins(world.service)
    login_id = logins.begin(token_of(world))
    assert login_id not in repr(vars(logins))
    assert logins.find(login_id) is not None
    with pytest.raises(LoginRefused):
        logins.begin(login_id)


# --- headers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [*EVERY, "/console/static/console.js", "/console/static/nothing", "/console/rules?group=no"]
)
def test_every_page_says_what_it_may_load(visitor: Visitor, path: str) -> None:
    headers = visitor.client.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "static/console" in path or headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", EVERY)
def test_no_page_holds_a_script_or_a_style_of_its_own(world: World, path: str) -> None:
    with Visitor(world) as visitor:
        if path == "/login":
            visitor.send("/logout", 303)
        text = visitor.get(path)
    assert "<script>" not in text
    assert "<style" not in text
    assert " style=" not in text
    assert " onclick" not in text


# --- forms -----------------------------------------------------------------------------------------------------------

FORMS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/console/inbox/approvals/{id}", {"action": "approve"}),
    ("/console/rules/write", {"group": "default", "tool_pattern": "*", "action": "allow", "priority": "1"}),
    ("/console/rules/delete", {"rule": "1"}),
    ("/console/rules/groups", {"action": "create", "name": "mine"}),
    ("/console/bypasses/end", {"session": "s", "bypass": "b"}),
    ("/logout", {}),
)


@pytest.mark.parametrize(("path", "fields"), FORMS, ids=[path for path, _ in FORMS])
def test_a_form_that_no_page_of_this_login_sent_changes_nothing(
    world: World, visitor: Visitor, path: str, fields: dict[str, str]
) -> None:
    asked = command(world)
    path = path.format(id=asked.request_id)
    with Visitor(world) as other:
        before = world.dump()
        for headers, key in (
            ({"Origin": "http://evil.example"}, visitor.key),
            ({"Origin": "null"}, visitor.key),
            ({"Origin": ""}, visitor.key),
            ({"Sec-Fetch-Site": "cross-site"}, visitor.key),
            ({}, other.key),
            ({}, ""),
            ({}, "ü"),
        ):
            reply = visitor.client.post(path, data={**fields, "key": key}, headers=headers)
            assert reply.status_code == 403, (headers, key)
        reply = visitor.client.post(path, json={**fields, "key": visitor.key})
        assert reply.status_code == 415
    assert world.dump() == before


def test_a_form_without_an_origin_does_not_log_in(world: World) -> None:
    token = token_of(world)
    assert httpx2.post(f"{world.url}/login", data={"token": token}).status_code == 403
    assert login(world, token, Origin="http://evil.example").status_code == 403


def test_a_page_piece_is_sent_to_the_login_where_that_is_over(world: World, visitor: Visitor) -> None:
    visitor.send("/logout", 303)
    reply = visitor.client.get("/console/inbox/cards", headers={"HX-Request": "true"})
    assert (reply.status_code, reply.headers["hx-redirect"]) == (401, "/login")
