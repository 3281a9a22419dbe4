"""Each delivery to a model leaves a receipt before anything leaves; where none can be kept, nothing does."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest

from stanch.app import content_leaving
from stanch.delivery.receipts import DELIVERED, MOST_ITEMS, SENT
from stanch.storage.store import Store
from stanch.values.fault import StoreUnreadable
from stanch.values.records import AuditRecord, ChainReport
from tests.delivery.stage import CLEAN, LABEL, MODEL, NAME, OTHERS, Stage, State
from tests.http.served import COPILOT, WORKFLOW

TEXT = "/api/files/text"


def rows(stage: Stage, action: str = DELIVERED) -> list[AuditRecord]:
    """The receipts of one kind, oldest first."""
    items = stage.service.audit.list(action=action, limit=500).items
    return [one for one in items if isinstance(one, AuditRecord)]


def said(stage: Stage, action: str = DELIVERED) -> list[dict[str, Any]]:
    """What they say."""
    return [dict(one.detail) for one in rows(stage, action)]


def kept(stage: Stage, path: str, state: State) -> str:
    """A file of that state; its text."""
    written = stage.written(state)
    stage.write(state, "PUT", f"{TEXT}/{path}", json={"content": written})
    return written


def whole(stage: Stage) -> None:
    """Fails where the log is not."""
    assert stage.service.audit.verify().broken is None


def test_a_text_leaves_a_receipt_of_all_that_is_known(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    assert stage.ask("GET", f"{TEXT}/a.txt").status_code == 200
    (row,) = rows(stage)
    path = f"{stage.workspace}/a.txt"
    assert (row.subject, row.actor, row.surface) == (stage.chat, "copilot for ada", "http")
    assert dict(row.detail) == {
        "operation": "files_read",
        "model": MODEL,
        "ended": "given",
        "redacted": [NAME],
        "items": [
            {
                "kind": "file",
                "id": "a.txt",
                "path": path,
                "version": "1",
                "view": "complete",
                "verdict": "admitted",
                "state": "exact",
                "secrets": [NAME],
            }
        ],
    }
    whole(stage)


def test_a_tool_of_the_chat_leaves_one_with_its_call(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    session = stage.chat_of(MODEL)
    assert LABEL in stage.tool_in(session, "files_read", path="a.txt")
    (row,) = rows(stage)
    (call,) = stage.get(f"/api/sessions/{session}/calls")["items"]
    assert (row.subject, row.detail["call"], row.detail["redacted"]) == (session, call["id"], [NAME])


def test_what_is_refused_is_told_as_refused(stage: Stage) -> None:
    kept(stage, "u.txt", State.UNKNOWN)
    stage.assert_withheld(stage.ask("GET", f"{TEXT}/u.txt"), "content_unknown")
    (told,) = said(stage)
    assert (told["ended"], told["code"]) == ("refused", "content_unknown")
    assert [(one["verdict"], one["state"]) for one in told["items"]] == [("content_unknown", "unknown")]
    assert "redacted" not in told


def test_of_a_part_of_an_item_those_secrets_are_told_that_are_in_it(stage: Stage) -> None:
    columns = [{"name": "a"}, {"name": "b"}]
    table = stage.send("POST", "/api/tables", WORKFLOW, json={"name": "t", "columns": columns}).json()["id"]
    cells = {"a": stage.written(State.ENTRIES), "b": "plain"}
    stage.write(State.ENTRIES, "POST", f"/api/tables/{table}/rows", json={"rows": [cells]})
    for column, names in (("b", None), ("a", [NAME])):
        reply = stage.ask("POST", f"/api/tables/{table}/query", json={"columns": [column]})
        assert reply.status_code == 200, reply.text
        items = [one for one in said(stage)[-1]["items"] if one["kind"] == "row"]
        assert [one.get("secrets") for one in items] == [names], items


def test_an_item_whose_secrets_cannot_be_taken_out_is_told_with_their_names(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    stage.assert_withheld(stage.ask("GET", "/api/files/content/a.txt"), "content_opaque")
    (told,) = said(stage)
    assert [(one["verdict"], one["view"], one["secrets"]) for one in told["items"]] == [
        ("content_opaque", "opaque", [NAME])
    ]


@pytest.mark.parametrize("state", CLEAN)
def test_what_nobody_recorded_says_so(stage: Stage, state: State) -> None:
    kept(stage, "c.txt", state)
    assert stage.ask("GET", f"{TEXT}/c.txt").status_code == 200
    (told,) = said(stage)
    assert told["items"][0]["state"] == ("unrecorded" if state is State.UNRECORDED else "exact")
    assert "secrets" not in told["items"][0]


def test_a_secret_in_what_nobody_recorded_is_told_as_explained_by_nothing(stage: Stage) -> None:
    stage.send("PUT", f"{TEXT}/c.txt", json={"content": f"key {stage.value}\n"})
    assert LABEL in stage.ask("GET", f"{TEXT}/c.txt").text
    (told,) = said(stage)
    assert (told["redacted"], told["unexplained"], told["items"][0]["state"]) == ([NAME], [NAME], "unrecorded")


def test_what_a_tier_closes_is_not_read_for_a_receipt(stage: Stage) -> None:
    kept(stage, "private/p.txt", State.ENTRIES)
    session = stage.chat_of("cloud/scripted")
    before = stage.reads
    reply = stage.ask("GET", "/api/files/grep?pattern=key", session=session)
    assert reply.status_code == 200
    assert stage.reads == before
    (told,) = said(stage)
    assert [(one["verdict"], one.get("state"), one.get("secrets")) for one in told["items"]] in (
        [],
        [("content_tier", None, None)],
    )


def test_nobody_else_leaves_any(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    for principal in OTHERS:
        assert stage.send("GET", f"{TEXT}/a.txt", principal).status_code == 200
    assert not rows(stage)


def test_an_error_about_items_leaves_one(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    stage.free()
    body = {"old": "this does not stand there", "new": "x"}
    reply = stage.ask("PATCH", f"{TEXT}/a.txt", json=body)
    assert reply.status_code >= 400
    (told,) = said(stage)
    assert told["ended"] == "failed"
    assert [one["id"] for one in told["items"]] == ["a.txt"]


def test_an_error_about_nothing_leaves_none(stage: Stage) -> None:
    assert stage.ask("GET", f"{TEXT}/gone.txt").status_code == 404
    assert not rows(stage)


def test_asking_again_leaves_another(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    for _ in range(3):
        stage.ask("GET", f"{TEXT}/a.txt")
    assert len(rows(stage)) == 3


def test_a_write_that_is_answered_with_content_leaves_one(stage: Stage) -> None:
    kept(stage, "u.txt", State.UNKNOWN)
    stage.free()
    reply = stage.ask("POST", "/api/files/move", json={"path": "u.txt", "to": "v.txt"})
    assert rows(stage), reply.text


def test_they_are_no_news_to_anybody(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    stage.ask("GET", f"{TEXT}/a.txt")  # the rules are read, and whatever else is made once
    revision, changes, last = stage.store.revision(), stage.store.changes, stage.store.last_event()
    stage.ask("GET", f"{TEXT}/a.txt")
    assert (stage.store.revision(), stage.store.changes) == (revision, changes)
    assert stage.store.last_event() == last + 1
    assert not stage.service.events.after(last)
    whole(stage)


# --- where none can be kept ------------------------------------------------------------------------------------------


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Receipts cannot be written."""

    def failing(*_: Any, **__: Any) -> None:
        raise StoreUnreadable("the disk is full")

    monkeypatch.setattr(Store, "append_receipts", failing)
    return monkeypatch


