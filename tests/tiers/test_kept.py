"""Is a kept copy what a fresh one would be, whatever came since, and is it never used where it no longer holds?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.tiers.history import Look, redact_history
from stanch.tiers.history_verdicts import Read
from stanch.tiers.kept import Kept, Sent
from stanch.values.decision import Effect
from stanch.values.message import Message, Origin, Role, SourceTag, Text
from tests.tiers.drawn_histories import MODEL, Pieces, allow, histories, read

SECRET = "the pay of everybody in the house is written down here"
CLOSED = (SourceTag("/repo/hr/pay.csv"),)


def looking(by: Read = read, *, quotes: bool = True) -> Callable[[], Look]:
    return lambda: Look(by, "Outside", model=MODEL, answers=frozenset(), quotes=quotes)


def unused() -> Look:
    raise AssertionError("a fresh look was not called for")


def said(role: Role, text: str, tags: tuple[SourceTag, ...] = ()) -> Message:
    return Message(role, (Text(text, tags),))


@given(histories(), st.lists(st.integers(0, 6), max_size=4), st.booleans(), st.booleans())
def test_the_same_as_a_fresh_look(
    drawn: tuple[list[Message], Pieces], cuts: list[int], quotes: bool, as_tuple: bool
) -> None:
    messages, _ = drawn
    kept = Kept()
    for end in [*sorted(cuts), len(messages)]:
        part: Sequence[Message] = tuple(messages[:end]) if as_tuple else messages[:end]
        got = kept.sent(part, 1, looking(quotes=quotes))
        fresh = redact_history(part, read, "Outside", model=MODEL, quotes=quotes)
        assert list(got.messages) == fresh.messages
        assert got.report == fresh.report
        assert all(new is old for new, old in zip(got.messages, part, strict=True) if new == old)


def test_only_what_is_new_is_looked_at() -> None:
    asked: list[str] = []

    def noting(name: str, origin: Origin) -> Effect:
        asked.append(name)
        return read(name, origin)

    messages = [said(Role.TOOL, SECRET, CLOSED)]
    kept = Kept()
    first = kept.sent(messages, 1, looking(noting)).messages
    messages.append(said(Role.TOOL, "more", (SourceTag("/repo/app/a.py"),)))
    second = kept.sent(messages, 1, unused).messages
    assert asked == ["/repo/hr/pay.csv", "/repo/app/a.py"]
    assert (len(first), len(second)) == (1, 2)
    assert second[0] is first[0]


def test_another_key_is_another_copy() -> None:
    messages = [said(Role.TOOL, SECRET, CLOSED)]
    kept = Kept()
    assert kept.sent(messages, ("tier", 1), looking()).messages[0] is not messages[0]
    assert kept.sent(messages, ("tier", 2), looking(allow)).messages[0] is messages[0]
    assert kept.sent(messages, ("tier", 1), looking()).messages[0] is not messages[0]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("more", [0, 1])
def test_a_message_that_is_another_is_noticed_wherever_it_stands(place: int, more: int) -> None:
    messages = [said(Role.USER, f"words {number}") for number in range(3)]
    kept = Kept()
    kept.sent(messages, 1, looking())
    changed = [*messages, *(said(Role.USER, "new") for _ in range(more))]
    changed[place] = said(Role.TOOL, SECRET, CLOSED)
    sent = kept.sent(changed, 1, looking())
    assert sent.report.pieces == {"/repo/hr/pay.csv": 1}
    assert SECRET not in str([one.parts for one in sent.messages])


def test_fewer_messages_are_another_conversation() -> None:
    messages = [said(Role.USER, "a"), said(Role.USER, "b")]
    kept = Kept()
    kept.sent(messages, 1, looking())
    assert list(kept.sent(messages[:1], 1, looking()).messages) == messages[:1]
    assert list(kept.sent(messages, 1, looking()).messages) == messages


def test_a_list_that_grows_does_not_grow_what_was_handed_out() -> None:
    messages = [said(Role.USER, "a")]
    kept = Kept()
    first = kept.sent(messages, 1, looking()).messages
    messages.append(said(Role.USER, "b"))
    assert len(kept.sent(messages, 1, unused).messages) == 2
    assert list(first) == messages[:1]
    assert first[-1] is messages[0]
    assert first[:5] == messages[:1]
    with pytest.raises(IndexError):
        first[1]


def test_what_is_withheld_later_is_taken_out_of_earlier_words() -> None:
    messages = [said(Role.ASSISTANT, f"It says: {SECRET}.")]
    kept = Kept()
    assert kept.sent(messages, 1, looking()).messages[0] is messages[0]
    messages.append(said(Role.TOOL, SECRET, CLOSED))
    assert SECRET not in repr(write(kept.sent(messages, 1, looking()).messages))


def test_what_may_be_seen_later_is_put_back_into_earlier_words() -> None:
    messages = [said(Role.TOOL, SECRET, CLOSED), said(Role.ASSISTANT, f"It says: {SECRET}.")]
    kept = Kept()
    assert SECRET not in repr(write(kept.sent(messages, 1, looking()).messages))
    messages.append(said(Role.USER, f"I know that {SECRET}!"))
    assert kept.sent(messages, 1, looking()).messages[1] is messages[1]


def test_a_new_quote_of_what_was_withheld_before_is_found() -> None:
    messages = [said(Role.TOOL, SECRET, CLOSED)]
    kept = Kept()
    kept.sent(messages, 1, looking())
    messages.append(said(Role.ASSISTANT, f"It says: {SECRET}."))
    sent = kept.sent(messages, 1, unused)
    assert SECRET not in repr(write(sent.messages))
    assert sent.report.quotes == {"/repo/hr/pay.csv": 1}


def test_what_raises_is_not_gone_on_with() -> None:
    broken = True

    def breaking(name: str, origin: Origin) -> Effect:
        if name == "/repo/app/b.py" and broken:
            raise OSError
        return read(name, origin)

    messages = [said(Role.TOOL, SECRET, CLOSED)]
    kept = Kept()
    kept.sent(messages, 1, looking(breaking, quotes=False))
    messages.append(said(Role.TOOL, SECRET, CLOSED))
    messages.append(said(Role.TOOL, "x", (SourceTag("/repo/app/b.py"),)))
    with pytest.raises(OSError):
        kept.sent(messages, 1, unused)
    broken = False
    assert kept.sent(messages, 1, looking(breaking, quotes=False)).report.pieces == {"/repo/hr/pay.csv": 2}


def test_an_equal_message_is_the_same_message() -> None:
    messages = [said(Role.USER, "a"), said(Role.TOOL, SECRET, CLOSED)]
    kept = Kept()
    first = kept.sent(messages, 1, looking()).messages
    again = kept.sent([replace(one) for one in messages], 1, unused).messages
    assert again == first
    assert isinstance(again, Sent)


def write(messages: Sequence[Message]) -> list[str]:
    return [part.text for message in messages for part in message.parts if isinstance(part, Text)]
