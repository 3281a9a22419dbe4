"""What a provider keeps for itself slips past nothing: references, hosted tools, other models, opaque pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from stanch.runtime.scripted_reply import Reply, Thought, ToolUse, Words, say
from tests.proxy.test_clients import HIDDEN, OWN, messages_with
from tests.proxy.worlds import SECRET, Proxied, raw, scripted, stream_of

ADDRESSES = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
HI = {"role": "user", "content": "hi"}
CALL = {"type": "tool_use", "id": "t", "name": "x", "input": {"file_id": "f"}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "no"}
REFERENCES: list[tuple[str, dict[str, Any]]] = [
    ("responses", {"previous_response_id": "resp_1"}),
    ("responses", {"conversation": "conv_1"}),
    ("responses", {"conversation": {"id": "conv_1"}}),
    ("responses", {"prompt": {"id": "pmpt_1"}}),
    ("responses", {"background": True}),
    ("responses", {"new_kind_of_id": "x"}),
    ("responses", {"tools": [{"type": "mcp", "server_label": "s", "server_url": "https://x"}]}),
    ("responses", {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}),
    ("responses", {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]}),
    ("responses", {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}),
    ("responses", {"tools": [{"type": "web_search"}]}),
    ("responses", {"input": [HI, {"type": "item_reference", "id": "msg_1"}]}),
    ("responses", {"input": [HI, {"id": "msg_1"}]}),
    ("responses", {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}]}),
    ("responses", {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]}]}),
    ("chat", {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "file_1"}}]}]}),
    ("chat", {"messages": [HI, {"role": "assistant", "audio": {"id": "audio_1"}}, HI]}),
    ("chat", {"web_search_options": {}}),
    ("chat", {"search_parameters": {"mode": "on"}}),
    ("chat", {"plugins": [{"id": "web"}]}),
    ("chat", {"tools": [{"type": "a_kind_of_next_month"}]}),
    ("chat", {"tools": [{"provider_search": {}}]}),
    ("responses", {"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "mcp", "server_label": "s"}]}]}),
    ("chat", {"models": ["open-1", "open-2"]}),
    ("messages", {"container": "c_1"}),
    ("messages", {"mcp_servers": [{"type": "url", "url": "https://x", "name": "x"}]}),
    ("messages", {"fallbacks": [{"model": "open-2"}]}),
    ("messages", {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]}),
    ("messages", {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]}),
    (
        "messages",
        {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}]},
    ),
    ("messages", {"messages": [{"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]}]}),
]


OF_CLIENTS = ("custom", "function", "memory_20250818", "text_editor_20250728", "computer_20250124", "tool_search_x")
OTHERS: list[tuple[str, Any]] = [
    ("fallbacks", [{"model": "closed-1"}]),
    ("models", ["open-2", "closed-1"]),
    ("fallbacks", [7]),
    ("preset", "p"),
    ("api_base", "http://127.0.0.1:1"),
    ("context_window_fallbacks", [{"open-1": ["closed-1"]}]),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxied]:
    with raw(tmp_path, monkeypatch) as made:
        yield made


def asked(dialect: str, model: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"model": model, "input" if dialect == "responses" else "messages": [HI], "store": False} | given


@pytest.mark.parametrize(("dialect", "given"), REFERENCES)
def test_refused_where_the_tier_closes_anything(here: Proxied, dialect: str, given: dict[str, Any]) -> None:
    for model in ("closed-1", "asks-1"):
        reply = here.http().post(ADDRESSES[dialect], json=asked(dialect, model, given))
        assert reply.status_code == 403, reply.text
        assert reply.json()["error"]["type"] == "permission_error"
    assert here.models.got == []


@pytest.mark.parametrize(("dialect", "given"), REFERENCES)
def test_passed_on_where_it_closes_nothing(here: Proxied, dialect: str, given: dict[str, Any]) -> None:
    body = json.dumps(asked(dialect, "open-1", given)).encode()
    assert here.http().post(ADDRESSES[dialect], content=body).status_code == 200
    assert here.models.got[0][2] == body


def test_a_reference_further_back_is_not_forgotten(here: Proxied) -> None:
    said = [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}, HI]
    client = here.http()
    for model, status in (("open-1", 200), ("closed-1", 403), ("open-1", 200), ("closed-1", 403)):
        said = [*said, {"role": "assistant", "content": "x"}, HI]
        assert client.post("/v1/responses", json={"model": model, "input": said}).status_code == status


def test_a_model_that_is_trusted_with_others_that_are_not(here: Proxied) -> None:
    for key, value in OTHERS:
        reply = here.http().post("/v1/messages", json=asked("messages", "open-1", {key: value}))
        assert reply.status_code == 403


def test_a_search_that_every_request_offers_is_taken_out(here: Proxied) -> None:
    tools = [{"type": "function", "name": "read_file", "parameters": {}}, {"type": "web_search"}]
    here.http().post("/v1/responses", json=asked("responses", "closed-1", {"tools": tools}))
    assert json.loads(here.models.got[0][2])["tools"] == tools[:1]


@pytest.mark.parametrize(
    "given",
    [
        {"messages": [HI, {"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]}]},
        {"metadata": {"user_id": "u"}},
        {"tools": [OWN]},
        {"tools": [{"type": "bash_20250124", "name": "bash"}]},
        {"tools": [{"type": kind, "name": "x"} for kind in OF_CLIENTS]},
        {"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "x"}]}]},
        {"plugins": [{"id": "file-parser"}], "enable_search": False},
        {"container": None, "mcp_servers": []},
    ],
)
def test_what_only_looks_alike_passes(here: Proxied, given: dict[str, Any]) -> None:
    assert here.http().post("/v1/messages", json=asked("messages", "closed-1", given)).status_code == 200


def test_keys_of_caches_never_span_two_tiers(here: Proxied) -> None:
    for model in ("open-1", "closed-1", "closed-2", "tight-1"):
        here.http().post("/v1/responses", json=asked("responses", model, {"prompt_cache_key": "mine"}))
    keys = [json.loads(body)["prompt_cache_key"] for _, _, body in here.models.got]
    assert keys[0] == "mine"
    assert keys[1] == keys[2] != keys[3]
    assert "mine" not in keys[1:]


def test_what_a_client_predicts_is_not_sent(here: Proxied) -> None:
    given = {"prediction": {"type": "content", "content": SECRET}}
    here.http().post("/v1/chat/completions", json=asked("chat", "closed-1", given))
    assert SECRET.encode() not in here.models.raw()


# --- opaque pieces ----------------------------------------------------------------------------------------------------


def test_a_model_gets_its_own_thoughts_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thinking = Reply((Thought("hm"), Words("I look"), ToolUse("Read", {"file_path": "/etc/hosts"})))
    with scripted(tmp_path, monkeypatch, [thinking, *[say("done")] * 9]) as here:
        client: Any = here.anthropic(default_headers={"x-claude-code-session-id": "s"})
        said = messages_with(f"{here.workspace}/secrets/k")
        with client.messages.stream(model="closed-1", max_tokens=9, messages=said, tools=[OWN]) as answering:
            own = [block.model_dump(exclude_none=True) for block in answering.get_final_message().content]
        said += [
            {"role": "assistant", "content": own},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": own[-1]["id"], "content": "x"}]},
        ]
        for model in ("closed-1", "tight-1", "closed-1"):
            client.messages.create(model=model, max_tokens=9, messages=said, tools=[OWN])
        _, same, other, again = here.models.bodies()
        assert same["messages"][5]["content"][0] == own[0]
        assert [block["type"] for block in other["messages"][5]["content"]] == ["text", "tool_use"]
        assert again == same


def test_thoughts_of_nobody_knows_whom_are_left_out(here: Proxied) -> None:
    said = messages_with(f"{here.workspace}/secrets/k")
    said[3]["content"].insert(0, {"type": "thinking", "thinking": "hm", "signature": "c2ln"})
    for model in ("closed-1", "open-1"):
        assert here.http().post("/v1/messages", json=asked("messages", model, {"messages": said})).status_code == 200
    closed, opened = (json.loads(body)["messages"][3]["content"] for _, _, body in here.models.got)
    assert [block["type"] for block in closed] == ["text"]
    assert [block["type"] for block in opened] == ["thinking", "text"]


@pytest.mark.parametrize("stream", [False, True])
def test_what_was_summed_up_is_the_tiers_that_it_was_made_under(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "b3BhcXVl"}

    def answer(_: Request, body: bytes) -> Response:
        if b"compact now" not in body:
            return JSONResponse({"output": []})
        if not stream:
            return JSONResponse({"output": [item]})
        return stream_of(b"data: " + json.dumps({"type": "response.output_item.done", "item": item}).encode() + b"\n\n")

    with raw(tmp_path, monkeypatch, answer) as here:
        client = here.http(**{"session-id": "s"})

        def ask(model: str, *items: Any) -> Any:
            client.post("/v1/responses", json=asked("responses", model, {"input": [*items, HI]}))
            return json.loads(here.models.got[-1][2])["input"][0]

        unknown = ask("closed-1", item)
        ask("closed-1", {"role": "user", "content": "compact now"})
        own, others, trusted = ask("closed-1", item), ask("tight-1", item), ask("open-1", item)
        assert own == trusted == item
        assert "b3BhcXVl" not in json.dumps([unknown, others])
        assert HIDDEN.format(path="earlier messages that are not here") in str(unknown)
