"""What is read from another program's conversation and written again is equal: same keys, same order, same types."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.tiers.dialects import anthropic, chat, conversation, responses
from stanch.tiers.dialects.telling import Shape, shape_of
from stanch.values.message import Message, Result, Text
from tests.tiers import sdk_shapes

SESSIONS = Path(__file__).parents[1] / "data" / "sessions"
Trip = Callable[[list[Any]], Any]


def _chat(messages: list[Any]) -> Any:
    return chat.write_messages(chat.read_messages(messages))


def _responses(items: list[Any]) -> Any:
    return responses.write_messages(responses.read_messages(items))[0]


def _anthropic(messages: list[Any]) -> Any:
    return anthropic.write_messages(anthropic.read_messages(messages))[0]


TRIPS: dict[str, Trip] = {
    "chat": _chat,
    "responses": _responses,
    "anthropic": _anthropic,
    "anthropic beta": _anthropic,
}


def same(one: Any, other: Any) -> bool:
    """True where both are the same JSON, down to the order of the keys."""
    return json.dumps(one) == json.dumps(other)


@pytest.mark.parametrize("name", TRIPS)
def test_whatever_the_libraries_may_send_comes_back(name: str) -> None:
    @given(sdk_shapes.drawn(name))
    def holds(messages: list[Any]) -> None:
        before = json.dumps(messages)
        assert json.dumps(TRIPS[name](messages)) == before
        assert json.dumps(messages) == before

    holds()


KEYS = st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1, max_size=6)
STRANGE = st.dictionaries(KEYS, st.none() | st.booleans() | st.integers() | st.text(max_size=5), max_size=3)


@pytest.mark.parametrize("name", ["chat", "responses", "anthropic"])
def test_keys_and_blocks_that_nobody_knows_come_back(name: str) -> None:
    @given(STRANGE, STRANGE, st.sampled_from(["novel", "hologram_v2", "x"]))
    def holds(around: dict[str, Any], inside: dict[str, Any], kind: str) -> None:
        block = {**inside, "type": kind, "deep": {"list": [1, {"a": None}, "text"]}}
        message = {**around, "role": "user", "content": [block, {"type": "text", "text": "hi", **around}]}
        message["content"][1]["type"], message["content"][1]["text"] = "text", "hi"
        message["role"] = "user"
        message.pop("type", None)
        assert same(TRIPS[name]([message]), [message])

    holds()


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "{}",
        '{"path":"a.py"}',
        '{"path": "a.py", "n": 1.50}',
        '{ "path" : "a.py" }',
        '{"a": 1, "a": 2}',
        '{"a": "\\u00e9"}',
        '{"a": "é"}',
        '{"a": 1e400}',
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        "[1, 2]",
        "null",
        "no JSON {",
        '{"a": ' * 5_000 + "1" + "}" * 5_000,
        '{"n": ' + "9" * 5_000 + "}",
    ],
)
def test_arguments_come_back_as_they_were_spelled(raw: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": raw}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert same(_chat([message]), [message])
    item = {"type": "function_call", "call_id": "c", "name": "f", "arguments": raw}
    assert same(_responses([item]), [item])


@pytest.mark.parametrize("file", ["anthropic-messages", "openai-chat", "openai-responses"])
def test_what_real_agents_sent_comes_back(file: str) -> None:
    given_ = json.loads((SESSIONS / f"{file}.json").read_text("utf-8"))
    read = conversation.read(given_)
    assert same(conversation.write(read, read.messages), given_)


def test_a_request_comes_back_with_all_that_is_around_its_messages() -> None:
    request = {
        "model": "m",
        "system": [{"type": "text", "text": "be kind", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"name": "Read"}],
        "max_tokens": 5,
    }
    read = conversation.read(request)
    assert read.shape is Shape.ANTHROPIC
    assert [type(part) for part in read.messages[0].parts] == [Text]
    assert same(conversation.write(read, read.messages), request)
    assert "be kind" not in json.dumps(read.around)


def test_input_and_instructions_that_are_strings_stay_strings() -> None:
    request = {"input": "hi", "instructions": "be kind", "model": "m"}
    read = conversation.read(request)
    assert read.shape is Shape.RESPONSES
    assert same(conversation.write(read, read.messages), request)


def test_an_extra_holds_nothing_that_a_part_holds() -> None:
    secret = "the one thing that must go"
    listed = {
        "chat": [
            {"role": "user", "content": [{"type": "text", "text": secret}]},
            {"role": "assistant", "content": secret, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": json.dumps({"a": secret})}},
                {"id": "d", "type": "custom", "custom": {"name": "f", "input": secret}}]},
            {"role": "tool", "tool_call_id": "c", "content": secret},
        ],
        "anthropic": [
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": secret, "signature": secret},
                {"type": "tool_use", "id": "c", "name": "f", "input": {"a": secret}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [
                {"type": "text", "text": secret},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": secret}}]}]},
        ],
        "responses": [
            {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": secret}],
             "encrypted_content": secret},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": json.dumps({"a": secret})},
            {"type": "function_call_output", "call_id": "c", "output": secret},
            {"type": "message", "role": "user", "content": [{"type": "input_image", "detail": "auto",
                                                             "image_url": f"data:image/png;base64,{secret}"}]},
        ],
    }  # fmt: skip
    for name, messages in listed.items():
        read = conversation.read(messages)
        for message in read.messages:
            extras = [message.extra, *(part.extra for part in message.parts)]
            extras += [one.extra for part in message.parts if isinstance(part, Result) for one in part.content]
            assert secret not in json.dumps([dict(extra) for extra in extras]), name


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ([], Shape.CHAT),
        ([{"role": "user", "content": "hi"}], Shape.CHAT),
        ([{"role": "developer", "content": "x"}, {"role": "tool", "tool_call_id": "c", "content": ""}], Shape.CHAT),
        ([{"role": "user", "content": [{"type": "input_text", "text": "x"}]}], Shape.RESPONSES),
        ([{"role": "user", "content": "x"}, {"type": "function_call_output"}], Shape.RESPONSES),
        ([{"role": "user", "content": "x"}, {"id": "item"}], Shape.RESPONSES),
        ([{"role": "user", "content": [{"type": "tool_result"}]}], Shape.ANTHROPIC),
        ([{"role": "user", "parts": []}], Shape.OURS),
        ({"messages": [{"role": "user", "content": "x"}], "system": "s"}, Shape.ANTHROPIC),
        ({"messages": [{"role": "user", "content": "x"}]}, Shape.CHAT),
        ({"input": []}, Shape.RESPONSES),
    ],
)
def test_shapes_are_told_apart(value: Any, shape: Shape) -> None:
    assert shape_of(value) is shape


def test_messages_of_ours_stay_ours() -> None:
    from stanch.tiers.dialects import ours

    messages = ours.write_messages([Message(chat.ROLES["user"], (Text("hi"),))])
    read = conversation.read(messages)
    assert read.shape is Shape.OURS
    assert same(conversation.write(read, read.messages), messages)
