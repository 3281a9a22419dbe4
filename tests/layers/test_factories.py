"""Policies that ship read whether anybody can be asked, and judge a question as they judge a call."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stanch.policies import (
    Effect,
    EffectClass,
    Hook,
    PolicyRequest,
    Reach,
    Says,
    Touched,
    approval,
    guards,
    inherited_hook,
)
from stanch.policy.layers import Failed
from stanch.policy.policies import Settled
from stanch.values.verdict import Cause
from tests.app.gates import until
from tests.layers.asked import opened, said, write

ASKED = PolicyRequest("write_file", {"path": "a"})
NOBODY = PolicyRequest("write_file", {"path": "a"}, approval_reach=Reach.NONE)


def settled(answer: Any) -> Settled | None:
    assert isinstance(answer, Says)
    assert answer.is_settlement
    return answer.settled


def never(_: PolicyRequest) -> Any:
    pytest.fail("nobody was to be asked")


def test_nobody_is_asked_where_nobody_can_be() -> None:
    assert settled(approval(never)(NOBODY)) is Settled.NO_APPROVER
    assert settled(inherited_hook(never)(NOBODY)) is Settled.NO_APPROVER
    assert inherited_hook(Hook(never, "mcp__*"))(NOBODY) is None
    assert approval(never, only=lambda _: False)(NOBODY) is None


def saying(said: object, _: PolicyRequest) -> object:
    return said


def test_only_the_word_itself_approves() -> None:
    assert approval(lambda _: "approve")(ASKED) is None
    rejected = approval(lambda _: "reject")(ASKED)
    assert isinstance(rejected, Says)
    assert (rejected.effect, rejected.is_settlement) == (Effect.DENY, False)
    for odd in (True, None, "yes", "Approve", 1, object(), Says(Effect.ALLOW)):
        assert isinstance(approval(partial(saying, odd))(ASKED), Failed)

    async def later(_: PolicyRequest) -> str:
        await asyncio.sleep(0)
        return "approve"

    assert approval(later)(ASKED) is None


def test_a_seat_that_raises_is_no_answer() -> None:
    def raises(_: PolicyRequest) -> Any:
        raise SystemExit("approve")

    assert isinstance(approval(raises)(ASKED), Failed)


def test_a_question_that_nobody_answers_expires_and_is_taken_back() -> None:
    released = threading.Event()

    def waits(request: PolicyRequest) -> str:
        assert request.signal is not None
        request.signal.wait(30)
        released.set()
        return "approve"

    assert settled(approval(waits, seconds=0.05)(ASKED)) is Settled.EXPIRED
    assert released.wait(10)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_end_of_the_signal_releases_the_seat(is_async: bool) -> None:
    released, signal, seated = threading.Event(), threading.Event(), threading.Event()

    def waits(request: PolicyRequest) -> str:
        assert request.signal is not None
        seated.set()
        request.signal.wait(30)
        released.set()
        return "approve"

    async def waits_later(_: PolicyRequest) -> str:
        seated.set()
        try:
            await asyncio.sleep(30)
        finally:
            released.set()
        return "approve"

    policy = approval(waits_later if is_async else waits, seconds=30)
    got: list[Any] = []
    request = PolicyRequest("t", {}, signal=signal)
    thread = threading.Thread(target=lambda: got.append(policy(request)), daemon=True)
    thread.start()
    assert seated.wait(10)
    signal.set()
    until(lambda: bool(got), "an answer once nobody waits for it")
    assert settled(got[0]) is Settled.CANCELLED
    assert released.wait(10)


def test_an_approval_is_waited_for_longer_than_another_layer(tmp_path: Path) -> None:
    engine = opened(tmp_path)
    assert write(engine.session(policy=approval(lambda _: "approve"))).effect is Effect.ALLOW
    assert said(write(engine.session(policy=approval(never), approver=False))) == (
        "deny", "no_approver", "caller_policy",
    )  # fmt: skip
    probed = engine.session(policy=approval(never)).probe("write_file", {"path": "a", "content": "x"})
    assert said(probed) == ("deny", "no_approver", "caller_policy")


def test_an_inherited_hook_is_asked_where_somebody_can_be() -> None:
    assert inherited_hook(lambda _: Says(Effect.ASK))(ASKED) == Says(Effect.ASK)


def fenced(root: Path, path: str, **given: Any) -> tuple[str, str, str]:
    """The answer to a write behind a fence around `inner`."""
    return said(write(opened(root).session(policy=guards(root / "inner", **given)), path))


OUTSIDE = ("deny", "policy_says", "caller_policy")
INSIDE = ("allow", "rule", "persisted_rules")


def test_a_fence_keeps_writes_below_its_roots(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "away").mkdir()
    (tmp_path / "inner" / "link").symlink_to("../away")
    assert fenced(tmp_path, "inner/a") == INSIDE
    assert fenced(tmp_path, "inner") == INSIDE
    for outside in ("innermost/a", "inner/../a", "inner/link/a", "a"):
        assert fenced(tmp_path, outside) == OUTSIDE
    assert fenced(tmp_path, "away/a", exempt=[tmp_path / "away"]) == INSIDE
    read = opened(tmp_path).session(policy=guards(tmp_path / "inner")).check("read_file", {"path": "a"})
    assert said(read) == INSIDE


def test_a_root_that_is_a_link_is_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "inner").symlink_to("real")
    assert fenced(tmp_path, "real/a") == INSIDE
    assert fenced(tmp_path, "inner/a") == INSIDE


def test_a_fence_judges_a_question_as_it_judges_a_call(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    session = opened(tmp_path).session(policy=guards(tmp_path / "inner"))
    for path, answer in (("inner/a", INSIDE), ("a", OUTSIDE)):
        assert said(session.probe("write_file", {"path": path, "content": "x"})) == answer


def wanting(path: str | None, **facts: Any) -> PolicyRequest:
    touch = Touched(EffectClass.WRITE, path, "path")
    return PolicyRequest("Write", {}, touches=(touch,), approval_reach=Reach.NONE, facts=facts)


def test_a_fence_reads_the_facts_of_a_write(tmp_path: Path) -> None:
    inside, other = str(tmp_path / "a"), str(tmp_path / "data" / "a")
    fence = guards(tmp_path / "inner")
    assert isinstance(fence(wanting(inside)), Says)
    assert fence(wanting(inside, writable=(str(tmp_path),))) is None
    assert fence(wanting(other, exempt=(str(tmp_path / "data"),))) is None
    assert isinstance(fence(wanting(inside, exempt=(str(tmp_path / "data"),), writable="/")), Says)
    assert isinstance(fence(wanting(None)), Says)


def test_a_look_up_is_waited_for_no_longer_than_anybody_waits(tmp_path: Path) -> None:
    inside = str(tmp_path / "a")
    assert guards(look_up=lambda _: [str(tmp_path)])(wanting(inside)) is None

    def waits(request: PolicyRequest) -> list[str]:
        assert request.signal is not None
        request.signal.wait(30)
        return [str(tmp_path)]

    def raises(_: PolicyRequest) -> list[str]:
        raise OSError

    late = guards(look_up=waits, seconds=0.05)(wanting(inside))
    assert isinstance(late, Failed)
    assert late.kind is Cause.TIMED_OUT
    for look_up in (raises, lambda _: None, lambda _: str(tmp_path), lambda _: ["relative"], lambda _: [1]):
        assert isinstance(guards(look_up=look_up)(wanting(inside)), Failed)
