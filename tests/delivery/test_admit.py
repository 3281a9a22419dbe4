"""The primitive, by itself: who is classified, what is accounted for, what is deferred, what is cut and observed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from stanch.delivery.admit import (
    Admission,
    ContentRefused,
    Delivery,
    Window,
    admit_content,
    admit_written_content,
    observe_content_outside_model,
    redact_before_cutting,
    require_admitted_content,
)
from stanch.delivery.gates import RegistryGate, SessionGate
from stanch.delivery.source import COMPLETE, EXCERPT, OPAQUE, Batch, Derived, Kind, Source, View, known
from stanch.provenance.registry import Registry
from stanch.provenance.states import CLEAN, UNRECORDED, WORKSPACE, Cause, Entry, Exact, Provenance, Unknown
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret
from stanch.values.fault import Fault
from stanch.values.identity import Principal, PrincipalKind
from stanch.values.reason import Code, LayerId, Reason
from tests.http.served import AGENT, CLIENT, COPILOT, KEY, PERSON, WORKFLOW

VALUE = "hunter2-but-long"
ENTRY = Entry("KEY", WORKSPACE, Secret(VALUE))
CARRIES = Exact(frozenset({ENTRY}))
LOST = Unknown(Cause.INCOMPLETE)


def projectors(entries: Sequence[Entry]) -> Projector:
    return Projector({entry.name: entry.secret for entry in entries})


def model(gate: RegistryGate | None = None, **more: object) -> Delivery:
    """A delivery to the chat's model."""
    made = RegistryGate(Registry(), projectors) if gate is None else gate
    return Delivery(COPILOT, made, **more)  # type: ignore[arg-type]


def item(provenance: Provenance, view: View = COMPLETE, name: str = "a") -> Source:
    return Source(Kind.FILE, name, known(provenance), view)


def never() -> Provenance:
    pytest.fail("what is known of it was read")


UNREAD = Source(Kind.FILE, "a", never)


@pytest.mark.parametrize("principal", [PERSON, KEY, CLIENT, WORKFLOW, AGENT])
def test_nothing_is_read_for_anybody_but_the_chats_model(principal: Principal) -> None:
    delivery = Delivery(principal, RegistryGate(Registry(), projectors), lambda _: pytest.fail("rules were asked"))
    assert [one.admitted for one in admit_content(delivery, (UNREAD, UNREAD))] == [True, True]
    assert require_admitted_content(delivery, UNREAD).admitted
    assert admit_written_content(delivery, (UNREAD,))
    assert redact_before_cutting(delivery, f"it is {VALUE}", Window(0, 10)) == "it is hunt"
    assert delivery.settled == []


def test_an_organizations_copilot_is_classified_too() -> None:
    copilot = Principal(PrincipalKind.ORGANIZATION_DELEGATED, "acme", "copilot")
    with pytest.raises(ContentRefused):
        require_admitted_content(Delivery(copilot, RegistryGate(Registry(), projectors)), item(LOST))


def test_a_person_called_copilot_is_a_person() -> None:
    assert not Delivery(Principal(PrincipalKind.USER, "copilot")).classified
    assert not Delivery(Principal(PrincipalKind.API_KEY, "ada", "copilot")).classified


def test_an_empty_list_accounts() -> None:
    delivery = model()
    assert not delivery.accounted
    assert admit_content(delivery, ()) == ()
    assert delivery.accounted


def test_an_admission_is_no_truth_value() -> None:
    with pytest.raises(TypeError, match="admitted"):
        bool(Admission(item(CLEAN)))


def test_nothing_is_given_where_no_gate_stands() -> None:
    delivery = Delivery(COPILOT)
    (one,) = admit_content(delivery, (UNREAD,))
    assert one.refusal is not None
    assert one.refusal.code is Code.CONTENT_UNACCOUNTED
    with pytest.raises(ContentRefused):
        redact_before_cutting(delivery, "x", Window())


def test_a_path_that_is_closed_is_closed_before_anything_is_read() -> None:
    closed = Reason(Code.CONTENT_TIER, LayerId.DELIVERY)
    delivery = model(may_read=lambda path: closed if path == "/w/a" else None)
    (one,) = admit_content(delivery, (Source(Kind.FILE, "a", never, path="/w/a"),))
    assert one.refusal is closed
    assert require_admitted_content(delivery, item(CLEAN)).admitted


def test_a_refusal_names_the_item_and_no_content() -> None:
    with pytest.raises(ContentRefused) as raised:
        require_admitted_content(model(), item(CARRIES, OPAQUE))
    assert raised.value.reason.subject == "file a"
    assert VALUE not in f"{raised.value!r} {raised.value.reason} {raised.value.args}"


def test_what_cannot_be_read_of_an_item_admits_nothing() -> None:
    def broken() -> Provenance:
        raise Fault("the store is away")

    with pytest.raises(Fault, match="away"):
        admit_content(model(), (Source(Kind.FILE, "a", broken),))


def test_items_that_nobody_recorded_are_told_of() -> None:
    delivery = model()
    admit_content(delivery, (item(UNRECORDED), item(CLEAN, name="b"), item(LOST, name="c")))
    assert [one.id for one in delivery.unrecorded] == ["a"]
    assert [one.admitted for one in delivery.settled] == [True, True, False]


# What was written.


