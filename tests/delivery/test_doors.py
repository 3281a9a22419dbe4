"""A model at the REST door: whose session and call it names, what it may say of itself, what errors tell it."""

from __future__ import annotations

import logging
import threading
from typing import Any

import httpx2
import pytest

from stanch.values.identity import Principal, PrincipalKind
from tests.canary import EXCEPTION, Canary
from tests.delivery.stage import BRAM, CURIOUS, LABEL, NAME, Stage, State, gate_off
from tests.http.served import AGENT, BY, COPILOT, KEY, ORGANIZATION_AGENT, PERSON, WORKFLOW

TEXT = "/api/files/text/a.txt"
BRAMS = Principal(PrincipalKind.DELEGATED, "bram", "copilot")


def put(stage: Stage, state: State, path: str = "a.txt", **fields: Any) -> str:
    """A file of that state; its text."""
    text = stage.written(state, **fields)
    stage.write(state, "PUT", f"/api/files/text/{path}", json={"content": text})
    return text


def kind(reply: httpx2.Response) -> tuple[int, str]:
    """The status of an answer, and what kind of problem it is."""
    return reply.status_code, reply.json()["type"].rpartition(":")[2]


# Which session.


def test_a_models_request_names_its_session(stage: Stage) -> None:
    put(stage, State.UNRECORDED)
    reply = stage.send("GET", TEXT, COPILOT)
    assert kind(reply) == (422, "unusable")
    assert "Stanch-Session" in reply.text


@pytest.mark.parametrize("session", ["nope", "", "' or 1=1", "a" * 2_000])
def test_a_session_that_is_not_there_opens_nothing(stage: Stage, session: str) -> None:
    put(stage, State.UNRECORDED)
    assert kind(stage.ask("GET", TEXT, session=session)) == (404, "not-found")


def test_another_models_session_is_not_there(stage: Stage) -> None:
    put(stage, State.UNRECORDED)
    theirs = stage.chat_of(None, BRAMS)
    other = stage.chat_of(None, AGENT)
    for session in (theirs, other):
        assert kind(stage.ask("GET", TEXT, session=session)) == (404, "not-found")


def test_a_session_that_has_ended_opens_nothing(stage: Stage) -> None:
    put(stage, State.UNRECORDED)
    stage.client().delete(f"/api/sessions/{stage.chat}")
    assert kind(stage.ask("GET", TEXT)) == (409, "conflict")


def test_two_sessions_in_one_request_are_none(stage: Stage) -> None:
    put(stage, State.UNRECORDED)
    other = stage.chat_of(CURIOUS)
    client = stage.client(COPILOT)
    headers = [("Stanch-Session", stage.chat), ("stanch-session", other)]
    assert kind(client.get(TEXT, headers=headers)) == (422, "unusable")
    stage.free()
    call = [("Stanch-Session", stage.chat), ("Stanch-Call", "a"), ("STANCH-CALL", "b")]
    assert kind(client.get(TEXT, headers=call)) == (422, "unusable")


@pytest.mark.parametrize("principal", [AGENT, ORGANIZATION_AGENT])
def test_another_service_that_acts_for_somebody_gets_no_content(stage: Stage, principal: Principal) -> None:
    put(stage, State.UNRECORDED)
    headers = {"Stanch-Session": stage.chat}
    assert kind(stage.send("GET", TEXT, principal, headers=headers)) == (403, "forbidden")


def test_an_agent_here_is_held_against_the_gate_whatever_its_session_is_called(stage: Stage) -> None:
    put(stage, State.UNKNOWN)
    session = stage.session(principal={"kind": "delegated", "id": "ada", "service_id": "coder"}, model="fake/scripted")
    told = stage.tool_in(session, "files_read", path="a.txt")
    stage.assert_clean(told)
    assert "Withheld" in told


