"""What is known of files when it is not simple: changed behind our back, packed, encoded, cut, a model's own."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from typing import Any
from urllib.parse import quote

import pytest

from stanch.content.file_writing import UploadFile, upload_file
from stanch.values.fault import BadFields
from tests.content.documents import pdf, word, xlsx
from tests.delivery.stage import CURIOUS, LABEL, NAME, Stage, State
from tests.http.served import BY, PERSON

U, E = State.UNKNOWN, State.ENTRIES
TEXT, BYTES = "/api/files/text/a.txt", "/api/files/content/a.txt"


def put(stage: Stage, state: State, path: str, data: bytes) -> None:
    stage.write(state, "PUT", f"/api/files/content/{path}", content=data)


def text(stage: Stage, path: str, **query: Any) -> str:
    reply = stage.ask("GET", f"/api/files/text/{path}", params=query)
    assert reply.status_code == 200, reply.text
    stage.assert_clean(reply)
    return str(reply.json()["text"])


def blob(stage: Stage, data: bytes) -> Any:
    digest = hashlib.sha256(data).hexdigest()
    return stage.root / "blobs" / digest[:2] / digest


# changed behind our back


@pytest.mark.parametrize("state", [E, State.EMPTY])
def test_bytes_that_were_changed_are_of_no_known_source(stage: Stage, state: State) -> None:
    data = stage.written(state).encode()
    put(stage, state, "a.txt", data)
    blob(stage, data).write_bytes(f"planted: {stage.value}".encode())
    for address in (TEXT, BYTES):
        reply = stage.ask("GET", address)
        stage.assert_withheld(reply, "content_unknown")
        assert "version" in reply.json()["detail"], reply.text
    assert stage.send("GET", TEXT).status_code == 500
    assert "planted" not in stage.send("GET", TEXT).text


def test_what_is_known_belongs_to_its_version(stage: Stage) -> None:
    put(stage, State.EMPTY, "clean.txt", b"clean")
    put(stage, E, "a.txt", stage.written(E).encode())
    put(stage, U, "u.txt", stage.written(U).encode())
    seal = "(SELECT provenance FROM file_versions WHERE path = 'clean.txt')"
    stage.rows(f"UPDATE file_versions SET provenance = {seal} WHERE path IN ('a.txt', 'u.txt')")
    for path in ("a.txt", "u.txt"):
        stage.assert_withheld(stage.ask("GET", f"/api/files/text/{path}"), "content_unknown")
    # Another version's bytes under a seal of one's own are no better.
    digest = "(SELECT digest FROM file_versions WHERE path = 'u.txt')"
    stage.rows(f"UPDATE file_versions SET digest = {digest} WHERE path = 'clean.txt'")
    stage.assert_withheld(stage.ask("GET", "/api/files/text/clean.txt"), "content_unknown")


def test_versions_that_claim_to_be_made_of_one_another_come_to_an_end(stage: Stage) -> None:
    for _ in range(2):
        put(stage, State.UNRECORDED, "a.txt", b"x")
    stage.rows("UPDATE file_versions SET made_of = 2")
    assert text(stage, "a.txt") == "x"


# documents and encodings


@pytest.mark.parametrize("kind", ["pdf", "xlsx", "docx"])
def test_a_document_is_redacted_as_text_and_withheld_as_it_is(stage: Stage, kind: str) -> None:
    stage.secret("PLAIN", "plain-secret-value-77")
    words = "it is plain-secret-value-77 here"
    data = {"pdf": pdf(words, "b"), "xlsx": xlsx({"s": [[words, 1]], "t": [["b"]]}), "docx": word(words, "b")}[kind]
    headers = {"Stanch-Secrets": "PLAIN"}
    stage.write(State.UNRECORDED, "PUT", f"/api/files/content/a.{kind}", content=data, headers=headers)
    found = text(stage, f"a.{kind}")
    assert "it is {{PLAIN}} here" in found
    assert "plain-secret" not in found
    stage.assert_withheld(stage.ask("GET", f"/api/files/content/a.{kind}"), "content_opaque")
    grep = stage.ask("GET", "/api/files/grep?pattern=here").json()
    assert grep["items"][0]["text"].startswith("it is {{PLAIN}} here")
    assert stage.send("GET", f"/api/files/content/a.{kind}").content == data


def test_a_document_that_cannot_be_looked_into_is_of_no_known_source(stage: Stage) -> None:
    put(stage, E, "a.docx", word("x")[:-100])
    stage.assert_withheld(stage.ask("GET", "/api/files/content/a.docx"), "content_unknown")
    put(stage, State.UNRECORDED, "b.docx", b"PK\x03\x04 no zip")
    assert stage.ask("GET", "/api/files/content/b.docx").status_code == 200


def test_a_text_in_utf_16_is_looked_into(stage: Stage) -> None:
    put(stage, E, "a.txt", stage.written(E).encode("utf-16"))
    assert text(stage, "a.txt") == f"the key is {LABEL} and nothing else\n"
    stage.assert_withheld(stage.ask("GET", BYTES), "content_opaque")


@pytest.mark.parametrize("state", [E, State.UNRECORDED])
def test_every_encoding_of_a_secret_is_taken_out(stage: Stage, state: State) -> None:
    for form in (
        base64.b64encode(f"xx{stage.value}yy".encode()).decode(),
        quote(stage.value, safe=""),
        stage.value.encode().hex(),
        stage.value.replace("/", "\\/"),
    ):
        put(stage, state, "a.txt", f"before {form} behind\n".encode())
        assert form not in text(stage, "a.txt")
        found = stage.ask("GET", "/api/files/grep?pattern=behind")
        stage.assert_clean(found)
        assert form not in found.text


def test_no_window_cuts_a_secret_of_several_lines(stage: Stage) -> None:
    lines = [f"line{n}-of-a-long-secret-{n * 7919}" for n in range(6)]
    stage.secret("LONG", "\n".join(lines))
    data = "one\ntwo\n" + "\n".join(lines) + "\nlast\n"
    headers = {"Stanch-Secrets": "LONG"}
    stage.write(State.UNRECORDED, "PUT", TEXT, json={"content": data}, headers=headers)
    whole = text(stage, "a.txt")
    assert whole == "one\ntwo\n{{LONG}}\nlast\n"
    for start in range(1, 9):
        for count in (1, 2, 3):
            assert "long-secret" not in text(stage, "a.txt", start=start, lines=count)
    # Lines are counted as they are read, whoever asks for which.
    assert text(stage, "a.txt", start=4, lines=1) == "last\n"
    (line,) = stage.ask("GET", "/api/files/grep?pattern=last").json()["items"]
    assert line["line"] == 4


def test_a_file_that_holds_more_than_may_be_read_as_text(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stanch.content.file_texts.MOST_TEXT_BYTES", 10)
    put(stage, State.UNRECORDED, "a.txt", b"x" * 11)
    assert stage.ask("GET", TEXT).status_code == 422
    grep = stage.ask("GET", "/api/files/grep?pattern=x").json()
    assert (grep["items"], grep["skipped"]["large"]) == ([], 1)
    assert stage.ask("GET", BYTES).status_code == 200


# tiers


def test_a_tier_closes_files_by_their_place(stage: Stage) -> None:
    for path in ("private/a.txt", "open/b.txt"):
        put(stage, State.UNRECORDED, path, b"the words")
    session = stage.chat_of(CURIOUS)

    def ask(address: str) -> Any:
        return stage.ask("GET", f"/api/files/{address}", session=session)

    for address in ("text/private/a.txt", "content/private/a.txt", "grep?pattern=words&path=private/a.txt"):
        reply = ask(address)
        assert (reply.status_code, reply.json()["reason"]["layer"]) == (403, "tier"), reply.text
    assert ask("text/open/b.txt").status_code == 200
    found = ask("grep?pattern=words").json()
    assert ([one["path"] for one in found["items"]], found["withheld"]) == (["open/b.txt"], {"content_tier": 1})
    # Whether a closed file has the words is not told, and neither is it looked through.
    searched = ask("search?query=words").json()
    assert [(one["path"], one["preview"]) for one in searched["items"]] == [("open/b.txt", "the words")]
    assert (searched["total"], searched["withheld"]) == (1, {"content_tier": 1})
    with zipfile.ZipFile(io.BytesIO(ask("archive").content)) as packed:
        assert set(packed.namelist()) == {"open/b.txt", "stanch-manifest.json"}


# what a model writes


def test_a_model_is_asked_about_and_says_which_bytes(stage: Stage) -> None:
    data = b"what was approved"
    reply = stage.ask("PUT", BYTES, content=data)
    assert (reply.status_code, reply.json()["type"]) == (403, "urn:problem-type:stanch:approval-needed")
    arguments = {"path": "a.txt", "digest": hashlib.sha256(data).hexdigest(), "size": len(data)}
    call = stage.approved("files_write", arguments)
    other = stage.ask("PUT", BYTES, content=b"something else", call=call)
    assert (other.status_code, other.json()["reason"]["code"]) == (403, "call_changed")
    assert stage.send("GET", BYTES).status_code == 404
    call = stage.approved("files_write", arguments)
    assert stage.ask("PUT", BYTES, content=data, call=call).status_code == 200
    assert stage.send("GET", BYTES).content == data
    assert stage.ask("PUT", BYTES, content=data, call=call).status_code == 409


def test_no_other_bytes_are_kept_than_those_that_are_named(stage: Stage) -> None:
    access = stage.content.access(PERSON, BY)
    for digest, size in (("0" * 64, 1), (hashlib.sha256(b"x").hexdigest(), 2)):
        with pytest.raises(BadFields, match="are not those of the bytes"):
            upload_file(access, UploadFile(path="a.txt", digest=digest, size=size, file=io.BytesIO(b"x")))
    assert stage.send("GET", BYTES).status_code == 404


def test_what_a_model_writes_is_known(stage: Stage) -> None:
    stage.free()
    assert stage.ask("PUT", TEXT, json={"content": f"guessed {stage.value}"}).status_code == 200
    stage.assert_withheld(stage.ask("GET", BYTES), "content_opaque")
    assert text(stage, "a.txt") == f"guessed {LABEL}"
    assert stage.ask("PUT", BYTES, content=f"again {stage.value}".encode()).status_code == 200
    stage.assert_withheld(stage.ask("GET", BYTES), "content_opaque")
    stage.ask("PUT", TEXT, json={"content": "nothing"})
    assert stage.ask("GET", BYTES).text == "nothing"


def test_a_digest_is_not_told_to_a_model(stage: Stage) -> None:
    put(stage, U, "a.txt", stage.written(U).encode())
    digest = hashlib.sha256(stage.written(U).encode()).hexdigest()
    for address in ("", "/info/a.txt", "/versions/a.txt"):
        reply = stage.ask("GET", f"/api/files{address}")
        assert reply.status_code == 200
        assert digest not in reply.text
        assert digest in stage.send("GET", f"/api/files{address}").text


def test_a_name_that_holds_a_secret_is_told_without_it(stage: Stage) -> None:
    stage.secret("NAMED", "name-of-a-file-1234")
    put(stage, State.UNRECORDED, "name-of-a-file-1234.txt", b"x")
    for address in ("", "/grep?pattern=x", "/search?query=x", "/content/name-of-a-file-1234.txt"):
        reply = stage.ask("GET", f"/api/files{address}")
        assert reply.status_code == 200
        assert "name-of-a-file" not in reply.text + str(reply.headers), address


def test_a_persons_own_file_carries_their_secrets_and_no_other_persons(stage: Stage) -> None:
    stage.secret("OF_BRAM", "secret-of-bram-0815", user="bram")
    headers = {"Stanch-Secrets": f"{NAME}, OF_BRAM"}
    content = "it is secret-of-bram-0815"
    reply = stage.send("PUT", f"{TEXT}?mine=true", json={"content": content}, headers=headers)
    assert reply.status_code == 200, reply.text
    stage.assert_withheld(stage.ask("GET", TEXT), "content_unknown")
    stage.send("PUT", "/api/files/text/shared.txt", json={"content": content}, headers=headers)
    assert text(stage, "shared.txt") == "it is {{OF_BRAM}}"
