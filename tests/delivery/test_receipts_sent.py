"""Who was ever sent what: each request to a model leaves a receipt, and `who-saw` answers from all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from stanch.app.content_preview import preview
from stanch.content.file_texts import ReadText, read_text
from stanch.delivery.receipts import DELIVERED, SENT
from stanch.delivery.who_saw import Form
from stanch.runtime.scripted_reply import say, use
from stanch.storage.store import Store
from stanch.values.fault import StoreUnreadable
from tests.cli.conftest import Stanch, stanch
from tests.delivery.stage import LABEL, MODEL, NAME, Stage, State
from tests.delivery.test_receipts import kept, rows, said
from tests.http.served import BY, PERSON, WORKFLOW

__all__ = ["stanch"]
OTHER = "fake/other"
HELPER = """
[agents.helper]
model = "fake/helper"
"""
Seen = set[tuple[str, str | None, str]]


def saw(stage: Stage, secret: str | None = NAME, **given: Any) -> Any:
    """What a person is told."""
    asked = {"secret": secret, **given}
    return stage.client().get("/api/audit/who-saw", params={key: one for key, one in asked.items() if one}).json()


def seen(stage: Stage, secret: str | None = NAME, **given: Any) -> Seen:
    """Models, items below the workspace and forms."""
    told = saw(stage, secret, **given)
    assert told["log"]["holds"]
    root = f"{stage.workspace}/"
    return {(one["model"], one["item"] and one["item"].removeprefix(root), one["form"]) for one in told["sightings"]}


def turn(stage: Stage, session: str, *steps: Any) -> None:
    """One turn of a session's agent, by this script."""
    stage._steps.extend(steps)
    stage.free(session)
    ended = stage.post(f"/api/sessions/{session}/messages?wait=30", {"text": "go"}, 202)
    assert ended["state"] == "completed", ended


