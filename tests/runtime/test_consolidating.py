"""A background run rewrites the memory, and nothing else: each write is judged before, and nobody is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stanch.app.consolidating import NOTHING
from stanch.app.memory_agent import WRITE
from stanch.policy.memory_table import MEMORY_AGENT
from stanch.runtime.scripted_reply import Reply, ToolUse, say, use
from stanch.values.records import JobRecord
from stanch.values.turn import JobRunRecord, JobRunState
from tests.runtime.clocked import POLICY, Clocked
from tests.runtime.world import PERSON
from tests.stores.places import together

RULE = """
[[groups.rules]]
tool = "{tool}"
path = "{path}"
action = "{action}"
mandatory = true
"""


def writes(*files: tuple[str, str]) -> Reply:
    return Reply(
        tuple(ToolUse(WRITE, {"path": path, "content": content}, f"w{n}") for n, (path, content) in enumerate(files))
    )


@contextmanager
def memory(folder: Path, script: Any, *, more: str = "", rules: str = "") -> Iterator[Clocked]:
    """A workspace with two notes in its memory, consolidated every minute."""
    with Clocked(folder, script) as world:
        (world.workspace / "memory").mkdir()
        (world.workspace / "memory/a.md").write_text("old a\n")
        (world.workspace / "memory/b.md").write_text("old b\n")
        policy = POLICY.format(workspace=str(world.workspace), url=world.models.openai_url)
        table = '[memory]\nconsolidate = "* * * * *"\nmodel = "fake/scripted"\n'
        world.policy.write_text(policy.replace("[agents.bob]", table + more + "[agents.bob]") + rules)
        world.service.refresh()
        world.service.consolidating.settle(PERSON)
        yield world


def job(world: Clocked) -> JobRecord:
    return world.service.jobs.get(MEMORY_AGENT)


def run(world: Clocked) -> JobRunRecord:
    """The next run, once it has ended."""
    world.due()
    return world.ended(job(world))


def note(world: Clocked, name: str) -> str:
    return (world.workspace / "memory" / name).read_text()


def test_it_reads_the_memory_and_rewrites_it(tmp_path: Path) -> None:
    script = [writes(("memory/a.md", "new a\n"), ("memory/c.md", "both\n")), say("done")]
    with memory(tmp_path, script) as world:
        made = run(world)
        assert (made.state, made.outcome) == (JobRunState.COMPLETED, "2 written")
        assert (note(world, "a.md"), note(world, "b.md"), note(world, "c.md")) == ("new a\n", "old b\n", "both\n")
        body = world.models.bodies()[0]
        assert [tool["function"]["name"] for tool in body["tools"]] == [WRITE]
        assert "old a" in str(body)
        assert made.session_id is not None
        session = world.service.sessions.get(made.session_id)
        assert (session.agent_id, session.approver) == (MEMORY_AGENT, False)
        assert session.ended_at is not None


@pytest.mark.parametrize(
    "path",
    [
        "memory/../policy.md",
        "../stanch.toml",
        "notes.txt",
        "memory/x.txt",
        "memory/sub/x.md",
        "memory/.x.md",
        "memory",
        "~/m.md",
    ],
)
def test_it_writes_nothing_else(tmp_path: Path, path: str) -> None:
    with memory(tmp_path, [writes((path, "mine")), say("done")]) as world:
        before = world.policy.read_text()
        made = run(world)
        assert made.outcome is not None
        assert made.outcome.startswith("0 written, 1 not written")
        assert world.policy.read_text() == before
        assert sorted(os.listdir(world.workspace)) == ["memory", "notes.txt"]
        assert sorted(os.listdir(world.workspace / "memory")) == ["a.md", "b.md"]
        assert world.service.inbox.list().total == 0


def test_it_has_no_other_tool(tmp_path: Path) -> None:
    with memory(tmp_path, [use("read_file", path="notes.txt"), say("done")]) as world:
        made = run(world)
        assert made.state is JobRunState.COMPLETED
        assert made.session_id is not None
        assert b"buy milk" not in world.models.raw()
        assert [one.tool for one in world.service.calls.list(made.session_id).items] == []  # type: ignore[union-attr]


@pytest.mark.parametrize("action", ["ask", "deny"])
def test_what_a_rule_asks_about_or_denies_is_not_written(tmp_path: Path, action: str) -> None:
    rules = RULE.format(tool="@write", path="memory/a.md", action=action)
    script = [writes(("memory/a.md", "new a"), ("memory/b.md", "new b")), say("done")]
    with memory(tmp_path, script, rules=rules) as world:
        made = run(world)
        assert made.outcome is not None
        assert made.outcome.startswith("1 written, 1 not written (memory/a.md: ")
        assert "rule" in made.outcome
        assert (note(world, "a.md"), note(world, "b.md")) == ("old a\n", "new b")
        assert made.session_id is not None
        assert world.service.calls.list(made.session_id).total == 1, "the other one is not even asked for"
        assert world.service.inbox.list().total == 0


def test_a_rule_of_the_agents_own_context_counts(tmp_path: Path) -> None:
    more = f'[sessions.defaults.agent.{MEMORY_AGENT}]\nsecurity_group = "none"\n'
    with memory(tmp_path, [writes(("memory/c.md", "new")), say("done")], more=more) as world:
        assert run(world).outcome == NOTHING, "where its group is missing it may not read either"
        assert not world.models.asked


def test_what_it_may_not_read_it_is_not_shown_and_does_not_replace(tmp_path: Path) -> None:
    rules = RULE.format(tool="@read", path="memory/a.md", action="ask")
    with memory(tmp_path, [writes(("memory/a.md", "guess")), say("done")], rules=rules) as world:
        made = run(world)
        assert made.outcome is not None
        assert made.outcome.startswith("0 written, 1 not written")
        assert made.outcome.endswith("1 not read")
        assert note(world, "a.md") == "old a\n"
        assert b"old a" not in world.models.raw()
        assert b"a.md" not in world.models.requests[0].raw


def test_links_and_files_with_other_names_are_left_alone(tmp_path: Path) -> None:
    script = [writes(("memory/a.md", "x"), ("memory/b.md", "x"), ("memory/c.md", "x")), say("done")]
    with memory(tmp_path, script) as world:
        (world.workspace / "memory/d.md").write_text("old d\n")
        (world.workspace / "memory/a.md").unlink()
        (world.workspace / "memory/b.md").unlink()
        (world.workspace / "memory/a.md").symlink_to(world.workspace / "notes.txt")
        os.link(world.workspace / "notes.txt", world.workspace / "memory/b.md")
        (world.workspace / "memory/c.md").symlink_to("gone.md")
        made = run(world)
        assert made.outcome is not None
        assert made.outcome.startswith("0 written, 3 not written")
        assert (world.workspace / "notes.txt").read_text() == "buy milk\n"
        assert b"buy milk" not in world.models.raw()


def test_a_memory_that_leads_elsewhere_is_none(tmp_path: Path) -> None:
    with memory(tmp_path, []) as world:
        (world.workspace / "memory").rename(tmp_path / "elsewhere")
        (world.workspace / "memory").symlink_to(tmp_path / "elsewhere")
        made = run(world)
        assert (made.state, made.outcome) == (JobRunState.COMPLETED, NOTHING)
        assert (tmp_path / "elsewhere/a.md").read_text() == "old a\n"


def test_what_changed_since_it_was_shown_is_not_replaced(tmp_path: Path) -> None:
    def answer(asked: Any) -> Reply:
        if len(world.models.asked) == 1:
            (world.workspace / "memory/a.md").write_text("somebody's own\n")
            return writes(("memory/a.md", "new a"))
        return say("done")

    with memory(tmp_path, answer) as world:
        made = run(world)
        assert made.outcome is not None
        assert "has changed since" in made.outcome
        assert note(world, "a.md") == "somebody's own\n"


def test_a_model_that_may_not_read_it_any_more_does_not_replace_it(tmp_path: Path) -> None:
    tier = """
