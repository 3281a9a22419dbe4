"""What receipts say and what follows from them, without a store: nothing is dropped, and nothing grows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.app.shown_messages import MOST_NAMES, Shown
from stanch.delivery.admit import Admission, Delivery, Ended, admit_content
from stanch.delivery.gates import RegistryGate
from stanch.delivery.receipts import DELIVERED, MOST_ITEMS, MOST_SECRETS, SENT, Came, Send, of_delivery, of_send
from stanch.delivery.source import OPAQUE, Kind, Source, State, known
from stanch.delivery.who_saw import MOST_SIGHTINGS, Asked, Form, Sightings
from stanch.provenance.registry import Registry
from stanch.provenance.states import UNRECORDED, Provenance
from stanch.secrets.labelled import Labelled
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret
from stanch.tiers.kept import Sent
from stanch.tiers.report import Report
from stanch.values.identity import COPILOT_SERVICE, Principal, PrincipalKind
from stanch.values.message import Message, Origin, Result, Role, SourceTag, Text

MODEL = Principal(PrincipalKind.DELEGATED, "ada", COPILOT_SERVICE)
AT = "2026-01-01T00:00:00.000000+00:00"
VALUE = "hunter2-but-long"
LABELLED = Labelled(Projector({"KEY": Secret(VALUE), "OTHER": Secret("another-long-value")}))
NOTHING_BACK = Report("t")
CASES: Sequence[tuple[str, set[str]]] = (
    ("it is {{KEY}}, then {{OTHER}}{{KEY}}", {"KEY", "OTHER"}),
    ("Dear {{user}}, {{KEY and {KEY} and {{ KEY }}", set()),
    ("", set()),
    ("{{" * 2_000, set()),
)


def delivery(*settled: Admission) -> Delivery:
    made = Delivery(MODEL)
    made.operation = "files_read"
    made.settled.extend(settled)
    return made


def item(name: str, state: State | None = State.EXACT, *secrets: str, opaque: bool = False) -> Admission:
    source = Source(Kind.FILE, name, known(UNRECORDED), path=f"/repo/{name}")
    if opaque:
        source = Source(Kind.FILE, name, known(UNRECORDED), OPAQUE, path=f"/repo/{name}")
    return Admission(source, None, state, secrets)


def row(action: str, detail: Any, at: str = AT, subject: str = "s1") -> dict[str, Any]:
    said = detail if isinstance(detail, str) else json.dumps(detail, sort_keys=True, separators=(",", ":"))
    return {"action": action, "subject": subject, "at": at, "detail": said}


def asked(rows: Sequence[dict[str, Any]], **question: Any) -> Sightings:
    found = Sightings(Asked(**question))
    for one in rows:
        found.take(one)
    return found


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2_500)), max_size=8), st.integers(0, 2_500))
def test_no_item_and_no_name_is_lost_however_many_there_are(shape: list[tuple[int, int]], replaced: int) -> None:
    items = [
        item(f"{at}-{number}", State.EXACT, *(f"K{at}_{one}" for one in range(names)))
        for at, (count, names) in enumerate(shape)
        for number in range(count * 60)
    ][:400]
    names = [f"R{number}" for number in range(replaced)]
    said = list(of_delivery(delivery(*items), model="m/a", ended=Ended.GIVEN, replaced=names))
    assert said
    got: dict[str, list[str]] = {}
    for one in said:
        assert len(one["items"]) <= MOST_ITEMS
        assert sum(len(entry.get("secrets", ())) for entry in one["items"]) <= MOST_SECRETS
        assert len(one.get("redacted", ())) <= MOST_SECRETS
        for entry in one["items"]:
            got.setdefault(entry["id"], []).extend(entry.get("secrets", ()))
    assert got == {one.source.id: list(one.secrets) for one in items}
    assert sorted(name for one in said for name in one.get("redacted", ())) == sorted(names)


def test_nothing_is_read_twice_for_a_receipt() -> None:
    reads: list[str] = []

    def read_once() -> Provenance:
        reads.append("read")
        return UNRECORDED

    made = Delivery(MODEL, RegistryGate(Registry(), lambda _: Projector({})))
    made.operation = "files_read"
    admit_content(made, [Source(Kind.FILE, str(number), read_once) for number in range(3)])
    (said,) = of_delivery(made, model=None, ended=Ended.GIVEN)
    assert len(reads) == 3
    assert {one["state"] for one in said["items"]} == {"unrecorded"}


def test_ten_thousand_items_make_fifty_rows() -> None:
    items = [item(str(number)) for number in range(10_000)]
    assert len(list(of_delivery(delivery(*items), model=None, ended=Ended.GIVEN))) == 50


def test_of_a_send_nothing_is_lost() -> None:
    came = [Came(str(number), "path", ("KEY",)) for number in range(450)]
    closed, labels = [f"c{number}" for number in range(900)], [f"l{number}" for number in range(1_500)]
    said = list(of_send(Send("m/a", "t", 7, came, labels, closed)))
    assert [len(one.get("new", ())) for one in said] == [200, 200, 50, 0, 0]
    assert [name for one in said for name in one.get("withheld", ())] == closed
    assert [name for one in said for name in one.get("labels", ())] == labels
    assert said[0]["secrets"]["KEY"] == "redacted"
    assert list(of_send(Send("m/a", "t", 7))) == [{"model": "m/a", "tier": "t", "messages": 7}]


@pytest.mark.parametrize(("text", "names"), CASES)
def test_labels_are_found_and_nothing_else(text: str, names: set[str]) -> None:
    assert LABELLED.in_text(text) == names
    assert LABELLED.in_value({"a": [text, 1, None]}) == names


def test_a_label_that_names_nobody_is_everybodys_whose_label_it_is() -> None:
    labelled = Labelled(Projector({"a b": Secret(VALUE), "c d": Secret("another-long-value"), "KEY": Secret("x" * 9)}))
    assert labelled.in_text("it is {{secret}}") == {"a b", "c d"}


# --- what is new -----------------------------------------------------------------------------------------------------


def read(path: str, text: str) -> Message:
    return Message(Role.TOOL, (Result("c", (Text(text),), "read_file", tags=(SourceTag(path),)),))


def test_only_what_is_new_is_told_and_what_was_not_kept_is_told_again() -> None:
    shown, messages = Shown(), [read("/a", "it is {{KEY}}")]
    first = shown.news(messages, Sent(messages), LABELLED, NOTHING_BACK)
    assert [(one.name, one.secrets) for one in first.came] == [("/a", ("KEY",))]
    assert shown.news(messages, Sent(messages), LABELLED, NOTHING_BACK).came == first.came, "it was not kept"
    shown.told(first)
    messages.append(read("/a", "nothing"))
    messages.append(read("/b", "nothing"))
    again = shown.news(messages, Sent(messages), LABELLED, NOTHING_BACK)
    assert [(one.name, one.secrets) for one in again.came] == [("/b", ())]
    shown.told(again)
    messages.append(read("/b", "now {{OTHER}}"))
    last = shown.news(messages, Sent(messages), LABELLED, NOTHING_BACK)
    assert [(one.name, one.secrets) for one in last.came] == [("/b", ("OTHER",))]


def test_a_conversation_that_goes_on_is_not_looked_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def looking(_: Labelled, text: str) -> frozenset[str]:
        looked.append(text)
        return frozenset()

    monkeypatch.setattr(Labelled, "in_text", looking)
    shown, messages = Shown(), [read(f"/{number}", "x") for number in range(500)]
    shown.told(shown.news(messages, list(messages), LABELLED, NOTHING_BACK))
    looked.clear()
    messages.append(read("/new", "y"))
    shown.told(shown.news(messages, list(messages), LABELLED, NOTHING_BACK))
    assert set(looked) <= {"y", "c", "read_file"}


def test_what_a_tier_closes_is_told_as_withheld_alone() -> None:
    shown, messages = Shown(), [read("/a", "it is {{KEY}}")]
    news = shown.news(messages, messages, LABELLED, Report("t", {"/a": 1}))
    assert (news.came, news.withheld, news.labels) == ((), ("/a",), ("KEY",))


def test_what_is_remembered_has_an_end() -> None:
    shown = Shown()
    for start in range(3):
        messages = [read(f"/{start}-{number}", "x") for number in range(MOST_NAMES // 2 + 1)]
        shown.told(shown.news(messages, messages, LABELLED, NOTHING_BACK))
        assert len(shown._pairs) <= 2 * MOST_NAMES


def test_tags_of_every_kind_are_told() -> None:
    tags = (SourceTag("/d", Origin.SUBTREE), SourceTag("row:t/1", Origin.ITEM), SourceTag("x", Origin.UNKNOWN))
    messages = [Message(Role.TOOL, (Result("c", (Text("x"),), tags=tags),))]
    came = Shown().news(messages, messages, LABELLED, NOTHING_BACK).came
    assert [(one.name, one.kind) for one in came] == [("/d", "subtree"), ("row:t/1", "item"), ("x", "unknown")]


# --- who saw ---------------------------------------------------------------------------------------------------------


def test_raw_bytes_into_a_workbench_are_their_own_form() -> None:
    said = of_delivery(delivery(item("a", State.EXACT, "KEY", opaque=True)), model="m/a", ended=Ended.GIVEN)
    found = asked([row(DELIVERED, one) for one in said], secret="KEY")
    assert [(one.item, one.form) for one in found.items] == [("/repo/a", Form.RAW)]


def test_a_failed_delivery_is_an_error() -> None:
    said = of_delivery(delivery(item("a", State.EXACT, "KEY")), model="m/a", ended=Ended.FAILED)
    assert [one.form for one in asked([row(DELIVERED, one) for one in said], secret="KEY").items] == [Form.ERROR]


def test_a_secret_of_a_page_further_on_is_no_unrecorded_items() -> None:
    items = [item(str(number), State.UNRECORDED) for number in range(250)] + [item("k", State.EXACT, "KEY")]
    said = list(of_delivery(delivery(*items), model="m/a", ended=Ended.GIVEN, replaced=["KEY"]))
    found = asked([row(DELIVERED, one) for one in said], secret="KEY")
    assert [(one.item, one.form) for one in found.items] == [("/repo/k", Form.REDACTED)]
    assert found.unrecorded == 250


def test_the_answer_has_an_end_and_says_what_is_missing() -> None:
    items = [item(str(number), State.EXACT, "KEY") for number in range(MOST_SIGHTINGS + 250)]
    said = list(of_delivery(delivery(*items), model="m/a", ended=Ended.GIVEN))
    found = asked([row(DELIVERED, one) for one in said], secret="KEY")
    assert (len(found.items), found.more) == (MOST_SIGHTINGS, 250)


@pytest.mark.parametrize(
    "detail",
    [
        "",
        "{",
        "[]",
        '"KEY"',
        '{"items": ["KEY"]}',
        '{"operation":"x","ended":"odd","items":[{"secrets":["KEY"]}]}',
        '{"operation":"x","ended":"given","items":{"KEY":1}}',
        '{"operation":"x","ended":"given","unexplained":7,"items":[],"KEY":"KEY"}',
        "[" * 100_000 + '"KEY"',
    ],
)
@pytest.mark.parametrize("action", [DELIVERED, SENT])
def test_a_row_that_somebody_spoiled_stops_nothing(action: str, detail: str) -> None:
    good = row(SENT, {"model": "m/a", "tier": "t", "messages": 1, "labels": ["KEY"]})
    found = asked([row(action, detail), {**good, "detail": None}, good], secret="KEY")
    assert [one.form for one in found.items if one.item is None] == [Form.LABEL]


def test_first_and_last_and_how_often_are_told() -> None:
    detail = {"model": "m/a", "tier": "t", "messages": 1, "labels": ["KEY"]}
    found = asked([row(SENT, detail, at=f"2026-01-0{day}T00:00:00.000000+00:00") for day in (1, 2, 3)], secret="KEY")
    (one,) = found.items
    assert (one.first[:10], one.last[:10], one.count, one.operations) == ("2026-01-01", "2026-01-03", 3, ["send"])


@pytest.mark.parametrize(
    ("question", "is_found"),
    [
        ("table:t1", True),
        ("row:t1/7", True),
        ("t1", True),
        ("t1/7", True),
        ("table:t", False),
        ("row:t1/70", False),
        ("document:t1", False),
        ("t", False),
    ],
)
def test_an_item_is_asked_for_with_what_is_part_of_it(question: str, is_found: bool) -> None:
    entry = {"kind": "row", "id": "t1/7", "view": "complete", "verdict": "admitted", "state": "exact"}
    detail = {"operation": "tables_rows", "model": "m/a", "ended": "given", "items": [entry]}
    sent = {"model": "m/a", "tier": "t", "messages": 1, "new": [{"name": "row:t1/7", "kind": "item"}]}
    for one in (row(DELIVERED, detail), row(SENT, sent)):
        assert bool(asked([one], item=question).items) is is_found


def test_a_folder_is_all_that_lies_below_it() -> None:
    said = of_delivery(delivery(item("notes/a.md"), item("notes2/b.md")), model="m/a", ended=Ended.GIVEN)
    rows = [row(DELIVERED, one) for one in said]
    assert [one.item for one in asked(rows, item="notes", places=("/repo/notes",)).items] == ["/repo/notes/a.md"]
