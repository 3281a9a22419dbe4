"""How documents are cut, and which words they are found by."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.content.knowledge_cutting import BETWEEN, WANTED, Piece, cuts_of, joined
from stanch.content.knowledge_words import LONGEST, spans, words_of

TEXTS = st.lists(
    st.sampled_from(
        ["word ", "A sentence. ", "\n", "\n\n", "\n \n", "\t", "é", "漢字", "x" * 300, "\u2003", "\r\n\r\n"]
    ),
    max_size=40,
).map("".join)
PIECES = st.lists(st.builds(Piece, TEXTS, st.none() | st.integers(1, 9), st.none() | st.text(max_size=3)), max_size=5)


@given(PIECES)
def test_chunks_are_all_of_the_text_in_order_and_none_reaches_over_a_border(pieces: list[Piece]) -> None:
    text, cuts = joined(pieces), list(cuts_of(pieces))
    borders, at = [], 0
    for piece in pieces:
        borders.append((at, at + len(piece.text), piece))
        at += len(piece.text) + len(BETWEEN)
    left, last = list(text), 0
    for cut in cuts:
        assert last <= cut.start < cut.stop <= len(text)
        chunk = text[cut.start : cut.stop]
        assert chunk == chunk.strip()
        assert len(chunk) <= WANTED
        assert any(
            start <= cut.start and cut.stop <= stop and (cut.page, cut.sheet) == (piece.page, piece.sheet)
            for start, stop, piece in borders
        )
        left[cut.start : cut.stop] = ""
        left[cut.start : cut.start] = [""] * (cut.stop - cut.start)
        last = cut.stop
    assert not "".join(left).strip(), "no letter is lost"


def test_a_long_paragraph_ends_with_a_sentence_where_it_can() -> None:
    text = "This is a sentence of some length. " * 60
    chunks = [text[cut.start : cut.stop] for cut in cuts_of([Piece(text)])]
    assert len(chunks) == 3
    assert all(chunk.endswith(".") and chunk.startswith("This") for chunk in chunks)


def test_short_paragraphs_are_taken_together() -> None:
    assert len(list(cuts_of([Piece("one\n\ntwo\n\nthree")]))) == 1
    assert len(list(cuts_of([Piece("one", page=1), Piece("two", page=2)]))) == 2
    assert list(cuts_of([Piece(" \n\n ")])) == []


@given(st.text(max_size=200))
def test_a_word_is_of_letters_that_no_syntax_knows(text: str) -> None:
    for word, start, stop in spans(text):
        assert re.fullmatch(r"[a-z0-9_]+", word)
        assert 0 <= start < stop <= len(text)
        assert words_of(text[start:stop]) == (word,)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Straße", "STRASSE"),
        ("Cafe\u0301", "CAFÉ"),
        ("ﬁne", "fine"),
        ("東京都", "京"),
        ("config.yaml", "YAML"),
        ("a-b_c", "c"),
        ("x" * 100, "x" * LONGEST + "y"),
    ],
)
def test_words_are_the_same_however_they_are_written(written: str, asked: str) -> None:
    assert set(words_of(asked)) <= set(words_of(written))


def test_words_of_other_letters_are_other_words() -> None:
    assert words_of("cafe") != words_of("café")
    assert words_of("_c3a9") != words_of("é")
    assert words_of('"NEAR(a b)" OR* ^c:') == ("near", "a", "b", "or", "c")
    assert words_of("... \0 !") == ()
