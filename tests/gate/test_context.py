"""Run contexts: asked by methods, resolved in one order, laid over projects in one way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stanch
from stanch.app.loading import open_engine
from stanch.gate.context import ContextSources, EffectiveContext, Project, context_for, project_context
from stanch.paths.canonical import Canonicaliser
from stanch.paths.grants import BadGrant
from stanch.values.context import RunContext
from stanch.values.fault import BadContext

finder = Canonicaliser()


def _effective(context: RunContext | None, workspace: Path) -> EffectiveContext:
    return EffectiveContext(context, str(workspace), finder.directory)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def test_no_context_answers_as_the_empty_one(root: Path) -> None:
    for context in (None, RunContext()):
        effective = _effective(context, root)
        assert effective.tool_group_id() is None
        assert effective.extra_system_prompt() is None
        assert effective.effective_working_dir() == str(root)
        assert effective.is_read_allowed(finder.stamp("docs/a", str(root)))
        assert not effective.is_read_allowed(finder.stamp("/etc/passwd", "/"))
        assert not effective.is_write_allowed(finder.stamp("a", str(root)))


def test_grants_start_at_the_working_directory_and_a_write_grant_reads(root: Path) -> None:
    (root / "sub").mkdir()
    effective = _effective(RunContext(None, (), ("logs/*",), ("/srv/x",), "sub"), root)
    assert effective.effective_working_dir() == f"{root}/sub"
    assert effective.is_write_allowed(finder.stamp("logs/a", f"{root}/sub"))
    assert effective.is_read_allowed(finder.stamp("logs/a", f"{root}/sub"))
    assert not effective.is_write_allowed(finder.stamp("logs/a", str(root)))
    assert effective.is_read_allowed(finder.stamp("/srv/x/y", "/"))
    assert not effective.is_write_allowed(finder.stamp("/srv/x/y", "/"))
    assert not effective.is_read_allowed(finder.stamp("a", str(root)))


def test_prompts_are_joined_by_a_blank_line(root: Path) -> None:
    assert _effective(RunContext(system_prompt=("a", "b")), root).extra_system_prompt() == "a\n\nb"


def test_a_context_that_cannot_be_read_is_refused_not_read_as_less(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    with pytest.raises(BadContext, match="working directory"):
        _effective(RunContext(working_directory="loop"), root)
    with pytest.raises(BadContext, match="grant"):
        _effective(RunContext(allow_fs_reads=("loop/x",)), root)
    with pytest.raises(BadGrant):
        _effective(RunContext(allow_fs_writes=("*.txt",)), root)


def test_the_first_source_that_is_given_wins_and_a_null_is_given() -> None:
    mine, agents, sources = RunContext("a"), RunContext("b"), RunContext("c")
    assert context_for(ContextSources((mine,), agents, sources)) is mine
    assert context_for(ContextSources((None,), agents, sources)) is None
    assert context_for(ContextSources((), agents, sources)) is agents
    assert context_for(ContextSources((), None, sources)) is sources
    assert context_for(ContextSources()) is None


def test_defaults_of_the_policy_reach_the_session(root: Path) -> None:
    (root / "stanch.toml").write_text(
        'version = 1\n[sessions.defaults.source.cron]\nallow_fs_writes = ["logs"]\n'
        '[sessions.defaults.agent.digest]\nallow_fs_writes = ["out"]\n'
    )
    engine = open_engine(root / "stanch.toml")
    cron = stanch.Source.CRON

    def effect(path: str, **session: Any) -> str:
        return engine.check("write_file", {"path": path}, **session).effect.value

    assert effect("logs/a", source=cron) == "allow"
    assert effect("logs/a") == "ask"
    assert effect("logs/a", source=cron, agent="digest") == "ask"
    assert effect("out/a", source=cron, agent="digest") == "allow"
    assert effect("logs/a", source=cron, context=None) == "ask"


def test_a_project_lies_under_the_context_of_its_chats_and_tickets() -> None:
    project = Project("Skald", "A bard.", "/projects/skald", RunContext("p", ("be brief",), ("tmp",)))
    chat = project_context(project, "/w")
    assert chat.security_group == "p"
    assert chat.working_directory == "/projects/skald"
    assert chat.allow_fs_writes == ("tmp", "/w/data")
    assert chat.system_prompt == ("Skald\nA bard.", "be brief")
    ticket = project_context(project, "/w", RunContext("t", working_directory="/elsewhere"))
    assert (ticket.security_group, ticket.working_directory) == ("t", "/elsewhere")
    assert ticket.allow_fs_writes == ("/w/data",)
    trusted = Project("Skald", "", "/projects/skald", grant_tree=True)
    assert project_context(trusted, "/w").allow_fs_writes == ("/w/data", "/projects/skald")


def test_an_agent_that_moves_takes_no_grant_along(root: Path) -> None:
    (root / "stanch.toml").write_text("version = 1\n")
    session = open_engine(root / "stanch.toml").session()
    assert session.check("read_file", {"path": "hosts"}, cwd="/etc").effect.value == "ask"
    assert session.check("read_file", {"path": "a"}, cwd=str(root / "sub")).effect.value == "allow"
    assert session.check("read_file", {"path": "secrets/a"}, cwd="sub").effect.value == "deny"
