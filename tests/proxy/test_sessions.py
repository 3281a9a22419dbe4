"""A session of the proxy: what is known of its files, what persons answered in it, and what is told of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.app.proxy_sessions import foreign_session_id
from stanch.tiers.answers import Given
from stanch.values.call import EffectClass
from stanch.values.context import RunContext
from stanch.values.identity import Source
from tests.http.served import AGENT, BY, PERSON, until
from tests.proxy.test_clients import HIDDEN, chat_with, messages_with
from tests.proxy.worlds import SECRET, Proxied, raw

CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxied]:
    with raw(tmp_path, monkeypatch) as made:
        yield made


def last(here: Proxied) -> Any:
    return json.loads(here.models.got[-1][2])


def test_a_link_that_is_turned_later_hides_nothing(here: Proxied) -> None:
    link = here.world.workspace / "plain"
    link.symlink_to("secrets/k")
    said = chat_with(str(link))
    client = here.http()
    client.post(CHAT, json={"model": "open-1", "messages": said})
    link.unlink()
    link.write_text("harmless")
    said += [{"role": "assistant", "content": "x"}, {"role": "user", "content": "go on"}]
    client.post(CHAT, json={"model": "closed-1", "messages": said})
    assert SECRET not in str(last(here))
    assert last(here)["messages"][2]["content"] == HIDDEN.format(path=f"{here.workspace}/secrets/k")


def test_marks_for_a_cache_that_move_change_nothing(here: Proxied) -> None:
    link = here.world.workspace / "plain"
    link.symlink_to("secrets/k")
    said = messages_with(str(link))
    client = here.http()

    def ask(model: str) -> None:
        marked = json.loads(json.dumps(said))
        for message in marked[-2:]:
            if isinstance(message["content"], list):
                message["content"][-1]["cache_control"] = {"type": "ephemeral"}
        client.post(MESSAGES, json={"model": model, "max_tokens": 9, "messages": marked})

    ask("open-1")
    link.unlink()
    link.write_text("harmless")
    for number in range(4):
        said += [
            {"role": "assistant", "content": [{"type": "text", "text": f"x{number}"}]},
            {"role": "user", "content": [{"type": "text", "text": "go on"}]},
        ]
        ask("closed-1")
        assert SECRET not in str(last(here))


def test_two_conversations_of_one_session_do_not_mix(here: Proxied) -> None:
    client = here.http(**{"x-claude-code-session-id": "s"})
    secret, plain = chat_with(f"{here.workspace}/secrets/k"), chat_with(f"{here.workspace}/README.md")
    plain[0] = {"role": "user", "content": "another"}
    for _ in range(3):
        for said, sent in ((secret, False), (plain, True)):
            said += [{"role": "assistant", "content": "x"}, {"role": "user", "content": "go on"}]
            client.post(CHAT, json={"model": "closed-1", "messages": said})
            assert (SECRET in str(last(here)["messages"][2])) is sent


def test_a_history_that_was_rewritten_is_read_anew(here: Proxied) -> None:
    client = here.http(**{"session-id": "s"})
    for path, sent in (("README.md", True), ("secrets/k", False), ("README.md", True)):
        client.post(CHAT, json={"model": "closed-1", "messages": chat_with(f"{here.workspace}/{path}")})
        assert (SECRET in str(last(here))) is sent


def test_a_directory_that_a_person_gave(here: Proxied) -> None:
    session = here.world.service.sessions.create(
        agent_id="coder",
        source=Source.API,
        principal=AGENT,
        context=RunContext(working_directory="secrets"),
        by=BY,
    )
    for header in ({}, {"x-stanch-cwd": here.workspace}):
        client = here.http(AGENT, **{"x-stanch-session": session.id}, **header)
        client.post(CHAT, json={"model": "closed-1", "messages": chat_with("k")})
        assert SECRET not in str(last(here))
        client.post(CHAT, json={"model": "closed-1", "messages": chat_with("../README.md")})
        assert SECRET in str(last(here))


def test_a_directory_that_the_prompt_gives(here: Proxied) -> None:
    for folder, sent in ((here.workspace, True), (f"{here.workspace}/secrets", False), ("/elsewhere", False)):
        system = f"# Env\n - Primary working directory: {folder}\n - Is a git repository: Yes"
        body = {"model": "closed-1", "max_tokens": 9, "system": system, "messages": messages_with("README.md")}
        here.http().post(MESSAGES, json=body)
        assert (SECRET in str(last(here)["messages"][2])) is sent, folder


def test_what_persons_answered_where_a_tier_asks(here: Proxied) -> None:
    client = here.http(**{"thread-id": "t"})
    path = f"{here.workspace}/secrets/k"

    def is_sent() -> bool:
        client.post(CHAT, json={"model": "asks-1", "messages": chat_with(path)})
        return SECRET in str(last(here))

    assert not is_sent()
    session = foreign_session_id(PERSON, "t")
    for send in (True, False):
        here.world.store.add_tier_answers(session, [Given("asks", EffectClass.READ, path, send)], by=BY)
        assert is_sent() is send


def test_a_person_answers_for_a_conversation_that_is_not_stored(here: Proxied) -> None:
    client = here.http(**{"thread-id": "t"})
    path, session = f"{here.workspace}/secrets/k", foreign_session_id(PERSON, "t")
    body = {"model": "asks-1", "messages": chat_with(path)}
    client.post(CHAT, json=body)
    until(lambda: here.world.service.sessions.get(session).model is not None, "the session's model")
    assert here.world.get(f"/api/sessions/{session}/withheld")["asks"] == [path]
    here.world.post(f"/api/sessions/{session}/answers", {"send": [path]})
    client.post(CHAT, json=body)
    assert last(here)["messages"] == body["messages"]


def test_what_was_withheld_is_told_once_for_as_long_as_it_is_the_same(here: Proxied) -> None:
    client = here.http(**{"session-id": "s"})
    path = f"{here.workspace}/secrets/k"
    for _ in range(3):
        client.post(CHAT, json={"model": "closed-1", "messages": chat_with(path)})
    until(lambda: bool(here.events("session.withheld")), "the event")
    client.post(CHAT, json={"model": "open-1", "messages": chat_with(path)})
    (event,) = here.events("session.withheld")
    assert event.subject == foreign_session_id(PERSON, "s")
    assert event.detail["paths"] == [path]
    assert (event.detail["tier"], event.detail["withheld"], event.detail["quotes"]) == ("closed", 1, 1)
    assert SECRET not in str(event.detail)


def test_nothing_is_kept_of_a_conversation_that_nobody_named(here: Proxied) -> None:
    here.http().post(CHAT, json={"model": "closed-1", "messages": [{"role": "user", "content": "hi"}]})
    assert here.world.service.sessions.list(limit=10).total == 0


def test_the_model_of_a_session_is_the_one_that_has_the_tools(here: Proxied) -> None:
    client = here.http(**{"session-id": "s"})
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": {}}}]
    said = [{"role": "user", "content": "hi"}]
    for body in ({"model": "open-1", "tools": tools}, {"model": "open-small"}):
        client.post(CHAT, json={"messages": said, **body})
    session = foreign_session_id(PERSON, "s")
    until(lambda: here.world.service.sessions.get(session).model == "scripted/open-1", "the session's model")