@pytest.mark.parametrize("state", [State.ENTRIES, *CLEAN])
def test_without_a_receipt_nothing_leaves(stage: Stage, state: State, lost: pytest.MonkeyPatch) -> None:
    text = kept(stage, "a.txt", state)
    for path in (f"{TEXT}/a.txt", "/api/files/grep?pattern=key", "/api/files"):
        reply = stage.ask("GET", path)
        stage.assert_withheld(reply, "receipt_failed")
        assert text.split()[0] not in reply.json().get("items", "")
    assert stage.send("GET", f"{TEXT}/a.txt").json()["text"] == text, "a person is given it all the same"
    lost.undo()
    assert stage.ask("GET", f"{TEXT}/a.txt").status_code == 200


def test_without_a_receipt_no_byte_of_a_stream_leaves(stage: Stage, lost: pytest.MonkeyPatch) -> None:
    kept(stage, "a.txt", State.EMPTY)
    for path in ("/api/files/content/a.txt", "/api/files/archive"):
        stage.assert_withheld(stage.ask("GET", path), "receipt_failed")
    lost.undo()


def test_without_a_receipt_of_a_refusal_the_refusal_stays(stage: Stage, lost: pytest.MonkeyPatch) -> None:
    kept(stage, "u.txt", State.UNKNOWN)
    stage.assert_withheld(stage.ask("GET", f"{TEXT}/u.txt"), "content_unknown")
    lost.undo()


def test_a_write_stands_whose_receipt_is_lost(stage: Stage, lost: pytest.MonkeyPatch) -> None:
    stage.free()
    reply = stage.ask("PUT", f"{TEXT}/new.txt", json={"content": "by a model"})
    assert reply.status_code == 403
    assert reply.json()["code"] == "receipt_failed"
    lost.undo()
    assert stage.send("GET", f"{TEXT}/new.txt").json()["text"] == "by a model"


