"""Each request that the proxy sends on leaves a receipt before it goes out; without one, nothing is sent."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from stanch.runtime.scripted_reply import say
from stanch.secrets.text import Secret
from stanch.storage.store import Store
from stanch.values.fault import StoreUnreadable
from tests.http.served import BY
from tests.proxy.worlds import Proxied, scripted

NAME, LABEL = "PAY_KEY", "{{PAY_KEY}}"


@pytest.fixture
def proxied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxied]:
    with scripted(tmp_path, monkeypatch, lambda _: say("done")) as made:
        yield made


def planted(proxied: Proxied) -> str:
    """The value of a secret in the vault."""
    value = f"pk-{secrets.token_urlsafe(18)}"
    proxied.world.service.vault.set(NAME, Secret(value), by=BY)
    return value


def said(proxied: Proxied) -> list[dict[str, Any]]:
    return [dict(one.detail) for one in proxied.events("model.sent")]


def read(path: str, content: str) -> list[Any]:
    """A conversation in which an agent has read a file."""
    call = {"id": "t1", "type": "function", "function": {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}}
    return [
        {"role": "user", "content": "read it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": content},
    ]


def test_a_request_leaves_one_and_only_what_is_new_is_told(proxied: Proxied) -> None:
    value = planted(proxied)
    client, session = proxied.openai(), {"x-stanch-session": "mine"}
    messages = read(f"{proxied.workspace}/notes.md", f"the key is {value}")
    client.chat.completions.create(model="scripted/open", messages=messages, extra_headers=session)
    messages += [{"role": "assistant", "content": "done"}, {"role": "user", "content": "more"}]
    client.chat.completions.create(model="scripted/open", messages=messages, extra_headers=session)
    first, second = said(proxied)
    path = f"{proxied.workspace}/notes.md"
    assert first["model"] == "scripted/open"
    assert {"name": path, "kind": "path", "secrets": [NAME]} in first["new"]
    assert first["secrets"] == {NAME: "redacted"}
    assert "new" not in second
    assert second["messages"] == 5
    assert proxied.world.service.audit.verify().broken is None


def test_another_model_of_the_session_is_told_of_what_it_is_sent_and_what_not(proxied: Proxied) -> None:
    client, session = proxied.openai(), {"x-stanch-session": "mine"}
    messages = read(f"{proxied.workspace}/secrets/plan.md", "the plan")
    for model in ("scripted/open", "scripted/closed"):
        client.chat.completions.create(model=model, messages=messages, extra_headers=session)
    first, second = said(proxied)
    path = f"{proxied.workspace}/secrets/plan.md"
    assert path in [one["name"] for one in first["new"]]
    assert path not in [one["name"] for one in second.get("new", ())]
    assert second["withheld"] == [path]


def test_what_stands_beside_the_messages_counts_too(proxied: Proxied) -> None:
    value = planted(proxied)
    tool = {"type": "function", "function": {"name": "t", "description": f"uses {value}", "parameters": {}}}
    messages: Any = [{"role": "user", "content": "hello"}]
    client: Any = proxied.openai()
    client.chat.completions.create(model="scripted/open", messages=messages, tools=[tool])
    (told,) = said(proxied)
    assert told["secrets"] == {NAME: "label"}


def test_one_that_is_counted_alone_says_so(proxied: Proxied) -> None:
    value = planted(proxied)
    proxied.anthropic().messages.count_tokens(
        model="scripted-a/open", messages=[{"role": "user", "content": f"it is {value}"}]
    )
    (told,) = said(proxied)
    assert told["counted"]
    assert told["labels"] == [NAME]


def test_without_a_receipt_nothing_is_sent(proxied: Proxied, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise StoreUnreadable("the disk is full")

    monkeypatch.setattr(Store, "append_receipts", failing)
    messages: Any = [{"role": "user", "content": "hello"}]
    with pytest.raises(openai.InternalServerError) as refused:
        proxied.openai().chat.completions.create(model="scripted/open", messages=messages)
    assert refused.value.status_code == 503
    assert not proxied.models.bodies()


def test_a_refused_request_leaves_none(proxied: Proxied) -> None:
    messages: Any = [{"role": "user", "content": "hello"}]
    with pytest.raises(openai.NotFoundError):
        proxied.openai().chat.completions.create(model="nowhere/model", messages=messages)
    assert not said(proxied)
