"""The real clients of OpenAI and Anthropic, told another address: they notice nothing, and nothing denied is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.runtime.scripted_reply import Reply, ToolUse, Words, say, use
from tests.http.served import until
from tests.proxy.worlds import KEY, SECRET, Proxied, scripted
from tests.tiers import sdk_shapes

HIDDEN = '[Content from {path} filtered — trust tier "no secrets" does not have read access]'
TOOL = {"type": "function", "function": {"name": "read_file", "parameters": {"type": "object", "properties": {}}}}
OWN = {"name": "Read", "description": "reads", "input_schema": {"type": "object", "properties": {}}}
ITEM = {"type": "function", "name": "read_file", "parameters": {"type": "object", "properties": {}}, "strict": False}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxied]:
    replies = [Reply((Words("I shall look. "), ToolUse("read_file", {"path": "README.md"}))), *[say("done")] * 9]
    with scripted(tmp_path, monkeypatch, replies) as made:
        yield made


def chat_with(path: str) -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}}
    return [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": SECRET},
        {"role": "assistant", "content": f"It says {SECRET}."},
        {"role": "user", "content": "go on"},
    ]


def messages_with(path: str) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": path}}
    return [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": SECRET}]},
        {"role": "assistant", "content": [{"type": "text", "text": f"It says {SECRET}."}]},
        {"role": "user", "content": "go on"},
    ]


def items_with(path: str) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "look"},
        {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": f'{{"path": "{path}"}}'},
        {"type": "function_call_output", "call_id": "c1", "output": SECRET},
        {"role": "assistant", "content": f"It says {SECRET}."},
        {"role": "user", "content": "go on"},
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_chat_completions(here: Proxied, stream: bool) -> None:
    client: Any = here.openai()
    asked = {"model": "open-1", "messages": [{"role": "user", "content": "hi"}], "tools": [TOOL], "stream": stream}
    answer = client.chat.completions.create(**asked)
    if stream:
        deltas = [choice.delta for chunk in answer for choice in chunk.choices]
        words = "".join(delta.content or "" for delta in deltas)
        names = [call.function.name for delta in deltas for call in delta.tool_calls or () if call.function.name]
    else:
        words = answer.choices[0].message.content
        names = [call.function.name for call in answer.choices[0].message.tool_calls]
    assert (words, names) == ("I shall look. ", ["read_file"])
    (got,) = here.models.requests
    assert got.headers["authorization"] == f"Bearer {KEY}"
    assert got.json() == asked | ({} if stream else {"stream": False})


@pytest.mark.parametrize("stream", [False, True])
def test_responses(here: Proxied, stream: bool) -> None:
    client: Any = here.openai()
    answer = client.responses.create(model="scripted/open-1", input="hi", tools=[ITEM], stream=stream)
    if stream:
        answer = list(answer)[-1].response
    assert [item.type for item in answer.output] == ["message", "function_call"]
    (got,) = here.models.bodies()
    assert got["model"] == "open-1"
    assert got["store"] is False


@pytest.mark.parametrize("stream", [False, True])
def test_messages(here: Proxied, stream: bool) -> None:
    client: Any = here.anthropic()
    asked = {"model": "open-1", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "tools": [OWN]}
    if stream:
        with client.messages.stream(**asked) as answering:
            answer = answering.get_final_message()
    else:
        answer = client.messages.create(**asked)
    assert [block.type for block in answer.content] == ["text", "tool_use"]
    (got,) = here.models.requests
    assert got.headers["x-api-key"] == KEY
    assert "authorization" not in got.headers
    assert got.headers["anthropic-version"]


@pytest.mark.parametrize("path", ["{repo}/secrets/k", "~/../{repo}/secrets/k", "{repo}/x/../secrets/k"])
@pytest.mark.parametrize("stream", [False, True])
def test_nothing_denied_is_sent(here: Proxied, path: str, stream: bool) -> None:
    path = path.replace("~/../{repo}", "{repo}").format(repo=here.workspace)
    line = HIDDEN.format(path=f"{here.workspace}/secrets/k")
    openais: Any = here.openai()
    theirs: Any = here.anthropic()
    for answer in (
        openais.chat.completions.create(model="closed-1", messages=chat_with(path), tools=[TOOL], stream=stream),
        openais.responses.create(model="closed-1", input=items_with(path), tools=[ITEM], stream=stream),
        theirs.messages.create(
            model="closed-1", max_tokens=9, messages=messages_with(path), tools=[OWN], stream=stream
        ),
    ):
        if stream:
            list(answer)
    assert b"SECRET-ROW" not in here.models.raw()
    assert b"0000-1111" not in here.models.raw()
    chat, items, messages = here.models.bodies()
    assert chat["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": line}
    assert items["input"][2]["output"] == line
    assert messages["messages"][2]["content"][0]["content"] == line
    assert line in chat["messages"][3]["content"]
    sdk_shapes.check("chat", chat["messages"])
    sdk_shapes.check("responses", items["input"])
    sdk_shapes.check("anthropic", messages["messages"])


def test_a_model_that_may_have_it_gets_it_again(here: Proxied) -> None:
    client: Any = here.openai()
    path = f"{here.workspace}/secrets/k"
    for model in ("open-1", "closed-1", "open-1"):
        client.chat.completions.create(model=model, messages=chat_with(path))
    first, second, third = here.models.bodies()
    assert first == third
    assert first["messages"] == chat_with(path)
    assert second["messages"] != first["messages"]


def test_a_relative_path_without_a_directory(here: Proxied) -> None:
    client: Any = here.openai()
    client.chat.completions.create(model="closed-1", messages=chat_with("README.md"))
    client.chat.completions.create(
        model="closed-1", messages=chat_with("README.md"), extra_headers={"X-Stanch-Cwd": here.workspace}
    )
    client.chat.completions.create(
        model="closed-1", messages=chat_with("k"), extra_headers={"X-Stanch-Cwd": f"{here.workspace}/secrets"}
    )
    client.chat.completions.create(
        model="closed-1", messages=chat_with("secrets/k"), extra_headers={"X-Stanch-Cwd": "/nowhere"}
    )
    unknown, known, below, elsewhere = (body["messages"][2]["content"] for body in here.models.bodies())
    assert unknown == HIDDEN.format(path="README.md")
    assert known == SECRET
    assert below == HIDDEN.format(path=f"{here.workspace}/secrets/k")
    assert elsewhere == HIDDEN.format(path="secrets/k")


def test_what_is_counted_is_filtered_too(here: Proxied) -> None:
    client: Any = here.anthropic()
    client.messages.count_tokens(model="closed-1", messages=messages_with(f"{here.workspace}/secrets/k"))
    (got,) = here.models.requests
    assert got.path == "/v1/messages/count_tokens"
    assert b"SECRET-ROW" not in got.raw


def test_a_side_request_for_a_title_is_filtered_too(here: Proxied) -> None:
    client: Any = here.anthropic()
    told = "Please write a title for this conversation."
    said = messages_with(f"{here.workspace}/secrets/k")
    client.messages.create(model="open-1", max_tokens=9, messages=said, tools=[OWN])
    client.messages.create(model="closed-small", max_tokens=9, system=told, messages=said)
    assert b"SECRET-ROW" not in here.models.requests[1].raw


def test_a_list_of_models_passes(here: Proxied) -> None:
    assert [one.id for one in here.openai().models.list()] == ["scripted"]
    assert [one.id for one in here.anthropic().models.list()] == ["scripted"]
    assert all(KEY in str(one.headers) for one in here.models.requests)


def test_a_call_that_the_rules_deny_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = '[[groups]]\nid = "default"\n[[groups.rules]]\ntool = "read_file"\npath = "secrets"\naction = "deny"\n'
    more += '[[groups.rules]]\ntool = "*"\naction = "allow"\n'
    replies = [use("read_file", path="secrets/k"), use("read_file", path="README.md")]
    with scripted(tmp_path, monkeypatch, replies, more) as here:
        client: Any = here.openai(default_headers={"X-Stanch-Cwd": here.workspace})
        for stream in (True, False):
            answer = client.chat.completions.create(
                model="open-1", messages=[{"role": "user", "content": "hi"}], tools=[TOOL], stream=stream
            )
            list(answer)
        here.world.service.close()
        until(lambda: bool(here.events("call.foreseen")), "the event")
        (event,) = here.events("call.foreseen")
        assert event.detail["tool"] == "read_file"
        assert event.detail["code"] == "rule"
