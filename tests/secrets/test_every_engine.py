"""Do all engines find what trying every form at every place finds, and do streams come to the same?

20,000 texts here, a million by `./run soak`.
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
from tests.secrets.drawn import TEXTS, Trial, pieces, trial

ENGINES = pytest.mark.parametrize("engine", engines(), ids=lambda engine: engine.name)
PARTS = 20
FAST = 20_000 // TEXTS // PARTS // len(engines())
LONG = 1_000_000 // TEXTS // PARTS // len(engines())


def check(trial: Trial, drawn: random.Random, engine: Engine) -> None:
    """Hold one engine against brute force, a stream against the whole, and what came out against being looked for."""
    secrets = {name: Secret(value) for name, value in trial.values.items()}
    forms = joined(secrets.items())
    projector = Projector(secrets, engine=engine)
    one_by_one = Projector({}, engine=engine)
    for name, secret in secrets.items():
        one_by_one = one_by_one.adding(name, secret)
    for text in trial.texts:
        data = text.encode("utf-8", "surrogatepass")
        wanted = labelled(projector, data, brute.spans(forms, data))
        got = projector.text(text)
        assert got == wanted
        assert projector.data(data).decode("utf-8", "surrogatepass") == wanted
        assert projector.text(got) == got
        if got != text:
            assert not brute.hits(forms, got.encode("utf-8", "surrogatepass"))
        stream = projector.stream()
        assert "".join([*map(stream.feed, pieces(drawn, text)), stream.end()]) == wanted
        assert stream.found == projector.found(text)
        assert one_by_one.text(text) == wanted


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
def test_random_texts_come_out_as_by_brute_force(part: int, engine: Engine) -> None:
    run(part, FAST, engine)


@pytest.mark.soak
@pytest.mark.skipif("STANCH_SOAK" not in os.environ, reason="the long form")
@ENGINES
@pytest.mark.parametrize("part", range(PARTS))
def test_a_million_texts_come_out_as_by_brute_force(part: int, engine: Engine) -> None:
    run(1000 + part, LONG, engine)
