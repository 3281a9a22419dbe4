"""What do those who ask the judge make of its answer? Each state and cause, for each of them."""

from __future__ import annotations

import itertools

import pytest

from stanch.judge.notices import Consumer, goes_on
from stanch.values.fault import BadFields
from stanch.values.reason import LayerId
from stanch.values.verdict import Cause, Face, State, Verdict

CASES = [
    *((state, None) for state in State),
    *itertools.product((State.UNANSWERABLE,), Cause),
]
TELLS = {
    (State.NO_OBJECTION, None),
    (State.MANDATED_ASK, None),
    *((State.UNANSWERABLE, cause) for cause in Cause if cause is not Cause.TIMED_OUT),
}
"""What lets a notice through. All else, and of the others all but that nobody objects, stops them."""


@pytest.mark.parametrize("consumer", Consumer)
@pytest.mark.parametrize(("state", "cause"), CASES)
def test_each_state_and_cause(consumer: Consumer, state: State, cause: Cause | None) -> None:
    verdict = Verdict(state, LayerId.TIER, None, cause, "/w/a")
    wanted = (state, cause) in TELLS if consumer is Consumer.CHANGED_FILE else state is State.NO_OBJECTION
    assert goes_on(consumer, verdict) is wanted


def test_an_unanswerable_verdict_without_a_cause_stops_everybody() -> None:
    verdict = Verdict(State.UNANSWERABLE, LayerId.TIER)
    assert not any(goes_on(consumer, verdict) for consumer in Consumer)


def test_who_asks_can_be_told_from_a_models_calls() -> None:
    assert {one: one.probe("/w/a").id for one in Consumer} == {
        Consumer.CHANGED_FILE: "changed-file-visibility-probe",
        Consumer.ATTACHMENT: "attachment-visibility-probe",
        Consumer.CONTEXT_FILE: "context-file-visibility-probe",
        Consumer.MEMORY: "memory-write-probe",
    }
    assert [one for one in Consumer if one.face is Face.WRITE] == [Consumer.MEMORY]
    with pytest.raises(BadFields):
        Consumer.MEMORY.probe("")
