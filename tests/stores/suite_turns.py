"""Turns: one at a time for a session, ended once, and taken over by one process where their own is gone."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from stanch.storage.store import Store
from stanch.values.fault import BadFields, BadInput, BrokenRow, Conflict, NotFound
from stanch.values.message import Message, Role, Text
from stanch.values.records import Actor, AuditRecord, Broken
from stanch.values.turn import TurnProblem, TurnRecord, TurnState
from tests.stores.opened import OnAStore
from tests.stores.places import BY, Place, all_of, new_session, together

PROMPT = (Message(Role.USER, (Text("tok_5cz81qkd"),)),)
PROBLEM = TurnProblem("provider_failed", "The provider did not answer")


class Turns(OnAStore):
    def test_a_turn_is_kept_from_its_begin_to_its_end(self, store: Store, other: Store) -> None:
        session = new_session(store, model="a/b").id
        store.add_node("n1")
        begun = store.begin_turn(session, "n1", PROMPT, by=Actor("ada", "console"))
        assert (begun.state, begun.model, begun.asked_by, begun.surface) == (
            TurnState.RUNNING, "a/b", "ada", "console",
        )  # fmt: skip
        assert other.get_turn(begun.id) == other.running_turn(session) == begun
        assert other.all_messages(session) == [Message(Role.USER, PROMPT[0].parts, id="1")]
        counts = {"input_tokens": 5, "output_tokens": 7}
        ended = other.end_turn(begun.id, TurnState.FAILED, PROBLEM, counts=counts, node="n1", by=BY)
        assert ended == store.get_turn(begun.id)
        assert (ended.state, ended.problem, ended.counts) == (TurnState.FAILED, PROBLEM, counts)
        assert ended.ended_at == ended.changed_at
        assert store.running_turn(session) is None
        again = store.begin_turn(session, "n1", model="c/d", by=BY)
        assert (again.model, again.problem, again.counts) == ("c/d", None, {})
        for ask in (store.get_turn, lambda one: store.stop_turn(one, by=BY)):
            with pytest.raises(NotFound):
                ask("none")

    def test_an_audit_row_says_who_and_where_and_nothing_of_what_was_said(self, store: Store) -> None:
        session = new_session(store).id
        begun = store.begin_turn(session, "n1", PROMPT, by=BY)
        store.end_turn(begun.id, TurnState.FAILED, PROBLEM, by=BY)
        rows = [row for row in store.list_audit(subject=begun.id).items if isinstance(row, AuditRecord)]
        assert [row.action for row in rows] == ["turn.begin", "turn.failed"]
        assert rows[0].detail == {"session": session, "node": "n1", "model": None, "messages": 1}
        assert rows[1].detail == {"session": session, "code": "provider_failed"}
        assert "tok_5cz81qkd" not in repr(store.list_audit(limit=500))

    def test_a_session_has_one_turn_under_way(self, store: Store, other: Store, place: Place) -> None:
        session = new_session(store).id
        begun = store.begin_turn(session, "n1", PROMPT, by=BY)
        other.add_node("n2")
        before = place.dump()
        with pytest.raises(Conflict, match=rf"{begun.id}.* asked for by ada \(test\) and run by the node 'n1'"):
            other.begin_turn(session, "n2", PROMPT, by=BY)
        assert place.dump() == before, "nor is the prompt kept"
        other.begin_turn(new_session(store).id, "n2", by=BY)

    def test_of_many_who_begin_at_once_one_does(self, store: Store, other: Store) -> None:
        for node in "abcd":
            store.add_node(node)
        for _ in range(10):
            session = new_session(store).id
            ends = together(
                *(
                    lambda s=s, n=n, session=session: s.begin_turn(session, n, PROMPT, by=BY)
                    for s, n in zip((store, other) * 2, "abcd", strict=True)
                )
            )
            (winner,) = [end for end in ends if isinstance(end, TurnRecord)]
            told = [str(end) for end in ends if isinstance(end, Conflict)]
            assert len(told) == 3
            assert all(repr(winner.node) in message for message in told)
            assert other.running_turn(session) == winner
            assert len(store.all_messages(session)) == 1

    def test_no_hand_can_add_a_second_one(self, store: Store, place: Place) -> None:
        turn = store.begin_turn(new_session(store).id, "n1", by=BY)
        ended = store.begin_turn(new_session(store).id, "n1", by=BY)
        store.end_turn(ended.id, TurnState.COMPLETED, by=BY)
        with pytest.raises(Exception, match=r"(?i)unique"):
            place.rows(f"UPDATE turns SET session_id = '{turn.session_id}', state = 'running' WHERE id = '{ended.id}'")

    def test_a_turn_ends_once(self, store: Store, other: Store) -> None:
        states = [TurnState.COMPLETED, TurnState.FAILED, TurnState.INTERRUPTED]
        for _ in range(10):
            turn = store.begin_turn(new_session(store).id, "n1", by=BY).id
            ends = together(
                *(partial(store.end_turn, turn, state, by=BY) for state in states),
                partial(other.stop_turn, turn, by=Actor("bob", "console")),
            )
            (winner,) = [end for end in ends if isinstance(end, TurnRecord)]
            assert store.get_turn(turn) == winner
            told = [str(end) for end in ends if isinstance(end, Conflict)]
            assert len(told) == 3
            assert all(f"is {winner.state.value} since" in message for message in told)

    def test_a_turn_does_not_end_by_running(self, store: Store) -> None:
        turn = store.begin_turn(new_session(store).id, "n1", by=BY)
        with pytest.raises(BadInput, match="running"):
            store.end_turn(turn.id, TurnState.RUNNING, by=BY)

    def test_a_person_stops_a_turn_on_any_node(self, store: Store, other: Store) -> None:
        turn = store.begin_turn(new_session(store).id, "n1", by=BY)
        stopped = other.stop_turn(turn.id, by=Actor("b" * 400, "console"))
        assert stopped.state is TurnState.STOPPED
        assert stopped.problem is not None
        assert (stopped.problem.code, stopped.problem.sentence[:14]) == ("cancelled", "Stopped by bbb")
        with pytest.raises(Conflict, match="is stopped"):
            store.end_turn(turn.id, TurnState.COMPLETED, node="n1", by=BY)

    def test_a_session_that_ends_stops_its_turn(self, store: Store, place: Place) -> None:
        session, other = new_session(store).id, new_session(store).id
        turn, going_on = store.begin_turn(session, "n1", by=BY), store.begin_turn(other, "n1", by=BY)
        done = store.begin_turn(new_session(store).id, "n1", by=BY)
        done = store.end_turn(done.id, TurnState.COMPLETED, by=BY)
        place.refuse("turns", "UPDATE", "NEW.session_id = '" + session + "'")
        with pytest.raises(Exception, match="cannot be used"):
            store.end_session(session, by=BY)
        assert store.get_session(session).ended_at is None, "in one transaction"
        place.rows("DROP TRIGGER refused" + (" ON turns" if place.url.startswith("postgresql") else ""))
        store.end_session(session, by=BY)
        ended = store.get_turn(turn.id)
        assert (ended.state, ended.problem) == (
            TurnState.STOPPED, TurnProblem("cancelled", "Stopped because its session ended"),
        )  # fmt: skip
        assert (store.get_turn(going_on.id), store.get_turn(done.id)) == (going_on, done)
        row = store.list_audit(action="session.end", newest_first=True).items[0]
        assert isinstance(row, AuditRecord)
        assert row.detail["turns"] == 1
        with pytest.raises(Conflict, match="has ended"):
            store.begin_turn(session, "n1", PROMPT, by=BY)
        with pytest.raises(NotFound, match="session"):
            store.begin_turn("none", "n1", PROMPT, by=BY)

    def test_what_cannot_be_kept_begins_no_turn(self, store: Store, place: Place) -> None:
        session = new_session(store).id
        turn = store.begin_turn(new_session(store).id, "n1", by=BY)
        before = place.dump()
        with pytest.raises(BadFields, match="Unicode"):
            store.begin_turn(session, "n1", (*PROMPT, Message(Role.USER, (Text("\ud800"),))), by=BY)
        for wrong in (
            TurnProblem("", "x"),
            TurnProblem("c" * 65, "x"),
            TurnProblem("c", ""),
            TurnProblem("c", "x" * 501),
        ):
            with pytest.raises(BadInput, match="'problem' must have a"):
                store.end_turn(turn.id, TurnState.FAILED, wrong, by=BY)
        with pytest.raises(BadInput, match="'counts'"):
            store.end_turn(turn.id, TurnState.FAILED, counts={"a": 1.5}, by=BY)  # type: ignore[dict-item]
        for node in ("", "\0", "x" * 600):
            with pytest.raises(BadInput, match="the node cannot be stored"):
                store.begin_turn(session, node, by=BY)
        assert place.dump() == before

    def test_lists_are_filtered_and_paged(self, store: Store) -> None:
        session, other = new_session(store).id, new_session(store).id
        made = []
        for _ in range(5):
            turn = store.begin_turn(session, "n1", by=BY)
            made.append(store.end_turn(turn.id, TurnState.COMPLETED, by=BY))
        running = store.begin_turn(other, "n2", by=BY)
        assert all_of(store.list_turns, session_id=session) == made[::-1]
        assert store.list_turns(state=TurnState.RUNNING).items == (running,)
        assert store.list_turns(node="n1").total == 5
        assert store.list_turns().total == 6

    @pytest.mark.parametrize(
        ("column", "value", "problem"),
        [
            ("state", "'done'", "'state' is none of running"),
            ("started_at", "'yesterday'", "'started_at' is no moment"),
            ("problem", "'[]'", "'problem' must be an object"),
            ("problem", '\'{"code": "a"}\'', "'problem' must be an object"),
            ("problem", '\'{"code": 1, "sentence": "a"}\'', "'problem' must have a code"),
            ("counts", "'{\"a\": true}'", "'counts' must be an object of whole numbers"),
            ("node", "''", "'node' is empty"),
        ],
    )
    def test_a_turn_that_cannot_be_read_is_named(
        self, store: Store, place: Place, column: str, value: str, problem: str
    ) -> None:
        turn = store.begin_turn(new_session(store).id, "n1", by=BY)
        place.rows(f"UPDATE turns SET {column} = {value}")
        with pytest.raises(BrokenRow) as caught:
            store.get_turn(turn.id)
        assert (caught.value.table, caught.value.id) == ("turns", turn.id)
        assert problem in caught.value.problem
        assert [type(one) for one in store.list_turns().items] == [Broken]
        with pytest.raises(BrokenRow):
            store.end_turn(turn.id, TurnState.COMPLETED, by=BY)
        with pytest.raises(BrokenRow):
            store.add_message(turn.session_id, PROMPT[0], turn_id=turn.id)

    # --- processes that are gone ---------------------------------------------------------------------------------

    def test_the_turns_of_a_process_that_is_gone_are_taken_over(self, store: Store, other: Store) -> None:
        for node in ("n1", "n2", "n3"):
            store.add_node(node)
        session = new_session(store).id
        turn = store.begin_turn(session, "n1", PROMPT, by=BY)
        kept = store.begin_turn(new_session(store).id, "n2", by=BY)
        over = store.begin_turn(new_session(store).id, "n1", by=BY)
        store.end_turn(over.id, TurnState.COMPLETED, by=BY)
        revision = store.revision()
        assert other.claim_turns("n2") == []
        assert store.revision() == revision, "to ask changes nothing"
        store.end_node("n1")
        assert store.get_turn(turn.id) == turn, "it goes on, and nobody runs it yet"
        assert store.claim_turns("n1") == [], "not by one that was taken for gone itself"
        (claimed,) = other.claim_turns("n2")
        assert (claimed.id, claimed.node, claimed.state, claimed.started_at) == (
            turn.id, "n2", TurnState.RUNNING, turn.started_at,
        )  # fmt: skip
        assert store.get_turn(turn.id) == claimed
        assert store.claim_turns("n3") == []
        row = store.list_audit(action="turn.claim").items[0]
        assert isinstance(row, AuditRecord)
        assert (row.subject, row.detail) == (turn.id, {"session": session, "node": "n2", "before": "n1"})
        for late in (
            lambda: store.add_message(session, PROMPT[0], turn_id=turn.id, node="n1"),
            lambda: store.end_turn(turn.id, TurnState.COMPLETED, node="n1", by=BY),
            lambda: store.begin_turn(new_session(store).id, "n1", by=BY),
        ):
            with pytest.raises(Conflict, match=r"node 'n2' by now|has ended, or was not heard of"):
                late()
        other.add_message(session, PROMPT[0], turn_id=turn.id, node="n2")
        other.end_turn(turn.id, TurnState.COMPLETED, node="n2", by=BY)
        assert store.get_turn(kept.id) == kept

    def test_a_process_that_comes_back_before_anybody_claims_goes_on(self, store: Store) -> None:
        store.add_node("n1")
        turn = store.begin_turn(new_session(store).id, "n1", by=BY)
        store.end_node("n1")
        store.see_node("n1")
        assert store.claim_turns("n2") == []
        store.add_message(turn.session_id, PROMPT[0], turn_id=turn.id, node="n1")
        assert store.get_turn(turn.id) == turn

    def test_a_process_that_nobody_had_heard_of_is_missed_when_it_is_gone(self, store: Store) -> None:
        turn = store.begin_turn(new_session(store).id, "unheard", by=BY)
        assert store.list_gone_nodes(timedelta(0), but="n2") == ["unheard"]
        store.end_node("unheard")
        assert [one.id for one in store.claim_turns("n2")] == [turn.id]
        assert store.list_gone_nodes(timedelta(0), but="") == ["n2"]

    def test_each_turn_goes_to_one_of_those_who_claim_at_once(self, store: Store, other: Store) -> None:
        for node in ("gone", "a", "b", "c", "d"):
            store.add_node(node)
        turns = [store.begin_turn(new_session(store).id, "gone", by=BY).id for _ in range(12)]
        broken = store.begin_turn(new_session(store).id, "gone", by=BY).id
        store.end_node("gone")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "_free_turns", lambda: [*turns, "none", broken])
            patch.setattr(other, "_free_turns", lambda: [*turns, "none", broken])
            store.stop_turn(turns[0], by=BY)
            store.end_turn(broken, TurnState.COMPLETED, by=BY)
            claims = together(
                *(lambda s=s, n=n: s.claim_turns(n) for s, n in zip((store, other) * 2, "abcd", strict=True))
            )
        got = [(turn.id, turn.node) for claimed in claims for turn in claimed]
        assert sorted(turn for turn, _ in got) == sorted(turns[1:])
        for turn, node in got:
            assert store.get_turn(turn).node == node
        assert store.list_audit(action="turn.claim").total == 11
        assert store.verify_audit().broken is None

    def test_a_broken_turn_keeps_nobody_from_the_others(self, store: Store, place: Place) -> None:
        broken, turn = (store.begin_turn(new_session(store).id, "n1", by=BY) for _ in range(2))
        place.rows(f"UPDATE turns SET surface = '' WHERE id = '{broken.id}'")
        store.end_node("n1")
        assert [one.id for one in store.claim_turns("n2")] == [turn.id]
        with pytest.raises(Conflict, match="under way"):
            store.begin_turn(broken.session_id, "n2", by=BY)
