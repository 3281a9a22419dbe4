"""Messages: kept as they are, in their order, once; and whoever watches hears of them."""

from __future__ import annotations

import hashlib
import json
import queue
import threading
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stanch.storage import messages as kept_messages
from stanch.storage.store import Store
from stanch.tiers.dialects.ours import write_message, write_messages
from stanch.values.fault import BadInput, BrokenRow, Conflict, NotFound, StoreUnreadable
from stanch.values.message import Call, Message, Result, Role, Text
from stanch.values.records import Broken
from stanch.values.turn import MessageRecord, TurnState
from tests.stores.opened import OnAStore
from tests.stores.places import BY, SECONDS, Place, all_of, new_session, together
from tests.stores.suite_watch import heard
from tests.tiers.drawn_messages import messages

NEXT_IDS = iter(range(10**9))
CALL_IDS = st.builds(lambda: f"c{next(NEXT_IDS)}")


def said(text: str, role: Role = Role.USER) -> Message:
    return Message(role, (Text(text),))


def result(call_id: str, text: str = "x") -> Message:
    return Message(Role.TOOL, (Result(call_id, (Text(text),)),))


def digest(found: list[Message] | tuple[Message, ...]) -> str:
    rows = [{key: value for key, value in row.items() if key != "id"} for row in write_messages(found)]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def texts(found: list[Message]) -> list[str]:
    return [part.text for message in found for part in message.parts if isinstance(part, Text)]


