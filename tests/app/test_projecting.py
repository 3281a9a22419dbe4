"""What leaves this process: the whole vault is looked for as it is now, and what cannot be looked through stays."""

from __future__ import annotations

import base64
import io
import json
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stanch.app.projected_messages import Projected, message_projected
from stanch.app.projecting import UNOPENED, Projecting
from stanch.app.vault import Vault
from stanch.secrets.budget import Cause, Withheld
from stanch.secrets.projection import Projector
from stanch.secrets.sealing import Key, KeyRing
from stanch.secrets.text import Secret
from stanch.storage.store import Store
from stanch.tiers.kept import Sent
from stanch.values.fault import BadFields, BrokenRow
from stanch.values.message import Call, File, Fragment, Message, Opaque, Part, Reasoning, Result, Role, Text
from stanch.values.records import Actor

BY = Actor("ada", "test")
VALUE, OTHER = "marker-of-the-value/4711", "marker-of-another/4712"
FIRST = Key(os.urandom(32))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(f"sqlite:///{tmp_path}/s.db")
    opened.migrate()
    yield opened
    opened.close()


@pytest.fixture
def vault(store: Store) -> Vault:
    return Vault(store, KeyRing([FIRST]))


def projector() -> Projector:
    return Projector({"KEY": Secret(VALUE)})


# --- the vault, as it is now -----------------------------------------------------------------------------------------


def test_a_projector_is_kept_until_the_vault_knows_more(vault: Vault) -> None:
    projecting = Projecting(vault)
    empty = projecting.projector()
    assert projecting.projector() is empty
    vault.set("KEY", Secret(VALUE), by=BY)
    first = projecting.projector()
    assert first.text(f"a {VALUE} b") == "a {{KEY}} b"
    vault.revoke("KEY", by=BY)
    assert projecting.projector() is first
    vault.set("KEY", Secret(OTHER), by=BY)
    assert projecting.projector().text(f"{VALUE} {OTHER}") == "{{KEY}} {{KEY}}", "old and new are looked for"


def test_what_another_node_sets_is_known_at_the_next_send(vault: Vault, store: Store) -> None:
    projecting = Projecting(Vault(store, KeyRing([FIRST])))
    projecting.projector()
    vault.set("KEY", Secret(VALUE), by=BY)
    assert projecting.projector().text(VALUE) == "{{KEY}}"


def test_a_note_that_stays_may_not_hold_the_new_value(vault: Vault, store: Store) -> None:
    vault.set("KEY", Secret(VALUE), note=f"soon {OTHER}", by=BY)
    with pytest.raises(BadFields, match="'note' holds the value"):
        vault.set("KEY", Secret(OTHER), by=BY)
    assert len(vault.entries()) == 1
    vault.set("KEY", Secret(OTHER), note="", by=BY)
    # What cannot be opened is not known, and hinders nobody.
    later = Vault(store, KeyRing([Key(os.urandom(32))]))
    assert later.set("LATER", Secret("another-one/4713"), note="a note", by=BY).record.note == "a note"


def test_a_vault_that_cannot_be_opened_gives_no_projector(vault: Vault, store: Store) -> None:
    vault.set("KEY", Secret(VALUE), by=BY)
    projecting = Projecting(Vault(store, KeyRing([Key(os.urandom(32))])))
    for _ in range(2):
        with pytest.raises(BrokenRow, match="its key is gone"):
            projecting.projector()
    assert projecting.told(f"it is {VALUE}") == UNOPENED
    assert projecting.told({"a": [VALUE, 1]}) == {"a": [UNOPENED, 1]}


