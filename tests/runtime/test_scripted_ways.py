"""Does a scripted model answer in the order of its script, and can it fail, wait and hang up as real ones do?"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from stanch.runtime.scripted_asked import Asked, Dialect
from stanch.runtime.scripted_reply import Reply, ToolUse, Words, fail, say, use
from tests.fakes.model_server import SECONDS, ModelServer, model_server

RESULT: dict[Dialect, dict[str, Any]] = {
    Dialect.CHAT: {
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "read"}, {"type": "text", "text": " it"}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}, {"id": "2"}]},
            {"role": "tool", "tool_call_id": "1", "content": "one"},
            {"role": "tool", "tool_call_id": "2", "content": "two"},
        ],
        "tools": [{"type": "function", "function": {"name": "read_file"}}],
    },
    Dialect.RESPONSES: {
        "instructions": "be brief",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "read it"}]},
            {"type": "function_call", "call_id": "1", "name": "read_file", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "one"},
            {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "two"}]},
        ],
        "tools": [{"type": "function", "name": "read_file"}],
    },
    Dialect.MESSAGES: {
        "system": [{"type": "text", "text": "be brief"}],
        "messages": [
            {"role": "user", "content": "read it"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "read_file", "input": {}}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "two"}]},
                ],
            },
        ],
        "tools": [{"name": "read_file", "input_schema": {}}],
    },
}


def text(models: ModelServer, said: str = "hi") -> str:
    answer = httpx2.post(
        f"{models.openai_url}/chat/completions", json={"messages": [{"role": "user", "content": said}]}
    )
    message = answer.json()["choices"][0]["message"]
    return str(message["content"])


def test_steps_come_in_their_order_and_end() -> None:
    with model_server([say("one"), lambda asked: say(asked.said[-1][1]), say("three")]) as models:
        assert [text(models, said) for said in ("a", "b", "c")] == ["one", "b", "three"]
        answer = httpx2.post(models.url + Dialect.CHAT, json={"messages": []})
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "the script ends before request 4")


def test_whoever_asks_at_once_gets_a_step_of_their_own() -> None:
    with model_server([say(str(number)) for number in range(24)]) as models, ThreadPoolExecutor(8) as pool:
        assert sorted(int(one) for one in pool.map(lambda _: text(models), range(24))) == list(range(24))


@pytest.mark.parametrize("dialect", Dialect)
def test_a_script_sees_the_same_conversation_in_every_dialect(dialect: Dialect) -> None:
    seen: list[Asked] = []

    def answers(asked: Asked) -> Reply:
        seen.append(asked)
        return say("ok")

    with model_server(answers) as models:
        httpx2.post(models.url + dialect, json={"model": "m", "stream": True} | RESULT[dialect])
    (asked,) = seen
    assert (asked.dialect, asked.model, asked.streams, asked.tools) == (dialect, "m", True, ("read_file",))
    assert asked.results == ("one", "two")
    spoken = [one for one in asked.said if one[0] != "tool"]
    assert spoken == [("system", "be brief"), ("user", "read it")]


def test_a_failed_assertion_of_a_script_fails_the_test() -> None:
    def answers(asked: Asked) -> Reply:
        raise AssertionError("not what was expected")

    with pytest.raises(AssertionError, match="not what was expected"), model_server(answers) as models:
        assert httpx2.post(models.url + Dialect.CHAT, json={}).status_code == 400


def test_every_request_is_kept_as_it_came() -> None:
    raw = b'{"model": "m",  "messages": [], "odd": "\\u0041"}'
    with model_server([say("ok")]) as models:
        httpx2.post(f"{models.url}/v1/messages?beta=true", content=raw, headers={"X-Api-Key": "key"})
        httpx2.get(f"{models.url}/elsewhere")
        first, second = models.requests
    assert (first.method, first.path, first.raw, first.headers["x-api-key"]) == ("POST", "/v1/messages", raw, "key")
    assert (second.method, second.path) == ("GET", "/elsewhere")
    assert models.asked == (first,)
    assert raw in models.raw()


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, anthropic.AuthenticationError), (429, anthropic.RateLimitError), (529, anthropic.OverloadedError)],
)
def test_an_error_is_one_to_anthropics_client(status: int, kind: type[anthropic.APIStatusError]) -> None:
    with (
        model_server([fail(status, "not now", retry_after="7")]) as models,
        anthropic.Anthropic(base_url=models.url, api_key="key", max_retries=0) as client,
        pytest.raises(kind, match="not now") as caught,
    ):
        client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
    assert caught.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, openai.AuthenticationError), (429, openai.RateLimitError), (503, openai.InternalServerError)],
)
def test_an_error_is_one_to_openais_client(status: int, kind: type[openai.APIStatusError]) -> None:
    with (
        model_server([fail(status, "not now")] * 2) as models,
        openai.OpenAI(base_url=models.openai_url, api_key="key", max_retries=0) as client,
    ):
        with pytest.raises(kind, match="not now"):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        with pytest.raises(kind, match="not now"):
            client.responses.create(model="m", input="hi")


def test_a_client_that_tries_again_gets_the_next_step() -> None:
    with (
        model_server([fail(500, "broken", retry_after_ms="1"), say("mended")]) as models,
        openai.OpenAI(base_url=models.openai_url, api_key="key", max_retries=1) as client,
    ):
        assert client.responses.create(model="m", input="hi").output_text == "mended"
        assert len(models.asked) == 2


@pytest.mark.parametrize("dialect", Dialect)
def test_a_stream_can_be_cut_anywhere(dialect: Dialect) -> None:
    reply = Reply((Words("some words that take several events"),))
    with model_server(lambda _: reply) as models:
        whole = httpx2.post(models.url + dialect, json={"stream": True}).text.split("\n\n")[:-1]
    for after in (0, 2, len(whole)):
        cut = Reply(reply.pieces, cut_after=after)
        with model_server([cut]) as models, httpx2.stream("POST", models.url + dialect, json={"stream": True}) as got:
            came: list[bytes] = []
            with pytest.raises(httpx2.RemoteProtocolError):
                came.extend(got.iter_bytes())
            assert b"".join(came).count(b"\n\n") == after


@pytest.mark.parametrize("dialect", Dialect)
def test_a_whole_answer_can_be_cut(dialect: Dialect) -> None:
    with model_server([Reply((Words("words"),), cut_after=0)]) as models, pytest.raises(httpx2.RemoteProtocolError):
        httpx2.post(models.url + dialect, json={})


def test_a_stream_can_end_in_an_error() -> None:
    reply = Reply((Words("some words that take several events"),), error_after=3, error="too much")
    with (
        model_server(lambda _: reply) as models,
        anthropic.Anthropic(base_url=models.url, api_key="key", max_retries=0) as of_anthropic,
        openai.OpenAI(base_url=models.openai_url, api_key="key", max_retries=0) as of_openai,
    ):
        with (
            pytest.raises(anthropic.APIStatusError, match="too much"),
            of_anthropic.messages.stream(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
            ) as messages,
        ):
            messages.until_done()
        with pytest.raises(openai.APIError, match="too much"):
            list(of_openai.responses.create(model="m", input="hi", stream=True))
        with pytest.raises(openai.APIError, match="too much"):
            list(
                of_openai.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}], stream=True)
            )


def test_a_reply_waits_at_its_gate_and_the_others_do_not() -> None:
    gate = threading.Event()

    def answers(asked: Asked) -> Reply:
        return Reply((Words("slow"),), gate=gate) if asked.said[-1][1] == "slow" else say("quick")

    with model_server(answers) as models, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(text, models, "slow")
        models.wait_for(1)
        assert text(models, "quick") == "quick"
        assert not slow.done()
        gate.set()
        assert slow.result(SECONDS) == "slow"


def test_a_stream_waits_at_its_gate() -> None:
    gate = threading.Event()
    reply = Reply((Words("some words that take several events"),), gate=gate, gate_after=3)
    with (
        model_server([reply]) as models,
        httpx2.stream("POST", models.url + Dialect.CHAT, json={"stream": True}, timeout=SECONDS) as got,
    ):
        chunks = got.iter_bytes()
        came = b""
        while came.count(b"\n\n") < 3:
            came += next(chunks)
        assert came.count(b"\n\n") == 3
        gate.set()
        assert b"".join(chunks).endswith(b"data: [DONE]\n\n")


def test_a_server_stops_while_a_reply_is_held_back() -> None:
    gate = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with model_server([Reply((Words("never"),), gate=gate)]) as models:
            waiting = pool.submit(text, models)
            models.wait_for(1)
        assert waiting.exception(SECONDS) is not None


def test_arguments_may_be_broken() -> None:
    broken = Reply((ToolUse("read_file", '{"path": '),))
    with (
        model_server(lambda _: broken) as models,
        openai.OpenAI(base_url=models.openai_url, api_key="key", max_retries=0) as client,
    ):
        item = client.responses.create(model="m", input="hi").output[0]
        assert item.type == "function_call"
        assert item.arguments == '{"path": '
        raw = httpx2.post(models.url + Dialect.MESSAGES, json={"stream": True}).text
        assert '{\\"path\\": ' in raw


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff"])
@pytest.mark.parametrize("dialect", Dialect)
def test_what_is_no_request_takes_no_step(dialect: Dialect, body: bytes) -> None:
    with model_server([say("first")]) as models:
        assert httpx2.post(models.url + dialect, content=body).status_code == 400
        assert text(models) == "first"


def test_a_call_may_come_with_words() -> None:
    with model_server([use("read_file", saying="I look.", path="a")]) as models:
        answer = httpx2.post(models.url + Dialect.MESSAGES, json={}).json()
    assert [block["type"] for block in answer["content"]] == ["text", "tool_use"]
    assert answer["content"][1]["input"] == {"path": "a"}