[tiers.low]
label = "Low"
otherwise = {read = "deny", write = "allow", execute = "allow", network = "allow"}
"""

    def answer(asked: Any) -> Reply:
        if len(world.models.asked) == 1:
            (session,) = world.service.sessions.list(agent_id=MEMORY_AGENT).items
            world.service.sessions.set_model(session.id, "fake/other", by=PERSON)
            return writes(("memory/a.md", "[withheld]"))
        return say("done")

    with memory(tmp_path, answer, more=tier) as world:
        text = world.policy.read_text()
        assigned = 'default_tier = "trusted"\n[models.assignments]\n"fake/other" = "low"\n'
        world.policy.write_text(text.replace('default_tier = "trusted"\n', assigned))
        world.service.refresh()
        made = run(world)
        assert made.outcome is not None
        assert "may not be read any more" in made.outcome
        assert note(world, "a.md") == "old a\n"


def test_it_may_write_a_file_again_that_it_wrote(tmp_path: Path) -> None:
    script = [writes(("memory/a.md", "one")), writes(("memory/a.md", "two")), say("done")]
    with memory(tmp_path, script) as world:
        assert run(world).outcome == "1 written"
        assert note(world, "a.md") == "two"


def test_a_file_with_a_secret_is_left_alone(tmp_path: Path) -> None:
    with memory(tmp_path, [writes(("memory/a.md", "the key is {{KEY}}")), say("done")]) as world:
        world.service.consolidating._holds_secret = lambda text: "hunter2" in text
        (world.workspace / "memory/a.md").write_text("the key is hunter2")
        made = run(world)
        assert made.outcome is not None
        assert made.outcome.endswith("1 not read")
        assert note(world, "a.md") == "the key is hunter2"


def test_two_processes_run_it_once(tmp_path: Path) -> None:
    script = [writes(("memory/a.md", "new a")), say("done")]
    with memory(tmp_path, script) as world:
        world.open()
        world.service.refresh()
        together(*(lambda one=one: one.consolidating.settle(PERSON) for one in world.services for _ in range(2)))
        world.clock.on(minutes=1)
        together(*(one.scheduler.run_due for one in world.services for _ in range(2)))
        made = world.ended(job(world))
        assert (made.state, made.outcome) == (JobRunState.COMPLETED, "1 written")
        assert len(world.runs(job(world))) == 1
        assert len(world.models.asked) == 2


def test_it_is_off_until_the_policy_wants_it_and_off_again_then(tmp_path: Path) -> None:
    with memory(tmp_path, []) as world:
        assert job(world).enabled
        world.policy.write_text(POLICY.format(workspace=str(world.workspace), url=world.models.openai_url))
        world.service.refresh()
        assert world.due() == []
        assert not job(world).enabled
    (tmp_path / "other").mkdir()
    with Clocked(tmp_path / "other", []) as other:
        other.due()
        assert other.service.jobs.list().total == 0


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('consolidate = "every night"\nmodel = "fake/scripted"', "cron expression"),
        ('consolidate = "0 4 31 2 *"\nmodel = "fake/scripted"', "cron expression"),
        ('consolidate = "0 4 * * *"\nmodel = "scripted"', "names no provider"),
        ('consolidate = "0 4 * * *"', "'model' is missing"),
        ('consolidate = "0 4 * * *"\nmodel = "a/b"\nmore = 1', "unknown key"),
    ],
)
def test_a_mistake_in_the_table_is_named(tmp_path: Path, table: str, words: str) -> None:
    from stanch.policy.building import build
    from stanch.policy.document import parse

    policy = build(parse(f"version = 1\n[memory]\n{table}\n", "stanch.toml"), workspace="/w", home="/home/dev")
    assert any(words in one.message for one in policy.problems), policy.problems
    assert policy.memory is None
    assert policy.broken_runtime is not None
