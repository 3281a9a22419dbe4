"""Do all engines find what trying every form at every place finds, and do streams come to the same?

20,000 trials here, a million by `./run soak`.
"""

from __future__ import annotations

import os
import random
import zlib

import pytest

from stanch.secrets.engines import Engine, engines
from stanch.secrets.known import joined
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret
from tests.secrets import brute
from tests.secrets.drawn import Trial, pieces, trial

ENGINES = pytest.mark.parametrize("engine", engines(), ids=lambda engine: engine.name)
PARTS = 20
FAST = 20_000 // PARTS
LONG = 1_000_000 // PARTS


def check(trial: Trial, drawn: random.Random, engine: Engine) -> None:
    """Hold one engine against brute force, a stream against the whole, and what came out against being looked for."""
    secrets = {name: Secret(value) for name, value in trial.values.items()}
    forms = joined(secrets.items())
    projector = Projector(secrets, engine=engine)
    wanted = labelled(projector, trial.data, brute.spans(forms, trial.data))
    got = projector.text(trial.text)
    assert got == wanted
    assert projector.data(trial.data).decode("utf-8", "surrogatepass") == wanted
    assert projector.text(got) == got
    if got != trial.text:
        assert not brute.hits(forms, got.encode("utf-8", "surrogatepass"))
    stream = projector.stream()
    assert "".join([*map(stream.feed, pieces(drawn, trial.text)), stream.end()]) == wanted
    assert stream.found == projector.found(trial.text)
    one_by_one = Projector({}, engine=engine)
    for name, secret in secrets.items():
        one_by_one = one_by_one.adding(name, secret)
    assert one_by_one.text(trial.text) == wanted


def labelled(projector: Projector, data: bytes, spans: brute.Spans) -> str:
    out, at = b"", 0
    for start, end, name in spans:
        out += data[at:start] + projector.label(name).encode()
        at = end
    return (out + data[at:]).decode("utf-8", "surrogatepass")


def run(part: int, count: int, engine: Engine) -> None:
    drawn = random.Random(part * 7919 + zlib.crc32(engine.name.encode()))
    for _ in range(count):
        one = trial(drawn)
        try:
            check(one, drawn, engine)
        except AssertionError as why:
            raise AssertionError(f"{engine.name}, part {part}: {one!r}\n{why}") from why


@ENGINES
@pytest.mark.parametrize("part", range(PARTS))
def test_random_trials_come_out_as_by_brute_force(part: int, engine: Engine) -> None:
    run(part, FAST // len(engines()), engine)


@pytest.mark.soak
@pytest.mark.skipif("STANCH_SOAK" not in os.environ, reason="the long form")
@ENGINES
@pytest.mark.parametrize("part", range(PARTS))
def test_a_million_trials_come_out_as_by_brute_force(part: int, engine: Engine) -> None:
    run(1000 + part, LONG // len(engines()), engine)
