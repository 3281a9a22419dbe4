"""What is no conversation is refused with the field and what was expected there, and nothing of what stood in it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.tiers.dialects import anthropic, chat, conversation, responses
from stanch.tiers.dialects.telling import shape_of
from stanch.values.fault import BadInput

SECRET = "hunter2-hunter2"
DEEP: Any = SECRET
for _ in range(5_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"role": "user"}, "messages must be a list, got an object"),
        ("text", "messages must be a list, got a string"),
        ([SECRET], "messages[0] must be an object, got a string"),
        ([{"content": SECRET}], "messages[0].role is missing"),
        ([{"role": SECRET, "content": ""}], "messages[0].role must be one of system,"),
        ([{"role": 3}], "messages[0].role must be a string, got a number"),
        ([{"role": "user", "content": 3}], "messages[0].content must be a string or a list of blocks, got a number"),
        ([{"role": "user", "content": [SECRET]}], "messages[0].content[0] must be an object, got a string"),
        ([{"role": "user", "content": [{"text": SECRET}]}], "messages[0].content[0].type is missing"),
        (
            [{"role": "user", "content": [{"type": "text", "text": [SECRET]}]}],
            "content[0].text must be a string, got a",
        ),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": SECRET}]}], "image_url must be an object"),
        ([{"role": "tool", "content": SECRET}], "messages[0].tool_call_id is missing"),
        ([{"role": "assistant", "tool_calls": {"a": SECRET}}], "messages[0].tool_calls must be a list, got an object"),
        (
            [{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}],
            "messages[0].tool_calls[0].id is missing",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"id": "c", "function": {}}]}],
            "tool_calls[0].function.name is missing",
        ),
        ([{"role": "user", "content": {1, 2}}], "a value in messages must be JSON, got 'set'"),
        ([{"role": "user", "content": "", 3: SECRET}], "a key in messages must be a string, got a number"),
        ([{"role": "user", "content": DEEP}], "messages is nested more than 200 deep"),
    ],
)
def test_chat(value: Any, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        chat.read_messages(value)
    assert says in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({}, "input must be a string or a list of items, got an object"),
        ([{}], "input[0] must be an item with a type, or a message with a role"),
        ([{"type": 3}], "input[0].type must be a string, got a number"),
        ([{"type": "message", "content": SECRET}], "input[0].role is missing"),
        ([{"role": "user", "content": None}], "input[0].content must be a string or a list of blocks, got null"),
        ([{"type": "function_call", "name": "f", "arguments": "{}"}], "input[0].call_id is missing"),
        (
            [{"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}],
            "arguments must be a string, got an",
        ),
        ([{"type": "function_call_output", "call_id": "c"}], "input[0].output is missing"),
        (
            [{"type": "shell_call_output", "call_id": "c", "output": SECRET}],
            "input[0].output must be a list, got a string",
        ),
        ([{"type": "reasoning", "id": "r", "summary": [{"type": "x"}]}], "input[0].summary[0].text is missing"),
    ],
)
def test_responses(value: Any, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        responses.read_messages(value)
    assert says in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (
            [{"role": "tool", "content": SECRET}],
            "messages[0].role must be one of user, assistant, system, got a string",
        ),
        ([{"role": "user"}], "messages[0].content is missing"),
        ([{"role": "user", "content": [{"type": "tool_use", "id": "c", "name": "f"}]}], "content[0].input is missing"),
        ([{"role": "user", "content": [{"type": "tool_result"}]}], "content[0].tool_use_id is missing"),
        ([{"role": "user", "content": [{"type": "image"}]}], "content[0].source is missing"),
        (
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": 7}]}],
            "content[0].content must be a string or a list of blocks, got a number",
        ),
    ],
)
def test_anthropic(value: Any, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        anthropic.read_messages(value)
    assert says in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("text", "the conversation must be a list of messages, or a request with one, got a string"),
        ({"model": "m"}, "with 'messages' or 'input'"),
        (
            [{"role": "tool", "content": ""}, {"role": "user", "content": [{"type": "tool_result"}]}],
            "messages[1] is of the shape anthropic messages, and messages[0] of the shape openai chat completions",
        ),
        (
            {"messages": [{"role": "tool", "content": ""}], "system": SECRET},
            "the request has 'system', but its messages are of the shape openai chat completions",
        ),
        ({"input": [], "system": SECRET}, "the request has 'system'"),
        ({"messages": [{"role": "user", "content": [{"type": "thinking"}]}], "instructions": SECRET}, "'instructions'"),
    ],
)
def test_what_is_of_no_shape_or_of_two(value: Any, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        conversation.read(value)
    assert says in str(caught.value)
    assert SECRET not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "id", "call_id", "tool_calls", "function", "output", "x"]
            ),
            inner | st.sampled_from(["user", "assistant", "tool", "text", "tool_result", "function_call", "reasoning"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=3) | JSON)
def test_nothing_but_the_fault_comes_of_junk(value: Any) -> None:
    for read in (shape_of, chat.read_messages, responses.read_messages, anthropic.read_messages, conversation.read):
        with suppress(BadInput):
            read(value)
