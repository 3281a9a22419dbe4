"""Is a scripted model, to the clients that providers publish, a model: whole and streaming, with tools and thoughts?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from stanch.runtime.scripted_asked import Dialect
from stanch.runtime.scripted_reply import Reply, Thought, ToolUse, Usage, Words, signature_of
from tests.fakes.model_server import ModelServer, model_server

THOUGHT = "First I look at it, then I say what it is."
SAID = "I read the file — ‘a b’ \n and that is all: \u2028 \U0001f600."
ARGUMENTS = {"path": "a b.txt", "deep": {"list": [1, None, "ü"]}}
REPLY = Reply(
    (Thought(THOUGHT), Words(SAID), ToolUse("read_file", ARGUMENTS), ToolUse("now", {})), Usage(100, 7, cached=40)
)
BODIES: dict[Dialect, dict[str, Any]] = {
    Dialect.CHAT: {"messages": [{"role": "user", "content": "hi"}], "stream_options": {"include_usage": True}},
    Dialect.RESPONSES: {"input": "hi", "include": ["reasoning.encrypted_content"]},
    Dialect.MESSAGES: {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 9},
}
WHOLE: dict[Dialect, TypeAdapter[Any]] = {
    Dialect.CHAT: TypeAdapter(ChatCompletion),
    Dialect.RESPONSES: TypeAdapter(Response),
    Dialect.MESSAGES: TypeAdapter(Message),
}
EVENT: dict[Dialect, TypeAdapter[Any]] = {
    Dialect.CHAT: TypeAdapter(ChatCompletionChunk),
    Dialect.RESPONSES: TypeAdapter(ResponseStreamEvent),
    Dialect.MESSAGES: TypeAdapter(RawMessageStreamEvent),
}


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with model_server(lambda _: REPLY, models=("small", "large")) as server:
        yield server


@pytest.fixture
def of_openai(models: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=models.openai_url, api_key="key", max_retries=0) as client:
        yield client


@pytest.fixture
def of_anthropic(models: ModelServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=models.url, api_key="key", max_retries=0) as client:
        yield client


@pytest.mark.parametrize("dialect", Dialect)
def test_a_whole_answer_has_the_shape_that_is_published(models: ModelServer, dialect: Dialect) -> None:
    # The clients build their objects without a check, so the check is made here.
    answer = httpx2.post(models.url + dialect, json={"model": "small"} | BODIES[dialect])
    WHOLE[dialect].validate_json(answer.content, strict=True)


@pytest.mark.parametrize("dialect", Dialect)
def test_every_event_has_the_shape_that_is_published(models: ModelServer, dialect: Dialect) -> None:
    answer = httpx2.post(models.url + dialect, json={"model": "small", "stream": True} | BODIES[dialect])
    assert answer.headers["content-type"].startswith("text/event-stream")
    frames = [frame.split("\n") for frame in answer.text.split("\n\n") if frame]
    if dialect is Dialect.CHAT:
        assert frames.pop() == ["data: [DONE]"]
    for *names, data in frames:
        event = json.loads(data.removeprefix("data: "))
        assert names == ([] if dialect is Dialect.CHAT else [f"event: {event['type']}"])
        if event.get("type") != "ping":
            EVENT[dialect].validate_json(data.removeprefix("data: "), strict=True)


def test_a_chat_completion(of_openai: openai.OpenAI) -> None:
    whole = of_openai.chat.completions.create(model="small", messages=[{"role": "user", "content": "hi"}])
    with of_openai.chat.completions.stream(
        model="small", messages=[{"role": "user", "content": "hi"}], stream_options={"include_usage": True}
    ) as stream:
        chunks = [event.chunk for event in stream if event.type == "chunk"]
        streamed = stream.get_final_completion()
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == SAID
    for answer in (whole.choices[0], streamed.choices[0]):
        assert (answer.message.content, answer.finish_reason) == (SAID, "tool_calls")
        assert (answer.message.model_extra or {})["reasoning_content"] == THOUGHT
        calls = [call.function for call in answer.message.tool_calls or () if call.type == "function"]
        assert [(call.name, json.loads(call.arguments)) for call in calls] == [("read_file", ARGUMENTS), ("now", {})]
    assert whole.usage == streamed.usage
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (100, 7)


def test_a_stream_of_chat_counts_no_tokens_unless_asked_to(of_openai: openai.OpenAI) -> None:
    with of_openai.chat.completions.create(
        model="small", messages=[{"role": "user", "content": "hi"}], stream=True
    ) as stream:
        assert all(chunk.usage is None and chunk.choices for chunk in stream)


def test_a_response(of_openai: openai.OpenAI) -> None:
    whole = of_openai.responses.create(model="small", input="hi", include=["reasoning.encrypted_content"])
    with of_openai.responses.stream(model="small", input="hi", include=["reasoning.encrypted_content"]) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        streamed = stream.get_final_response()
    assert "".join(deltas) == whole.output_text == streamed.output_text == SAID
    for answer in (whole, streamed):
        thought, _, *calls = answer.output
        assert thought.type == "reasoning"
        assert (thought.summary[0].text, thought.encrypted_content) == (THOUGHT, signature_of(THOUGHT))
        found = [(call.name, json.loads(call.arguments)) for call in calls if call.type == "function_call"]
        assert found == [("read_file", ARGUMENTS), ("now", {})]
        assert answer.usage is not None
        assert (answer.usage.input_tokens, answer.usage.input_tokens_details.cached_tokens) == (100, 40)


def test_a_tool_that_takes_one_text_is_called_with_one(models: ModelServer) -> None:
    body = {"model": "small", "input": "hi", "tools": [{"type": "custom", "name": "read_file"}]}
    whole = httpx2.post(f"{models.openai_url}/responses", json=body)
    answer = Response.model_validate_json(whole.content, strict=True)
    assert [item.type for item in answer.output] == ["reasoning", "message", "custom_tool_call", "function_call"]
    call = answer.output[2]
    assert call.type == "custom_tool_call"
    assert (call.name, json.loads(call.input)) == ("read_file", ARGUMENTS)
    streamed = httpx2.post(f"{models.openai_url}/responses", json=body | {"stream": True})
    lines = [line.removeprefix("data: ") for line in streamed.text.split("\n") if line.startswith("data: ")]
    events = [EVENT[Dialect.RESPONSES].validate_json(line, strict=True) for line in lines]
    deltas = [event.delta for event in events if event.type == "response.custom_tool_call_input.delta"]
    assert "".join(deltas) == call.input


def test_a_response_seals_no_thoughts_unless_asked_to(of_openai: openai.OpenAI) -> None:
    thought = of_openai.responses.create(model="small", input="hi").output[0]
    assert thought.type == "reasoning"
    assert thought.encrypted_content is None


def test_a_message(of_anthropic: anthropic.Anthropic) -> None:
    whole = of_anthropic.messages.create(model="small", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
    with of_anthropic.messages.stream(
        model="small", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
    ) as stream:
        assert "".join(stream.text_stream) == SAID
        streamed = stream.get_final_message()
    for answer in (whole, streamed):
        thought, words, *calls = answer.content
        assert thought.type == "thinking"
        assert (thought.thinking, thought.signature) == (THOUGHT, signature_of(THOUGHT))
        assert words.type == "text"
        assert (words.text, answer.stop_reason) == (SAID, "tool_use")
        found = [(call.name, call.input) for call in calls if call.type == "tool_use"]
        assert found == [("read_file", ARGUMENTS), ("now", {})]
        assert (answer.usage.input_tokens, answer.usage.cache_read_input_tokens) == (60, 40)


def test_lists_and_counts(models: ModelServer, of_openai: openai.OpenAI, of_anthropic: anthropic.Anthropic) -> None:
    assert [model.id for model in of_openai.models.list()] == ["small", "large"]
    assert [model.id for model in of_anthropic.models.list()] == ["small", "large"]
    assert of_openai.models.retrieve("large").id == of_anthropic.models.retrieve("large").id == "large"
    counted = of_anthropic.messages.count_tokens(model="small", messages=[{"role": "user", "content": "hi"}])
    assert counted.input_tokens > 0
    with pytest.raises(openai.NotFoundError, match="tiny"):
        of_openai.models.retrieve("tiny")
    with pytest.raises(anthropic.NotFoundError, match="tiny"):
        of_anthropic.models.retrieve("tiny")
    assert not models.asked
    assert len(models.requests) == 7


def test_two_servers_give_no_id_twice(models: ModelServer, of_openai: openai.OpenAI) -> None:
    def ids(client: openai.OpenAI) -> set[str]:
        answer = client.chat.completions.create(model="small", messages=[{"role": "user", "content": "hi"}])
        return {answer.id, *(call.id for call in answer.choices[0].message.tool_calls or ())}

    first, second = ids(of_openai), ids(of_openai)
    with (
        model_server([REPLY]) as others,
        openai.OpenAI(base_url=others.openai_url, api_key="key", max_retries=0) as other,
    ):
        assert len(first | second | ids(other)) == 9