def test_each_request_leaves_one_and_tells_what_is_new(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    session = stage.chat_of(MODEL)
    turn(stage, session, use("files_read", path="a.txt"), say("done"))
    first, second = said(stage, SENT)
    assert len(stage.models.bodies()) == 2
    assert first["model"] == MODEL
    assert "new" not in first
    assert second["new"] == [{"name": f"{stage.workspace}/a.txt", "kind": "path", "secrets": [NAME]}]
    assert second["secrets"] == {NAME: "redacted"}
    turn(stage, session, say("again"))
    assert "new" not in said(stage, SENT)[-1], "it was told"


def test_the_receipt_stands_before_the_request_goes_out(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Store.append_receipts
    before: list[int] = []

    def counting(self: Store, **given: Any) -> None:
        before.append(len(stage.models.bodies()))
        real(self, **given)

    monkeypatch.setattr(Store, "append_receipts", counting)
    turn(stage, stage.chat_of(MODEL), say("done"))
    assert before == [0]


def test_without_a_receipt_nothing_is_sent_and_what_was_not_told_is_told_later(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    session = stage.chat_of(MODEL)
    turn(stage, session, use("files_read", path="a.txt"), say("done"))
    sent = len(stage.models.bodies())

    def failing(*_: Any, **__: Any) -> None:
        raise StoreUnreadable("the disk is full")

    monkeypatch.setattr(Store, "append_receipts", failing)
    stage.post(f"/api/sessions/{session}/model", {"model": OTHER})
    ended = stage.post(f"/api/sessions/{session}/messages?wait=30", {"text": "go"}, 202)
    assert ended["state"] == "failed"
    assert len(stage.models.bodies()) == sent
    monkeypatch.undo()
    turn(stage, session, say("now"))
    assert said(stage, SENT)[-1]["secrets"] == {NAME: "redacted"}


def test_another_model_of_the_session_is_found(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    session = stage.chat_of(MODEL)
    turn(stage, session, use("files_read", path="a.txt"), say("done"))
    stage.post(f"/api/sessions/{session}/model", {"model": OTHER})
    turn(stage, session, say("I see it, too"))
    assert seen(stage) == {(MODEL, "a.txt", "redacted"), (OTHER, "a.txt", "redacted")}
    (told,) = [one for one in saw(stage)["sightings"] if one["model"] == MODEL]
    assert (told["count"], told["operations"]) == (2, ["files_read", "send"])


def test_what_a_tier_keeps_back_is_withheld_and_not_seen(stage: Stage) -> None:
    # Both models are of one provider; the tier of the second one closes the folder.
    stage.write_policy(stage.policy.read_text("utf-8").replace('"cloud/*"', '"fake/cloudy"'))
    stage.service.refresh()
    kept(stage, "private/a.txt", State.ENTRIES)
    session = stage.chat_of(MODEL)
    turn(stage, session, use("files_read", path="private/a.txt"), say("done"))
    stage.post(f"/api/sessions/{session}/model", {"model": "fake/cloudy"})
    turn(stage, session, say("nothing to see"))
    assert said(stage, SENT)[-1]["withheld"] == [f"{stage.workspace}/private/a.txt"]
    assert seen(stage) == {(MODEL, "private/a.txt", "redacted"), ("fake/cloudy", "private/a.txt", "withheld")}


def test_refused_items_are_withheld_and_never_seen(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    stage.ask("GET", "/api/files/content/a.txt")
    assert seen(stage) == {(MODEL, "a.txt", "withheld")}


def test_it_answers_across_all_stores(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    text = stage.written(State.ENTRIES)
    document = stage.write(State.ENTRIES, "POST", "/api/knowledge/documents", json={"title": "t", "text": text}).json()[
        "id"
    ]
    table = stage.send("POST", "/api/tables", WORKFLOW, json={"name": "t", "columns": [{"name": "a"}]}).json()["id"]
    stage.write(State.ENTRIES, "POST", f"/api/tables/{table}/rows", json={"rows": [{"a": text}]})
    run = stage.write(State.ENTRIES, "POST", "/api/runs", json={"name": "n", "output": text}).json()["id"]
    headers = {"Content-Type": "text/plain"}
    stage.write(State.ENTRIES, "PUT", f"/api/runs/{run}/files/log.txt", content=text.encode(), headers=headers)
    for path in (
        "/api/files/text/a.txt",
        f"/api/knowledge/documents/{document}/chunks",
        f"/api/tables/{table}/rows",
        f"/api/runs/{run}",
        f"/api/runs/{run}/files/log.txt",
    ):
        reply = stage.ask("GET", path)
        assert LABEL in reply.text, reply.text
    kinds = {(item or "").partition(":")[0] for _, item, form in seen(stage) if form == "redacted"}
    assert kinds >= {"a.txt", "chunk", "row", "run", "run_file"}


def test_a_step_of_a_run_leaves_one_of_its_own(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    step = {"tool": "files_read", "arguments": {"path": "a.txt"}, "result": "before"}
    run = stage.send("POST", "/api/runs", WORKFLOW, json={"name": "n", "steps": [step]}).json()["id"]
    stage.free()
    reply = stage.ask("POST", f"/api/runs/{run}/execute", json={})
    assert reply.status_code == 201, reply.text
    read = [one for one in said(stage) if one["operation"] == "files_read"]
    assert [(one["items"][0]["id"], one["redacted"], bool(one["call"])) for one in read] == [("a.txt", [NAME], True)]


def test_a_subagent_of_another_model_is_found_by_the_label_alone(stage: Stage) -> None:
    stage.write_policy(stage.policy.read_text("utf-8") + HELPER)
    stage.service.refresh()
    session = stage.chat_of(MODEL)
    turn(
        stage,
        session,
        use("call_agent", agent="helper", prompt=f"use {LABEL} for it"),
        say(f"the helper used {LABEL}"),
        say("done"),
    )
    assert ("fake/helper", None, "by label only") in seen(stage)
    below = [one for one in saw(stage)["sightings"] if one["model"] == "fake/helper"]
    assert {one["session"] for one in below}.isdisjoint({session})


def test_what_a_subagent_read_is_found_in_its_callers_model(stage: Stage) -> None:
    stage.write_policy(stage.policy.read_text("utf-8") + HELPER)
    stage.service.refresh()
    kept(stage, "a.txt", State.ENTRIES)
    # An ask of the subagent's own session would wait: reading is allowed by the rules.
    turn(
        stage,
        stage.chat_of(MODEL),
        use("call_agent", agent="helper", prompt="read it"),
        use("files_read", path="a.txt"),
        say(f"it holds {LABEL}"),
        say("done"),
    )
    assert {("fake/helper", "a.txt", "redacted"), (MODEL, "a.txt", "redacted")} <= seen(stage)


def test_an_item_of_which_nobody_recorded_anything_is_marked(stage: Stage) -> None:
    stage.send("PUT", "/api/files/text/c.txt", json={"content": f"key {stage.value}\n"})
    kept(stage, "other.txt", State.UNRECORDED)
    stage.ask("GET", "/api/files/text/c.txt")
    stage.ask("GET", "/api/files/text/other.txt")
    told = saw(stage)
    assert seen(stage) == {(MODEL, "c.txt", "unrecorded")}
    assert told["unrecorded"] == 1, "the other one may have carried it"
    assert seen(stage, None, item="other.txt") == {(MODEL, "other.txt", "unrecorded")}


def test_an_item_is_asked_about_by_any_of_its_names(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    kept(stage, "b.txt", State.EMPTY)
    session = stage.chat_of(MODEL)
    turn(stage, session, use("files_read", path="a.txt"), use("files_read", path="b.txt"), say("done"))
    for name in ("a.txt", "file:a.txt", f"{stage.workspace}/a.txt"):
        assert seen(stage, None, item=name) == {(MODEL, "a.txt", "redacted")}, name
    assert seen(stage, None, item="b.txt") == {(MODEL, "b.txt", "as it is")}
    assert seen(stage, NAME, item="b.txt") == set()
    assert seen(stage, NAME, session="another") == set()
    assert seen(stage, NAME, session=session) == {(MODEL, "a.txt", "redacted")}


def test_a_revoked_and_forgotten_secret_is_answered_for(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    stage.ask("GET", "/api/files/text/a.txt")
    stage.service.vault.revoke(NAME, by=BY)
    assert saw(stage)["sightings"]
    stage.service.vault.forget(NAME, by=BY)
    told = saw(stage)
    assert told["known"]
    assert [one["form"] for one in told["sightings"]] == ["redacted"]


def test_a_secret_that_nobody_was_sent_is_known_and_one_that_never_was_is_not(stage: Stage) -> None:
    assert (saw(stage)["known"], saw(stage)["sightings"]) == (True, [])
    assert not saw(stage, "NEVER")["known"]
    assert stage.client().get("/api/audit/who-saw").status_code == 422


def test_a_preview_leaves_none(stage: Stage) -> None:
    kept(stage, "a.txt", State.ENTRIES)
    access = stage.content.access(PERSON, BY)
    assert LABEL in str(preview(stage.content, access, read_text, ReadText(path="a.txt")))
    assert not rows(stage, DELIVERED)
    assert not rows(stage, SENT)


def test_no_row_holds_a_value_whatever_was_done(stage: Stage) -> None:
    test_it_answers_across_all_stores(stage)
    stage.secret("ODD", "odd-name-of-a-file")
    stage.send("PUT", "/api/files/text/odd-name-of-a-file.txt", json={"content": f"key {stage.value}\n"})
    session = stage.chat_of(MODEL)
    turn(
        stage,
        session,
        use("files_grep", pattern="key"),
        use("files_read", path="odd-name-of-a-file.txt"),
        use("files_list"),
        say(f"it is {stage.value}"),
    )
    turn(stage, session, say("done"))
    found = [str(one) for one in stage.rows("SELECT * FROM audit")]
    assert not any(stage.holds(one) or "odd-name-of-a-file" in one for one in found)
    assert not stage.holds(json.dumps(saw(stage)))


# --- on the command line ---------------------------------------------------------------------------------------------


def test_the_command_says_who_saw_it(stage: Stage, stanch: Stanch) -> None:
    kept(stage, "odd\u202ename.txt", State.ENTRIES)
    stage.ask("GET", "/api/files/text/odd\u202ename.txt")
    database = ["--database", stage.store_url]
    told = stanch("audit", "who-saw", NAME, *database)
    assert told.code == 0, told.err
    assert stage.chat in told.out
    assert "redacted" in told.out
    assert "\u202e" not in told.out
    assert "the audit log is whole" in told.out
    machine: Mapping[str, Any] = json.loads(stanch("audit", "who-saw", NAME, "--json", *database).out)
    assert [one["form"] for one in machine["sightings"]] == [Form.REDACTED.value]
    assert machine["log"]["holds"]
    assert stanch("audit", "who-saw", "NEVER", *database).code == 2
    assert stanch("audit", "who-saw", *database).code == 2
    assert stanch("audit", "who-saw", NAME, "--session", "another", *database).code == 0
    stage.rows(f"UPDATE audit SET subject = 'nobody' WHERE action = '{DELIVERED}'")
    broken = stanch("audit", "who-saw", NAME, *database)
    assert broken.code == 1
    assert "is broken" in broken.out
