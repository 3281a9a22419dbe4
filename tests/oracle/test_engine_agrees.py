"""The engine answers as the naive second engine does, on random policies and calls."""

from __future__ import annotations

import os
from random import Random, SystemRandom

import pytest

from stanch.app.driving import drive
from stanch.app.engine import Engine, Session
from stanch.gate.decide import decide as conclude
from stanch.gate.relax import relax
from stanch.paths.canonical import Canonicaliser
from stanch.policy.document import Policy
from stanch.policy.known_tools import known
from stanch.values.call import CallEffect, JudgedCall
from stanch.values.context import RunContext
from stanch.values.decision import Decision, Effect
from stanch.values.identity import Source
from tests.oracle import worlds
from tests.oracle.oracle import decide

DECISIONS = 20_000
SOAK_DECISIONS = 10_000_000
CALLS_A_WORLD = 40


def _session(world: worlds.World) -> Session:
    policy = Policy("random.toml", "v", world.context.workspace, world.groups, known())
    engine = Engine(policy, Canonicaliser())
    asking = world.context
    context = RunContext(asking.group, (), asking.writes, asking.reads, asking.working_directory)
    return engine.session(context=context, agent=asking.agent, source=Source(asking.source) if asking.source else None)


def _answer(session: Session, call: JudgedCall) -> Decision:
    """The engine's answer to a call that is stamped already."""
    effects = call.effects or (CallEffect(None),)
    stamped = call._replace(effects=effects)
    after, standing = drive(stamped, session.layers)
    return conclude(after, relax(after, standing, session.context), "v")


def _compare(seed: int, decisions: int) -> None:
    random = Random(seed)
    answers: dict[str, int] = {}
    for number in range(decisions // CALLS_A_WORLD):
        world = worlds.world(random)
        session = _session(world)
        for _ in range(CALLS_A_WORLD):
            call = worlds.call(random)
            got, wanted = _answer(session, call), decide(world.policy, world.context, call)
            said: tuple[object, ...] = (got.effect.value, got.mandated)
            asked: tuple[object, ...] = (wanted.effect, wanted.mandated)
            if got.effect is not Effect.ALLOW:
                rule = got.answer.rule
                said += (got.answer.code.value, (rule.group, rule.id) if rule else None)
                asked += (str(wanted.code), wanted.rule)
            assert said == asked, f"seed {seed}, world {number}: {call}\n{world}"
            answers[wanted.effect] = answers.get(wanted.effect, 0) + 1
    assert min(answers.get(word, 0) for word in ("allow", "ask", "deny")) > decisions // 50, answers


def test_the_engine_agrees_with_the_oracle() -> None:
    _compare(20261130, DECISIONS // 2)
    seed = SystemRandom().randrange(1 << 32)
    print(f"random seed {seed}")
    _compare(seed, DECISIONS // 2)


@pytest.mark.soak
def test_the_engine_agrees_with_the_oracle_for_hours() -> None:
    decisions = int(os.environ.get("STANCH_SOAK_DECISIONS", SOAK_DECISIONS))
    seed = SystemRandom().randrange(1 << 32)
    print(f"random seed {seed}")
    for part in range(10):
        _compare(seed + part, decisions // 10)
        print(f"{(part + 1) * decisions // 10:,} decisions, no disagreement", flush=True)
