"""The stage itself: its states, its principals, its model."""

from __future__ import annotations

from stanch.app.content_writing import Declared, Said, Unsaid
from stanch.provenance.states import CLEAN, UNRECORDED, Cause, Exact, Unknown
from tests.delivery.stage import NAME, Stage, State


def test_each_state_is_what_its_headers_make_of_its_text(stage: Stage) -> None:
    entries = stage.content.secrets.entries()

    def known(state: State) -> object:
        headers = stage.headers(state)
        if not headers:
            return Unsaid().over()(stage.written(state))
        declared = Declared((headers["Stanch-Secrets"],), headers["Stanch-Secrets-Complete"] == "yes")
        return Said(declared, entries).over()(stage.written(state))

    assert known(State.UNKNOWN) == Unknown(Cause.INCOMPLETE)
    found = known(State.ENTRIES)
    assert isinstance(found, Exact)
    assert {entry.name for entry in found.entries} == {NAME}
    assert known(State.UNRECORDED) == UNRECORDED
    assert known(State.EMPTY) == CLEAN


def test_the_model_hears_of_a_call(stage: Stage) -> None:
    told = stage.tool("read_file", path="nothing.txt")
    assert "nothing.txt" in told


def test_a_value_is_told_in_every_encoding(stage: Stage) -> None:
    assert stage.holds(f"x{stage.value}y")
    assert not stage.holds("nothing here")
