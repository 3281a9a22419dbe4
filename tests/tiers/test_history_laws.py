"""What holds of every copy of every conversation: nothing closed in it, all that is open, its shape, its originals."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.tiers.dialects.ours import write_messages
from stanch.tiers.history import redact_history
from stanch.tiers.history_parts import Withholding
from stanch.tiers.history_verdicts import Verdicts
from stanch.tiers.history_words import tags_of
from stanch.values.decision import Effect
from stanch.values.message import Call, Message, Opaque, Origin, Reasoning, Result, Role, SourceTag, Text, signer_mark
from tests.tiers.drawn_histories import CLOSED, MODEL, Pieces, allow, histories, read

HISTORIES = histories()


def copy(messages: list[Message], *, quotes: bool = True) -> list[Message]:
    return redact_history(messages, read, "Outside", model=MODEL, quotes=quotes).messages


def written(messages: list[Message]) -> str:
    return json.dumps(write_messages(messages), ensure_ascii=False).replace("\\n", "\n").replace('\\"', '"')


def pairs(messages: list[Message]) -> list[list[tuple[object, ...]]]:
    return [
        [
            (part.id, part.tool) if isinstance(part, Call) else (part.call_id, part.tool, part.failed)
            for part in message.parts
            if isinstance(part, (Call, Result))
        ]
        for message in messages
    ]


@given(HISTORIES, st.booleans())
def test_nothing_closed_is_left_and_nothing_open_is_lost(drawn: tuple[list[Message], Pieces], quotes: bool) -> None:
    messages, pieces = drawn
    left = written(copy(messages, quotes=quotes))
    assert not [piece for piece in pieces.closed if piece in left]
    once = written(messages)
    joined = left.replace('"}, {"type": "text", "text": "', "")  # a piece may have been cut by the end of a text
    assert not [piece for piece in pieces.open if piece in once and piece not in left and piece not in joined]


@given(HISTORIES, st.booleans())
def test_the_shape_stays(drawn: tuple[list[Message], Pieces], quotes: bool) -> None:
    messages, _ = drawn
    left = copy(messages, quotes=quotes)
    assert [(one.role, one.id, one.model) for one in left] == [(one.role, one.id, one.model) for one in messages]
    assert all(one.parts for one in left)
    assert pairs(left) == pairs(messages)
    assert all(one.marks == Message(one.role, one.parts, model=one.model).marks for one in left)


@given(HISTORIES, st.booleans())
def test_what_was_stored_is_not_touched(drawn: tuple[list[Message], Pieces], quotes: bool) -> None:
    messages, _ = drawn
    before, parts = written(messages), [one.parts for one in messages]
    copy(messages, quotes=quotes)
    assert written(messages) == before
    assert all(one.parts is was for one, was in zip(messages, parts, strict=True))


@given(HISTORIES)
def test_messages_and_parts_without_anything_closed_are_the_very_same(drawn: tuple[list[Message], Pieces]) -> None:
    messages, _ = drawn
    for old, new in zip(messages, copy(messages), strict=True):
        closed = any(tag.name in CLOSED for tag in tags_of(old.parts))
        signed = any(mark.startswith("signed") and mark != signer_mark(MODEL) for mark in old.marks)
        assert new is old or closed or signed
        kept = {id(part) for part in new.parts}
        for part in old.parts:
            tags = list(tags_of([part]))
            if tags and not any(tag.name in CLOSED for tag in tags) and not isinstance(part, (Opaque, Reasoning)):
                assert id(part) in kept


@given(HISTORIES, st.booleans())
def test_a_copy_of_a_copy_is_the_same(drawn: tuple[list[Message], Pieces], quotes: bool) -> None:
    once = copy(drawn[0], quotes=quotes)
    twice = copy(once, quotes=quotes)
    assert all(new is old for new, old in zip(twice, once, strict=True))


@given(HISTORIES)
def test_whoever_may_read_all_gets_the_originals(drawn: tuple[list[Message], Pieces]) -> None:
    messages, _ = drawn
    copy(messages)
    back = redact_history(messages, allow, "Inside")
    assert all(new is old for new, old in zip(back.messages, messages, strict=True))
    assert back.messages is not messages
    assert back.report.empty


@given(HISTORIES)
def test_the_short_way_makes_the_same_as_the_long_one(drawn: tuple[list[Message], Pieces]) -> None:
    messages, _ = drawn
    verdicts = Verdicts(read, "Outside", frozenset())
    verdicts.open.add(signer_mark(MODEL))
    long_way = Withholding(verdicts, MODEL, quotes=True)
    made = [long_way.message(one) for one in messages]
    done = redact_history(messages, read, "Outside", model=MODEL, quotes=False)
    assert done.messages == made
    assert done.report.pieces == Counter(long_way.pieces)


@given(HISTORIES)
def test_each_path_is_asked_about_once(drawn: tuple[list[Message], Pieces]) -> None:
    asked: Counter[tuple[str, Origin]] = Counter()

    def counting(name: str, origin: Origin) -> Effect:
        asked[name, origin] += 1
        return read(name, origin)

    redact_history(drawn[0], counting, "Outside")
    assert not asked or max(asked.values()) == 1


@given(HISTORIES)
def test_the_report_names_what_was_closed_and_holds_no_content(drawn: tuple[list[Message], Pieces]) -> None:
    messages, pieces = drawn
    report = redact_history(messages, read, "Outside", model=MODEL).report
    names = {tag.name for one in messages for tag in tags_of(one.parts)}
    assert set(report.pieces) == names & set(CLOSED)
    said = json.dumps(report.as_json())
    assert not [piece for piece in (*pieces.closed, *pieces.open) if piece in said]


def test_what_the_tier_cannot_say_goes_through() -> None:
    class Broken(Exception):
        pass

    def broken(name: str, origin: Origin) -> Effect:
        raise Broken

    with pytest.raises(Broken):
        redact_history([Message(Role.USER, (Text("a", (SourceTag("/a"),)),))], broken, "Outside")
