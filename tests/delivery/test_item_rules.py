"""Which items the rules let a session read, each as a call for it alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stanch.app.asking import Kin
from stanch.app.item_rules import ItemRules
from stanch.app.loading import open_engine
from stanch.delivery.admit import observe_content_outside_model
from stanch.policy.policies import PolicyRequest
from stanch.values.context import RunContext
from stanch.values.reason import Code
from stanch.values.records import Actor
from tests.delivery.stage import Stage
from tests.http.served import COPILOT

POLICY = """
version = 1
[[groups]]
id = "default"
rules = [
  { tool = "@read", path = "closed", action = "deny", mandatory = true },
  { tool = "@read", path = "/elsewhere", action = "deny", mandatory = true },
  { tool = "@read", path = "asked", action = "ask", mandatory = true },
  { tool = "files_grep", path = "ungrepped", action = "deny" },
  { tool = "*", action = "allow" },
]
"""
ALLOWED, ASKED = '{ tool = "*", action = "allow" }', '{ tool = "@read", path = "mine", action = "ask" }'

NARROW = RunContext(working_directory="work")
"""WHY: where a session works it may read, whatever asks."""


def _broken(_: PolicyRequest) -> None:
    raise RuntimeError


@pytest.fixture
def rules(tmp_path: Path) -> Any:
    """Makes the rules of one call of a tool, for a session under this policy, or for two of one line."""
    (tmp_path / "stanch.toml").write_text(POLICY, "utf-8")
    engines = {True: open_engine(tmp_path / "stanch.toml")}
    (tmp_path / "strict.toml").write_text(POLICY.replace(ALLOWED, ASKED), "utf-8")
    engines[False] = open_engine(tmp_path / "strict.toml")

    def made(tool: str | None = None, sessions: int = 1, **more: Any) -> tuple[ItemRules, str]:
        engine = engines[more.pop("allowed", True)]
        policy = (_broken,) if more.pop("broken", False) else ()
        line = [Kin(str(place), engine.session(policy=policy, context=NARROW), ()) for place in range(sessions)]
        return ItemRules(lambda: line, engine.policy.workspace, tool, **more), engine.policy.workspace

    return made


@pytest.mark.parametrize("sessions", [1, 2])
def test_each_item_is_judged_by_its_own_path(rules: Any, sessions: int) -> None:
    found, root = rules(sessions=sessions)
    assert found(f"{root}/open/a") is None
    assert found(root) is None
    closed = found(f"{root}/closed/a")
    assert (closed.code, closed.rule.words) == (Code.RULE, "deny @read on closed")
    assert found(f"{root}/asked/a").code is Code.CONTENT_ASKS


def test_what_a_person_said_yes_to_is_not_asked_for_each_item(rules: Any) -> None:
    found, root = rules()
    assert found(f"{root}/asked/a").code is Code.CONTENT_ASKS
    found.approve(["persisted_rules:rule!:default/ask @read on asked"])
    assert found(f"{root}/asked/a") is None
    assert found(f"{root}/asked/b") is None
    assert found(f"{root}/closed/a").code is Code.RULE, "a yes lifts no deny"
    found.approve(["persisted_rules:rule!:default/ask @read on other"])
    assert found(f"{root}/asked/a").code is Code.CONTENT_ASKS


@pytest.mark.parametrize("sessions", [1, 2])
def test_what_a_person_attaches_is_held_by_no_ask_that_they_would_answer(rules: Any, sessions: int) -> None:
    called, root = rules(sessions=sessions, allowed=False)
    attached, _ = rules(sessions=sessions, allowed=False, attached=True)
    assert (called(f"{root}/mine/a").code, attached(f"{root}/mine/a")) == (Code.CONTENT_ASKS, None)
    assert attached(f"{root}/asked/a").code is Code.CONTENT_ASKS, "another one answers a mandated ask"
    assert attached(f"{root}/closed/a").code is Code.RULE
    silent, _ = rules(sessions=sessions, allowed=False, attached=True, broken=True)
    assert silent(f"{root}/mine/a").code is Code.CONTENT_ASKS, "a layer without an answer has not agreed"


def test_a_tool_is_judged_by_its_own_name_where_it_reads_items_by_path(rules: Any) -> None:
    for tool, refused in (("files_grep", True), ("files_read", False), ("tables_rows", False), (None, False)):
        found, root = rules(tool)
        assert (found(f"{root}/ungrepped/a") is not None) is refused, tool


def test_the_line_is_asked_for_once_and_only_for_an_item_with_a_path(rules: Any) -> None:
    found, root = rules()
    asked: list[int] = []
    line = found._line

    def counting() -> Any:
        asked.append(1)
        return line()

    found._line = counting
    for _ in range(3):
        found(f"{root}/a")
        found(f"{root}/b")
    assert asked == [1]


def test_what_was_read_outside_of_the_workspace_is_judged_as_on_the_disk(rules: Any) -> None:
    found, root = rules()
    for path in (f"{root}x/a", "/etc/hostname"):
        assert found(path) is None
    for path in ("/elsewhere/a", f"{root}/../../../../../../../../elsewhere/a"):
        assert found(path).rule.words == "deny @read on /elsewhere"


def test_an_observation_is_in_the_audit_log(stage: Stage) -> None:
    access = stage.content.access(COPILOT, Actor("copilot for ada", "test"), session_id=stage.chat)
    observe_content_outside_model(access.delivery, "the preview of a person's own edit")
    (row,) = stage.get("/api/audit?action=content.observe")["items"]
    assert (row["subject"], row["detail"]) == (stage.chat, {"reason": "the preview of a person's own edit"})
    assert stage.get("/api/audit/verify")["holds"]


def test_a_model_has_no_access_without_a_session(stage: Stage) -> None:
    with pytest.raises(Exception, match="session"):
        stage.content.access(COPILOT, Actor("copilot for ada", "test"))
