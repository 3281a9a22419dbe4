"""Sessions below others, of an engine alone: none may do what one above it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

import stanch
from stanch.policies import Effect, PolicyRequest, Rewrite, Says, approval
from stanch.policy.layers import NO_OBJECTION, LayerAnswer
from stanch.values.call import JudgedCall
from stanch.values.fault import BadFields
from stanch.values.reason import LayerId
from tests.judge.worlds import Says as Stands
from tests.layers.asked import opened, said, write


def test_a_session_below_another_is_under_its_rules_rows_and_policy(tmp_path: Path) -> None:
    engine = opened(
        tmp_path, '[[groups]]\nid = "strict"\n[[groups.rules]]\ntool = "@write"\npath = "a"\naction = "deny"\n'
    )
    top = engine.session(context=stanch.RunContext(security_group="strict"))
    assert said(write(engine.session(under=top, context=stanch.RunContext()))) == ("deny", "rule", "persisted_rules")
    parent = engine.session(narrowing=[{"tool": "@write", "path": "b", "action": "ask"}])
    below = engine.session(under=engine.session(under=parent))
    decision = write(below, "b")
    assert (said(decision), decision.mandated) == (("ask", "rule", "narrowing"), True)
    assert said(below.probe("write_file", {"path": "b", "content": ""})) == ("ask", "rule", "narrowing")


def test_an_ancestors_policy_is_the_one_of_the_moment_and_gone_once_it_ended(tmp_path: Path) -> None:
    engine = opened(tmp_path)
    heard: list[str] = []
    parent = engine.session(policy=lambda _: heard.append("old"))
    below = engine.session(under=parent)
    assert write(below).effect is Effect.ALLOW
    assert heard == ["old"]
    parent.replace_policy(lambda _: Says(Effect.DENY, "new"))
    assert said(write(below)) == ("deny", "policy_says", "inherited_constraint")
    assert said(write(parent)) == ("deny", "policy_says", "caller_policy")
    parent.end()
    assert said(write(below)) == ("ask", "layer_failed", "inherited_constraint")


def test_what_a_layer_above_would_make_of_a_call_opens_nothing_below(tmp_path: Path) -> None:
    def tamed(call: JudgedCall) -> LayerAnswer:
        safe = {"path": "safe", "content": ""}
        return NO_OBJECTION if call.call.arguments["path"] == "safe" else Rewrite(safe)

    engine = opened(tmp_path)
    parent = engine.session(layers=[Stands(LayerId.CALLER_POLICY, tamed)])
    own = write(parent, "b")
    assert (own.effect, own.call.call.arguments["path"]) == (Effect.ALLOW, "safe")
    below = write(engine.session(under=parent), "b")
    assert said(below) == ("ask", "layer_failed", "caller_policy")


def test_to_explain_asks_no_person_and_writes_nothing(tmp_path: Path) -> None:
    asked: list[object] = []

    def person(request: PolicyRequest) -> str:
        asked.append(request)
        return "approve"

    engine = opened(tmp_path)
    parent = engine.session(policy=approval(person))
    for session in (parent, engine.session(under=parent)):
        assert write(session, hooks=False).effect is Effect.DENY
        assert (asked, session.written.has(f"{tmp_path.resolve()}/a")) == ([], False)
        assert write(session).effect is Effect.ALLOW
        assert asked.pop()


def test_a_skill_that_there_is_not_is_no_skill(tmp_path: Path) -> None:
    with pytest.raises(BadFields, match=r"unknown skill 'x' \(there is none\)"):
        opened(tmp_path).session(skills=["x"])
