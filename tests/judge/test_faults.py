"""What does it mean that a layer gave no answer? Each row of the table of faults, on both faces."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from stanch.app.judging import Judge
from stanch.app.loading import engine_for, read_document
from stanch.policy.layers import Failed, Rewrite
from stanch.values.decision import Answer, Effect
from stanch.values.reason import Code, LayerId
from stanch.values.verdict import Cause, Face, State
from tests.judge.worlds import (
    HELD,
    READ,
    WRITE,
    Hanging,
    Says,
    judge,
    policy,
    probe,
    replying,
    saying,
    session,
    throwing,
)

SEATS = (Code.NO_APPROVER, Code.APPROVAL_EXPIRED, Code.CANCELLED)
POLICIES = (LayerId.CALLER_POLICY, LayerId.INHERITED_CONSTRAINT)
THROWS = {
    LayerId.SKILL_ROWS: Cause.THREW,
    LayerId.NARROWING: Cause.THREW,
    LayerId.TIER: Cause.THREW,
    LayerId.CALLER_POLICY: Cause.THREW,
    LayerId.INHERITED_CONSTRAINT: Cause.THREW,
    LayerId.ORG_RULES: Cause.ORG_UNAVAILABLE,
}
NONSENSE: list[Any] = [None, True, "allow", [], [True], (None, None), object(), Effect.ALLOW]


@pytest.mark.parametrize("face", Face)
@pytest.mark.parametrize("layer", THROWS)
@pytest.mark.parametrize("immediate", [True, False])
def test_a_layer_that_throws(tmp_path: Path, face: Face, layer: LayerId, immediate: bool) -> None:
    got = judge(tmp_path, throwing(layer, immediate=immediate))(probe(face))
    assert (got.state, got.layer, got.cause) == (State.UNANSWERABLE, layer, THROWS[layer])
    assert "hunter2" not in repr(got)


@pytest.mark.parametrize("layer", THROWS)
@pytest.mark.parametrize("nonsense", NONSENSE, ids=range(len(NONSENSE)))
def test_a_layer_that_replies_with_nonsense(tmp_path: Path, layer: LayerId, nonsense: Any) -> None:
    got = judge(tmp_path, replying(layer, nonsense))(probe())
    assert (got.state, got.cause) == (State.UNANSWERABLE, THROWS[layer])


@pytest.mark.parametrize("face", Face)
@pytest.mark.parametrize("code", SEATS)
@pytest.mark.parametrize("layer", POLICIES)
def test_a_settled_deny_of_a_policy_is_a_seat_and_no_deny(
    tmp_path: Path, face: Face, layer: LayerId, code: Code
) -> None:
    seat = saying(layer, Effect.DENY, code)
    got = judge(tmp_path, seat)(probe(face))
    assert (got.state, got.layer, got.cause) == (State.UNANSWERABLE, layer, Cause.APPROVAL_SEAT)
    later = saying(LayerId.ORG_RULES, Effect.DENY)
    assert judge(tmp_path, seat, later)(probe(face)).layer is LayerId.ORG_RULES


@pytest.mark.parametrize("code", SEATS)
@pytest.mark.parametrize("layer", [LayerId.SKILL_ROWS, LayerId.NARROWING, LayerId.ORG_RULES])
def test_of_any_other_layer_such_a_deny_is_one(tmp_path: Path, layer: LayerId, code: Code) -> None:
    assert judge(tmp_path, saying(layer, Effect.DENY, code))(probe()).state is State.DENY


def test_beside_a_settled_deny_a_rules_deny_counts() -> None:
    from stanch.judge.judge import Judgment, Panel
    from stanch.values.call import CallEffect, EffectClass, JudgedCall, Stamp, ToolCall

    def answer(effect: Effect, code: Code) -> Answer:
        return Answer(effect, code, LayerId.CALLER_POLICY)

    seat, rule, ask = (
        answer(Effect.DENY, Code.NO_APPROVER),
        answer(Effect.DENY, Code.RULE),
        answer(Effect.ASK, Code.RULE),
    )
    stamp = Stamp("/w/a", "/w/a", "/w/a")
    call = JudgedCall(ToolCall("Read", {}), (CallEffect(EffectClass.READ, "", stamp),) * 2)
    for face in Face:
        for said, state in (([seat, rule], State.DENY), ([seat, ask], HELD[face]), ([seat, None], State.UNANSWERABLE)):
            layer = replying(LayerId.CALLER_POLICY, said, immediate=True)
            assert Judgment(call, Panel(face, [layer]), lambda: False).begin().state is state  # type: ignore[union-attr]


@pytest.mark.parametrize("face", Face)
@pytest.mark.parametrize("layer", [*POLICIES, LayerId.NARROWING, LayerId.ORG_RULES])
def test_a_rewrite_is_no_answer_and_a_later_deny_counts(tmp_path: Path, face: Face, layer: LayerId) -> None:
    rewrites = replying(layer, Rewrite({"file_path": "/elsewhere"}))
    got = judge(tmp_path, rewrites)(probe(face))
    assert (got.state, got.layer, got.cause) == (State.UNANSWERABLE, layer, Cause.REWRITTEN)
    if layer is not LayerId.ORG_RULES:
        assert judge(tmp_path, rewrites, saying(LayerId.ORG_RULES, Effect.DENY))(probe(face)).state is State.DENY


class Persisted(Says):
    """In the place of the persisted rules, which a session always has."""


def persisted(tmp_path: Path, layer: Any, face: Face, seconds: float = 5.0) -> Any:
    made = session(tmp_path)
    made.layers = tuple(layer if one.id is LayerId.PERSISTED_RULES else one for one in made.layers)
    return Judge([made], seconds=seconds)(probe(face))


@pytest.mark.parametrize("face", Face)
@pytest.mark.parametrize(
    ("says", "cause"),
    [
        (throwing(LayerId.PERSISTED_RULES), Cause.STORE_UNREADABLE),
        (throwing(LayerId.PERSISTED_RULES, immediate=True), Cause.STORE_UNREADABLE),
        (replying(LayerId.PERSISTED_RULES, True), Cause.STORE_UNREADABLE),
        (replying(LayerId.PERSISTED_RULES, Failed("slow", Cause.TIMED_OUT)), Cause.STORE_UNREADABLE),
        (saying(LayerId.PERSISTED_RULES, Effect.ASK, Code.STORE_UNREADABLE, mandated=True), Cause.STORE_UNREADABLE),
        (saying(LayerId.PERSISTED_RULES, Effect.DENY, Code.STORE_UNREADABLE), Cause.STORE_UNREADABLE),
        (saying(LayerId.PERSISTED_RULES, Effect.ASK, Code.CALL_UNREADABLE), Cause.CALL_UNREADABLE),
    ],
)
def test_persisted_rules_that_cannot_be_read(tmp_path: Path, face: Face, says: Any, cause: Cause) -> None:
    got = persisted(tmp_path, says, face)
    assert (got.state, got.layer, got.cause) == (State.UNANSWERABLE, LayerId.PERSISTED_RULES, cause)


def test_persisted_rules_that_hang_are_a_store_that_cannot_be_read(tmp_path: Path) -> None:
    hanging = Hanging(LayerId.PERSISTED_RULES)
    got = persisted(tmp_path, hanging, READ, 0.05)
    hanging.go.set()
    assert (got.state, got.layer, got.cause) == (State.UNANSWERABLE, LayerId.PERSISTED_RULES, Cause.STORE_UNREADABLE)


@pytest.mark.parametrize("layer", [LayerId.NARROWING, LayerId.TIER, *POLICIES, LayerId.ORG_RULES])
def test_a_layer_that_hangs_costs_the_time_there_is(tmp_path: Path, layer: LayerId) -> None:
    hanging, behind = Hanging(layer), saying(LayerId.ORG_RULES, Effect.DENY)
    started = time.monotonic()
    got = judge(tmp_path, hanging, behind, seconds=0.05)(probe(WRITE))
    hanging.go.set()
    assert time.monotonic() - started < 2
    assert (got.state, got.layer, got.cause) == (State.UNANSWERABLE, layer, Cause.TIMED_OUT)
    assert behind.asked == []


def test_a_held_ask_that_was_heard_before_the_time_was_over_stands(tmp_path: Path) -> None:
    hanging = Hanging(LayerId.INHERITED_CONSTRAINT)
    got = judge(tmp_path, saying(LayerId.CALLER_POLICY, Effect.ASK), hanging, seconds=0.05)(probe(READ))
    hanging.go.set()
    assert (got.state, got.layer) == (State.MANDATED_ASK, LayerId.CALLER_POLICY)


def test_an_organizations_own_time_out_is_one_of_its_own(tmp_path: Path) -> None:
    own = replying(LayerId.ORG_RULES, Failed("no answer in time", Cause.TIMED_OUT))
    assert judge(tmp_path, own)(probe()).cause is Cause.ORG_UNAVAILABLE


def test_a_tier_that_cannot_be_read_is_no_deny(tmp_path: Path) -> None:
    head = '[tiers.odd]\nlabel = "Odd"\nwrong = 1\n[models]\ndefault_tier = "odd"\n'
    made = session(tmp_path, head=head, model="a/b")
    got = Judge([made])(probe())
    assert (got.state, got.layer, got.cause) == (State.UNANSWERABLE, LayerId.TIER, Cause.STORE_UNREADABLE)
    assert made.check("read_file", {"path": "a.txt"}).effect is Effect.DENY


@pytest.mark.parametrize("face", Face)
def test_a_store_that_cannot_be_read_lets_nothing_pass(tmp_path: Path, face: Face) -> None:
    from stanch.app.stored_policy import Kept, combined

    file = policy(tmp_path)
    document = read_document(file)
    kept = Kept(None, None, "the database is away")
    engine = engine_for(
        document, file.parent, file, completed=lambda made, home, anchor: combined(made, document, kept, home, anchor)
    )
    got = Judge([engine.session()])(probe(face))
    assert (got.state, got.cause) == (State.UNANSWERABLE, Cause.STORE_UNREADABLE)
    assert got.reason is not None
    assert "the database is away" in got.reason.detail


def test_facts_that_cannot_be_had_let_nothing_pass(tmp_path: Path) -> None:
    def away() -> Any:
        raise RuntimeError("hunter2")

    got = judge(tmp_path, facts=away)(probe(WRITE))
    assert (got.state, got.cause) == (State.UNANSWERABLE, Cause.CALL_UNREADABLE)
    assert "hunter2" not in repr(got)
