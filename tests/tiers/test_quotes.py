"""Do runs count exactly where they should? Held against a search that compares everything with everything."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stanch.tiers.quotes import LEAST, Shared, Withheld, folded

BLANKS = (" ", "\n", "\t ", "\u00a0", "\u2003\n")
WORDS = st.text("ab", min_size=1, max_size=9)
SECRET = "the pay of everybody in the house is written down here"


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A text of few letters, in which the same runs come again and again."""
    words = draw(st.lists(WORDS, max_size=14))
    return "".join(word + draw(st.sampled_from(BLANKS)) for word in words)[draw(st.integers(0, 3)) :]


def runs_in(text: str) -> set[str]:
    plain = folded(text)
    return {plain[at : at + LEAST] for at in range(len(plain) - LEAST + 1)}


def letters(text: str) -> list[int]:
    """The place in the text of each character of its folded form; -1 for a blank."""
    places: list[int] = []
    for at, char in enumerate(text):
        if not char.isspace():
            if places and at and text[at - 1].isspace():
                places.append(-1)
            places.append(at)
    return places


def expected(text: str, closed: list[str], shown: list[str]) -> set[int]:
    forbidden = {run for one in closed for run in runs_in(one)} - {run for one in shown for run in runs_in(one)}
    plain, places = folded(text), letters(text)
    assert len(plain) == len(places)
    hit = {
        place for at in range(len(plain)) if plain[at : at + LEAST] in forbidden for place in places[at : at + LEAST]
    }
    return hit - {-1}


def found(text: str, closed: list[str], shown: list[str]) -> set[int]:
    spans, _ = Withheld([(one, ("/a",)) for one in closed]).runs([text], lambda: shown)
    covered = [place for span in spans.get(text, ()) for place in range(span.start, span.end)]
    assert len(covered) == len(set(covered))
    return {place for place in covered if not text[place].isspace()}


@given(texts(), st.lists(texts(), max_size=3), st.lists(texts(), max_size=2))
@example("a" * 60, ["a" * 60], [])
@example("a" * 60, ["a" * 23 + "b" + "a" * 30], [])
@example("ab" * 20, ["ba" * 20], ["ab" * 12])
def test_the_same_as_comparing_everything(text: str, closed: list[str], shown: list[str]) -> None:
    assert found(text, closed, shown) == expected(text, closed, shown)


@given(st.integers(0, 30), st.integers(0, 54), st.integers(0, 54), st.integers(0, 13))
@example(0, 20, 44, 1)
@example(0, 20, 44, 0)
def test_a_run_is_found_wherever_it_stands(before: int, start: int, end: int, around: int) -> None:
    text = "." * around + SECRET[start:end] + "!" * around
    # A blank at the end of a text is nothing to be seen; between other letters it is one.
    stretch = SECRET[start:end] if around else folded(SECRET[start:end])
    assert bool(found(text, ["?" * before + SECRET], [])) is (len(stretch) >= LEAST)


@given(st.lists(texts(), max_size=3), st.lists(texts(), min_size=1, max_size=4))
def test_many_texts_are_searched_as_each_by_itself(closed: list[str], said: list[str]) -> None:
    withheld = Withheld([(one, ("/a",)) for one in closed])
    together, _ = withheld.runs(said, lambda: ())
    again, _ = withheld.runs(said, lambda: ())
    assert together == again
    for text in said:
        alone, _ = Withheld([(one, ("/a",)) for one in closed]).runs([text], lambda: ())
        assert together.get(text) == alone.get(text)


def test_what_may_be_seen_is_asked_for_only_where_something_is_quoted() -> None:
    def shown() -> list[str]:
        raise AssertionError

    assert Withheld([(SECRET, ("/a",))]).runs(["nothing of that, but long enough to be looked at"], shown)[0] == {}


def test_names_are_those_of_the_first_text_that_holds_the_run() -> None:
    withheld = Withheld([(SECRET, ("/a",)), (SECRET + " and on", ("/b",)), ("0123456789" * 3, ("/c", "/d"))])
    text = f"{SECRET}; {'0123456789' * 3}"
    spans, _ = withheld.runs([text], lambda: ())
    assert [(text[span.start : span.end], span.names) for span in spans[text]] == [
        (SECRET, ("/a",)),
        ("0123456789" * 3, ("/c", "/d")),
    ]


@pytest.mark.parametrize("size", [2_000, 20_000])
def test_the_work_grows_with_the_texts_alone(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One letter over and over is the worst there is: every place is a run, and every block is the same."""
    looked = 0

    class Counting(set[str]):
        def __contains__(self, one: object) -> bool:
            nonlocal looked
            looked += 1
            return super().__contains__(one)

    def start(self: Shared) -> None:
        self.runs, self.blocks = Counting(), Counting()

    monkeypatch.setattr(Shared, "__init__", start)
    text = "a" * size
    spans, _ = Withheld([(text, ("/a",))]).runs([text + "b"], lambda: ["c" * size])
    assert [(span.start, span.end) for span in spans[text + "b"]] == [(0, size)]
    assert looked < 12 * size
