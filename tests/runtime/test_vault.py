"""What a model is sent holds no value of the vault, in no part and no encoding; what is stored is as it was."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from stanch.runtime.scripted_reply import say, use
from stanch.secrets.text import Secret
from stanch.tiers.dialects.ours import write_messages
from stanch.values.turn import TurnState
from tests.runtime.world import PERSON, World

DIALECTS = ("openai", "openai-responses", "anthropic")
VALUE = 'marker-of-"the"-value/4711'
OLD = "marker-of-the-old-value-4710"
ENCODED = base64.b64encode(VALUE.encode()).decode()


class Holding(World):
    """A workspace whose notes hold what the vault holds."""

    def __enter__(self) -> World:
        self.files["notes.txt"] = f"key: {VALUE}\nbase64: {ENCODED}\nold: {OLD}\nend\n"
        made = super().__enter__()
        for value in (OLD, VALUE):
            made.service.vault.set("STRIPE_KEY", Secret(value), by=PERSON)
        return made


def held(raw: bytes) -> list[str]:
    """Which marks are in what was sent."""
    text = raw.decode()
    return [mark for mark in ("marker-of", ENCODED[:12], json.dumps(VALUE)[1:-1]) if mark in text]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_request_holds_a_value(tmp_path: Path, dialect: str) -> None:
    script = [use("read_file", path="notes.txt"), use("echo", text=VALUE), say(f"It is {VALUE}."), say("ok")]
    with Holding(tmp_path, script, dialect=dialect) as world:
        session = world.session()
        assert world.ask(f"What is {VALUE}?", session).state is TurnState.COMPLETED
        assert world.ask("And now?", session).state is TurnState.COMPLETED
        assert len(world.models.asked) == 4
        assert held(world.models.raw()) == []
        last = world.models.asked[-1].raw.decode()
        assert last.count("{{STRIPE_KEY}}") >= 6, "asked, read three times, called, said"
        assert "end" in last
        stored = json.dumps(write_messages(world.messages(session)))
        assert stored.count("marker-of") >= 4


def test_a_value_that_is_set_while_a_session_goes_on_is_taken_out_of_what_was_said_before(tmp_path: Path) -> None:
    with World(tmp_path, [say("hm"), say("ok"), say("ok")]) as world:
        session = world.session()
        world.ask(f"What is {VALUE}?", session)
        assert held(world.models.raw()) != [], "nobody knew it for a secret"
        world.service.vault.set("LATE", Secret(VALUE), by=PERSON)
        world.service.vault.revoke("LATE", by=PERSON)
        world.ask("And now?", session)
        assert held(world.models.asked[-1].raw) == []
        assert "{{LATE}}" in world.models.asked[-1].raw.decode()


@pytest.mark.parametrize(
    "damage",
    ["UPDATE vault_values SET sealed = 's1.000000000000.AAAA'", "DELETE FROM vault_values", "DROP TABLE vault_values"],
)
def test_where_the_vault_cannot_be_opened_nothing_is_sent(tmp_path: Path, damage: str) -> None:
    import sqlite3
    from contextlib import closing

    with Holding(tmp_path, [say("ok")]) as world:
        with closing(sqlite3.connect(tmp_path / "stanch.db")) as connection, connection:
            connection.execute(damage)
        world.restart()
        turn = world.ask("hello")
        assert turn.state is TurnState.FAILED
        assert world.models.asked == ()
        assert turn.problem is not None
        assert "marker" not in repr(turn.problem)


def test_once_a_person_has_them_forgotten_requests_go_on(tmp_path: Path) -> None:
    with Holding(tmp_path, [say("ok"), say("ok")]) as world:
        (tmp_path / "vault.key").unlink()
        world.restart()
        assert world.ask("hello").state is TurnState.FAILED
        found = world.service.vault.unreadable()
        assert {one.problem for one in found} == {"its key is gone"}
        assert world.service.vault.forget_unreadable(len(found), by=PERSON) == found
        assert world.ask("hello").state is TurnState.COMPLETED


def test_without_the_key_nothing_is_sent(tmp_path: Path) -> None:
    with Holding(tmp_path, [say("ok")]) as world:
        (tmp_path / "vault.key").unlink()
        world.restart()
        assert world.ask("hello").state is TurnState.FAILED
        assert world.models.asked == ()
