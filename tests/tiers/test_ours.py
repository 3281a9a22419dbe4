"""Our own shape of a message: written and read it is the same, and what is no message is refused with its place."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.tiers.dialects.json_values import DEEPEST
from stanch.tiers.dialects.ours import read_message, read_messages, write_message, write_messages
from stanch.values.fault import BadFields
from stanch.values.message import Call, File, Message, Opaque, Origin, Result, Role, SourceTag, Text
from tests.tiers.drawn_messages import messages

CANARY = "tok_5cz81qkd"
FULL = Message(
    Role.TOOL,
    (
        Text("hé\0\u202e", (SourceTag("/a", span=(0, 2)),), {"cache": {"ttl": "5m"}}),
        Call("c", "t", {"b": 1, "a": [1.0, None, True]}),
        Call("d", "t", "{no json"),
        Result(
            "c",
            (Text("x"), File("image/png", data="AA"), Opaque("k", {"z": 1})),
            "t",
            True,
            (SourceTag("/d", Origin.SUBTREE, below=("/d/x",), all_below=False),),
        ),
    ),
    id="7",
    model="a/b",
    extra={"k": "v"},
)
ROW: dict[str, Any] = {"role": "user", "parts": [{"type": "text", "text": "a"}]}


def text_of(message: Message) -> str:
    return json.dumps(write_message(message), ensure_ascii=False)


@given(messages(), st.text("0123456789", max_size=3))
def test_a_message_that_is_written_and_read_is_the_same(message: Message, number: str) -> None:
    message = replace(message, id=number)
    text = text_of(message)
    read = read_message(json.loads(text))
    assert read == message
    assert text_of(read) == text, "byte for byte, the order of keys too"


@given(st.lists(messages(), max_size=3))
def test_lists_are_the_same_too(drawn: list[Message]) -> None:
    assert read_messages(json.loads(json.dumps(write_messages(drawn)))) == drawn


def test_the_shape_is_what_it_says() -> None:
    assert write_message(FULL) == {
        "id": "7",
        "role": "tool",
        "model": "a/b",
        "parts": [
            {
                "type": "text",
                "text": "hé\0\u202e",
                "tags": [{"name": "/a", "span": [0, 2]}],
                "extra": {"cache": {"ttl": "5m"}},
            },
            {"type": "call", "id": "c", "tool": "t", "arguments": {"b": 1, "a": [1.0, None, True]}},
            {"type": "call", "id": "d", "tool": "t", "arguments": "{no json"},
            {
                "type": "result",
                "call_id": "c",
                "content": [
                    {"type": "text", "text": "x"},
                    {"type": "file", "media_type": "image/png", "data": "AA"},
                    {"type": "opaque", "kind": "k", "data": {"z": 1}},
                ],
                "tool": "t",
                "failed": True,
                "tags": [{"name": "/d", "origin": "subtree", "below": ["/d/x"], "all_below": False}],
            },
        ],
        "extra": {"k": "v"},
    }
    assert list(write_message(FULL)) == ["id", "role", "model", "parts", "extra"]
    assert type(write_message(FULL)["role"]) is str


def test_what_says_nothing_is_left_out() -> None:
    assert write_message(Message(Role.USER, (Text("a"),))) == ROW


def test_what_is_read_shares_nothing_that_could_change() -> None:
    row = {**ROW, "extra": {"deep": {"a": [1]}}}
    message = read_message(row)
    row["extra"]["deep"]["a"].append(2)
    assert message.extra == {"deep": {"a": [1]}}
    with pytest.raises(TypeError):
        message.extra["x"] = 1  # type: ignore[index]
    given = {"deep": {"a": [1]}}
    written = write_message(Message(Role.USER, (), extra=MappingProxyType(given)))
    written["extra"]["deep"]["a"].append(2)
    assert given == {"deep": {"a": [1]}}


def part(**fields: Any) -> dict[str, Any]:
    return {**ROW, "parts": [fields]}


DEEP: Any = "x"
for _ in range(DEEPEST + 1):
    DEEP = [DEEP]

WRONG: list[tuple[Any, str]] = [
    ([], "'the message' must be an object, got a list"),
    (None, "'the message' must be an object, got null"),
    ({"parts": []}, "'role' is missing"),
    ({"role": "user"}, "'parts' is missing"),
    ({**ROW, "role": "boss"}, "'role' must be one of system, user, assistant, tool"),
    ({**ROW, "role": 1}, "'role' must be a string, got a number"),
    ({**ROW, "parts": {}}, "'parts' must be a list, got an object"),
    ({**ROW, "parts": [CANARY]}, "'parts[0]' must be an object, got a string"),
    ({**ROW, "id": None}, "'id' must be a string, got null"),
    ({**ROW, "model": 5}, "'model' must be a string, got a number"),
    ({**ROW, "extra": []}, "'extra' must be an object, got a list"),
    ({**ROW, "extra": {"a": float("nan")}}, "'extra' holds a number that is not finite"),
    ({**ROW, "extra": {"a": DEEP}}, f"'extra' is nested deeper than {DEEPEST} levels"),
    ({**ROW, "extra": {"a": {1: 2}}}, "'extra' must be a string, got a number"),
    ({**ROW, "extra": {"a": object()}}, "'extra' must be made of what JSON has, got object"),
    ({**ROW, "Role": "user"}, "'Role' is unknown (known: id, role, model, parts, extra)"),
    ({**ROW, f"{CANARY} and more": 1}, "'…' is unknown"),
    ({**ROW, "type": "text"}, "'type' is unknown"),
    (part(text="a"), "'parts[0].type' is missing"),
    (part(type="words", text="a"), "'parts[0].type' must be one of text, reasoning, fragment, file, call, result, op"),
    (part(type=[]), "'parts[0].type' must be a string, got a list"),
    (part(type="text"), "'parts[0].text' is missing"),
    (part(type="text", text=None), "'parts[0].text' must be a string, got null"),
    (part(type="text", text="\ud800"), "'parts[0].text' holds what is no Unicode text"),
    (part(type="text", text="a", tag=[]), "'parts[0].tag' is unknown (known: text, tags, extra)"),
    (part(type="text", text="a", tags=[{}]), "'parts[0].tags[0].name' is missing"),
    (part(type="text", text="a", tags=[{"name": "/a", "origin": "web"}]), "'parts[0].tags[0].origin' must be one of"),
    (part(type="text", text="a", tags=[{"name": "/a", "span": [2, 1]}]), "'parts[0].tags[0].span' must be two whole"),
    (part(type="text", text="a", tags=[{"name": "/a", "span": [-1, 1]}]), "'parts[0].tags[0].span' must be two whole"),
    (part(type="text", text="a", tags=[{"name": "/a", "span": [0, 1, 2]}]), "'parts[0].tags[0].span' must be two"),
    (part(type="text", text="a", tags=[{"name": "/a", "span": [0, True]}]), "'parts[0].tags[0].span[1]' must be a wh"),
    (part(type="text", text="a", tags=[{"name": "/a", "below": "/b"}]), "'parts[0].tags[0].below' must be a list"),
    (part(type="text", text="a", tags=[{"name": "/a", "all_below": 1}]), "'parts[0].tags[0].all_below' must be true"),
    (part(type="call", id="c", tool="t", arguments=[]), "'parts[0].arguments' must be an object, got a list"),
    (part(type="call", id="c", tool="t", arguments=None), "'parts[0].arguments' must be an object, got null"),
    (part(type="result", call_id="c", content="x"), "'parts[0].content' must be a list, got a string"),
    (part(type="result", call_id="c", content=[], failed=0), "'parts[0].failed' must be true or false, got a number"),
    (
        part(type="result", call_id="c", content=[{"type": "call", "id": "c", "tool": "t", "arguments": {}}]),
        "'parts[0].content[0].type' must be one of text, file, opaque",
    ),
]


@pytest.mark.parametrize(("row", "problem"), WRONG)
def test_what_is_no_message_is_refused_with_its_place(row: Any, problem: str) -> None:
    with pytest.raises(BadFields) as caught:
        read_message(row)
    assert str(caught.value).startswith(problem)
    assert CANARY not in str(caught.value)
    ((field, _),) = caught.value.fields
    assert problem.startswith(f"'{field}'")


def test_of_a_list_the_message_is_named_too() -> None:
    for rows, problem in (
        ([ROW, part(type="text")], "'messages[1].parts[0].text' is missing"),
        ([ROW, 5], "'messages[1]' must be an object"),
        ({}, "'messages' must be a list"),
    ):
        with pytest.raises(BadFields) as caught:
            read_messages(rows)
        assert str(caught.value).startswith(problem)


def test_what_json_cannot_say_is_not_written() -> None:
    for parts, problem in (
        ((Text(5),), r"'parts\[0\].text' must be a string"),  # type: ignore[arg-type]
        ((Text("\ud800"),), r"'parts\[0\].text' holds what is no Unicode"),
        ((Call("c", "t", {"a": float("inf")}),), r"'parts\[0\].arguments' holds a number"),
        ((Call("c", "t", {"a": {1, 2}}),), r"'parts\[0\].arguments' must be made of what JSON has, got set"),
        ((Result("c", (Call("d", "t", {}),)),), r"'parts\[0\].content\[0\]' must be one of text"),  # type: ignore[arg-type]
        ((Text("a", (SourceTag("/a", span=(2, 1)),)),), r"'parts\[0\].tags\[0\].span' must be two"),
    ):
        with pytest.raises(BadFields, match=problem):
            write_message(Message(Role.USER, parts))