def test_the_headers_of_a_model_mean_nothing_from_others(stage: Stage) -> None:
    text = put(stage, State.UNKNOWN)
    for principal in (PERSON, KEY, WORKFLOW):
        reply = stage.send("GET", TEXT, principal, headers={"Stanch-Session": "nope", "Stanch-Call": "nope"})
        assert reply.json()["text"] == text


# What it says of itself.


def test_a_model_does_not_say_which_secrets_it_was_given(stage: Stage) -> None:
    stage.free()
    reply = stage.ask("PUT", TEXT, json={"content": "x"}, headers={"Stanch-Secrets": ""})
    assert kind(reply) == (422, "unusable")
    assert stage.send("GET", TEXT).status_code == 404


def test_what_a_model_writes_carries_what_of_the_vault_occurs_in_it(stage: Stage) -> None:
    stage.free()
    assert stage.ask("PUT", TEXT, json={"content": stage.written(State.ENTRIES)}).status_code == 200
    reply = stage.ask("GET", TEXT)
    stage.assert_clean(reply)
    assert LABEL in reply.json()["text"]
    stage.assert_withheld(stage.ask("GET", "/api/files/content/a.txt"), "content_opaque")


def test_secrets_in_several_headers_are_all_counted(stage: Stage) -> None:
    stage.secret("OTHER", "swordfish-also-long")
    headers = [("Stanch-Secrets", NAME), ("Stanch-Secrets", "OTHER")]
    text = "it is swordfish-also-long"
    reply = stage.client(WORKFLOW).put(TEXT, json={"content": text}, headers=headers)
    assert reply.status_code == 200
    stage.assert_withheld(stage.ask("GET", "/api/files/content/a.txt"), "content_opaque")


@pytest.mark.parametrize(
    "headers",
    [
        {"Stanch-Secrets": "NOT_THERE"},
        {"Stanch-Secrets": NAME.lower()},
        {"Stanch-Secrets": NAME, "Stanch-Secrets-Complete": "maybe"},
        {"Stanch-Secrets": NAME, "Stanch-Secrets-Complete": ""},
    ],
)
def test_what_a_writer_says_of_itself_has_to_make_sense(stage: Stage, headers: dict[str, str]) -> None:
    reply = stage.send("PUT", TEXT, WORKFLOW, json={"content": "x"}, headers=headers)
    assert kind(reply) == (422, "unusable")
    assert stage.send("GET", TEXT).status_code == 404


def test_a_value_in_the_place_of_a_name_is_not_repeated(stage: Stage) -> None:
    reply = stage.send("PUT", TEXT, WORKFLOW, json={"content": "x"}, headers={"Stanch-Secrets": stage.value})
    assert reply.status_code == 422
    stage.assert_clean(reply)


def test_a_revoked_secret_is_taken_out_all_the_same(stage: Stage) -> None:
    put(stage, State.ENTRIES)
    put(stage, State.UNRECORDED, "b.txt")
    stage.send("PUT", "/api/files/text/b.txt", json={"content": f"again {stage.value}"})
    stage.service.vault.revoke(NAME, by=BY)
    for path in (TEXT, "/api/files/text/b.txt"):
        reply = stage.ask("GET", path)
        stage.assert_clean(reply)
        assert LABEL in reply.json()["text"]
    stage.assert_withheld(stage.ask("GET", "/api/files/content/a.txt"), "content_opaque")


def test_the_value_that_a_secret_had_before_is_still_taken_out(stage: Stage) -> None:
    put(stage, State.ENTRIES)
    stage.secret(NAME, "another-value-by-now")
    reply = stage.ask("GET", TEXT)
    stage.assert_clean(reply)
    assert LABEL in reply.json()["text"]


# Which call.


