"""Is no more of a stream held back than has to be, and nothing lost?"""

from __future__ import annotations

import pytest

from stanch.secrets.budget import Budget, Withheld
from stanch.secrets.engines import Engine, engines
from stanch.secrets.escapes import ESCAPES, LONGEST
from stanch.secrets.projection import Projector
from stanch.secrets.streams import BULK
from stanch.secrets.text import Secret

ENGINES = pytest.mark.parametrize("engine", engines(), ids=lambda engine: engine.name)
KEY = "tok_Lm29sQ0xZp81"


def test_ordinary_text_is_passed_on_at_once() -> None:
    stream = Projector({"K": Secret(KEY)}).stream()
    for word in ("It ", "was ", "é ", "100 % ", "a\nb ", "&", " x"):
        assert stream.feed(word) or word == "&"
    assert stream.end() == ""


def test_a_beginning_is_held_until_it_is_none() -> None:
    stream = Projector({"K": Secret(KEY)}).stream()
    assert stream.feed("a tok_Lm29") == "a "
    assert stream.feed("sQ0xZp8") == ""
    assert stream.feed("2 b") == "tok_Lm29sQ0xZp82 b"
    assert stream.end() == ""


def test_a_whole_value_is_not_held_where_no_longer_one_begins_so() -> None:
    stream = Projector({"K": Secret(KEY)}).stream()
    assert stream.feed(f"a {KEY}") == "a {{K}}"
    longer = Projector({"K": Secret(KEY), "L": Secret(f"{KEY}-and-more")}).stream()
    assert longer.feed(f"a {KEY}") == "a "
    assert longer.feed("!") == "{{K}}!"


def test_what_is_held_at_the_end_is_not_lost() -> None:
    stream = Projector({"K": Secret(KEY)}).stream()
    assert stream.feed("a tok_Lm29%") == "a "
    assert stream.end() == "tok_Lm29%"
    assert stream.feed("tok_") + stream.end() == "tok_"


@ENGINES
@pytest.mark.parametrize(
    "piece",
    ["a", "ab", "abababa", "%61", "\\u0061", "&#97;", "%", "\\", "&", "A" * 24 + "\n", "YWFhYWFhYWFhYWFhYWFh\n"],
)
def test_no_more_is_held_than_the_longest_form_takes(piece: str, engine: Engine) -> None:
    known = Projector({"A": Secret("a" * 40), "B": Secret("ab" * 20)}, engine=engine)
    longest = max(layer.longest for layer in known._matcher.layers)
    reach = max(escape.reach for escape in ESCAPES)
    stream = known.data_stream()
    out = b""
    for _ in range(300):
        out += stream.feed(piece.encode())
        assert stream.held <= longest * reach + LONGEST
    assert out + stream.end() == known.data(piece.encode() * 300)


@ENGINES
def test_bulk_gathers_and_comes_to_the_same(engine: Engine) -> None:
    known = Projector({"K": Secret(KEY)}, engine=engine)
    text = f"{'x' * 1000}{KEY}{'é' * 777}" * 100
    stream = known.stream(bulk=True)
    pieces = [text[at : at + 1000] for at in range(0, len(text), 1000)]
    out = [stream.feed(piece) for piece in pieces]
    assert sum(map(bool, out)) <= len(text.encode()) // BULK + 1
    assert "".join(out) + stream.end() == known.text(text)


def test_a_stream_that_was_withheld_stays_shut() -> None:
    stream = Projector({"K": Secret(KEY)}, budget=Budget(hits=1)).stream()
    assert stream.feed("fine ") == "fine "
    for _ in range(2):
        with pytest.raises(Withheld):
            stream.feed(f"{KEY} {KEY}")
        with pytest.raises(Withheld):
            stream.end()


def test_bytes_that_are_no_text_pass() -> None:
    known = Projector({"K": Secret(KEY)})
    stream = known.data_stream()
    data = bytes(range(256)) + KEY.encode() + bytes(range(256))
    out = b"".join(stream.feed(data[at : at + 1]) for at in range(len(data))) + stream.end()
    assert out == known.data(data) == bytes(range(256)) + b"{{K}}" + bytes(range(256))
    assert stream.found == {"K"}
