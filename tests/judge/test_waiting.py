"""Who is waited for, how long, and what is left behind when nobody waits any more?"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stanch.app.caller_policies import PolicyLayer
from stanch.app.further import Referred
from stanch.app.workers import EACH, LINGER, Workers
from stanch.judge.question import Facts, Probe
from stanch.policy.layers import NO_OBJECTION
from stanch.policy.policies import PolicyRequest, Settled, combined, settlement
from stanch.policy.policies import Says as Word
from stanch.values.call import Reach
from stanch.values.decision import Effect
from stanch.values.fault import BadFields
from stanch.values.reason import LayerId
from stanch.values.verdict import Cause, Face, State
from tests.judge.worlds import ALL_READS, READ, WRITE, Hanging, Says, judge, probe, saying, states


def soon(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """True once it holds; False where it never did in the time."""
    until = time.monotonic() + seconds
    pause = threading.Event()
    while not holds():
        if time.monotonic() > until:
            return False
        pause.wait(0.01)
    return True


def test_a_layer_reached_after_the_deadline_is_not_asked(tmp_path: Path) -> None:
    layers = [saying(LayerId.NARROWING, Effect.DENY, immediate=True), saying(LayerId.CALLER_POLICY, Effect.DENY)]
    heard: list[Any] = []
    got = judge(tmp_path, *layers)(probe(), deadline_at=time.time() * 1000 - 1, hear=heard.append)
    assert (got.state, got.layer, got.cause) == (State.UNANSWERABLE, LayerId.NARROWING, Cause.TIMED_OUT)
    assert [one.cause for one in heard] == [Cause.TIMED_OUT] * 3
    assert layers[0].asked == layers[1].asked == []


def test_an_answer_in_time_tells_its_layer_that_nobody_waits_any_more(tmp_path: Path) -> None:
    first = saying(LayerId.CALLER_POLICY, None)
    during: list[bool] = []

    def says(call: Any) -> Any:
        during.append(call.manner.signal.is_set())
        return NO_OBJECTION

    judge(tmp_path, first, Says(LayerId.INHERITED_CONSTRAINT, says))(probe())
    (call,) = first.asked
    assert call.manner.reach is Reach.NONE
    assert call.manner.signal is not None
    assert call.manner.signal.is_set()
    assert during == [False]


def test_a_layer_that_hangs_is_told_so_when_the_time_is_over(tmp_path: Path) -> None:
    hanging = Hanging()
    judge(tmp_path, hanging, seconds=0.05)(probe())
    assert hanging.signals[0].is_set()
    hanging.go.set()


def test_the_end_of_the_run_ends_every_wait(tmp_path: Path) -> None:
    run, hanging = threading.Event(), Hanging()
    asked = judge(tmp_path, hanging, signal=run, seconds=60)
    threading.Timer(0.1, run.set).start()
    started = time.monotonic()
    got = asked(probe())
    assert time.monotonic() - started < 10
    assert (got.state, got.cause) == (State.UNANSWERABLE, Cause.TIMED_OUT)
    assert hanging.signals[0].is_set()
    hanging.go.set()
    assert judge(tmp_path, saying(LayerId.CALLER_POLICY, Effect.DENY), signal=run)(probe()).cause is Cause.TIMED_OUT


@pytest.mark.parametrize("face", Face)
def test_a_batch_is_judged_at_the_same_time_and_in_order(tmp_path: Path, face: Face) -> None:
    together = threading.Barrier(4)

    def says(call: Any) -> Any:
        together.wait(10)
        return NO_OBJECTION

    rules = '[[groups.rules]]\ntool = "*"\npath = "*b"\naction = "deny"\n' + ALL_READS
    got = judge(tmp_path, Says(LayerId.CALLER_POLICY, says), rules=rules).batch(
        [probe(face, path) for path in ("a", "b", "c", "bb")]
    )
    assert states(got) == [State.NO_OBJECTION, State.DENY, State.NO_OBJECTION, State.DENY]
    assert [one.judged for one in got] == [f"{tmp_path}/{path}" for path in ("a", "b", "c", "bb")]


def test_a_thousand_probes_and_a_layer_that_hangs_cost_one_deadline_and_leave_nothing(tmp_path: Path) -> None:
    workers, hanging = Workers(name="test"), Hanging()
    asked = judge(tmp_path, hanging, workers=workers)
    started = time.monotonic()
    got = asked.batch([probe(READ, f"f{number}") for number in range(1000)], deadline_at=(time.time() + 1) * 1000)
    took = time.monotonic() - started
    assert {(one.state, one.cause) for one in got} == {(State.UNANSWERABLE, Cause.TIMED_OUT)}
    assert 1 <= took < 1.5  # bench/judge.py holds it to 10 %
    assert workers.waiting == 0
    assert 0 < workers.busy <= EACH
    assert all(signal.is_set() for signal in hanging.signals)
    hanging.go.set()
    assert soon(lambda: workers.threads == 0, LINGER + 10)


def test_who_hangs_leaves_threads_for_the_others(tmp_path: Path) -> None:
    workers, hanging = Workers(most=EACH + 2, name="test"), Hanging()
    stuck = judge(tmp_path, hanging, workers=workers, seconds=0.05)
    stuck.batch([probe(READ, f"f{number}") for number in range(100)])
    other = judge(tmp_path, saying(LayerId.CALLER_POLICY, None), workers=workers)
    assert set(states(other.batch([probe(READ, f"f{number}") for number in range(100)]))) == {State.NO_OBJECTION}
    hanging.go.set()


def test_a_policy_that_hangs_is_one_for_all_judges(tmp_path: Path) -> None:
    workers, go = Workers(name="test"), threading.Event()

    def hang(_: PolicyRequest) -> None:
        go.wait(30)

    for _ in range(5):  # as turn after turn makes a judge of its own
        layers = [PolicyLayer(LayerId.CALLER_POLICY, Referred(lambda: combined(hang, hang)))]
        stuck = judge(tmp_path, *layers, workers=workers, seconds=0.05)
        stuck.batch([probe(READ, f"f{number}") for number in range(EACH)])
    assert workers.busy <= EACH
    other = judge(tmp_path, saying(LayerId.CALLER_POLICY, None), workers=workers)
    assert other(probe()).state is State.NO_OBJECTION
    go.set()


def test_a_deadline_may_lie_as_far_away_as_anybody_likes(tmp_path: Path) -> None:
    asked = judge(tmp_path, saying(LayerId.CALLER_POLICY, None))
    for far in (1e25, float("inf")):
        assert asked(probe(), deadline_at=far).state is State.NO_OBJECTION


def test_many_questions_at_once_are_all_answered_and_every_thread_ends(tmp_path: Path) -> None:
    workers = Workers(name="test")
    answers: list[Any] = []

    def ask(number: int) -> None:
        asked = judge(tmp_path / str(number), saying(LayerId.CALLER_POLICY, Effect.DENY), workers=workers)
        answers.extend(asked.batch([probe(READ, f"f{at}") for at in range(50)]))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for number in range(8):
        (tmp_path / str(number)).mkdir()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert states(answers) == [State.DENY] * 400
    assert soon(lambda: workers.threads == 0, LINGER + 10)


def test_a_layer_that_hangs_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    program = """
        import sys, threading, time
        from pathlib import Path
        from tests.judge.worlds import Hanging, judge, probe

        class Spinning(Hanging):
            def ask(self, call):
                while True:
                    time.sleep(3600)

        got = judge(Path(sys.argv[1]), Spinning(), seconds=0.2)(probe())
        print(got.state.value, got.cause.value)
    """
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "unanswerable timed_out\n", "")
    assert time.monotonic() - started < 30


async def _patient(request: PolicyRequest) -> Word | None:
    await asyncio.sleep(3600)
    return None


async def _quick(request: PolicyRequest) -> Word | None:
    await asyncio.sleep(0)
    return Word(Effect.DENY, "no") if "secret" in str(request.touches[0].path) else None


def test_policies_that_are_awaited(tmp_path: Path) -> None:
    asked = judge(tmp_path, PolicyLayer(LayerId.CALLER_POLICY, _quick))
    assert states(asked.batch([probe(), probe(READ, "secret")])) == [State.NO_OBJECTION, State.DENY]
    workers = Workers(name="test")
    patient = judge(tmp_path, PolicyLayer(LayerId.CALLER_POLICY, _patient), workers=workers, seconds=0.05)
    got = patient(probe())
    assert (got.state, got.cause) == (State.UNANSWERABLE, Cause.TIMED_OUT)
    assert soon(lambda: workers.threads == 0, LINGER + 10)


def test_a_policy_is_told_what_it_may_not_do_and_what_the_write_is_about(tmp_path: Path) -> None:
    told: list[PolicyRequest] = []

    def policy(request: PolicyRequest) -> Word | None:
        told.append(request)
        return settlement(Settled.NO_APPROVER) if request.approval_reach is Reach.NONE else None

    (tmp_path / "sub").mkdir()
    standing = ["sub", "."]
    facts = lambda: Facts({"name": "Write"}, standing.pop(0), "/root", ("/tmp",), ("/data",))  # noqa: E731
    asked = judge(tmp_path, PolicyLayer(LayerId.CALLER_POLICY, policy), facts=facts)
    got = asked.batch([Probe(WRITE, "memory", "a.md"), Probe(WRITE, "memory", "a.md")])
    assert [one.cause for one in got] == [Cause.APPROVAL_SEAT] * 2
    assert {request.tool for request in told} == {"Write"}
    assert {request.call_id for request in told} == {"memory-write-probe"}
    assert {request.touches[0].path for request in told} == {f"{tmp_path}/sub/a.md", f"{tmp_path}/a.md"}
    assert {request.facts["cwd"] for request in told} == {f"{tmp_path}/sub", str(tmp_path)}
    assert told[0].facts["root"] == "/root"
    assert told[0].facts["writable"] == ("/tmp",)
    assert told[0].facts["exempt"] == ("/data",)


def test_what_a_probe_says_it_is(tmp_path: Path) -> None:
    layer = saying(LayerId.CALLER_POLICY, None)
    judge(tmp_path, layer)(Probe(READ, "changed-file", "a", None, 3, 7))
    (call,) = layer.asked
    assert call.call.tool == "Read"
    assert dict(call.call.arguments) == {"file_path": "a", "offset": 3, "limit": 7}
    assert call.call.id == "changed-file-visibility-probe"
    assert Probe(WRITE, "memory", "a").call.arguments == {"file_path": "a"}


@pytest.mark.parametrize("word", ["", "A", "a1", "-a", "a-", "a b", "a_b", "á", "a" * 65, "a\n"])
def test_a_consumers_word_that_is_none(word: str) -> None:
    with pytest.raises(BadFields):
        Probe(READ, word, "a")


def test_a_clock_that_is_set_does_not_move_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def says(call: Any) -> Any:
        monkeypatch.setattr(time, "time", lambda: 1.0)
        return NO_OBJECTION

    asked = judge(tmp_path, Says(LayerId.CALLER_POLICY, says))
    assert asked(probe(), deadline_at=(time.time() + 30) * 1000).state is State.NO_OBJECTION


def test_a_deadline_that_is_no_number_is_over(tmp_path: Path) -> None:
    got = judge(tmp_path, Hanging())(probe(), deadline_at=float("nan"))
    assert (got.state, got.cause) == (State.UNANSWERABLE, Cause.TIMED_OUT)


def test_a_thread_that_becomes_free_does_not_ask_who_hangs_already() -> None:
    workers, go, quick = Workers(most=4, each=2, name="test"), threading.Event(), threading.Event()
    asked, stuck, other = list[int](), object(), object()

    def hang(number: int) -> None:
        asked.append(number)
        go.wait(30)

    for _ in range(2):
        workers.give(lambda: quick.wait(30), other)
    for number in range(2):
        workers.give(lambda number=number: hang(number), stuck)  # type: ignore[misc]
    assert soon(lambda: len(asked) == 2 and workers.busy == 4)
    for number in range(2, 5):
        workers.give(lambda number=number: hang(number), stuck)  # type: ignore[misc]
    quick.set()
    assert soon(lambda: workers.busy == 2)
    assert (sorted(asked), workers.waiting) == ([0, 1], 3)
    go.set()
    assert soon(lambda: len(asked) == 5 and workers.threads == 0, LINGER + 10)
