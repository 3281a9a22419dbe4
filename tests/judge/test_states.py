"""Which state does each layer's answer lead to, on each face, and which of several counts?"""

from __future__ import annotations

from pathlib import Path

import pytest

from stanch.app.loading import open_engine
from stanch.explain.verdicts import verdict_json
from stanch.policy.layers import MANDATING
from stanch.values.call import JudgedCall
from stanch.values.decision import Effect
from stanch.values.reason import Code, LayerId
from stanch.values.verdict import Cause, Face, State
from tests.judge.worlds import ALL_READS, HELD, READ, WRITE, judge, policy, probe, saying, session, throwing

ASKED = [
    LayerId.SKILL_ROWS, LayerId.NARROWING, LayerId.TIER, LayerId.CALLER_POLICY, LayerId.INHERITED_CONSTRAINT,
    LayerId.PERSISTED_RULES, LayerId.ORG_RULES,
]  # fmt: skip
FOREIGN = [layer for layer in ASKED if layer is not LayerId.PERSISTED_RULES]
ASK_OF = '[[groups.rules]]\ntool = "{}"\naction = "{}"\n{}'


@pytest.mark.parametrize("face", Face)
@pytest.mark.parametrize("layer", FOREIGN)
@pytest.mark.parametrize("immediate", [True, False])
def test_a_layers_deny_is_a_deny(tmp_path: Path, layer: LayerId, face: Face, immediate: bool) -> None:
    got = judge(tmp_path, saying(layer, Effect.DENY, immediate=immediate))(probe(face))
    assert (got.state, got.layer, got.judged) == (State.DENY, layer, f"{tmp_path}/a.txt")


@pytest.mark.parametrize("layer", FOREIGN)
def test_an_ordinary_ask_is_held_on_write_and_a_mandated_one_on_both(tmp_path: Path, layer: LayerId) -> None:
    asks = saying(layer, Effect.ASK)
    mandated = layer in MANDATING
    got = judge(tmp_path, asks)(probe(READ))
    assert got.state is (State.MANDATED_ASK if mandated else State.NO_OBJECTION)
    assert judge(tmp_path, asks)(probe(WRITE)).state is State.ASK
    demands = saying(layer, Effect.ASK, mandated=True)
    assert judge(tmp_path, demands)(probe(READ)).state is State.MANDATED_ASK


@pytest.mark.parametrize(
    ("rules", "read", "write"),
    [
        (ALL_READS, State.NO_OBJECTION, State.NO_OBJECTION),
        ("", State.NO_OBJECTION, State.ASK),
        (ASK_OF.format("*", "ask", ""), State.NO_OBJECTION, State.ASK),
        (ASK_OF.format("*", "ask", "mandatory = true\n"), State.MANDATED_ASK, State.ASK),
        (ASK_OF.format("*", "deny", ""), State.DENY, State.DENY),
        (ASK_OF.format("@read", "deny", ""), State.DENY, State.ASK),
        (ASK_OF.format("write_file", "deny", ""), State.NO_OBJECTION, State.DENY),
        (ASK_OF.format("Read", "deny", ""), State.DENY, State.ASK),
        (ASK_OF.format("read_file", "allow", "") + ASK_OF.format("*", "deny", ""), State.NO_OBJECTION, State.DENY),
        (ASK_OF.format("Read", "allow", "") + ASK_OF.format("read_file", "deny", ""), State.NO_OBJECTION, State.ASK),
        (ASK_OF.format("write_file", "allow", "") + ASK_OF.format("*", "deny", ""), State.DENY, State.NO_OBJECTION),
        (ASK_OF.format("edit_file", "allow", "") + ASK_OF.format("*", "deny", ""), State.DENY, State.DENY),
    ],
)
def test_persisted_rules_hold_for_a_probe_as_for_the_built_in_tool(
    tmp_path: Path, rules: str, read: State, write: State
) -> None:
    asked = judge(tmp_path, rules=rules)
    assert (asked(probe(READ)).state, asked(probe(WRITE)).state) == (read, write)


def test_a_missing_group_is_a_mandated_ask_and_a_broken_rule_a_deny(tmp_path: Path) -> None:
    from stanch.app.judging import Judge

    gone = Judge([session(tmp_path, group="gone")])
    assert gone(probe(READ)).state is State.MANDATED_ASK
    broken = judge(tmp_path, rules=ASK_OF.format("@reed", "allow", ""))(probe(READ))
    assert broken.reason is not None
    assert (broken.state, broken.reason.code) == (State.DENY, Code.POLICY_INVALID)


