"""A text that is too long loses its middle, and every mark on it stays with its characters."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.runtime.cutting import cut, cut_tagged, left_out
from stanch.values.message import SourceTag

NOTE = re.compile(r"\[… ([\d,]+) characters left out …\]\n?")
TEXTS = st.text(alphabet="abc\n", max_size=600)


def test_a_short_text_is_left_alone() -> None:
    assert cut("abc", 3) == "abc"


def test_the_middle_is_left_out_and_counted() -> None:
    found = cut("a" * 500 + "b" * 500, 200)
    assert len(found) <= 200
    note = NOTE.search(found)
    assert note is not None
    assert int(note[1]) == 1000 - (len(found) - len(note[0]))
    assert (found[0], found[-1]) == ("a", "b")


def test_large_numbers_are_readable() -> None:
    assert "[… 12,3" in cut("x" * 12_445, 130)


def test_it_cuts_between_lines_where_it_can() -> None:
    lines = [f"line {number}" for number in range(100)]
    found = cut("\n".join(lines), 300).split("\n")
    at = next(number for number, line in enumerate(found) if NOTE.fullmatch(line))
    assert found[:at] == lines[:at]
    assert found[at + 1 :] == lines[-len(found[at + 1 :]) :]


@pytest.mark.parametrize("most", [0, 1, 10, 30])
def test_less_room_than_the_note_needs_leaves_the_note(most: int) -> None:
    assert NOTE.fullmatch(cut("x" * 100, most))


@given(TEXTS, st.integers(min_value=60, max_value=400))
def test_what_is_kept_is_the_beginning_and_the_end(text: str, most: int) -> None:
    found, missing = cut(text, most), left_out(text, most)
    assert len(found) <= most or found == text
    if missing is None:
        assert found == text
    else:
        assert found.startswith(text[: missing[0]] + "[…")
        assert found.endswith("…]" + ("\n" if text[: missing[0]].endswith("\n") else "") + text[missing[1] :])


@given(st.lists(st.text(alphabet="ab\n", min_size=1, max_size=60), max_size=12), st.integers(60, 300))
def test_a_span_holds_the_same_characters_after_the_cut(texts: list[str], most: int) -> None:
    tags, at = [], 0
    for number, text in enumerate(texts):
        tags.append(SourceTag(str(number), span=(at, at + len(text))))
        at += len(text)
    whole = "".join(texts)
    found, kept = cut_tagged(whole, tuple(tags), most)
    missing = left_out(whole, most) or (0, 0)
    note = found[missing[0] : len(found) - (len(whole) - missing[1])] if missing != (0, 0) else "[none]"
    by_name = {tag.name: tag for tag in kept}
    for number, tag in enumerate(tags):
        assert tag.span is not None
        start, end = tag.span
        seen = whole[start : min(end, missing[0])] if start < missing[0] else ""
        seen += whole[max(start, missing[1]) : end] if end > missing[1] else ""
        if missing == (0, 0):
            seen = texts[number]
        if not seen:
            assert tag.name not in by_name
            continue
        span = by_name[tag.name].span
        assert span is not None
        assert found[slice(*span)].replace(note, "") == seen


def test_spans_in_front_of_across_in_and_behind_what_is_left_out() -> None:
    whole = "a" * 10 + "b" * 490 + "c" * 200 + "d" * 290 + "e" * 10
    spans = {"a": (0, 10), "b": (10, 500), "c": (500, 700), "d": (700, 990), "e": (990, 1000), "all": (0, 1000)}
    tags = tuple(SourceTag(name, span=span) for name, span in spans.items())
    found, kept = cut_tagged(whole, tags, 300)
    shown = {tag.name: found[slice(*(tag.span or (0, 0)))] for tag in kept}
    assert (shown["a"], shown["e"], shown["all"]) == ("a" * 10, "e" * 10, found)
    assert (set(shown["b"]), set(shown["d"]), "c" in shown) == ({"b"}, {"d"}, False)
    assert len(shown["b"]) + len(shown["d"]) + 20 + len("[… 735 characters left out …]") == len(found)


def test_a_tag_of_the_whole_stays() -> None:
    whole = SourceTag("/a")
    assert cut_tagged("x" * 500, (whole,), 100)[1] == (whole,)