def test_many_ask_and_one_makes(vault: Vault) -> None:
    vault.set("KEY", Secret(VALUE), by=BY)
    projecting, found = Projecting(vault), list[Projector]()
    threads = [threading.Thread(target=lambda: found.append(projecting.projector())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len({id(one) for one in found}) == 1


# --- messages --------------------------------------------------------------------------------------------------------

DATA = base64.b64encode(b"xx " + VALUE.encode()).decode()
PARTS: list[tuple[Part, Part | None]] = [
    (Text(f"a {VALUE}"), Text("a {{KEY}}")),
    (Text("a", extra={"note": VALUE}), Text("a", extra={"note": "{{KEY}}"})),
    (Fragment(VALUE, "AGENTS.md"), Fragment("{{KEY}}", "AGENTS.md")),
    (Reasoning(f"I saw {VALUE}"), Reasoning("I saw {{KEY}}")),
    (Reasoning(f"I saw {VALUE}", "signed"), None),
    (Call("c", "echo", {"a": [{"b": VALUE}]}), Call("c", "echo", {"a": [{"b": "{{KEY}}"}]})),
    (Call("c", "echo", f'{{"a": "{VALUE}'), Call("c", "echo", '{"a": "{{KEY}}')),
    (Result("c", (Text("a"), Text(VALUE))), Result("c", (Text("a"), Text("{{KEY}}")))),
    (Result("c", (Text(VALUE[:9]), Text(VALUE[9:]))), Result("c", (Text("{{KEY}}"),))),
    (File("text/plain", DATA), Text("[a file was withheld: it holds {{KEY}}]")),
    (File("image/png", url=f"https://x/?k={VALUE}"), File("image/png", url="https://x/?k={{KEY}}")),
    (Result("c", (File("text/plain", DATA),)), Result("c", (Text("[a file was withheld: it holds {{KEY}}]"),))),
    (Opaque("odd", {"a": {"b": VALUE}}), Opaque("odd", {"a": {"b": "{{KEY}}"}})),
]


@pytest.mark.parametrize(("part", "wanted"), PARTS)
def test_what_becomes_of_each_part(part: Part, wanted: Part | None) -> None:
    message = Message(Role.USER, (Text("before"), part), "7", "m/x")
    made = message_projected(message, projector())
    assert made.parts == (Text("before"), *(() if wanted is None else (wanted,)))
    assert (made.role, made.id, made.model) == (message.role, "7", "m/x")
    assert message_projected(made, projector()) is made, "twice changes nothing"
    clean = Message(Role.USER, (Text("nothing here"), Call("c", "t", {"a": [1, None, True]}), Reasoning("x", "signed")))
    assert message_projected(clean, projector()) is clean


def test_a_message_is_never_empty() -> None:
    made = message_projected(Message(Role.ASSISTANT, (Reasoning(VALUE, "signed"),)), projector())
    assert made.parts == (Text("[reasoning left out]"),)


class Failing:
    """A projector that cannot look through some text."""

    def __init__(self, cause: Cause) -> None:
        self.cause = cause

    def text(self, text: str) -> str:
        if "marker" in text:
            raise Withheld(self.cause)
        return text

    def structure(self, value: Any) -> Any:
        self.text(json.dumps(value))
        return value

    found = text


@pytest.mark.parametrize("cause", list(Cause))
def test_what_cannot_be_looked_through_is_not_sent(cause: Cause) -> None:
    failing: Any = Failing(cause)
    parts = (Text(VALUE), Call("c", "t", {"a": VALUE}), Result("c", (Text(VALUE),)), Text("fine"))
    if cause in (Cause.ENGINE_FAILED, Cause.NOT_BUILT):
        with pytest.raises(Withheld):
            message_projected(Message(Role.USER, parts), failing)
        return
    made = message_projected(Message(Role.USER, parts), failing)
    assert "marker" not in repr([getattr(one, "text", getattr(one, "arguments", one)) for one in made.parts])
    assert [type(one) for one in made.parts] == [Text, Call, Result, Text]
    assert made.parts[3] is parts[3]


def test_a_conversation_that_goes_on_is_not_looked_through_anew() -> None:
    looked: list[str] = []

    class Counting(Failing):
        def text(self, text: str) -> str:
            looked.append(text)
            return text.replace(VALUE, "{{KEY}}")

    counting: Any = Counting(Cause.TOO_LARGE)
    kept = [Message(Role.USER, (Text(VALUE),)), Message(Role.USER, (Text("b"),))]
    projected = Projected()
    first = projected.sent(Sent(kept), counting)
    kept.append(Message(Role.USER, (Text("c"),)))
    second = projected.sent(Sent(kept), counting)
    assert looked == [VALUE, "b", "c"]
    assert len(first) == 2
    assert [one.parts for one in second] == [(Text("{{KEY}}"),), (Text("b"),), (Text("c"),)]
    assert second[0] is first[0]
    other: Any = Counting(Cause.TOO_LARGE)
    projected.sent(Sent(kept), other)
    assert len(looked) == 6, "with another vault all is looked at"
    projected.sent(Sent(list(kept)), other)
    assert len(looked) == 9


def test_where_nothing_occurs_the_list_is_the_same() -> None:
    messages = Sent([Message(Role.USER, (Text("a"),))])
    assert Projected().sent(messages, projector()) is messages


def test_what_raised_half_way_is_not_gone_on_with() -> None:
    kept = [Message(Role.USER, (Text("a"),)), Message(Role.USER, (Text(VALUE),))]
    projected, failing = Projected(), Failing(Cause.ENGINE_FAILED)
    broken: Any = failing
    for _ in range(2):
        with pytest.raises(Withheld):
            projected.sent(Sent(kept), broken)
    assert [one.parts for one in projected.sent(Sent(kept), projector())] == [(Text("a"),), (Text("{{KEY}}"),)]


# --- logs ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A logger, and what it wrote."""
    logger, written = logging.getLogger("tests.projecting"), io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.propagate = False
    yield logger, written
    logger.removeHandler(handler)
    logger.propagate = True


def test_no_line_of_a_log_holds_a_value(vault: Vault, log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, written = log
    projecting = Projecting(vault)
    vault.set("KEY", Secret(VALUE), by=BY)
    before = logging.getLogRecordFactory()
    with projecting.logs():
        logger.error("it is %s and %s", VALUE, VALUE.encode().hex())
        logger.error(f"it is {VALUE}")
        logger.error("it is %(value)s", {"value": VALUE})
        try:
            json.loads(VALUE)
        except ValueError as why:
            why.args = (VALUE,)
            logger.exception("failed with %r", 7)
        logger.error("too few %s %s", VALUE)  # noqa: PLE1206 - what a mistake does
        logger.error("as it was: %d", 5)
    assert logging.getLogRecordFactory() is before
    said = written.getvalue()
    assert "marker" not in said
    assert VALUE.encode().hex() not in said
    assert "it is {{KEY}} and {{KEY}}" in said
    assert "Error: {{KEY}}" in said
    assert "as it was: 5" in said


def test_where_nobody_can_tell_the_form_of_a_line_is_left(
    vault: Vault, store: Store, log: tuple[logging.Logger, io.StringIO]
) -> None:
    logger, written = log
    vault.set("KEY", Secret(VALUE), by=BY)
    with Projecting(Vault(store, None)).logs():
        logger.error("a request failed with %s (%s)", VALUE, "x")
    assert written.getvalue() == f"tests.projecting ERROR a request failed with %s (%s) {UNOPENED}\n"