class Conversations(OnAStore):
    def test_messages_are_kept_in_their_order_and_numbered(self, store: Store, other: Store) -> None:
        one, two = new_session(store).id, new_session(store).id
        first = store.add_message(one, said("a"))
        assert first == Message(Role.USER, (Text("a"),), id=first.id)
        rest = other.add_messages(one, [said("b", Role.ASSISTANT), said("c")])
        assert other.add_messages(one, []) == ()
        elsewhere = store.add_message(two, said("d"))
        assert store.all_messages(one) == other.all_messages(one) == [first, *rest]
        assert store.all_messages(two) == [elsewhere]
        assert len({first.id, *(message.id for message in rest), elsewhere.id}) == 4
        assert [row.seq for row in all_of(store.list_messages, session_id=one)] == [1, 2, 3]
        record = store.list_messages(one, after_seq=2).items[0]
        assert isinstance(record, MessageRecord)
        assert (record.seq, record.message, str(record.number), record.turn_id) == (3, rest[1], rest[1].id, None)

    def test_an_id_of_somebody_else_is_not_kept(self, store: Store) -> None:
        session = new_session(store).id
        kept = store.add_message(session, Message(Role.USER, (), id="theirs"))
        assert kept.id != "theirs"
        assert store.all_messages(session) == [kept]

    def test_every_message_comes_back_as_it_was(self, store: Store, other: Store, place: Place) -> None:
        @settings(max_examples=40)
        @given(st.lists(messages(CALL_IDS), min_size=1, max_size=4))
        def holds(drawn: list[Message]) -> None:
            session = new_session(store).id
            before = digest(drawn)
            added = store.add_messages(session, drawn)
            assert digest(drawn) == digest(added) == before, "nothing of what was given is changed"
            found = other.all_messages(session)
            assert tuple(found) == added
            assert digest(found) == before
            assert [message.id for message in found] == [message.id for message in added]

        holds()
        bodies = place.rows("SELECT body FROM messages ORDER BY id")
        listed = [row for one in place.rows("SELECT id FROM sessions") for row in store.all_messages(one[0])]
        again = sorted(
            json.dumps(
                {k: v for k, v in write_message(one).items() if k != "id"}, ensure_ascii=False, separators=(",", ":")
            )
            for one in listed
        )
        assert again == sorted(body for (body,) in bodies)

    def test_a_call_has_one_result(self, store: Store, other: Store) -> None:
        session, elsewhere = new_session(store).id, new_session(store).id
        store.add_message(session, Message(Role.ASSISTANT, (Call("c", "t", {}), Call("d", "t", {}))))
        kept = store.add_message(session, result("c"))
        for again in (
            [result("c", "other")],
            [result("d"), result("c")],
            [Message(Role.TOOL, (Result("d", ()), Result("d", ())))],
            [result("e"), result("e")],
        ):
            with pytest.raises(Conflict, match="has a result already"):
                other.add_messages(session, again)
        assert store.all_messages(session)[1:] == [kept], "what is refused adds nothing"
        store.add_messages(session, [result("d"), result("e")])
        store.add_message(elsewhere, result("c"))

    def test_of_two_nodes_that_answer_one_call_one_does(self, store: Store, other: Store) -> None:
        session = new_session(store).id
        for number in range(10):
            ends = together(
                *(
                    lambda node=node, name=name, number=number: node.add_message(session, result(f"c{number}", name))
                    for node, name in zip((store, other) * 2, "abcd", strict=True)
                )
            )
            (winner,) = [end for end in ends if isinstance(end, Message)]
            assert [type(end) for end in ends if end is not winner] == [Conflict] * 3
            assert store.all_messages(session)[number:] == [winner]

    def test_many_writers_lose_nothing_and_leave_no_gap(self, store: Store, other: Store) -> None:
        sessions = [new_session(store).id for _ in range(3)]

        def work(node: Store, name: str) -> list[int]:
            numbers = []
            for at in range(10):
                for session in sessions:
                    added = node.add_messages(session, [said(f"{name}{at}"), said(f"{name}{at}+")])
                    numbers += [int(message.id) for message in added]
            return numbers

        ends = together(*(lambda n=n, s=s: work(s, n) for n, s in zip("abcd", (store, other) * 2, strict=True)))
        assert all(numbers == sorted(numbers) for numbers in ends)
        assert len({number for numbers in ends for number in numbers}) == 240
        for session in sessions:
            found = texts(store.all_messages(session))
            assert len(found) == 80
            for name in "abcd":
                own = [text for text in found if text.startswith(name)]
                assert own == [f"{name}{at}{plus}" for at in range(10) for plus in ("", "+")]
            pairs = list(zip(found[::2], found[1::2], strict=True))
            assert all(second == f"{first}+" for first, second in pairs), "several are added together"

    def test_nothing_is_added_to_a_session_that_has_ended_or_is_not_there(self, store: Store) -> None:
        session = new_session(store).id
        kept = store.add_message(session, said("a"))
        store.end_session(session, by=BY)
        with pytest.raises(Conflict, match="has ended"):
            store.add_message(session, said("b"))
        assert store.all_messages(session) == [kept], "what was said stays"
        for ask in (store.all_messages, store.list_messages, lambda one: store.add_message(one, said("a"))):
            for name in ("none", "\x00"):
                with pytest.raises(NotFound):
                    ask(name)

    @pytest.mark.parametrize("what", ["end_session", "stop_turn"])
    def test_nothing_ends_while_a_message_is_added_to_it(
        self, store: Store, other: Store, monkeypatch: pytest.MonkeyPatch, what: str
    ) -> None:
        session = new_session(store).id
        turn = store.begin_turn(session, "n1", by=BY).id if what == "stop_turn" else None
        ended = threading.Event()

        def end() -> None:
            if turn is None:
                store.end_session(session, by=BY)
            else:
                store.stop_turn(turn, by=BY)
            ended.set()

        thread = threading.Thread(target=end)
        real = kept_messages.put

        def slow(*given: Any) -> Any:
            thread.start()
            assert not ended.wait(0.3), "it ended although it was held"
            return real(*given)

        monkeypatch.setattr(kept_messages, "put", slow)
        other.add_message(session, said("a"), turn_id=turn)
        assert ended.wait(SECONDS)
        thread.join(SECONDS)
        monkeypatch.setattr(kept_messages, "put", real)
        with pytest.raises(Conflict):
            other.add_message(session, said("b"), turn_id=turn)

    def test_a_session_that_ends_meanwhile_has_its_last_message_before_its_end(
        self, store: Store, other: Store
    ) -> None:
        for _ in range(10):
            session = new_session(store).id
            turn = store.begin_turn(session, "n1", by=BY)
            add = partial(other.add_message, session, said("a"), turn_id=turn.id, node="n1")
            ends = together(partial(store.end_session, session, by=BY), add, add, add)
            assert not isinstance(ends[0], Exception)
            added = [end for end in ends[1:] if isinstance(end, Message)]
            assert all(isinstance(end, Message | Conflict) for end in ends[1:]), ends
            assert len(store.all_messages(session)) == len(added)

    def test_a_turn_adds_while_it_runs_and_where_it_runs(self, store: Store) -> None:
        session, elsewhere = new_session(store).id, new_session(store).id
        turn = store.begin_turn(session, "n1", [said("a")], by=BY)
        store.add_message(session, said("b"), turn_id=turn.id, node="n1")
        store.add_message(session, said("c"), turn_id=turn.id)
        for refused, why in (
            ({"session_id": elsewhere, "turn_id": turn.id}, "none of the session"),
            ({"session_id": session, "turn_id": turn.id, "node": "n2"}, "run by the node 'n1'"),
        ):
            with pytest.raises(Conflict, match=why):
                store.add_message(message=said("x"), **refused)
        with pytest.raises(NotFound, match="turn"):
            store.add_message(session, said("x"), turn_id="none")
        store.end_turn(turn.id, TurnState.COMPLETED, by=BY)
        with pytest.raises(Conflict, match="is completed"):
            store.add_message(session, said("x"), turn_id=turn.id, node="n1")
        rows = store.list_messages(session).items
        assert [(row.message.parts[0], row.turn_id) for row in rows if isinstance(row, MessageRecord)] == [
            (Text(text), turn.id) for text in "abc"
        ]

    def test_what_cannot_be_kept_is_refused_whole(self, store: Store, place: Place) -> None:
        session = new_session(store).id
        before = place.dump()
        for wrong in (
            said("\ud800"),
            Message(Role.USER, (Call("c", "t", {"a": float("nan")}),)),
            Message(Role.USER, (Call("c", "t", {"a": 10**5000}),)),
            Message(Role.USER, (Text(5),)),  # type: ignore[arg-type]
            result(""),
            result("x" * 513),
            result("a\0b"),
        ):
            with pytest.raises(BadInput) as caught:
                store.add_messages(session, [said("a"), wrong])
            assert "xxx" not in str(caught.value)
            assert place.dump() == before

    @pytest.mark.parametrize(
        ("column", "value", "problem"),
        [
            ("body", "''", "'body' is empty"),
            ("body", "'{'", "'body' is no JSON"),
            ("body", "'[]'", "'body' is no message: 'the message' must be an object"),
            ("body", '\'{"role":"user"}\'', "'body' is no message: 'parts' is missing"),
            ("body", '\'{"role":"user","parts":[],"more":1}\'', "'body' is no message: 'more' is unknown"),
            ("body", '\'{"role":"user","parts":[],"id":"9"}\'', "'body' has an id of its own"),
            ("body", '\'{"role":"user","role":"user","parts":[]}\'', "'body' is no JSON, or has a key twice"),
            (
                "body",
                '\'{"role":"user","parts":[{"type":"text","text":"\\ud800"}]}\'',
                "'body' is no message: 'parts[0].text' holds what",
            ),
            ("role", "'system'", "'role' is not the one in 'body'"),
            ("role", "'boss'", "'role' is none of"),
            ("created_at", "'yesterday'", "'created_at' is no moment"),
            ("seq", "9", "the message before it, 2, is missing"),
            ("seq", "0", "'seq' must be a whole number from 1"),
        ],
    )
    def test_a_message_that_cannot_be_read_ends_the_reading(
        self, store: Store, place: Place, column: str, value: str, problem: str
    ) -> None:
        session = new_session(store).id
        added = store.add_messages(session, [said("a"), said("b"), said("c")])
        place.rows(f"UPDATE messages SET {column} = {value} WHERE id = {added[1].id}")
        with pytest.raises(BrokenRow) as caught:
            store.all_messages(session)
        assert caught.value.table == "messages"
        assert problem in caught.value.problem
        page = store.list_messages(session)
        assert (page.total, len(page.items)) == (3, 3)
        if column != "seq" or value == "0":
            assert caught.value.id == added[1].id
            assert [row.id for row in page.items if isinstance(row, Broken)] == [added[1].id]

    def test_a_message_that_is_gone_is_missed(self, store: Store, place: Place) -> None:
        session = new_session(store).id
        added = store.add_messages(session, [said("a"), said("b"), said("c")])
        place.rows(f"DELETE FROM messages WHERE id = {added[1].id}")
        with pytest.raises(BrokenRow, match="2, is missing"):
            store.all_messages(session)
        place.rows("ALTER TABLE messages RENAME TO gone")
        with pytest.raises(StoreUnreadable, match="missing"):
            store.all_messages(session)

    def test_a_message_is_no_change_of_the_rest(self, store: Store) -> None:
        session = new_session(store).id
        before = store.revision(), store.policy_revision(), store.list_audit().total
        store.add_messages(session, [said("a"), said("b")])
        assert (store.revision(), store.policy_revision(), store.list_audit().total) == before

    def test_whoever_watches_on_another_node_hears_of_messages(self, store: Store, other: Store) -> None:
        session, quiet = new_session(store).id, new_session(store).id
        numbers: queue.Queue[int] = queue.Queue()
        seen = other.newest_message()
        with other.watch_messages(numbers.put) as watch:
            for _ in range(3):
                store.add_message(session, said("a"))
                heard(numbers, store.newest_message(), seconds=1.0)
            turn = store.begin_turn(quiet, "n1", [said("b")], by=BY)
            heard(numbers, store.newest_message(), seconds=1.0)
            assert watch.problem is None
        moved = other.moved_since(seen)
        assert (moved.number, moved.sessions) == (store.newest_message(), tuple(sorted((session, quiet))))
        assert other.moved_since(moved.number - 1).sessions == (quiet,)
        assert other.moved_since(moved.number).sessions == other.moved_since(1 << 70).sessions == ()
        assert other.moved_since(-(1 << 70)) == moved
        assert turn.state is TurnState.RUNNING

    def test_a_message_of_ones_own_is_heard_at_once(self, store: Store) -> None:
        session = new_session(store).id
        numbers: queue.Queue[int] = queue.Queue()
        with store.watch_messages(numbers.put, interval=1000):
            store.add_message(session, said("a"))
            assert heard(numbers, store.newest_message()) == [store.newest_message()]

    def test_lists_refuse_what_is_no_place(self, store: Store) -> None:
        session = new_session(store).id
        wrong: list[Any] = [-1, True, "1", 1 << 40]
        for after in wrong:
            with pytest.raises(BadInput, match="after_seq"):
                store.list_messages(session, after_seq=after)