def test_a_write_waits_for_a_person_and_happens_once(stage: Stage) -> None:
    arguments = {"path": "a.txt", "content": "x"}
    asked = stage.ask("PUT", TEXT, json={"content": "x"})
    assert kind(asked) == (403, "approval-needed")
    assert asked.json()["reason"]["code"] == "rule"
    assert stage.send("GET", TEXT).status_code == 404
    call = stage.approved("files_write", arguments)
    assert stage.ask("PUT", TEXT, json={"content": "x"}, call=call).status_code == 200
    assert stage.get(f"/api/calls/{call}")["state"] == "completed"
    assert kind(stage.ask("PUT", TEXT, json={"content": "x"}, call=call)) == (409, "conflict")


def test_an_approval_is_for_what_the_person_saw(stage: Stage) -> None:
    for path, body in ((TEXT, {"content": "y"}), ("/api/files/text/b.txt", {"content": "x"})):
        call = stage.approved("files_write", {"path": "a.txt", "content": "x"})
        reply = stage.ask("PUT", path, json=body, call=call)
        assert kind(reply) == (403, "call-refused")
        assert reply.json()["reason"]["code"] == "call_changed"
        assert stage.send("GET", path).status_code == 404


def test_an_approval_is_for_one_operation(stage: Stage) -> None:
    put(stage, State.UNRECORDED)
    call = stage.approved("files_write", {"path": "a.txt", "content": "x"})
    assert kind(stage.ask("DELETE", "/api/files/content/a.txt", call=call)) == (403, "call-refused")
    assert stage.send("GET", TEXT).status_code == 200


def test_a_call_of_another_session_is_not_there(stage: Stage) -> None:
    other = stage.chat_of("fake/scripted")
    call = stage.approved("files_write", {"path": "a.txt", "content": "x"}, other)
    for name in (call, "nope", ""):
        assert kind(stage.ask("PUT", TEXT, json={"content": "x"}, call=name)) == (404, "not-found")
    assert stage.get(f"/api/calls/{call}")["state"] == "pending"


def test_a_call_that_nobody_has_answered_does_not_run(stage: Stage) -> None:
    call = stage.submitted("files_write", {"path": "a.txt", "content": "x"})["call"]["id"]
    assert kind(stage.ask("PUT", TEXT, json={"content": "x"}, call=call)) == (409, "conflict")


def test_an_approval_does_not_open_what_carries_what_nobody_knows(stage: Stage) -> None:
    put(stage, State.UNKNOWN)
    stage.free()
    stage.assert_withheld(stage.ask("GET", TEXT), "content_unknown")
    assert stage.get(f"/api/sessions/{stage.chat}/calls")["total"] == 0


def test_a_call_whose_content_is_withheld_has_failed(stage: Stage) -> None:
    put(stage, State.UNKNOWN)
    made = stage.submitted("files_read", {"path": "a.txt"})["call"]
    assert made["state"] == "pending", "reading asks nobody"
    stage.assert_withheld(stage.ask("GET", TEXT, call=made["id"]), "content_unknown")
    assert stage.get(f"/api/calls/{made['id']}")["state"] == "failed"


# What the rules and tiers say of items.


def test_the_seeded_deny_keeps_secrets_among_items(stage: Stage) -> None:
    put(stage, State.UNRECORDED, "app/secrets/key.txt", before="marker ")
    put(stage, State.UNRECORDED, "app/a.txt", before="marker ")
    reply = stage.ask("GET", "/api/files/text/app/secrets/key.txt")
    assert kind(reply) == (403, "call-refused")
    found = stage.ask("GET", "/api/files/grep", params={"pattern": "marker"})
    assert found.status_code == 200, found.text
    assert "app/a.txt" in found.text
    assert "key.txt" not in str(found.json().get("matches", found.json().get("items")))


def test_a_tier_keeps_its_directories_from_its_models(stage: Stage) -> None:
    put(stage, State.UNRECORDED, "private/pay.txt", before="marker ")
    put(stage, State.UNRECORDED, "open.txt", before="marker ")
    curious = stage.chat_of(CURIOUS)
    assert stage.ask("GET", "/api/files/text/private/pay.txt").status_code == 200
    assert kind(stage.ask("GET", "/api/files/text/private/pay.txt", session=curious)) == (403, "call-refused")
    found = stage.ask("GET", "/api/files/grep", params={"pattern": "marker"}, session=curious)
    assert "open.txt" in found.text
    assert "marker nowhere" not in str([one for one in found.json()["items"] if "private" in str(one)])


