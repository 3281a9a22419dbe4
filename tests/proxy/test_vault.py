"""What goes on to a provider holds no value of the vault, wherever in a request it stood."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from stanch.secrets.text import Secret
from tests.http.served import BY
from tests.proxy.worlds import raw

VALUE = 'marker-of-"the"-value/4711'
BASE64 = base64.b64encode(b"x" + VALUE.encode()).decode()
HEX = VALUE.encode().hex()
MARKS = ("marker", BASE64[4:16], HEX[:16], "\\u006darker")


def chat() -> dict[str, Any]:
    """A request with a value in every place of it."""
    arguments = json.dumps({"text": VALUE, "deep": [{VALUE: VALUE}]})
    call = {"id": "c1", "type": "function", "function": {"name": "echo", "arguments": arguments}}
    return {
        "model": "open-1",
        "messages": [
            {"role": "system", "content": f"Never say {VALUE}."},
            {"role": "user", "name": "ada", "content": [{"type": "text", "text": f"{VALUE} {BASE64} {HEX}"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": f"a\n{VALUE}\nb"},
            {"role": "assistant", "content": VALUE, "refusal": VALUE, "odd": {"deep": [VALUE]}},
            {"role": "user", "content": "go on"},
        ],
        "tools": [{"type": "function", "function": {"name": "echo", "description": VALUE, "parameters": {}}}],
        "metadata": {"note": VALUE},
        "user": VALUE,
    }


def responses() -> dict[str, Any]:
    """The same in another API."""
    return {
        "model": "open-1",
        "instructions": f"Never say {VALUE}.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": f"{VALUE} {BASE64} {HEX}"}]},
            {"type": "function_call", "call_id": "c1", "name": "echo", "arguments": json.dumps({"text": VALUE})},
            {"type": "function_call_output", "call_id": "c1", "output": VALUE},
            {"role": "assistant", "content": VALUE},
            {"type": "odd_thing", "deep": [{"x": VALUE}]},
        ],
        "metadata": {"note": VALUE},
    }


def messages() -> dict[str, Any]:
    """The same in a third API."""
    return {
        "model": "open-1",
        "max_tokens": 5,
        "system": [{"type": "text", "text": VALUE, "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": f"{VALUE} {BASE64} {HEX}"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "echo", "input": {"x": VALUE}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": VALUE}]},
            {"role": "assistant", "content": [{"type": "text", "text": VALUE}]},
            {"role": "user", "content": [{"type": "text", "text": "go on"}]},
        ],
        "tools": [{"name": "echo", "description": VALUE, "input_schema": {"type": "object"}}],
        "metadata": {"user_id": VALUE},
    }


WAYS = [
    ("/v1/chat/completions", chat),
    ("/v1/responses", responses),
    ("/v1/responses/input_tokens", responses),
    ("/v1/messages", messages),
    ("/v1/messages/count_tokens", messages),
]


@pytest.mark.parametrize(("path", "request_of"), WAYS)
def test_no_value_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, request_of: Any) -> None:
    with raw(tmp_path, monkeypatch) as here:
        here.world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=BY)
        body = request_of()
        for text in (json.dumps(body), json.dumps(body).replace("marker", "\\u006darker")):
            assert here.http().post(path, content=text).status_code == 200
        assert len(here.models.got) == 2
        sent = here.models.raw().decode()
        assert [mark for mark in MARKS if mark in sent] == []
        for _, _, got in here.models.got:
            parsed = json.loads(got)
            assert got.decode().count("{{STRIPE_KEY}}") >= 6
            assert [*parsed] == [key for key in [*body, "store"] if key in parsed]
        shape = json.loads(here.models.got[0][2])
        listed = "input" if "input" in body else "messages"
        assert len(shape[listed]) == len(body[listed])


@pytest.mark.parametrize(("path", "request_of"), WAYS)
def test_what_holds_none_goes_on_as_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, request_of: Any
) -> None:
    with raw(tmp_path, monkeypatch) as here:
        here.world.service.vault.set("OTHER", Secret("some-other-value"), by=BY)
        text = json.dumps({**request_of(), "store": False}).encode()
        for _ in range(2):
            here.http().post(path, content=text)
        assert [got for _, _, got in here.models.got] == [text, text]


def test_a_beginning_that_stays_is_sent_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with raw(tmp_path, monkeypatch) as here:
        here.world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=BY)
        first, second = chat(), chat()
        second["messages"] += [{"role": "assistant", "content": VALUE}, {"role": "user", "content": "and?"}]
        for body in (first, second):
            here.http().post("/v1/chat/completions", content=json.dumps(body))
        one, two = (json.loads(got) for _, _, got in here.models.got)
        assert two["messages"][: len(one["messages"])] == one["messages"]
        assert two["messages"][-2]["content"] == "{{STRIPE_KEY}}"


@pytest.mark.parametrize(("path", "request_of"), WAYS)
def test_where_the_vault_cannot_be_opened_nothing_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, request_of: Any
) -> None:
    with raw(tmp_path, monkeypatch) as here:
        here.world.service.vault.set("STRIPE_KEY", Secret(VALUE), by=BY)
        here.world.service.vault.set("STRIPE_KEY", Secret("another-value"), by=BY)
        here.world.rows("DELETE FROM vault_values WHERE ended_at IS NULL")
        here.world.rows("UPDATE vault_values SET sealed = 's1.000000000000.AAAA'")
        reply = here.http().post(path, content=json.dumps(request_of()))
        assert reply.status_code >= 400
        assert here.models.got == []
        assert "marker" not in reply.text
