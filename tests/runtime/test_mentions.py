"""Files that a person mentions: their text goes along, or nothing is said at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from stanch.app import judged_files
from stanch.app.mentions import MOST_FILES, MOST_WORDS
from stanch.judge.notices import goes_on
from stanch.runtime.scripted_reply import say, use
from stanch.values.context import RunContext
from stanch.values.fault import BadFields, Conflict
from stanch.values.message import Message, Text
from stanch.values.turn import TurnState
from tests.runtime.test_context_files import LOW, rule
from tests.runtime.world import PERSON, SECONDS, World


def ask(world: World, text: str, session: str) -> Message:
    """What was said, once the turn has ended."""
    agents = world.service.agents
    turn = agents.begin(session, text, by=PERSON, mentions=True)
    assert agents.wait(turn.id, SECONDS).state is TurnState.COMPLETED
    return world.messages(session)[0]


def refused(world: World, text: str, session: str | None = None) -> str:
    session = session or world.session()
    with pytest.raises(BadFields) as why:
        world.service.agents.begin(session, text, by=PERSON, mentions=True)
    assert world.messages(session) == []
    assert world.service.turn_log.list(session).total == 0
    return str(why.value)


def texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text)]


def test_each_file_goes_along_once_with_its_tag(tmp_path: Path) -> None:
    with World(tmp_path, [say("one")]) as world:
        (world.workspace / "two words.txt").write_text("marker two words")
        said = 'see @notes.txt, @./notes.txt and (not this) @"two words.txt"; ada@notes.txt'
        message = ask(world, said, world.session())
        words, first, second = texts(message)
        assert words == said
        assert "buy milk" in first
        assert "marker two words" in second
        tags = [[tag.name for tag in part.tags] for part in message.parts]
        assert tags == [[], [str(world.workspace / "notes.txt")], [str(world.workspace / "two words.txt")]]
        assert b"buy milk" in world.models.raw()


@pytest.mark.parametrize(
    "text",
    [
        "@nobody",
        "@deep",
        "@*.txt",
        "@",
        "@@",
        "@dataclass x",
        "@\0x",
        "@pipe",
        "@/dev/zero",
        "@" + "x" * 5_000,
        "@x" + "!" * 500,
    ],
)
def test_what_names_no_file_stays_a_text(tmp_path: Path, text: str) -> None:
    with World(tmp_path, [say("one")]) as world:
        os.mkfifo(world.workspace / "pipe")
        message = ask(world, f"{text} please", world.session())
        assert texts(message) == [f"{text} please"]


def test_without_the_word_of_the_caller_nothing_is_a_mention(tmp_path: Path) -> None:
    with World(tmp_path, [say("one")]) as world:
        session = world.session()
        world.ask("see @notes.txt and @secrets/key.txt", session)
        assert len(world.messages(session)[0].parts) == 1


def test_one_that_is_refused_stops_the_whole_prompt(tmp_path: Path) -> None:
    with World(tmp_path, []) as world:
        why = refused(world, "see @notes.txt, @denied.txt and @secrets/key.txt")
        assert "@denied.txt: Denied by rule 2" in why
        assert "@secrets/key.txt: Denied by rule 1" in why
        assert "notes" not in why
        assert "marker" not in why


def test_a_rule_that_must_be_asked_about_refuses_and_one_of_the_persons_own_does_not(tmp_path: Path) -> None:
    with World(tmp_path, [], rules=rule("notes.txt", "ask", mandatory=True)) as world:
        assert "@notes.txt" in refused(world, "see @notes.txt")
    with World(tmp_path / "other", [say("one")], rules="") as other:
        assert "buy milk" in texts(ask(other, "see @notes.txt", other.session()))[1]


def test_a_file_elsewhere_is_refused_whatever_leads_there(tmp_path: Path) -> None:
    with World(tmp_path, []) as world:
        (tmp_path / "outside.txt").write_text("marker outside")
        (world.workspace / "link.txt").symlink_to("../outside.txt")
        for word in ("/etc/passwd", "../outside.txt", "link.txt", str(tmp_path / "outside.txt")):
            why = refused(world, f"see @{word}")
            assert "lies outside" in why or "Denied" in why, why


def test_it_is_judged_in_the_context_that_the_turn_will_have(tmp_path: Path) -> None:
    with World(tmp_path, [say("one")]) as world:
        outside = tmp_path / "outside.txt"
        outside.write_text("marker outside")
        session = world.session(context=RunContext(allow_fs_reads=(str(outside),)))
        assert "marker outside" in texts(ask(world, f"see @{outside}", session))[1]
        world.service.sessions.set_context(session, None, by=PERSON)
        with pytest.raises(BadFields, match="lies outside"):
            world.service.agents.begin(session, f"see @{outside}", by=PERSON, mentions=True)


def test_none_is_said_while_a_turn_goes_on(tmp_path: Path) -> None:
    with World(tmp_path, [use("ask_user", question="well?"), say("one")]) as world:
        session = world.session()
        turn = world.begin("go", session)
        question = world.question()
        with pytest.raises(Conflict, match="turn"):
            world.service.agents.begin(session, "see @notes.txt", by=PERSON, mentions=True)
        world.service.inbox.answer(question.request_id, "yes", by=PERSON)
        assert world.service.agents.wait(turn.id, SECONDS).state is TurnState.COMPLETED


def test_too_many_at_once(tmp_path: Path) -> None:
    with World(tmp_path, []) as world:
        for number in range(MOST_FILES + 1):
            (world.workspace / f"{number}.txt").write_text("x")
        assert "at most 20" in refused(world, " ".join(f"@{number}.txt" for number in range(MOST_FILES + 1)))
        assert "say it without" in refused(world, " ".join(f"@{number}" for number in range(MOST_WORDS + 1)))


def test_what_is_no_text_or_too_long_is_refused_with_words(tmp_path: Path) -> None:
    with World(tmp_path, []) as world:
        (world.workspace / "a.bin").write_bytes(b"marker\0")
        (world.workspace / "b.txt").write_text("x" * (judged_files.MOST_BYTES + 1))
        why = refused(world, "see @a.bin @b.txt")
        assert "binary" in why
        assert "more than 1024 KB" in why


def test_a_link_that_is_put_there_after_the_judgment_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with World(tmp_path, []) as world:
        path = world.workspace / "notes.txt"

        def swapped(*given: Any) -> bool:
            path.unlink(missing_ok=True)
            path.symlink_to("secrets/key.txt")
            return goes_on(*given)

        monkeypatch.setattr("stanch.app.judged_files.goes_on", swapped)
        assert "@notes.txt" in refused(world, "see @notes.txt")


def test_a_model_of_a_lower_tier_sees_it_no_more(tmp_path: Path) -> None:
    low = LOW.replace('path = "AGENTS.md"', 'path = "notes.txt"')
    with World(tmp_path, [say("one"), say("two")], more=low) as world:
        session = world.session()
        ask(world, "see @notes.txt", session)
        world.service.sessions.set_model(session, "fake/other", by=PERSON)
        world.ask("and you?", session)
        assert b"marker one" not in world.models.requests[-1].raw
        with pytest.raises(BadFields, match="notes"):
            world.service.agents.begin(session, "see @notes.txt", by=PERSON, mentions=True)


def test_a_change_of_one_is_told_later(tmp_path: Path) -> None:
    with World(tmp_path, [say("one"), say("two"), say("three")]) as world:
        session = world.session()
        world.ask("hello", session)
        agents = world.service.agents
        agents.wait(agents.begin(session, "see @notes.txt", by=PERSON, mentions=True).id, SECONDS)
        (world.workspace / "notes.txt").write_text("other")
        world.ask("and now?", session)
        assert b"- notes.txt" in world.models.requests[-1].raw
