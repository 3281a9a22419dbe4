"""Nothing that comes to a model's side tells two worlds apart that differ in what it may not see.

200 random sessions here, 2,000 by `./run soak`; half of them with a model in the cloud, whose tier closes more. The
seed is the same in every run of CI, and printed in any case.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.canary import ANSWER, EXCEPTION, LOG, REQUEST, Canary
from tests.worlds import comparing
from tests.worlds.comparing import first_difference, played
from tests.worlds.determined import determined
from tests.worlds.guards import CLOSED_BY_TIER, GUARDS, SOON_MISSED, without
from tests.worlds.may_differ import LENGTHS, TABLE, covering
from tests.worlds.moves import Drawing
from tests.worlds.playing import Move, Played, Session, two_worlds

SESSIONS = pytest.mark.parametrize("sessions", [200, pytest.param(2_000, marks=pytest.mark.soak)])
TAUGHT = 300
"""How many sessions are enough to notice that a guard is missing."""


def seed() -> int:
    """The same in every run of CI."""
    return 1 if os.environ.get("CI") and not os.environ.get("STANCH_SOAK") else random.SystemRandom().randrange(1 << 30)


@pytest.fixture(autouse=True)
def _determined() -> Iterator[None]:
    with determined():
        yield


@SESSIONS
@pytest.mark.parametrize("private", [False, True], ids=["secrets", "closed"])
def test_nothing_tells_the_worlds_apart(sessions: int, private: bool, canary: Canary) -> None:
    canary.expect_in(EXCEPTION)  # which name what a model has asked for; what is told of them is compared
    chosen = seed()
    print(f"seed {chosen}")
    found, _ = first_difference(chosen, sessions // 2, private=private)
    assert found is None, f"{found}\nseed {chosen}"


@pytest.mark.parametrize("sessions", [30, pytest.param(400, marks=pytest.mark.soak)])
def test_nothing_but_lengths_tells_secrets_of_other_lengths(sessions: int, tmp_path: Path, canary: Canary) -> None:
    canary.expect_in(EXCEPTION)
    chosen = seed()
    print(f"seed {chosen}")
    drawing = Drawing(chosen, private=False, windows=False)
    with two_worlds(tmp_path, private=False, longer=True) as pair:
        for number in range(sessions):
            session = drawing.session(f"s{number}")
            for one, other in zip(*(world.play(session) for world in pair), strict=True):
                sides = covering(one.data, LENGTHS), covering(other.data, LENGTHS)
                told = comparing.Difference(session, one.move, sides)
                assert sides[0] == sides[1], f"{told}\nseed {chosen}"


@pytest.mark.parametrize("longer", [False, True])
def test_what_may_differ_does_and_nothing_beside_it(longer: bool, tmp_path: Path, canary: Canary) -> None:
    canary.expect_in(EXCEPTION, REQUEST)
    with two_worlds(tmp_path, private=False, longer=longer) as pair:
        for row in TABLE:
            if row.longer is longer:
                for world in pair:
                    row.prepared(world)
                session = replace(row.session, name=row.what)
                one, other = (b"\n".join(seen.data for seen in world.play(session)) for world in pair)
                assert one != other, f"{row.what}: this is no longer so"
                assert covering(one, row.covered) == covering(other, row.covered), row.what


@pytest.mark.parametrize(
    "guard", [pytest.param(one, marks=() if one in SOON_MISSED else pytest.mark.soak) for one in GUARDS]
)
def test_the_worlds_are_told_apart_without_a_guard(guard: str, monkeypatch: pytest.MonkeyPatch, canary: Canary) -> None:
    canary.expect_in(ANSWER, EXCEPTION, LOG, REQUEST)
    monkeypatch.setattr(comparing, "_smaller", lambda _, __, found: found)
    with without(guard):
        found, sessions = first_difference(1, TAUGHT, private=guard in CLOSED_BY_TIER)
    assert found is not None, f"{sessions} sessions did not notice that {guard}"


def test_a_difference_is_told_by_few_moves(tmp_path: Path, canary: Canary) -> None:
    canary.expect_in(ANSWER, EXCEPTION, LOG, REQUEST)
    moves = [Move("GET", path) for path in ("/api/runs", "/api/files")]
    session = Session(tuple(moves))

    def worlds(root: Path) -> AbstractContextManager[tuple[Played, Played]]:
        return two_worlds(root, private=False)

    with without("digest_is_told"):
        with worlds(tmp_path) as pair:
            found = played(pair, session)
        assert found is not None
        small = comparing._smaller(worlds, [session], found)
    assert small.session.moves == (moves[1],)
    assert '"digest":"' in str(small)
    assert len(str(small)) < 1_500


def test_two_worlds_that_are_one_are_never_told_apart(tmp_path: Path) -> None:
    """Whatever differs between two plays of the same is the comparison's own."""
    drawing = Drawing(7, private=False)
    with two_worlds(tmp_path, private=False, same=True) as pair:
        assert pair[0].furnished.cast.values == pair[1].furnished.cast.values
        assert [played(pair, drawing.session(f"s{number}")) for number in range(10)] == [None] * 10
