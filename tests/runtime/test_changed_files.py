"""A model is told that a file which it has read is another by now, and nothing of what is in it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from stanch.app import changed_files
from stanch.app.changed_files import HEAD, ChangedFiles
from stanch.policy.policies import PolicyRequest
from stanch.runtime.scripted_reply import Reply, ToolUse, say, use
from stanch.secrets.text import Secret
from stanch.values.message import Call, Message, Result, Role, SourceTag, Text
from tests.runtime.world import PERSON, RULES, World

LIMITED = """
[models.assignments]
"fake/other" = "low"
[tiers.low]
label = "Low"
otherwise = {read = "allow", write = "allow", execute = "allow", network = "allow"}
[[tiers.low.cells]]
path = "notes.txt"
read = "deny"
"""


def notices(world: World, session: str) -> list[Message]:
    return [one for one in world.messages(session) if one.role is Role.USER and one.extra.get("by") == "runtime"]


def words(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, Text))


def test_a_change_is_told_once_with_a_tag_and_without_content(tmp_path: Path) -> None:
    script = [use("read_file", path="notes.txt"), say("one"), say("two"), say("three")]
    with World(tmp_path, script) as world:
        session = world.session()
        world.ask("read it", session)
        (world.workspace / "notes.txt").write_text("marker new\n")
        world.ask("and now?", session)
        (told,) = notices(world, session)
        assert words(told) == f"{HEAD}\n- notes.txt"
        (tag,) = told.parts[0].tags
        assert tag.name == str(world.workspace / "notes.txt")
        assert tag.span is not None
        assert words(told)[slice(*tag.span)] == "notes.txt"
        assert HEAD.encode() in world.models.requests[-1].raw
        assert b"marker new" not in world.models.raw()
        world.ask("still?", session)
        assert len(notices(world, session)) == 1, "each change is told once"


def test_what_is_the_same_again_is_no_change(tmp_path: Path) -> None:
    with World(tmp_path, [use("read_file", path="notes.txt"), say("one"), say("two")]) as world:
        session = world.session()
        world.ask("read it", session)
        (world.workspace / "notes.txt").write_text("buy milk\nmarker one\n")
        os.utime(world.workspace / "notes.txt")
        world.ask("and now?", session)
        assert notices(world, session) == []


def test_a_file_that_is_gone_and_one_that_became_a_link(tmp_path: Path) -> None:
    reads = Reply(
        (ToolUse("read_file", {"path": "notes.txt"}, "a"), ToolUse("read_file", {"path": "deep/down/open.txt"}, "b"))
    )
    with World(tmp_path, [reads, say("one"), say("two"), say("three")]) as world:
        session = world.session()
        world.ask("read them", session)
        (world.workspace / "deep/down/open.txt").unlink()
        (world.workspace / "notes.txt").unlink()
        (world.workspace / "notes.txt").symlink_to("deep/down/secrets/more.txt")
        world.ask("and now?", session)
        # What the link leads to is refused, so that nothing is said of it; what is merely gone is told.
        assert [words(one) for one in notices(world, session)] == [f"{HEAD}\n- deep/down/open.txt (gone)"]
        world.ask("still?", session)
        assert len(notices(world, session)) == 1


def test_many_that_may_not_be_told_keep_no_other_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_files, "MOST_JUDGED", 2)
    names = ["one.txt", "two.txt", "three.txt", "notes.txt"]
    reads = [Reply((ToolUse("read_file", {"path": name}, name),)) for name in names]
    with World(tmp_path, [*reads, *(say(str(at)) for at in range(5))]) as world:
        for name in names:
            (world.workspace / name).write_text("first\n")
        session = world.session()
        world.ask("read them", session)
        rows = [{"tool": "read_file", "path": name, "action": "deny"} for name in names[:-1]]
        world.service.sessions.narrow(session, add=rows, by=PERSON)
        for name in names:
            (world.workspace / name).write_text("second\n")
        for at in range(3):
            world.ask(f"and now {at}?", session)
        (told,) = notices(world, session)
        assert words(told) == f"{HEAD}\n- notes.txt"


def test_what_the_session_writes_itself_is_no_news_to_it(tmp_path: Path) -> None:
    rules = RULES + "\n".join(
        f'[[groups.rules]]\ntool = "{tool}"\naction = "allow"' for tool in ("@write", "execute_cmd")
    )
    script = [
        use("read_file", path="notes.txt"),
        use("write_file", path="notes.txt", content="mine"),
        use("execute_cmd", command="echo more >> notes.txt"),
        say("one"),
        say("two"),
    ]
    with World(tmp_path, script, rules=rules) as world:
        session = world.session()
        world.ask("go", session)
        assert (world.workspace / "notes.txt").read_text() == "minemore\n"
        world.ask("and now?", session)
        assert notices(world, session) == []


def test_names_alone_are_no_reading(tmp_path: Path) -> None:
    with World(tmp_path, [use("list_files", path="."), say("one"), say("two")]) as world:
        session = world.session()
        world.ask("list", session)
        (world.workspace / "notes.txt").write_text("other")
        world.ask("and now?", session)
        assert notices(world, session) == []


def test_after_a_restart_it_is_made_anew_from_the_messages(tmp_path: Path) -> None:
    reads = Reply(
        (ToolUse("read_file", {"path": "notes.txt"}, "a"), ToolUse("read_file", {"path": "deep/down/open.txt"}, "b"))
    )
    script = [reads, use("read_file", path="none.txt"), say("one"), say("two"), say("three"), say("four")]
    with World(tmp_path, script) as world:
        session = world.session()
        world.ask("read it", session)
        world.restart()
        world.ask("and?", session)
        assert notices(world, session) == [], "nothing has changed, and what was never there is not gone"
        (world.workspace / "notes.txt").write_text("other\n")
        (world.workspace / "deep/down/open.txt").unlink()
        world.restart()
        world.ask("and now?", session)
        assert [words(one) for one in notices(world, session)] == [f"{HEAD}\n- deep/down/open.txt (gone)\n- notes.txt"]
        world.restart()
        world.ask("still?", session)
        assert len(notices(world, session)) == 1


def test_what_another_process_has_told_or_written_is_no_news(tmp_path: Path) -> None:
    with World(tmp_path, [use("read_file", path="notes.txt"), say("one"), say("two"), say("three")]) as world:
        session = world.session()
        world.ask("read it", session)
        here = world.service.agents.surroundings.changed
        elsewhere = ChangedFiles(here._asking, here._messages)
        (world.workspace / "notes.txt").write_text("other\n")
        told = elsewhere.notice(session)
        assert told is not None
        world.service.messages.add(session, told)
        world.ask("and now?", session)
        assert len(notices(world, session)) == 1
        (world.workspace / "notes.txt").write_text("mine\n")
        tags = (SourceTag(str(world.workspace / "notes.txt")),)
        world.service.messages.add(session, Message(Role.ASSISTANT, (Call("x", "write_file", {}),)))
        world.service.messages.add(
            session, Message(Role.TOOL, (Result("x", (Text("Replaced"),), "write_file", tags=tags),))
        )
        world.ask("still?", session)
        assert len(notices(world, session)) == 1


def test_a_name_that_holds_a_secret_leaves_without_it(tmp_path: Path) -> None:
    script = [use("grep_files", pattern="buy", path="."), say("one"), say("two")]
    with World(tmp_path, script) as world:
        world.service.vault.set("KEY", Secret("hunter2-hunter2-hunter2"), by=PERSON)
        path = world.workspace / "hunter2-hunter2-hunter2"
        path.write_text("buy\n")
        session = world.session()
        world.ask("look", session)
        path.write_text("other\n")
        world.ask("and now?", session)
        assert b"- {{KEY}}" in world.models.requests[-1].raw
        assert b"hunter2" not in world.models.raw()


def test_a_model_of_a_lower_tier_is_not_told_and_sees_no_earlier_notice(tmp_path: Path) -> None:
    script = [use("read_file", path="notes.txt"), say("one"), say("two"), say("three"), say("four")]
    with World(tmp_path, script, more=LIMITED) as world:
        session = world.session()
        world.ask("read it", session)
        (world.workspace / "notes.txt").write_text("other\n")
        world.ask("and now?", session)
        assert len(notices(world, session)) == 1
        world.service.sessions.set_model(session, "fake/other", by=PERSON)
        (world.workspace / "notes.txt").write_text("yet another\n")
        world.ask("you, too?", session)
        assert len(notices(world, session)) == 1, "its tier refuses it outright"
        sent = world.models.requests[-1].raw
        assert HEAD.encode() in sent
        assert b"- notes.txt" not in sent


def test_many_are_named_up_to_a_number_and_none_prints_what_does_not(tmp_path: Path) -> None:
    with World(tmp_path, [use("grep_files", pattern="here", path="many"), say("one"), say("two")]) as world:
        folder = world.workspace / "many"
        folder.mkdir()
        names = [f"{number:02}\n[x]\x1b" for number in range(25)]
        for name in names:
            (folder / name).write_text("here\n")
        session = world.session()
        world.ask("look", session)
        for name in names:
            (folder / name).write_text("there is more of it\n")
        world.ask("and now?", session)
        (told,) = notices(world, session)
        lines = words(told).split("\n")
        assert len(lines) == 22
        assert lines[-1] == "and 5 more"
        assert "\x1b" not in words(told)
        assert len(told.parts[0].tags) == 20


def test_a_policy_that_hangs_costs_one_wait_and_keeps_it_silent(tmp_path: Path) -> None:
    go, hang = threading.Event(), threading.Event()

    def policy(request: PolicyRequest) -> None:
        if request.tool == "Read" and hang.is_set():
            go.wait(30)

    script = [use("grep_files", pattern="here", path="many"), say("one"), say("two"), say("three")]
    with World(tmp_path, script) as world:
        folder = world.workspace / "many"
        folder.mkdir()
        for number in range(40):
            (folder / f"{number}").write_text("here\n")
        session = world.session()
        world.service.policies.keep(session, policy)
        world.service.agents.surroundings.changed._seconds = 0.3
        world.ask("look", session)
        for number in range(40):
            (folder / f"{number}").write_text("changed\n")
        hang.set()
        began = time.monotonic()
        files = world.service.agents.surroundings.changed
        assert files.notice(session) is None
        assert time.monotonic() - began < 5, "one wait, and not one for each file"
        go.set()
        hang.clear()
        world.ask("and now?", session)
        assert len(notices(world, session)) == 1, "it is told once somebody can say that it may be"


def test_a_failure_says_nothing_and_breaks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no")

    with World(tmp_path, [use("read_file", path="notes.txt"), say("one"), say("two")]) as world:
        session = world.session()
        monkeypatch.setattr(changed_files, "as_of", broken)
        monkeypatch.setattr(ChangedFiles, "_notice", broken)
        assert world.ask("read it", session).problem is None
        assert world.ask("and now?", session).problem is None
        assert notices(world, session) == []