def test_a_refusal_is_deferred_and_the_first_one_counts() -> None:
    delivery = model()
    assert not admit_written_content(delivery, (item(CLEAN), item(LOST), item(CARRIES, OPAQUE)))
    assert not admit_written_content(delivery, (item(CARRIES, OPAQUE),))
    assert delivery.deferred is not None
    assert (delivery.deferred.reason.code, delivery.deferred.saved) == (Code.CONTENT_UNKNOWN, True)
    assert delivery.committed


def test_a_gate_that_fails_does_not_undo_a_write() -> None:
    class Failing(RegistryGate):
        def admit(self, source: Source, provenance: Provenance) -> Reason | None:
            raise RuntimeError(VALUE)

    delivery = model(Failing(Registry(), projectors))
    assert not admit_written_content(delivery, (item(CLEAN),))
    assert delivery.deferred is not None
    assert delivery.deferred.reason.code is Code.LAYER_FAILED
    assert delivery.deferred.reason.detail == "RuntimeError"
    assert delivery.deferred.saved
    assert VALUE not in str(delivery.deferred.reason)


def test_a_settled_result_that_saved_nothing_does_not_say_so() -> None:
    delivery = model()
    admit_written_content(delivery, (item(LOST),), saved=False)
    assert delivery.deferred is not None
    assert not delivery.deferred.saved
    assert not delivery.committed


# Cutting.


def test_all_of_a_text_is_projected_before_it_is_cut() -> None:
    delivery = model()
    require_admitted_content(delivery, item(CARRIES))
    text = f"it is {VALUE}, really"
    for start in range(len(text)):
        for end in range(start, len(text) + 1):
            assert "hunt" not in redact_before_cutting(delivery, text, Window(start, end))


def test_a_window_without_an_end_goes_to_the_end() -> None:
    assert redact_before_cutting(model(), "abc", Window(1)) == "bc"


def test_the_workbenchs_gate_makes_a_projector_only_where_something_is_cut() -> None:
    made: list[tuple[Entry, ...]] = []

    def counting(entries: Sequence[Entry]) -> Projector:
        made.append(tuple(entries))
        return projectors(entries)

    history = Registry()
    history.activate(Entry("OLD", WORKSPACE, Secret("swordfish-also-long")))
    delivery = model(SessionGate(history, counting))
    require_admitted_content(delivery, item(CARRIES, OPAQUE))
    require_admitted_content(delivery, item(CLEAN, OPAQUE))
    assert made == [], "ordinary bytes need none"
    assert redact_before_cutting(delivery, VALUE, Window(0, 3)) == "{{KEY}}"
    assert made == [(ENTRY,)], "its own evidence, and not the history"
    assert {entry.name for entry in history.entries} == {"OLD", "KEY"}


# Observing.


def test_whoever_observes_says_why_and_it_is_kept_first() -> None:
    kept: list[str] = []
    delivery = model(note=kept.append)
    for nothing in ("", "  "):
        with pytest.raises(ValueError, match="why"):
            observe_content_outside_model(delivery, nothing)
    assert not delivery.accounted
    observe_content_outside_model(delivery, "the preview of a person's own edit")
    assert kept == delivery.observed == ["the preview of a person's own edit"]
    assert delivery.accounted


def test_nothing_is_observed_that_cannot_be_kept() -> None:
    def broken(_: str) -> None:
        raise Fault("the store is away")

    for delivery in (model(note=broken), model()):
        with pytest.raises(Fault):
            observe_content_outside_model(delivery, "a preview")
        assert not delivery.accounted
        assert delivery.observed == []


def test_nobody_audits_what_a_person_observes() -> None:
    observe_content_outside_model(Delivery(PERSON, note=lambda _: pytest.fail("audited")), "a preview")


# Views and batches.


def test_something_derived_is_looked_through_for_short_secrets_too() -> None:
    short = Exact(frozenset({Entry("PIN", WORKSPACE, Secret("4711"))}))
    (one,) = admit_content(model(), (item(short, Derived("nothing")),))
    assert one.refusal is not None
    assert one.refusal.code is Code.SECRET_TOO_SHORT


def test_several_secrets_of_one_name_are_told_apart_by_their_text() -> None:
    gate = RegistryGate(Registry(), projectors)
    other = Entry("KEY", WORKSPACE, Secret("swordfish-also-long"))
    require_admitted_content(model(gate), item(Exact(frozenset({ENTRY, other})), Derived({"a": "swordfish-also-long"})))
    assert gate.registry.entries == (other,)


def test_what_cannot_be_looked_through_is_withheld_whole() -> None:
    (one,) = admit_content(model(), (item(CARRIES, Derived({"a": object()})),))
    assert one.refusal is not None
    assert one.refusal.code is Code.CONTENT_UNSCANNED


def test_an_excerpt_that_is_clean_passes() -> None:
    assert require_admitted_content(model(), item(UNRECORDED, EXCERPT)).admitted


def test_a_batch_is_read_once_and_forgets_nobody() -> None:
    reads: list[int] = []

    def read() -> dict[str, Provenance]:
        reads.append(1)
        return {"a": CLEAN}

    batch = Batch(read)
    asked = batch.of("a"), batch.of("b")
    assert reads == []
    assert [one() for one in asked] == [CLEAN, Unknown(Cause.SOURCE_UNKNOWN)]
    assert reads == [1]


def test_no_source_shows_what_it_holds() -> None:
    assert VALUE not in repr(item(CARRIES, Derived(VALUE)))
