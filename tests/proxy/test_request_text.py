"""A request's text read and written again, from the beginning or from where the one before it ended."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.app.request_text import Piece, json_text, read
from stanch.values.fault import BadInput

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
BODIES = st.dictionaries(WORDS | st.just("messages"), VALUES | st.lists(VALUES, max_size=6), max_size=5)
STYLES: list[dict[str, Any]] = [{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}]


@given(BODIES, st.sampled_from(STYLES))
def test_it_says_what_json_says(body: dict[str, Any], style: dict[str, Any]) -> None:
    raw = json.dumps(body, **style).encode()
    request = read(raw, "messages")
    assert request.whole() == body
    assert list(request.whole()) == list(body)
    assert request.written({}) == raw


@given(BODIES, st.lists(VALUES, max_size=4), st.lists(VALUES, max_size=4), BODIES, st.sampled_from(STYLES))
def test_going_on_is_reading_anew(
    head: dict[str, Any], said: list[Any], more: list[Any], tail: dict[str, Any], style: dict[str, Any]
) -> None:
    before = json.dumps({**head, "messages": said}, **style).encode()
    after = json.dumps({**head, "messages": said + more, **tail}, **style).encode()
    on, anew = read(after, "messages", read(before, "messages")), read(after, "messages")
    assert (on.body, on.items, on.places, on.spans, on.ends, on.end) == (
        anew.body,
        anew.items,
        anew.places,
        anew.spans,
        anew.ends,
        anew.end,
    )
    assert list(on.body) == list(anew.body)
    assert on.whole() == json.loads(after)


@given(BODIES, st.dictionaries(WORDS, VALUES, max_size=3), st.sets(st.integers(0, 5)), st.sampled_from(STYLES))
def test_what_is_another_is_and_all_else_is_not(
    body: dict[str, Any], values: dict[str, Any], at: set[int], style: dict[str, Any]
) -> None:
    request = read(json.dumps(body, **style).encode(), "messages")
    values.pop("messages", None)
    places = sorted(place for place in at if place < len(request.items))
    pieces = [Piece(place, place + 1, [b'"new"'] * (place % 3)) for place in places]
    got = json.loads(request.written(values, pieces))
    wanted = {**body, **values}
    if pieces:
        wanted["messages"] = [
            one
            for place, item in enumerate(body["messages"])
            for one in (["new"] * (place % 3) if place in places else [item])
        ]
    assert got == wanted
    assert list(got) == list(wanted)


def test_a_number_that_goes_on_is_another_one() -> None:
    before = read(b'{"messages":[1,2]}', "messages")
    assert read(b'{"messages":[1,23]}', "messages", before).items == [1, 23]


def test_a_key_that_stands_before_and_after() -> None:
    before = read(b'{"model":"a","messages":[1]}', "messages")
    with pytest.raises(BadInput, match="twice"):
        read(b'{"model":"a","messages":[1],"model":"b"}', "messages", before)


def test_half_a_letter_is_written_as_it_came() -> None:
    assert json_text({"a": "\ud800"}) == '{"a":"\\ud800"}'


def test_a_number_that_is_none_is_not_written() -> None:
    request = read(b'{"a":[1e999]}', "messages")
    with pytest.raises(BadInput):
        request.written({"b": request.body["a"]})
