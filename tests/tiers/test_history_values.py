"""Do arguments, and what stands beside the words, keep their form and nothing else; are spans cut where they are?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.tiers.history_spans import Span, cut, fits, merged, moved
from stanch.tiers.history_values import (
    form_alone,
    loose_strings,
    loosely_rewritten,
    rewritten,
    rewritten_arguments,
    strings,
    without_words,
)
from stanch.values.message import Message, Origin, Reasoning, Result, Role, SourceTag, Text, mark_of, signer_mark
from tests.tiers.drawn_messages import JSON, TABLES, messages

WORDS = "[gone]"


@pytest.mark.parametrize(
    ("name", "value", "stays"),
    [
        ("path", "/repo/a b.txt", True),
        ("file_path", "src/a.py", True),
        ("filePath", "~/notes", True),
        ("target_directory", "./x y", True),
        ("paths", ["a/b", "c.txt"], True),
        ("path", "A earns 1", False),
        ("path", "/repo/a\nA earns 1", False),
        ("path", "/" + "x" * 5000, False),
        ("profile", "/etc/x", False),
        ("content", "/etc/x", False),
        ("pathology", "/etc/x", False),
        ("mode", 420, True),
        ("all", True, True),
        ("note", None, True),
        ("empty", "", True),
    ],
)
def test_which_arguments_stay(name: str, value: Any, stays: bool) -> None:
    left = without_words({name: value}, WORDS)
    assert left == {name: value if stays else WORDS}


@given(TABLES)
def test_no_text_of_the_arguments_is_left(arguments: dict[str, Any]) -> None:
    left = without_words(arguments, WORDS)
    json.dumps(left)
    assert isinstance(left, dict)
    kept = {one for one in strings(list(left.values())) if one not in ("", WORDS)}
    named = {key for value in left.values() for key in _keys(value)}
    assert all("/" in one or "." in one or one.startswith("~") for one in kept - named)


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for inner in value.values() for key in _keys(inner)}
    return {key for inner in value for key in _keys(inner)} if isinstance(value, list) else set()


def test_a_name_that_could_be_content_is_no_name() -> None:
    assert without_words({"A earns 1 a year": 1}, WORDS) == {"filtered": WORDS}
    assert without_words({"rows": {"A earns 1": 2}}, WORDS) == {"rows": WORDS}


@pytest.mark.parametrize("text", ["A earns 1", "[1]", '{"a": ', "", "[" * 100_000])
def test_a_text_becomes_one_that_holds_an_object(text: str) -> None:
    left = without_words(text, WORDS)
    assert isinstance(left, str)
    assert json.loads(left) == {"filtered": WORDS}


def test_form_is_kept_by_its_names_alone() -> None:
    extra = {"type": "tool_result", "id": "t_1", "status": "A earns 1 euro, and B earns 2", "n": 3, "words": "t_1"}
    kept = {"type": "tool_result", "id": "t_1", "status": WORDS, "n": 3, "words": WORDS}
    assert form_alone(extra, WORDS) == kept


@given(JSON)
def test_a_value_in_which_nothing_changes_is_the_very_same(value: Any) -> None:
    assert rewritten(value, lambda text: text) is value


@given(JSON)
def test_every_string_is_changed_and_the_form_stays(value: Any) -> None:
    made = rewritten(value, lambda text: text + "!")
    assert sorted(strings(made)) == sorted(text + "!" for text in strings(value))


FORM = "advisor_tool_result_error"


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"type": FORM, "said": FORM}, {"type": FORM, "said": "!"}),
        ({"cache_creation_input_tokens": 3}, {"cache_creation_input_tokens": 3}),
        ({"parts": [{"id": FORM, "text": [FORM]}]}, {"parts": [{"id": FORM, "text": ["!"]}]}),
        ({"type": "A earns 1, as I have read"}, {"type": "!"}),
        ({"A earns 1 a year": 1}, {"!": 1}),
        ({"type": "x", "input": {"type": FORM, "cache_read": 1}}, {"type": "x", "input": {"type": "!", "!": 1}}),
        ([FORM, {"role": FORM}], ["!", {"role": FORM}]),
    ],
)
def test_what_is_a_matter_of_form_is_no_words(value: Any, left: Any) -> None:
    def change(text: str) -> str:
        return text if len(text) < 5 else "!"

    before = json.dumps(value)
    assert loosely_rewritten(value, change) == left
    assert json.dumps(value) == before
    assert ("!" in json.dumps(left)) is any(change(text) != text for text in loose_strings(value))


@given(JSON)
def test_what_is_changed_is_what_is_searched(value: Any) -> None:
    met: list[str] = []

    def change(text: str) -> str:
        met.append(text)
        return text

    assert loosely_rewritten(value, change) is value
    assert sorted(met) == sorted(loose_strings(value))


def test_keys_that_become_alike_are_all_kept() -> None:
    made = rewritten({"a": 1, "b": 2, "x": 3}, lambda text: "x" if text in "ab" else text)
    assert sorted(made.values()) == [1, 2, 3]


def test_a_text_with_an_object_holds_one_afterwards() -> None:
    raw = '{ "words" : "say \\"it\\"" }'
    made = rewritten_arguments(raw, lambda text: text.replace('"it"', '"that"'))
    assert isinstance(made, str)
    assert json.loads(made) == {"words": 'say "that"'}
    assert rewritten_arguments(raw, lambda text: text) is raw


# --- spans -----------------------------------------------------------------------------------------------------------

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted), max_size=6)


@given(st.text("ab \n", min_size=30, max_size=30), SPANS)
def test_what_is_cut_is_gone_and_the_rest_is_there_in_order(text: str, drawn: list[list[int]]) -> None:
    spans = merged([Span(start, end, ("/a",)) for start, end in drawn], text)
    done = cut(text, spans, lambda _: "#")
    gone = {place for start, end in drawn for place in range(start, end)}
    kept = [place for one in done.kept for place in range(one.start, one.end)]
    assert not gone & set(kept)
    assert all(text[place].isspace() for place in set(range(30)) - gone - set(kept))
    assert [text[place] for place in kept] == [
        done.text[one.now + at] for one in done.kept for at in range(one.end - one.start)
    ]
    assert all(line == "#" or "#" not in line for line in done.text.split("\n"))


@given(st.text("ab\n", min_size=30, max_size=30), SPANS, st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted))
def test_tags_of_the_rest_are_on_the_same_words(text: str, drawn: list[list[int]], other: list[int]) -> None:
    done = cut(text, merged([Span(start, end, ("/a",)) for start, end in drawn], text), lambda _: "#")
    places = [place for one in done.kept for place in range(one.start, one.end) if other[0] <= place < other[1]]
    left = moved([SourceTag("/b", span=(other[0], other[1])), SourceTag("/c")], done.kept)
    assert left[-1] == SourceTag("/c")
    assert len(left) == 1 + bool(places)
    if places:
        span = left[0].span
        assert span is not None
        assert done.text[slice(*span)].replace("#", "").replace("\n", "") == "".join(
            text[place] for place in places
        ).replace("\n", "")


def test_overlapping_spans_name_all_of_theirs() -> None:
    spans = merged([Span(0, 5, ("/a",)), Span(3, 8, ("/b",)), Span(4, 6, ("/a",)), Span(9, 10, ("/b",))], "x" * 20)
    assert spans == [Span(0, 8, ("/a", "/b")), Span(9, 10, ("/b",))]


@pytest.mark.parametrize(
    ("span", "does"),
    [((0, 3), True), ((3, 3), True), ((0, 4), False), ((2, 1), False), ((-1, 2), False), (None, False)],
)
def test_which_spans_fit(span: tuple[int, int] | None, does: bool) -> None:
    assert fits(span, 3) is does


# --- what a message knows of itself ----------------------------------------------------------------------------------


@given(messages())
def test_marks_are_those_of_all_tags_and_of_signed_reasoning(message: Message) -> None:
    tags = [tag for part in message.parts for tag in part.tags]
    tags += [tag for part in message.parts if isinstance(part, Result) for one in part.content for tag in one.tags]
    signed = any(
        isinstance(part, Reasoning) and (part.signature is not None or part.extra.get("id")) for part in message.parts
    )
    assert message.marks == {*map(mark_of, tags), *([signer_mark(message.model)] if signed else [])}


def test_a_tag_of_another_kind_has_another_mark() -> None:
    tags = [SourceTag("/a", origin) for origin in Origin]
    tags += [SourceTag("/a", Origin.SUBTREE, below=("/a/b",)), SourceTag("/a", Origin.SUBTREE, all_below=False)]
    tags += [SourceTag(mark_of(SourceTag("/a", Origin.ITEM))), SourceTag("signed m")]
    assert len({mark_of(tag) for tag in tags}) == len(tags)
    assert signer_mark("m") not in {mark_of(tag) for tag in tags}


def test_a_message_with_anything_besides_is_not_plain() -> None:
    path = (SourceTag("/a"),)
    assert Message(Role.USER, (Text("a", path),)).plain is Text
    assert Message(Role.TOOL, (Result("c", (Text("a"),), tags=path),)).plain is Result
    for part in (
        Text("a", (SourceTag("/a", span=(0, 1)),)),
        Text("a", (SourceTag("/a", Origin.ITEM),)),
        Text("a", (SourceTag("a"),)),
        Text("a", path, {"x": 1}),
        Result("c", (Text("a", path),)),
        Reasoning("a"),
    ):
        assert Message(Role.USER, (part,)).plain is None
    assert Message(Role.USER, (Text("a"),), extra={"x": 1}).plain is None
    assert Message(Role.USER, (Text("a"), Text("b"))).plain is None
