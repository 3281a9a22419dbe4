"""Is of a long output no more held than is shown, and is what is shown its beginning and its end?"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stanch.runtime.builtin.executing_output import HEAD, TAIL, Kept

LINES = "".join(f"line {number}\n" for number in range(2_000)).encode()


def kept(data: bytes, head: int, tail: int, step: int = 7) -> str:
    one = Kept(head, tail)
    for at in range(0, len(data), step):
        one.add(data[at : at + step])
    return one.text()


def test_a_short_output_is_whole() -> None:
    assert kept(b"a" * 20, 10, 10) == "a" * 20
    assert kept(b"", 10, 10) == ""


def test_a_cut_falls_between_lines_and_says_how_much_is_missing() -> None:
    shown = kept(LINES, 1_000, 1_000)
    head, note, tail = shown.partition("[… ")
    count, _, tail = tail.partition(" bytes left out …]\n")
    assert note
    assert LINES.startswith(head.encode())
    assert LINES.endswith(tail.encode())
    assert head.endswith("\n")
    assert tail.startswith("line ")
    assert len(head.encode()) + int(count.replace(",", "")) + len(tail.encode()) == len(LINES)


def test_a_cut_of_one_long_line_breaks_no_letter() -> None:
    for extra in range(4):
        shown = kept(b"x" * extra + "€".encode() * 100, 50, 50)
        assert "\ufffd" not in shown
        assert "bytes left out" in shown


def test_what_is_no_text_is_marked() -> None:
    assert kept(b"a\0b\xffc", 10, 10) == "a\ufffdb\ufffdc"


def test_no_more_is_held_than_is_shown_twice() -> None:
    one = Kept()
    for _ in range(2_000):
        one.add(b"z" * 65_536)
        assert len(one._head) + len(one._tail) <= HEAD + 2 * TAIL
    assert len(one.text()) <= HEAD + TAIL + 100


@given(st.binary(max_size=400), st.integers(0, 50), st.integers(0, 50), st.integers(1, 90))
def test_nothing_is_lost_without_a_note(data: bytes, head: int, tail: int, step: int) -> None:
    shown = kept(data, head, tail, step)
    if len(data) <= head + tail:
        assert shown == data.decode(errors="replace").replace("\0", "\ufffd")
    else:
        assert "bytes left out …]" in shown
