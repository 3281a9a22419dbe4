"""Files that go along with a session's requests: judged, opened as they were judged, and filtered like all else."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from stanch.app.context_files import MOST_CHARACTERS, WITHHELD
from stanch.judge.notices import goes_on
from stanch.policy.policies import PolicyRequest
from stanch.runtime.scripted_reply import say, use
from stanch.secrets.text import Secret
from stanch.values.context import RunContext
from stanch.values.records import AuditRecord
from tests.runtime.world import PERSON, RULES, World

RULE = (
    '[[groups.rules]]\ntool = "{tool}"\npath = "{path}"\naction = "{action}"\nmandatory = {mandatory}\npriority = 1\n'
)
LOW = """
[models.assignments]
"fake/other" = "low"
[tiers.low]
label = "Low"
otherwise = {read = "allow", write = "allow", execute = "allow", network = "allow"}
[[tiers.low.cells]]
path = "AGENTS.md"
read = "deny"
"""


def rule(path: str, action: str, tool: str = "@read", *, mandatory: bool = False) -> str:
    return RULES + RULE.format(tool=tool, path=path, action=action, mandatory=str(mandatory).lower())


def withheld(world: World) -> list[dict[str, Any]]:
    rows = [one for one in world.service.audit.list(action=WITHHELD).items if isinstance(one, AuditRecord)]
    return [dict(row.detail) for row in rows]


def put(world: World, name: str, text: str) -> Path:
    path = world.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_those_from_the_workspace_down_go_along_and_none_from_above_it(tmp_path: Path) -> None:
    with World(tmp_path, [say("one"), say("two")]) as world:
        (tmp_path / "AGENTS.md").write_text("marker above")
        put(world, "AGENTS.md", "marker top")
        put(world, "sub/deeper/AGENTS.md", "marker deep")
        put(world, "sub/other/AGENTS.md", "marker aside")
        session = world.session(context=RunContext(working_directory="sub/deeper"))
        assert world.ask("go", session).problem is None
        sent = world.models.requests[-1].raw
        assert 0 < sent.index(b"marker top") < sent.index(b"marker deep")
        assert b"marker above" not in sent
        assert b"marker aside" not in sent
        assert withheld(world) == []
        assert not any("marker" in repr(message) for message in world.messages(session)), "it is read anew each time"
        put(world, "AGENTS.md", "marker newer")
        world.ask("again", session)
        assert b"marker newer" in world.models.requests[-1].raw
        assert b"marker top" not in world.models.requests[-1].raw


def test_a_directory_elsewhere_has_its_own_alone(tmp_path: Path) -> None:
    with World(tmp_path, [say("one")]) as world:
        (tmp_path / "AGENTS.md").write_text("marker above")
        (tmp_path / "away").mkdir()
        (tmp_path / "away/AGENTS.md").write_text("marker away")
        put(world, "AGENTS.md", "marker top")
        world.ask("go", world.session(context=RunContext(working_directory=str(tmp_path / "away"))))
        assert b"marker away" in world.models.raw()
        assert b"marker above" not in world.models.raw()
        assert b"marker top" not in world.models.raw()


@pytest.mark.parametrize(("action", "mandatory"), [("deny", False), ("deny", True), ("ask", True)])
def test_one_that_is_refused_is_named_to_a_person_and_not_to_the_model(
    tmp_path: Path, action: str, mandatory: bool
) -> None:
    rules = rule("AGENTS.md", action, mandatory=mandatory)
    with World(tmp_path, [say("one"), say("two")], rules=rules) as world:
        path = put(world, "AGENTS.md", "marker top")
        session = world.session()
        world.ask("go", session)
        world.ask("again", session)
        assert b"marker top" not in world.models.raw()
        assert b"AGENTS.md" not in world.models.raw()
        (row,) = withheld(world)
        assert row["path"] == str(path)
        assert "rule" in row["why"]


@pytest.mark.parametrize("target", ["denied.txt", "../outside.md", "/etc/hostname", "secrets/key.txt"])
def test_a_link_is_judged_as_what_it_leads_to_and_leads_nowhere_else(tmp_path: Path, target: str) -> None:
    with World(tmp_path, [say("one")]) as world:
        (tmp_path / "outside.md").write_text("marker outside")
        (world.workspace / "AGENTS.md").symlink_to(target)
        world.ask("go", world.session())
        assert b"marker" not in world.models.raw()
        assert len(withheld(world)) == 1


def test_two_names_of_one_file_say_it_once(tmp_path: Path) -> None:
    more = "context_files = ['AGENTS.md', 'CLAUDE.md']"
    with World(tmp_path, [say("one")], more=more) as world:
        put(world, "CLAUDE.md", "marker both")
        (world.workspace / "AGENTS.md").symlink_to("CLAUDE.md")
        world.ask("go", world.session())
        assert world.models.raw().count(b"marker both") == 1
        assert withheld(world) == []


def test_none_go_along_where_the_agent_wants_none(tmp_path: Path) -> None:
    with World(tmp_path, [say("one")], more="context_files = []") as world:
        put(world, "AGENTS.md", "marker top")
        world.ask("go", world.session())
        assert b"marker top" not in world.models.raw()


@pytest.mark.parametrize("name", ["a/b", "..", "x\\u0000"])
def test_a_name_that_is_none_is_a_mistake_in_the_policy(tmp_path: Path, name: str) -> None:
    with World(tmp_path, [], more=f'context_files = ["{name}"]') as world:
        assert any("context_files" in one.message for one in world.service.policy.problems)


def test_what_cannot_be_read_as_a_text_is_left(tmp_path: Path) -> None:
    with World(tmp_path, [say("one"), say("two"), say("three")]) as world:
        path = world.workspace / "AGENTS.md"
        os.mkfifo(path)
        session = world.session()
        assert world.ask("go", session).problem is None
        path.unlink()
        path.write_bytes(b"marker\0binary")
        assert world.ask("go", session).problem is None
        path.write_text("x" * (MOST_CHARACTERS * 40))
        assert world.ask("go", session).problem is None
        assert b"marker" not in world.models.raw()
        assert b"x" * 100 not in world.models.raw()
        assert len(withheld(world)) == 3


def test_a_link_that_is_put_there_after_the_judgment_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with World(tmp_path, [say("one")]) as world:
        path = put(world, "AGENTS.md", "marker top")

        def swapped(*given: Any) -> bool:
            path.unlink()
            path.symlink_to("secrets/key.txt")
            return goes_on(*given)

        monkeypatch.setattr("stanch.app.judged_files.goes_on", swapped)
        assert world.ask("go", world.session()).problem is None
        assert b"marker" not in world.models.raw()
        assert "another" in withheld(world)[0]["why"] or "changed" in withheld(world)[0]["why"]


def test_a_policy_that_hangs_withholds_it_and_the_turn_goes_on(tmp_path: Path) -> None:
    go = threading.Event()
    with World(tmp_path, [say("one")]) as world:
        put(world, "AGENTS.md", "marker top")
        session = world.session()

        def policy(_: PolicyRequest) -> None:
            go.wait(30)

        world.service.policies.keep(session, policy)
        world.service.agents.surroundings.files._seconds = 0.2
        assert world.ask("go", session).problem is None
        go.set()
        assert b"marker top" not in world.models.raw()
        assert "took longer" in withheld(world)[0]["why"] or "time" in withheld(world)[0]["why"]


def test_a_model_of_a_lower_tier_is_shown_it_no_more(tmp_path: Path) -> None:
    with World(tmp_path, [say("the words of the top marker file"), say("two")], more=LOW) as world:
        put(world, "AGENTS.md", "marker top: the words of the top marker file")
        session = world.session()
        world.ask("go", session)
        world.service.sessions.set_model(session, "fake/other", by=PERSON)
        world.ask("and you?", session)
        assert b"marker top" not in world.models.requests[-1].raw
        assert len(withheld(world)) == 1


def test_it_is_filtered_by_its_tag_and_freed_of_secrets(tmp_path: Path) -> None:
    with World(tmp_path, [say("one")]) as world:
        world.service.vault.set("KEY", Secret("hunter2-hunter2-hunter2"), by=PERSON)
        path = put(world, "AGENTS.md", "the key is hunter2-hunter2-hunter2")
        session = world.session()
        world.ask("go", session)
        assert b"{{KEY}}" in world.models.raw()
        assert b"hunter2" not in world.models.raw()
        found = world.service.agents.surroundings.files.last(session)
        assert found is not None
        assert [tag.name for part in found.parts for tag in part.tags] == [str(path)]


def test_what_a_subagent_answers_carries_the_tags_of_what_went_along_with_it(tmp_path: Path) -> None:
    script = [use("call_agent", agent="bob", prompt="say it"), say("what I was told"), say("done")]
    with World(tmp_path, script) as world:
        path = put(world, "AGENTS.md", "marker top")
        session = world.session()
        assert world.ask("go", session).problem is None
        tags = [tag.name for message in world.messages(session) for part in message.parts for tag in part.tags]
        assert tags == [str(path)]