@pytest.mark.parametrize("face", Face)
def test_a_deny_anywhere_wins_then_a_held_ask_then_a_layer_without_an_answer(tmp_path: Path, face: Face) -> None:
    silent = throwing(LayerId.SKILL_ROWS)
    asks = saying(LayerId.CALLER_POLICY, Effect.ASK)
    denies = saying(LayerId.ORG_RULES, Effect.DENY)
    assert judge(tmp_path, silent, asks, denies)(probe(face)).state is State.DENY
    assert judge(tmp_path, silent, asks)(probe(face)).state is HELD[face]
    got = judge(tmp_path, silent, throwing(LayerId.NARROWING))(probe(face))
    assert (got.state, got.layer, got.cause, got.judged) == (State.UNANSWERABLE, LayerId.SKILL_ROWS, Cause.THREW, None)


def test_of_equal_answers_the_first_is_told(tmp_path: Path) -> None:
    asks = [saying(layer, Effect.ASK) for layer in (LayerId.NARROWING, LayerId.ORG_RULES, LayerId.CALLER_POLICY)]
    assert judge(tmp_path, *asks)(probe(WRITE)).layer is LayerId.NARROWING
    assert judge(tmp_path, *asks)(probe(READ)).layer is LayerId.CALLER_POLICY


@pytest.mark.parametrize("face", Face)
def test_hooks_and_guards_are_not_asked_and_a_protected_path_is_a_deny(tmp_path: Path, face: Face) -> None:
    hook = saying(LayerId.HOOKS, Effect.DENY)
    assert judge(tmp_path, hook)(probe(face)).state is State.NO_OBJECTION
    assert hook.asked == []
    (tmp_path / ".git/hooks").mkdir(parents=True)
    assert judge(tmp_path)(probe(WRITE, ".git/hooks/pre-commit")).state is State.NO_OBJECTION
    got = judge(tmp_path)(probe(WRITE, "stanch.toml"))
    assert (got.state, got.layer) == (State.DENY, LayerId.INTEGRITY)


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "loop/x"])
def test_a_path_that_cannot_be_read_is_no_deny(tmp_path: Path, path: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    got = judge(tmp_path)(probe(READ, path))
    assert (got.state, got.cause) == (State.UNANSWERABLE, Cause.CALL_UNREADABLE)
    assert "Cannot be answered because the path cannot be read" in verdict_json(got)["reason"]


def test_neither_a_grant_nor_a_bypass_counts_and_the_memory_exception_does(tmp_path: Path) -> None:
    from stanch.app.judging import Judge
    from stanch.gate.relax import Bypass
    from stanch.values.context import RunContext

    granted = session(
        tmp_path, rules="", context=RunContext(allow_fs_writes=(str(tmp_path),)), bypasses=[Bypass(everything=True)]
    )
    assert granted.check("write_file", {"path": "a", "content": ""}).effect is Effect.ALLOW
    assert Judge([granted])(probe(WRITE, "a")).state is State.ASK
    assert Judge([granted])(probe(WRITE, "memory/a.md")).state is State.NO_OBJECTION


def test_what_a_verdict_says_as_json(tmp_path: Path) -> None:
    here = f"{tmp_path}/a.txt"
    assert verdict_json(judge(tmp_path)(probe())) == {"verdict": "no_objection", "judged": here}
    denied = verdict_json(judge(tmp_path, rules=ASK_OF.format("*", "deny", ""))(probe()))
    assert denied == {
        "verdict": "deny", "layer": "persisted_rules", "judged": here,
        "message": f'Denied by rule 1 in group "default" (deny *): {here}',
    }  # fmt: skip
    silent = verdict_json(judge(tmp_path, throwing(LayerId.CALLER_POLICY))(probe()))
    assert silent == {
        "verdict": "unanswerable", "layer": "caller_policy", "cause": "threw",
        "reason": f"Cannot be answered because the layer caller_policy gave no answer (it threw): {here}",
    }  # fmt: skip
    with pytest.raises(TypeError):
        bool(judge(tmp_path)(probe()))


@pytest.mark.parametrize("face", Face)
def test_a_session_is_judged_with_those_it_stands_below(tmp_path: Path, face: Face) -> None:
    from stanch.app.judging import Judge
    from stanch.app.loading import open_engine
    from tests.judge.worlds import policy

    closed = '[[groups]]\nid = "closed"\n[[groups.rules]]\ntool = "*"\npath = "s"\naction = "deny"\n'
    engine = open_engine(policy(tmp_path, ALL_READS + closed))
    child = engine.session(group="default", under=engine.session(group="closed"))
    assert Judge([child])(probe(face, "s/k")).state is State.DENY
    assert Judge([child])(probe(face, "a.txt")).state is State.NO_OBJECTION


def test_explaining_a_call_leaves_no_audit_line(tmp_path: Path) -> None:
    lines: list[JudgedCall] = []
    policy(tmp_path)
    session = open_engine(tmp_path / "stanch.toml", audit=lambda call, _: lines.append(call)).session()
    session.check("read_file", {"path": "a.txt"}, hooks=False)
    assert lines == []
    session.check("read_file", {"path": "a.txt"})
    assert len(lines) == 1