def test_the_receipt_stands_before_the_result_leaves(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed right after leaves a receipt too much, never one too few."""
    kept(stage, "a.txt", State.ENTRIES)
    real = content_leaving.left

    def killed(delivery: Any, result: Any) -> Any:
        real(delivery, result)
        assert len(rows(stage)) == 1
        raise RuntimeError("killed")

    monkeypatch.setattr("stanch.app.content.left", killed)
    assert stage.ask("GET", f"{TEXT}/a.txt").status_code == 500
    assert len(rows(stage)) == 1
    whole(stage)


# --- streams ---------------------------------------------------------------------------------------------------------


def document(stage: Stage, title: str, state: State) -> str:
    reply = stage.write(state, "POST", "/api/knowledge/documents", json={"title": title, "text": stage.written(state)})
    return str(reply.json()["id"])


def test_of_an_archive_each_item_has_its_receipt(stage: Stage) -> None:
    kept(stage, "c.txt", State.EMPTY)
    kept(stage, "e.txt", State.ENTRIES)
    reply = stage.ask("GET", "/api/files/archive")
    with zipfile.ZipFile(io.BytesIO(reply.content)) as archive:
        assert "c.txt" in archive.namelist()
    told = [(one["id"], one["verdict"]) for row in said(stage) for one in row["items"]]
    assert sorted(told) == [("c.txt", "admitted"), ("e.txt", "content_opaque")]


def test_what_is_admitted_while_a_stream_goes_on_has_its_receipt_before_its_bytes(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The newest stands first in the archive.
    third = document(stage, "c", State.UNKNOWN)
    first, second = document(stage, "a", State.EMPTY), document(stage, "b", State.EMPTY)
    with pytest.raises(httpx2.HTTPError):
        stage.ask("GET", "/api/knowledge/export")
    told = {one["id"]: (one["verdict"], row["ended"]) for row in said(stage) for one in row["items"]}
    assert told[first] == told[second] == ("admitted", "given")
    assert told[third] == ("content_unknown", "refused")
    real, count = Store.append_receipts, [0]

    def failing(self: Store, **given: Any) -> None:
        count[0] += 1
        if count[0] > 1:
            raise StoreUnreadable("the disk is full")
        real(self, **given)

    monkeypatch.setattr(Store, "append_receipts", failing)
    with pytest.raises(httpx2.HTTPError):
        stage.ask("GET", "/api/knowledge/export")


def test_what_is_found_in_a_text_on_its_way_has_a_receipt_before_its_label(stage: Stage) -> None:
    run = stage.write(State.UNRECORDED, "POST", "/api/runs", json={"name": "nightly"}).json()["id"]
    text = ("x" * 80 + "\n") * 3_000 + f"key {stage.value}\n"
    added = stage.send(
        "PUT", f"/api/runs/{run}/files/log.txt", WORKFLOW, content=text.encode(), headers={"Content-Type": "text/plain"}
    )
    assert added.status_code < 300, added.text
    reply = stage.ask("GET", f"/api/runs/{run}/files/log.txt")
    assert LABEL in reply.text
    first, second = said(stage)
    assert "redacted" not in first
    assert second["redacted"] == second["unexplained"] == [NAME]


# --- what a receipt holds --------------------------------------------------------------------------------------------


def test_many_items_make_several_receipts(stage: Stage) -> None:
    table = stage.send("POST", "/api/tables", WORKFLOW, json={"name": "t", "columns": [{"name": "a"}]}).json()["id"]
    many = [{"a": f"row {number}"} for number in range(450)]
    assert stage.send("POST", f"/api/tables/{table}/rows", WORKFLOW, json={"rows": many}).status_code < 300
    reply = stage.ask("GET", f"/api/tables/{table}/rows?limit=450")
    assert reply.status_code == 200, reply.text
    counts = [len(row["items"]) for row in said(stage)]
    assert max(counts) <= MOST_ITEMS
    assert sum(counts) >= 450


def test_a_name_with_a_value_in_it_is_kept_without_it(stage: Stage) -> None:
    path = f"keys/{stage.value.replace('/', '_')}.txt"
    stage.secret("PATH_KEY", path.removeprefix("keys/"))
    kept(stage, path, State.EMPTY)
    assert stage.ask("GET", f"{TEXT}/{path}").status_code in (200, 403)
    for row in rows(stage):
        assert path.removeprefix("keys/") not in str(row)


def test_no_model_gets_at_any(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    stage.ask("GET", f"{TEXT}/a.txt")
    paths: Sequence[str] = ("/api/audit", f"/api/audit/who-saw?secret={NAME}", "/api/audit/verify")
    for path in paths:
        assert stage.send("GET", path, COPILOT, headers={"Stanch-Session": stage.chat}).status_code == 403
    assert stage.send("GET", "/console/audit", COPILOT).status_code in (303, 401, 403)


def test_the_log_of_both_kinds_is_whole(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    stage.tool("files_read", path="a.txt")
    assert rows(stage)
    assert rows(stage, SENT)
    assert isinstance(stage.service.audit.verify(), ChainReport)
    stage.rows(f"DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit WHERE action = '{SENT}')")
    assert stage.service.audit.verify().broken is not None
