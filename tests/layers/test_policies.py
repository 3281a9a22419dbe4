"""A policy of the application can narrow, and whatever else it does harms nobody."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import stanch
from stanch.policies import Effect, Hook, PolicyRequest, Reach, Rewrite, Says, combined
from stanch.policy.policies import Settled, settlement
from stanch.values.decision import Answer
from stanch.values.reason import Code, LayerId
from tests.layers.asked import opened, said, write

FAILED = ("ask", "layer_failed", "caller_policy")


def mutates(request: PolicyRequest) -> None:
    with pytest.raises(TypeError):
        request.arguments["path"] = "locked/a"  # type: ignore[index]
    request.arguments["more"]["path"] = "locked/a"


def test_what_a_policy_does_to_the_arguments_changes_the_call_for_nobody(tmp_path: Path) -> None:
    session = opened(tmp_path).session(policy=mutates)
    arguments = {"path": "a", "content": "x", "more": {"path": "a"}}
    decision = session.check("write_file", arguments)
    assert decision.effect is Effect.ALLOW
    assert arguments["more"] == {"path": "a"} == decision.call.call.arguments["more"]


ODD: list[Any] = [True, 1, "allow", "deny", {"effect": "allow"}, [], object(), Effect.ALLOW]
WORD: Any = "allow"


@pytest.mark.parametrize("nonsense", [*ODD, Says(WORD), Says(Effect.ALLOW, ODD[1])])
def test_nonsense_is_no_answer(tmp_path: Path, nonsense: Any) -> None:
    assert said(write(opened(tmp_path).session(policy=lambda _: nonsense))) == FAILED


@pytest.mark.parametrize("error", [RuntimeError, SystemExit, KeyboardInterrupt, GeneratorExit, BaseException])
def test_whatever_a_policy_raises_is_no_answer(tmp_path: Path, error: type[BaseException]) -> None:
    def raises(_: PolicyRequest) -> None:
        raise error("a secret")

    async def later(_: PolicyRequest) -> None:
        raise error("a secret")

    for policy in (raises, later, combined(raises, lambda _: None), combined(later, lambda _: None)):
        decision = write(opened(tmp_path).session(policy=policy))
        assert said(decision) == FAILED
        assert "secret" not in stanch.sentence(decision.reason, decision.effect)


def test_a_policy_that_sleeps_for_ever_costs_its_time_and_is_told_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, stopped = threading.Event(), threading.Event()

    class Slow:
        seconds = 0.2

        def __call__(self, request: PolicyRequest) -> None:
            assert request.signal is not None
            told.set()
            request.signal.wait(30)
            stopped.set()

    class SlowLater:
        seconds = 0.2

        async def __call__(self, _: PolicyRequest) -> None:
            try:
                await asyncio.sleep(3600)
            finally:
                stopped.set()

    monkeypatch.setattr("stanch.app.caller_policies.MARGIN", 0.0)
    for policy in (Slow(), SlowLater()):
        stopped.clear()
        assert said(write(opened(tmp_path).session(policy=policy))) == FAILED
        assert stopped.wait(10)
    assert told.is_set()


@pytest.mark.parametrize("seconds", [math.inf, 1e300, 10**400, math.nan, -1, "1", True])
def test_however_long_a_policy_says_that_it_takes_it_is_asked(tmp_path: Path, seconds: Any) -> None:
    def denies(_: PolicyRequest) -> Says:
        return Says(Effect.DENY, "no")

    denies.seconds = seconds  # type: ignore[attr-defined]
    for session in (
        opened(tmp_path).session(policy=denies),
        opened(tmp_path).session(policy=[lambda _: None, denies]),
        opened(tmp_path).session(hooks=[denies]),
    ):
        assert write(session).reason.code is Code.POLICY_SAYS


def test_a_policy_that_fails_before_it_is_asked_has_given_no_answer(tmp_path: Path) -> None:
    class Odd:
        @property
        def seconds(self) -> float:
            raise RuntimeError("a secret")

        def __call__(self, _: PolicyRequest) -> None:
            return None

    decision = write(opened(tmp_path).session(policy=Odd()))
    assert said(decision) == FAILED
    assert "secret" not in stanch.sentence(decision.reason, decision.effect)


def test_an_answer_in_another_layers_name_is_no_answer(tmp_path: Path) -> None:
    policy: Any = lambda _: [Answer(Effect.ALLOW, Code.RULE, LayerId.PERSISTED_RULES)]  # noqa: E731
    assert said(write(opened(tmp_path).session(policy=policy), "asked/a")) == FAILED


@pytest.mark.parametrize(
    ("message", "shown"), [("x" * 10**6, "x" * 299 + "…"), ("a\n b\t\u202ec", "a b \\u202ec"), ("", "without a word")]
)
def test_a_policys_own_words_are_one_line_and_cut(tmp_path: Path, message: str, shown: str) -> None:
    decision = write(opened(tmp_path).session(policy=lambda _: Says(Effect.DENY, message)))
    assert said(decision) == ("deny", "policy_says", "caller_policy")
    assert f"({shown})" in stanch.sentence(decision.reason)


def test_an_allow_of_a_policy_or_a_hook_opens_nothing(tmp_path: Path) -> None:
    allows = lambda _: Says(Effect.ALLOW, "go on")  # noqa: E731
    session = opened(tmp_path).session(policy=allows, hooks=[allows])
    assert said(write(session, "asked/a")) == ("ask", "rule", "persisted_rules")
    assert said(write(session, "locked/a")) == ("deny", "rule", "persisted_rules")
    assert said(write(session)) == ("allow", "rule", "persisted_rules")


def test_a_policy_is_told_what_the_call_touches_and_whose_it_is(tmp_path: Path) -> None:
    heard: list[PolicyRequest] = []
    session = opened(tmp_path).session(policy=heard.append, agent="coder", source="cron", approver=False)
    (tmp_path / "link").symlink_to("real")
    write(session, "link/a", call_id="call_1")
    (request,) = heard
    assert [(one.effect, one.path, one.argument) for one in request.touches] == [
        ("write", str(tmp_path.resolve() / "real" / "a"), "path")
    ]
    assert (request.tool, request.call_id, request.agent, request.source) == ("write_file", "call_1", "coder", "cron")
    assert request.approval_reach is Reach.NONE


def test_a_probe_tells_policies_that_nobody_can_be_asked_and_asks_no_hook(tmp_path: Path) -> None:
    heard: list[str] = []

    def policy(request: PolicyRequest) -> None:
        heard.append(f"policy {request.approval_reach.value}")

    session = opened(tmp_path).session(policy=policy, hooks=[lambda _: heard.append("hook")])
    session.probe("write_file", {"path": "a", "content": "x"})
    assert heard == ["policy none"]
    write(session)
    assert heard == ["policy none", "policy person", "hook"]


def test_a_policy_that_would_change_a_probe_has_given_no_answer(tmp_path: Path) -> None:
    session = opened(tmp_path).session(policy=lambda _: Rewrite({"path": "b", "content": "x"}))
    assert said(session.probe("write_file", {"path": "a", "content": "x"})) == FAILED
    assert session.probe("write_file", {"path": "b", "content": "x"}).effect is Effect.ALLOW
    assert session.check("write_file", {"path": "a", "content": "x"}).effect is Effect.ALLOW


def test_whoever_writes_the_same_arguments_once_more_has_changed_nothing(tmp_path: Path) -> None:
    """A hook that sees to a time limit writes it whatever stood there."""

    def limits(request: PolicyRequest) -> Rewrite:
        return Rewrite({**request.arguments, "timeout": 60})

    engine = opened(tmp_path)
    for session in (engine.session(policy=limits), engine.session(hooks=[limits]), engine.session(policy=[limits] * 2)):
        decision = write(session)
        assert decision.effect is Effect.ALLOW
        assert decision.call.call.arguments == {"path": "a", "content": "x", "timeout": 60}
    above = engine.session(policy=lambda _: Rewrite({"path": "b", "content": "x"}))
    assert write(engine.session(under=above), "b").effect is Effect.ALLOW
    assert said(write(engine.session(under=above))) == ("ask", "layer_failed", "inherited_constraint")


@pytest.mark.parametrize("pair", [(1, True), (0, False), (1, 1.0), ("1", 1), (None, False)])
def test_what_a_tool_takes_for_another_value_is_a_change(tmp_path: Path, pair: tuple[Any, Any]) -> None:
    def swings(request: PolicyRequest) -> Rewrite:
        now = request.arguments["n"]
        other = pair[0] if type(now) is type(pair[1]) else pair[1]
        return Rewrite({**request.arguments, "n": other})

    session = opened(tmp_path).session(policy=swings)
    assert session.check("write_file", {"path": "a", "content": "x", "n": pair[0]}).reason.code is Code.REWRITE_LOOP


def once(path: str) -> Callable[[PolicyRequest], Rewrite | None]:
    """A policy that has everything written elsewhere."""
    return lambda asked: None if asked.arguments["path"] == path else Rewrite({**asked.arguments, "path": path})


def test_what_is_rewritten_is_judged_from_the_start_and_cannot_be_changed_later(tmp_path: Path) -> None:
    mine: dict[str, Any] = {"path": "b", "content": {"deep": ["x"]}}
    session = opened(tmp_path).session(policy=lambda asked: None if asked.arguments == mine else Rewrite(mine))
    decision = write(session)
    mine["path"] = "locked/a"
    mine["content"]["deep"].append("y")
    assert decision.effect is Effect.ALLOW
    assert dict(decision.call.call.arguments) == {"path": "b", "content": {"deep": ["x"]}}
    assert said(write(opened(tmp_path).session(policy=once("locked/a")))) == ("deny", "rule", "persisted_rules")


HALF = "\ud800"
NO_JSON = [{"path": "a", "content": HALF}, {"path": "a", HALF: 1}, {"path": "a", "n": math.inf}, {"path": [math.nan]}]


@pytest.mark.parametrize("odd", [None, [], {1: "a"}, {"path": b"a"}, {"path": object()}, {}, *NO_JSON])
def test_arguments_that_cannot_be_read_are_no_answer(tmp_path: Path, odd: Any) -> None:
    assert said(write(opened(tmp_path).session(policy=lambda _: Rewrite(odd)))) == FAILED


def test_two_layers_may_rewrite_once_each_and_no_more(tmp_path: Path) -> None:
    session = opened(tmp_path).session(policy=once("b"), hooks=[once("b")])
    assert write(session).effect is Effect.ALLOW
    fight = opened(tmp_path).session(policy=once("b"), hooks=[once("c")])
    assert said(write(fight)) == ("deny", "rewrite_loop", "caller_policy")


def settling(settled: Settled, _: PolicyRequest) -> Says:
    return settlement(settled)


def test_a_settlement_counts_only_where_stanch_made_it(tmp_path: Path) -> None:
    engine = opened(tmp_path)
    forged = engine.session(policy=lambda _: Says(Effect.DENY, "mine", Settled.NO_APPROVER))
    assert said(write(forged)) == ("deny", "policy_says", "caller_policy")
    for settled, code in (
        (Settled.NO_APPROVER, "no_approver"),
        (Settled.EXPIRED, "approval_expired"),
        (Settled.CANCELLED, "cancelled"),
    ):
        made = engine.session(policy=partial(settling, settled))
        assert said(write(made)) == ("deny", code, "caller_policy")


DENY, ASK, SEAT = Says(Effect.DENY, "a"), Says(Effect.ASK), settlement(Settled.EXPIRED)


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        ((SEAT, DENY), DENY),
        ((Rewrite({}), DENY), DENY),
        ((ASK, Rewrite({}), SEAT), Rewrite({})),
        ((ASK, SEAT), SEAT),
        ((None, ASK, None), ASK),
        ((None, Says(Effect.ALLOW)), None),
        ((), None),
    ],
)  # fmt: skip
def test_of_several_policies_every_one_is_asked_and_the_strictest_counts(
    parts: tuple[Any, ...], answer: object
) -> None:
    asked: list[int] = []

    def part(at: int, says: Any, later: bool) -> Callable[[PolicyRequest], Any]:
        async def coming(_: PolicyRequest) -> Any:
            asked.append(at)
            return says

        def now(_: PolicyRequest) -> Any:
            asked.append(at)
            return says

        return coming if later else now

    request = PolicyRequest("t", {})
    for later in (False, True):
        asked.clear()
        policy: Any = combined(*(part(at, says, later and at % 2 == 0) for at, says in enumerate(parts)))
        got = policy(request)
        if asyncio.iscoroutine(got):
            got = asyncio.run(got)
        effect = getattr(got, "effect", None)
        assert got == answer or (answer is None and effect is Effect.ALLOW)
        assert asked == list(range(len(parts)))


def test_a_hook_is_asked_about_its_tools_in_order(tmp_path: Path) -> None:
    heard: list[str] = []
    hooks: list[Any] = [
        Hook(lambda _: heard.append("first"), "write_*"),
        Hook(lambda _: heard.append("never"), "mcp__*"),
        lambda _: heard.append("last"),
    ]
    assert write(opened(tmp_path).session(hooks=hooks)).effect is Effect.ALLOW
    assert heard == ["first", "last"]


def test_layers_that_fail_deny_where_the_policy_says_so(tmp_path: Path) -> None:
    engine = opened(tmp_path, 'on_layer_failure = "deny"\n')
    assert said(write(engine.session(policy=lambda _: WORD))) == ("deny", "layer_failed", "caller_policy")
