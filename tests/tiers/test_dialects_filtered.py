"""After a filter took something out, a conversation is still one that its provider takes: types, pairs, order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.tiers.dialects import anthropic, chat, responses
from stanch.tiers.dialects.contents import LEFT_OUT
from stanch.tiers.history import redact_history
from stanch.values.decision import Effect
from stanch.values.message import Call, Message, Origin, Part, Reasoning, Result, Role, SourceTag, Text
from tests.tiers import sdk_shapes

SECRET = SourceTag("/repo/secrets/api.key")
READ = {
    "chat": chat.read_messages,
    "responses": responses.read_messages,
    "anthropic": anthropic.read_messages,
    "anthropic beta": anthropic.read_messages,
}


def written(name: str, messages: Sequence[Message]) -> Any:
    match name:
        case "chat":
            return chat.write_messages(messages)
        case "responses":
            return responses.write_messages(messages)[0]
        case _:
            return anthropic.write_messages(messages)[0]


def closed(name: str, _: Origin) -> Effect:
    return Effect.DENY if name == SECRET.name else Effect.ALLOW


def pairs(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """The ids of all calls and results, in order."""
    parts = [part for message in messages for part in message.parts]
    return [
        (type(part).__name__, part.id if isinstance(part, Call) else part.call_id)
        for part in parts
        if isinstance(part, (Call, Result))
    ]


def tagged(messages: Sequence[Message], chosen: Sequence[bool]) -> list[Message]:
    """The messages with the secret tag on the parts that were chosen, over and over in turn."""
    made, at = [], 0
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            parts.append(replace(part, tags=(SECRET,)) if chosen[at % len(chosen)] else part)
            at += 1
        made.append(replace(message, parts=tuple(parts)))
    return made


@pytest.mark.parametrize("name", READ)
def test_whatever_is_withheld_the_library_takes_the_rest(name: str) -> None:
    @given(sdk_shapes.drawn(name), st.lists(st.booleans(), min_size=1, max_size=8))
    def holds(given_: list[Any], chosen: list[bool]) -> None:
        messages = tagged(READ[name](given_), chosen)
        left = redact_history(messages, closed, "limited", quotes=False).messages
        out = written(name, left)
        sdk_shapes.check(name, out)
        again = READ[name](out)
        assert pairs(again) == pairs(messages)
        roles = [one.role for one in again if name.startswith(("chat", "anthropic"))]
        assert roles == [one.role for one in messages if name.startswith(("chat", "anthropic"))]

    holds()


def redacted(name: str, given_: Any, chosen: Sequence[bool]) -> Any:
    return written(name, redact_history(tagged(READ[name](given_), chosen), closed, "limited").messages)


PLACEHOLDER = (
    '[Content from /repo/secrets/api.key filtered — trust tier "limited" does not have read access]'  # as it is sent
)


def test_a_result_that_was_a_string_stays_one_and_keeps_its_call() -> None:
    given_ = [{"role": "tool", "tool_call_id": "c", "content": "KEY", "novel": 1}]
    assert redacted("chat", given_, [True])[0]["content"] == PLACEHOLDER
    assert redacted("chat", given_, [True])[0]["tool_call_id"] == "c"


def test_an_image_becomes_a_text_and_keeps_its_mark_for_the_cache() -> None:
    block = {
        "type": "image",
        "source": {"type": "url", "url": "https://a/b"},
        "cache_control": {"type": "ephemeral"},
    }
    out = redacted("anthropic", [{"role": "user", "content": [block]}], [True])
    assert out[0]["content"] == [{"type": "text", "text": PLACEHOLDER, "cache_control": {"type": "ephemeral"}}]


def test_a_result_of_a_tool_of_the_providers_says_that_it_failed() -> None:
    search = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result"}]}
    out = redacted("anthropic", [{"role": "assistant", "content": [search]}], [True])
    error = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    assert out[0]["content"] == [{**search, "content": error}, {"type": "text", "text": PLACEHOLDER}]


def test_a_message_of_nothing_but_signed_reasoning_is_not_empty() -> None:
    thought = {"type": "thinking", "thinking": "KEY", "signature": "s"}
    out = redacted("anthropic", [{"role": "assistant", "content": [thought]}], [True])
    assert out == [{"role": "assistant", "content": [{"type": "text", "text": LEFT_OUT}]}]
    emptied = [Message(Role.ASSISTANT, (), extra={"role": "assistant", "content": [None]})]
    assert written("anthropic", emptied) == out


def test_a_call_without_its_reasoning_loses_the_id_that_led_to_it() -> None:
    given_ = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "id": "fco_1", "call_id": "c", "output": "x"},
        {"type": "function_call", "id": "fc_2", "call_id": "d", "name": "f", "arguments": "{}"},
    ]
    out = redacted("responses", given_, [True, False, False, False])
    assert [(one["type"], one.get("id")) for one in out] == [
        ("function_call", None),
        ("function_call_output", "fco_1"),
        ("function_call", "fc_2"),
    ]


def test_a_screenshot_becomes_a_blank_one_and_a_word() -> None:
    shot = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}
    given_ = [{"type": "computer_call_output", "call_id": "c", "output": shot}]
    out = redacted("responses", given_, [True])
    assert [one.get("type") for one in out] == ["computer_call_output", None]
    assert out[0]["output"]["image_url"].startswith("data:image/png;base64,iVBOR")
    assert out[1] == {"role": "developer", "content": PLACEHOLDER}


def test_reasoning_of_several_texts_comes_apart_where_it_did() -> None:
    item = {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}],
        "content": [{"type": "reasoning_text", "text": "three"}],
    }
    message = responses.read_messages([item])[0]
    part = message.parts[0]
    assert isinstance(part, Reasoning)
    assert responses.write_messages([message])[0] == [item]
    shorter = replace(message, parts=(replace(part, text="less"),))
    assert json.dumps(responses.write_messages([shorter])[0]).count("less") == 1


def test_several_texts_where_a_string_was_become_blocks() -> None:
    message = chat.read_messages([{"role": "user", "content": "hi"}])[0]
    split = replace(message, parts=(Text("a"), Text("b")))
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert chat.write_messages([split]) == [{"role": "user", "content": blocks}]
