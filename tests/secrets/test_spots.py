"""Do engines report the same spots, all of them, and stop where they are told to?"""

from __future__ import annotations

import random

import pytest

from stanch.secrets.engines import Engine, engines, noticed
from stanch.secrets.escapes import ESCAPES, PERCENT, Reading

ENGINES = pytest.mark.parametrize("engine", engines(), ids=lambda engine: engine.name)


def by_trying(pieces: list[bytes], data: bytes) -> list[tuple[int, int]]:
    return sorted(
        (at, number) for number, piece in enumerate(pieces) for at in range(len(data)) if data.startswith(piece, at)
    )


@ENGINES
@pytest.mark.parametrize("letters", [b"ab", b"a", bytes(range(256)), b"\x00\xff"])
def test_every_piece_is_found_everywhere(engine: Engine, letters: bytes) -> None:
    drawn = random.Random(len(letters))
    for _ in range(100):
        pieces = list({bytes(drawn.choices(letters, k=drawn.randint(8, 16))) for _ in range(drawn.randint(1, 12))})
        parts = [drawn.choice([drawn.choice(pieces), bytes(drawn.choices(letters, k=3))]) for _ in range(9)]
        data = b"".join(parts)
        assert sorted(engine.made(pieces).spots(data, 10_000)) == by_trying(pieces, data)


@ENGINES
def test_a_search_stops_one_beyond_the_most(engine: Engine) -> None:
    finder = engine.made([b"aaaaaaaa"])
    assert len(finder.spots(b"a" * 100, 5)) == 6
    assert len(finder.spots(b"a" * 12, 5)) == 5
    assert len(finder.spots(b"a" * 13, 5)) == 6
    assert finder.spots(b"", 5) == []


@ENGINES
@pytest.mark.parametrize("place", range(30))
def test_a_piece_is_found_at_every_place_and_length(engine: Engine, place: int) -> None:
    for length in range(8, 17):
        piece = b"0123456789abcdef"[:length]
        for behind in range(9):
            assert engine.made([piece]).spots(b"." * place + piece + b"." * behind, 5) == [(place, 0)]


@ENGINES
def test_escapes_are_noticed_where_they_are(engine: Engine) -> None:
    line = b"A" * 24
    text = b"%41 \\u0041 &amp; &#x41; " + line + b"\n" + line + b"\r\n" + line + b"\\n" + line + b"\\r\\n"
    for escape in ESCAPES:
        places = noticed(engine, escape, text, 100)
        found = [found.span() for found in escape.whole.finditer(text)]
        assert places is not None
        assert found
        for start, end in found:
            assert any(start <= place <= end for place in places), escape.name
        assert noticed(engine, escape, b"100 % of \\ and & in\nlines", 100) == []
        assert noticed(engine, escape, text * 60, 50) is None


def test_nothing_is_read_across_a_gap() -> None:
    data = b"%41bc....." * 3
    reading = Reading(data, [(0, 5), (20, 25)], PERCENT)
    assert reading.text == b"Abc\0Abc"
    assert reading.placed(0, 3) == (0, 5)
    assert reading.placed(4, 7) == (20, 25)
    assert reading.placed(2, 5) is None
    assert reading.placed(1, 3) is None
