"""What is known of the rules at each moment: by a clock that a test moves, and with no thread of their own."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

import pytest

from stanch.app.organization import Organization, Status
from stanch.app.organization_fetching import Fetched
from stanch.policy.organization import Known, Trouble, Unfetched
from stanch.policy.organization_rules import Row
from tests.organization.served import RULES, Clock, until

ROWS: tuple[Row, ...] = tuple(RULES)
OTHER: tuple[Row, ...] = ({"tool": "@network", "action": "ask"},)


class Source:
    """What a test says that comes next: rules, nothing new, or trouble."""

    def __init__(self, *said: Fetched | Unfetched | None) -> None:
        self.said, self.asked = list(said), [""]

    def __call__(self, etag: str) -> Fetched | None:
        self.asked.append(etag)
        one = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(one, Unfetched):
            raise one
        return one


def _made(source: Callable[[str], Fetched | None], clock: Clock, **given: object) -> Organization:
    return Organization(source, source="https://rules", max_age_s=300, now=clock, drawn=lambda: 0.5, **given)  # type: ignore[arg-type]


DOWN = Unfetched(Trouble.REFUSED)


def test_before_the_first_try_they_are_loading() -> None:
    made = _made(Source(Fetched(ROWS)), Clock())
    assert (made.status().known, made.status().words) == (Known.LOADING, "loading: ask again in a moment")
    assert made.refresh().known is Known.CURRENT


def test_after_a_first_try_that_fails_they_are_unavailable_and_then_known() -> None:
    made = _made(Source(DOWN, Fetched(ROWS)), Clock())
    assert made.refresh().words == "unavailable: connection refused"
    assert made.refresh().words == "current"


def test_a_copy_is_used_to_its_end_and_not_at_it() -> None:
    clock = Clock()
    made = _made(Source(Fetched(ROWS), DOWN), clock)
    made.refresh()
    made.refresh()
    clock.on(299.99)
    assert made.status().words == "stale: connection refused"
    clock.on(0.01)
    assert made.status().known is Known.UNAVAILABLE
    assert made.status().words == "unavailable: expired since 2027-01-15T08:05:00Z, connection refused"


def test_a_copy_is_as_old_as_the_beginning_of_its_fetching() -> None:
    clock = Clock()

    def slow(etag: str) -> Fetched:
        clock.on(9)
        return Fetched(ROWS)

    made = _made(slow, clock)
    assert made.refresh().age_s == 9


@pytest.mark.parametrize(("wall", "steady"), [(-1e6, 300), (0, 300), (300, 0), (1e9, 0), (-1e6, 1e9)])
def test_no_clock_that_is_set_keeps_a_copy_alive(wall: float, steady: float) -> None:
    clock = Clock()
    made = _made(Source(Fetched(ROWS), DOWN), clock)
    made.refresh()
    clock.wall, clock.steady = clock.wall + wall, clock.steady + steady
    assert made.status().known is Known.UNAVAILABLE


def test_a_clock_that_is_set_back_ends_no_copy() -> None:
    clock = Clock()
    made = _made(Source(Fetched(ROWS)), clock)
    made.refresh()
    clock.wall -= 10_000
    assert made.status().known is Known.CURRENT


def test_nothing_new_makes_a_copy_young_again_even_an_expired_one() -> None:
    clock = Clock()
    source = Source(Fetched(ROWS, '"v1"'), None)
    made = _made(source, clock)
    made.refresh()
    rows = made.standing.copy and made.standing.copy.rows
    clock.on(400)
    assert made.status().known is Known.UNAVAILABLE
    assert made.refresh().known is Known.CURRENT
    assert source.asked == ["", "", '"v1"']
    assert made.standing.copy is not None
    assert made.standing.copy.rows is rows


def test_nothing_new_where_nothing_is_known_is_unreadable() -> None:
    made = _made(lambda _: None, Clock())
    assert made.refresh().words == "unavailable: unreadable answer"


def test_a_fetch_that_throws_what_nobody_expects_is_trouble() -> None:
    def breaks(etag: str) -> Fetched:
        raise RuntimeError("nobody knows")

    assert _made(breaks, Clock()).refresh().words == "unavailable: cannot be reached"


def test_tries_come_twice_in_a_copys_time_and_further_apart_where_they_fail() -> None:
    clock = Clock()
    source = Source(Fetched(ROWS), DOWN)
    made = _made(source, clock)
    tries = []
    for second in range(301):
        asked = len(source.asked)
        made.look()
        tries += [second] if len(source.asked) > asked else []
        clock.on(1)
    assert tries[:2] == [0, 150]
    gaps = [later - earlier for earlier, later in itertools.pairwise(tries[1:])]
    assert gaps == sorted(gaps)
    assert gaps[0] <= 2
    assert 4 <= len(gaps) <= 10


def test_each_change_is_told_once_an_expiry_too() -> None:
    clock = Clock()
    heard: list[Status] = []
    source = Source(Fetched(ROWS), Fetched(ROWS), Fetched(OTHER), DOWN)
    made = _made(source, clock, told=heard.append)
    for _ in range(4):
        made.refresh()
        made.look()
    clock.on(301)
    made.look()
    assert [(one.known.value, one.why, one.rules) for one in heard] == [
        ("current", "", 1),
        ("current", "", 1),
        ("stale", "connection refused", 1),
        ("unavailable", "connection refused", 1),
    ]


def test_what_could_not_be_told_is_told_later() -> None:
    heard: list[Status] = []

    def told(status: Status) -> None:
        if not heard:
            heard.append(status)
            raise OSError("the store is away")
        heard.append(status)

    made = _made(Source(Fetched(ROWS)), Clock(), told=told)
    made.refresh()
    made.look()
    made.look()
    assert len(heard) == 2


def test_what_is_closed_says_nothing_any_more() -> None:
    made = _made(Source(Fetched(ROWS)), Clock())
    made.refresh()
    made.close()
    assert made.status().words == "unavailable: the policy names another source by now"
    assert made.refresh().known is Known.UNAVAILABLE


def test_the_thread_tries_and_ends_with_whoever_holds_it() -> None:
    source = Source(Fetched(ROWS))
    made = Organization(source, source="x", max_age_s=300).start()
    assert made.wait(10)
    assert made.status().known is Known.CURRENT
    thread = made._thread
    assert thread is not None
    del made
    until(lambda: not thread.is_alive(), "the end of the thread")


def test_a_try_that_hangs_holds_nobody_up() -> None:
    hangs = threading.Event()

    def fetch(etag: str) -> Fetched:
        hangs.wait(30)
        return Fetched(ROWS)

    with Organization(fetch, source="x", max_age_s=300) as made:
        assert made.status().known is Known.LOADING
        hangs.set()
        assert made.wait(10)
