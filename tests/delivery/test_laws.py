"""What holds for any items in any order, at both gates."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from stanch.delivery.admit import Delivery, admit_content
from stanch.delivery.gates import RegistryGate, SessionGate
from stanch.delivery.source import COMPLETE, EXCERPT, OPAQUE, Derived, Kind, Source, View, known
from stanch.provenance.registry import Registry
from stanch.provenance.states import UNRECORDED, WORKSPACE, Cause, Entry, Exact, Provenance, Scope, Unknown
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret, opened
from tests.http.served import COPILOT, PERSON

ENTRIES = tuple(
    Entry(f"S{number}", WORKSPACE if number % 2 else Scope("ada"), Secret(f"value-number-{number}" * (1 + number % 3)))
    for number in range(5)
)
SHORT = Entry("PIN", WORKSPACE, Secret("4711"))
STATES: st.SearchStrategy[Provenance] = st.one_of(
    st.just(UNRECORDED),
    st.frozensets(st.sampled_from((*ENTRIES, SHORT)), max_size=4).map(Exact),
    st.sampled_from(Cause).map(Unknown),
)
TEXTS = st.lists(st.sampled_from([opened(one.secret) for one in ENTRIES] + ["words", "4711"]), max_size=3).map(" ".join)
VIEWS: st.SearchStrategy[View] = st.one_of(st.sampled_from((COMPLETE, OPAQUE, EXCERPT)), TEXTS.map(Derived))
ITEMS = st.lists(st.tuples(STATES, VIEWS, st.booleans()), max_size=8)


def projectors(entries: Sequence[Entry]) -> Projector:
    return Projector({str(place): entry.secret for place, entry in enumerate(entries)})


def gate_of(session: bool, taints: bool, most: int) -> RegistryGate:
    registry = Registry(most_entries=most)
    return SessionGate(registry, projectors) if session else RegistryGate(registry, projectors, taints=taints)


def sources(drawn: Sequence[tuple[Provenance, View, bool]]) -> list[Source]:
    return [
        Source(Kind.FILE, str(place), known(state), view, whole=whole)
        for place, (state, view, whole) in enumerate(drawn)
    ]


GATES = st.tuples(st.booleans(), st.booleans(), st.integers(0, 6))


@given(ITEMS, GATES)
def test_one_by_one_is_all_at_once_and_a_refused_item_leaves_no_trace(
    drawn: list[tuple[Provenance, View, bool]], setting: tuple[bool, bool, int]
) -> None:
    items = sources(drawn)
    together, apart, without = gate_of(*setting), gate_of(*setting), gate_of(*setting)
    found = admit_content(Delivery(COPILOT, together), items)
    assert [one.source for one in found] == items, "in order, one for each"
    for one, item in zip(found, items, strict=True):
        before = (apart.registry.entries, apart.registry.latched)
        (alone,) = admit_content(Delivery(COPILOT, apart), (item,))
        assert alone.refusal == one.refusal
        if not alone.admitted:
            assert (apart.registry.entries, apart.registry.latched) == before
    admit_content(Delivery(COPILOT, without), [one.source for one in found if one.admitted])
    assert without.registry.entries == together.registry.entries == apart.registry.entries
    assert without.registry.latched == together.registry.latched


@given(ITEMS, GATES)
def test_what_passes_is_known_to_whatever_takes_it_out(
    drawn: list[tuple[Provenance, View, bool]], setting: tuple[bool, bool, int]
) -> None:
    session, taints, _ = setting
    gate = gate_of(*setting)
    tainted = False
    for item, (state, view, whole) in zip(sources(drawn), drawn, strict=True):
        (one,) = admit_content(Delivery(COPILOT, gate), (item,))
        if isinstance(state, Unknown):
            assert one.admitted is (taints and not session and not tainted), "by taint, once"
        tainted = tainted or (isinstance(state, Unknown) and one.admitted)
        assert (gate.registry.latched is not None) is tainted
        if not one.admitted or not isinstance(state, Exact):
            continue
        match view:
            case Derived(value):
                assert {entry for entry in state.entries if opened(entry.secret) in value} <= {*gate.registry.entries}
            case _:
                assert state.entries <= {*gate.registry.entries}
        if state.entries:
            assert view is not EXCERPT
            assert view is not OPAQUE or session
        assert whole or SHORT not in state.entries


@given(ITEMS, GATES)
def test_a_registry_holds_nothing_that_no_item_had_and_never_too_much(
    drawn: list[tuple[Provenance, View, bool]], setting: tuple[bool, bool, int]
) -> None:
    gate = gate_of(*setting)
    admit_content(Delivery(COPILOT, gate), sources(drawn))
    carried = {entry for state, _, _ in drawn if isinstance(state, Exact) for entry in state.entries}
    assert {*gate.registry.entries} <= carried
    assert len(gate.registry.entries) <= setting[2]


@given(ITEMS)
def test_a_person_gets_everything_whatever_is_known(drawn: list[tuple[Provenance, View, bool]]) -> None:
    assert all(one.admitted for one in admit_content(Delivery(PERSON), sources(drawn)))
