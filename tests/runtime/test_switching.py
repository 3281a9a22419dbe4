"""A conversation that goes on with another model: what it is sent, what is stored, and what a person says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stanch.runtime.scripted_reply import Reply, ToolUse, Words, say, use
from stanch.tiers.dialects.ours import write_messages
from stanch.values.fault import BadFields, Conflict
from stanch.values.records import AuditRecord
from stanch.values.turn import TurnState
from tests.runtime.world import PERSON, World

TIERS = """
[models.assignments]
"fake/scripted" = "trusted"
"fake/outside" = "outside"
"fake/asking" = "asking"

[tiers.outside]
label = "Outside"
otherwise = { read = "allow", write = "deny", execute = "deny", network = "deny" }
[[tiers.outside.cells]]
path = "private"
read = "deny"

[tiers.asking]
label = "Asking"
otherwise = { read = "allow", write = "deny", execute = "deny", network = "deny" }
[[tiers.asking.cells]]
path = "private"
read = "ask"
"""
PAY = "name,pay\nA. Example,1234567 a year and a car of the firm\n"
READ_PAY = use("read_file", path="private/pay.csv")
QUOTES = Reply((Words("They earn this: 1234567 a year and a car of the firm, they say."),))
DIALECTS = ("openai", "openai-responses", "anthropic")


class Paid(World):
    def __init__(self, folder: Path, script: list[Reply], **given: str) -> None:
        super().__init__(folder, script, more=TIERS, **given)
        self.files["private/pay.csv"] = PAY


@pytest.mark.parametrize("dialect", DIALECTS)
def test_another_model_is_not_sent_what_its_tier_may_not_read(tmp_path: Path, dialect: str) -> None:
    with Paid(tmp_path, [READ_PAY, QUOTES, say("ok"), say("back")], dialect=dialect) as world:
        session = world.session()
        assert world.ask("what do they earn?", session).state is TurnState.COMPLETED
        stored = write_messages(world.messages(session))
        world.service.switching.switch(session, "fake/outside", by=PERSON)
        assert world.ask("and now?", session).state is TurnState.COMPLETED
        sent = world.models.asked[-1].raw
        path = str(world.workspace / "private/pay.csv")
        assert b"1234567" not in sent
        assert b"car of the firm" not in sent
        assert f"[Content from {path} filtered" in sent.decode() or f"[Content from {path} filtered" in sent.decode(
            "unicode_escape"
        )
        assert write_messages(world.messages(session))[: len(stored)] == stored
        world.service.switching.switch(session, "fake/scripted", by=PERSON)
        assert world.ask("and back?", session).state is TurnState.COMPLETED
        assert b"1234567 a year and a car of the firm" in world.models.asked[-1].raw


def test_the_switch_is_told_with_what_it_hides(tmp_path: Path) -> None:
    with Paid(tmp_path, [READ_PAY, say("ok")]) as world:
        session = world.session()
        world.ask("go", session)
        world.service.switching.switch(session, "fake/outside", by=PERSON)
        (row,) = world.service.audit.list(subject=session, action="session.switch").items
        assert isinstance(row, AuditRecord)
        assert row.detail["to"] == "fake/outside"
        assert row.detail["withheld"] == 1


def test_a_tier_that_asks_is_sent_nothing_until_a_person_says_so_once(tmp_path: Path) -> None:
    script = [READ_PAY, say("ok"), say("one"), say("two"), READ_PAY, say("three")]
    with Paid(tmp_path, script) as world:
        session = world.session()
        world.ask("go", session)
        world.service.switching.switch(session, "fake/asking", by=PERSON)
        path = str(world.workspace / "private/pay.csv")
        assert world.service.switching.shown(session).report.asks == (path,)
        world.ask("now?", session)
        assert b"1234567" not in world.models.asked[-1].raw
        with pytest.raises(BadFields):
            world.service.switching.answer(session, send=["/etc/passwd"], withhold=[], by=PERSON)
        assert world.service.switching.answer(session, send=[path], withhold=[], by=PERSON).report.asks == ()
        world.ask("and now?", session)
        assert b"1234567" in world.models.asked[-1].raw
        # The same answer lets the file be read anew, and holds for no other session.
        assert world.ask("read it again", session).state is TurnState.COMPLETED
        assert "1234567" in world.results(session)[-1]


def test_withheld_by_a_person_is_withheld(tmp_path: Path) -> None:
    with Paid(tmp_path, [READ_PAY, say("ok"), say("one")]) as world:
        session = world.session()
        world.ask("go", session)
        world.service.switching.switch(session, "fake/asking", by=PERSON)
        path = str(world.workspace / "private/pay.csv")
        assert world.service.switching.answer(session, send=[], withhold=[path], by=PERSON).report.asks == ()
        world.ask("now?", session)
        assert b"1234567" not in world.models.asked[-1].raw


def test_an_approved_read_answers_for_its_directory_and_is_asked_about_once(tmp_path: Path) -> None:
    script = [READ_PAY, use("read_file", path="private/more.csv"), say("ok")]
    with Paid(tmp_path, script) as world:
        (world.workspace / "private").mkdir(exist_ok=True)
        (world.workspace / "private/more.csv").write_text("7654321\n")
        session = world.session()
        world.service.switching.switch(session, "fake/asking", by=PERSON)
        turn = world.begin("go", session)
        request = world.waiting()
        assert request.reason["code"] == "tier_asks"
        world.service.approving.approve(request.request_id, by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert b"1234567" in world.models.asked[-1].raw
        assert b"7654321" in world.models.asked[-1].raw


def test_the_model_of_the_moment_is_the_one_that_is_asked_and_filtered_for(tmp_path: Path) -> None:
    """A person switches while a call waits: its result goes to the new model, as that may have it."""
    both = Reply((ToolUse("read_file", {"path": "private/pay.csv"}), ToolUse("ask_user", {"question": "Well?"})))
    with Paid(tmp_path, [both, say("done")]) as world:
        session = world.session()
        turn = world.begin("go", session)
        asked = world.question()
        world.service.switching.switch(session, "fake/outside", by=PERSON)
        world.service.inbox.answer(asked.request_id, "yes", by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        assert world.models.bodies()[-1]["model"] == "outside"
        assert b"1234567" not in world.models.asked[-1].raw


def test_a_policy_whose_tiers_cannot_be_read_stops_the_send(tmp_path: Path) -> None:
    with Paid(tmp_path, [READ_PAY, say("ok"), say("never")]) as world:
        session = world.session()
        world.ask("go", session)
        world.policy.write_text(world.policy.read_text().replace('label = "Outside"', "label = 3"))
        world.service.refresh()
        turn = world.ask("and?", session)
        assert turn.state is TurnState.FAILED
        assert turn.problem is not None
        assert turn.problem.code == "send_stopped"
        assert len(world.models.asked) == 2
        with pytest.raises(Conflict):
            world.service.switching.switch(session, "fake/outside", by=PERSON)
