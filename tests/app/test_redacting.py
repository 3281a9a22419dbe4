"""A conversation filtered in a program: what was given stays as it is, and what need not change is the very same."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import stanch
from stanch.tiers.answers import Answers, Given
from stanch.tiers.tier import TiersBroken
from stanch.values.call import EffectClass
from stanch.values.message import Call, Message, Result, Role, SourceTag, Text
from tests.cli.test_redact import ANTHROPIC, CHAT, ITEMS, OURS, PAY, POLICY, REQUESTS


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "stanch.toml").write_text(POLICY, "utf-8")
    return tmp_path.resolve() / "stanch.toml"


@pytest.mark.parametrize("name", REQUESTS)
def test_what_was_given_is_not_changed(policy: Path, name: str) -> None:
    given = copy.deepcopy(REQUESTS[name])
    for model in ("ext/m", "local/m"):
        done = stanch.redact_history(given, model, policy=policy, cwd=".")
        assert given == REQUESTS[name]
        assert done.messages is not given
        assert (PAY in json.dumps(done.messages)) is (model == "local/m")
        assert (done.messages == given) is (model == "local/m")


@pytest.mark.parametrize("given", [CHAT, ANTHROPIC, ITEMS, OURS])
def test_messages_that_stay_are_the_very_objects_that_were_given(policy: Path, given: list[Any]) -> None:
    done = stanch.redact_history(given, "ext/m", policy=policy, cwd=".").messages
    same = [new is old for new, old in zip(done, given, strict=True)]
    assert same.count(False) == (2 if given is CHAT else 1)
    back = stanch.redact_history(given, "local/m", policy=policy, cwd=".").messages
    assert all(new is old for new, old in zip(back, given, strict=True))


def test_stanchs_own_messages_come_back_as_such(policy: Path) -> None:
    path = str(policy.parent / "hr/pay.csv")
    messages = (
        Message(Role.ASSISTANT, (Call("c", "read_file", {"path": path}), Call("d", "read_file", {"path": "/a"}))),
        Message(Role.TOOL, (Result("c", (Text(PAY),)),)),
        Message(Role.TOOL, (Result("d", (Text("open"),)),)),
        Message(Role.USER, (Text("tagged", (SourceTag(path),)),)),
    )
    engine = stanch.open(policy)
    done = engine.redact_history(messages, "ext/m")
    assert [new is old for new, old in zip(done.messages, messages, strict=True)] == [True, False, True, False]
    assert [tuple(row) for row in done.withheld] == [(path, "external", 2)]
    # Tags that were only worked out do not stay with what was open.
    assert done.messages[2].parts[0].tags == ()
    assert list(engine.redact_history(messages, "local/m").messages) == list(messages)
    assert engine.redact_history([], "ext/m").messages == []


def test_answers_are_names_or_answers(policy: Path) -> None:
    path = str(policy.parent / "hr/pay.csv")
    engine = stanch.open(policy)
    assert engine.redact_history(CHAT, "ask/m", cwd=".").report.asks == (path,)
    given = Answers([Given("asking", EffectClass.READ, path, True)])
    for answers in ({"send": [path]}, {"send": ["hr/pay.csv"], "withhold": []}, given):
        assert engine.redact_history(CHAT, "ask/m", cwd=".", answers=answers).messages == CHAT
    other = Answers([Given("external", EffectClass.READ, path, True)])
    assert engine.redact_history(CHAT, "ask/m", cwd=".", answers=other).report.asks == (path,)


def test_a_yes_to_a_write_shows_nothing(policy: Path) -> None:
    path = str(policy.parent / "hr/pay.csv")
    engine = stanch.open(policy)
    for cls in (EffectClass.WRITE, EffectClass.NETWORK):
        given = Answers([Given("asking", cls, path, True)])
        assert engine.redact_history(CHAT, "ask/m", cwd=".", answers=given).report.asks == (path,)


def test_an_answer_for_a_name_of_unknown_origin_counts_for_that_name(policy: Path) -> None:
    engine = stanch.open(policy)
    assert engine.redact_history(CHAT, "ask/m").report.asks == ("hr/pay.csv",)
    assert engine.redact_history(CHAT, "ask/m", answers={"send": ["hr/pay.csv"]}).messages == CHAT


def test_a_request_of_nobody_known_is_refused(policy: Path) -> None:
    for given in (7, "x", None, {"a": 1}, [1], [Message(Role.USER, ()), {"role": "user"}]):
        with pytest.raises(stanch.BadInput):
            stanch.redact_history(given, "ext/m", policy=policy)
    with pytest.raises(stanch.BadInput, match="'model' is empty"):
        stanch.redact_history(CHAT, "", policy=policy)
    with pytest.raises(stanch.BadInput, match="'cwd' cannot be used"):
        stanch.redact_history(CHAT, "ext/m", policy=policy, cwd="a\0")


def test_a_policy_with_a_mistake_in_its_tiers_raises(policy: Path) -> None:
    policy.write_text(POLICY.replace('read = "ask"', 'read = "perhaps"'), "utf-8")
    with pytest.raises(TiersBroken):
        stanch.redact_history(CHAT, "local/m", policy=policy)


def test_without_a_policy_the_built_in_tiers_speak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = stanch.redact_history(CHAT, "any/model", cwd=".")
    assert done.tier.id == "unassigned"
    assert PAY not in json.dumps(done.messages)