# Whose items.


def test_ones_own_files_are_ones_own(stage: Stage) -> None:
    reply = stage.send("PUT", TEXT, params={"mine": True}, json={"content": "mine"})
    assert reply.status_code == 200, reply.text
    for principal in (BRAM, WORKFLOW, KEY, Principal(PrincipalKind.API_KEY, "ada")):
        assert stage.send("GET", TEXT, principal).status_code == 404, principal
    assert stage.ask("GET", TEXT).status_code == 200, "the chat acts for ada"
    theirs = stage.chat_of("fake/scripted", BRAMS)
    reply = stage.send("GET", TEXT, BRAMS, headers={"Stanch-Session": theirs})
    assert kind(reply) == (404, "not-found")


def test_a_users_secret_in_anothers_file_makes_it_unknown(stage: Stage) -> None:
    stage.secret("BRAMS", "swordfish-also-long", user="bram")
    headers = {"Stanch-Secrets": "BRAMS"}
    body = {"content": "it is swordfish-also-long"}
    reply = stage.send("PUT", TEXT, params={"mine": True}, json=body, headers=headers)
    assert reply.status_code == 200
    reply = stage.ask("GET", TEXT)
    stage.assert_withheld(reply, "content_unknown")
    assert "scope_mismatch" in reply.text
    assert stage.send("PUT", "/api/files/text/b.txt", WORKFLOW, json=body, headers=headers).status_code == 200
    reply = stage.ask("GET", "/api/files/text/b.txt")
    assert reply.json()["text"].strip() == "it is {{BRAMS}}"


# Errors and logs.


def test_no_error_or_log_holds_content(stage: Stage, caplog: pytest.LogCaptureFixture, canary: Canary) -> None:
    canary.expect_in(EXCEPTION)  # which name what was asked for; what they say is told without values
    put(stage, State.UNKNOWN)
    put(stage, State.ENTRIES, f"{stage.value[:12]}.txt")
    stage.free()
    with caplog.at_level(logging.DEBUG):
        for reply in (
            stage.ask("GET", TEXT),
            stage.ask("GET", f"/api/files/text/{stage.value}"),
            stage.ask("PATCH", TEXT, json={"old": stage.value, "new": "x"}),
            stage.ask("GET", "/api/files/grep", params={"pattern": f"[{stage.value}"}),
            stage.ask("GET", TEXT, session=stage.value),
            stage.ask("PUT", TEXT, json={"content": "x", stage.value: 1}),
        ):
            assert reply.status_code >= 400, reply.text
            stage.assert_clean(reply)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("stanch")]
    assert not stage.holds("\n".join(ours))


def test_many_at_once_share_no_registry(stage: Stage) -> None:
    put(stage, State.UNKNOWN)
    text = put(stage, State.ENTRIES, "b.txt")
    seen: list[tuple[str, int]] = []

    def asking(path: str) -> None:
        for _ in range(5):
            reply = stage.ask("GET", f"/api/files/text/{path}")
            seen.append((path, reply.status_code))
            if path == "b.txt":
                assert reply.json()["text"] == text.replace(stage.value, LABEL)

    stage.client(COPILOT)
    threads = [threading.Thread(target=asking, args=(path,)) for path in ("a.txt", "b.txt") * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(set(seen)) == [("a.txt", 403), ("b.txt", 200)]
    assert len(seen) == 30


def test_the_gate_can_be_taken_away_to_compare_with(stage: Stage) -> None:
    text = put(stage, State.UNKNOWN)
    with gate_off():
        assert stage.ask("GET", TEXT).json()["text"] == text
