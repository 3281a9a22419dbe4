"""Whether two worlds can be told apart, and by what: the least that has to be done, and the least that differs."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from tests.worlds.moves import Drawing
from tests.worlds.playing import Played, Seen, Session, two_worlds

AT_ONCE = 50
"""How many sessions are played in one pair of worlds, one behind the other: each finds what the others left."""
MOST_TRIES = 40
AROUND = 70
Worlds: TypeAlias = Callable[[Path], AbstractContextManager[tuple[Played, Played]]]


@dataclass(frozen=True)
class Difference:
    """A move by which the worlds are told apart, and what came of it in both."""

    session: Session
    move: str
    sides: tuple[bytes, bytes]

    def __str__(self) -> str:
        done = "\n".join(f"  {number}. {move}" for number, move in enumerate(self.session.moves))
        least = "\n".join(_least(*self.sides))
        return f"the model {self.session.model} tells the worlds apart by\n  {self.move}\nafter\n{done}\n{least}"


def played(worlds: tuple[Played, Played], session: Session) -> Difference | None:
    """Plays a session in both worlds; the first move by which they differ."""
    found = [world.play(session) for world in worlds]
    assert [one.move for one in found[0]] == [one.move for one in found[1]]
    return next((_different(session, *both) for both in zip(*found, strict=True) if both[0].data != both[1].data), None)


def _different(session: Session, one: Seen, other: Seen) -> Difference:
    return Difference(session, one.move, (one.data, other.data))


def first_difference(seed: int, sessions: int, *, private: bool) -> tuple[Difference | None, int]:
    """Plays random sessions; the first difference as small as it can be made, and after how many sessions it came."""
    drawing, done = Drawing(seed, private=private), 0

    def worlds(root: Path) -> AbstractContextManager[tuple[Played, Played]]:
        return two_worlds(root, private=private)

    while done < sessions:
        batch = [drawing.session(f"s{number}") for number in range(done, min(done + AT_ONCE, sessions))]
        with tempfile.TemporaryDirectory() as folder, worlds(Path(folder)) as pair:
            for number, session in enumerate(batch):
                found = played(pair, session)
                if found is not None:
                    return _smaller(worlds, batch[: number + 1], found), done + number + 1
        done += len(batch)
    return None, done


def _smaller(worlds: Worlds, before: Sequence[Session], found: Difference) -> Difference:
    """The same difference by fewer moves, in worlds that are new."""
    tries = itertools.count()
    last = found.session

    def differs(session: Session) -> Difference | None:
        with tempfile.TemporaryDirectory() as folder, worlds(Path(folder)) as pair:
            return played(pair, session)

    alone = differs(last)
    if alone is None:
        # It takes what sessions before it have left; all of them are one then, if that does it.
        moves = tuple(itertools.chain.from_iterable(one.moves for one in before))
        alone = differs(replace(last, moves=moves, unseen=0, free=True)) if len(moves) < 120 else None
    if alone is None:
        return found
    shrinking = True
    while shrinking and next(tries) < MOST_TRIES:
        shrinking = False
        for fewer in _fewer(alone.session):
            if next(tries) >= MOST_TRIES:
                break
            smaller = differs(fewer)
            if smaller is not None:
                alone, shrinking = smaller, True
                break
    return alone


def _fewer(session: Session) -> Iterator[Session]:
    """The session with fewer moves: half of them, then each left out."""
    moves, unseen = session.moves, session.unseen
    if len(moves) > unseen + 3:
        half = (len(moves) - unseen) // 2
        yield replace(session, moves=(*moves[:unseen], *moves[unseen + half :]))
    # WHY not those before: without them, it could be a model that may see more.
    for at in reversed(range(unseen, len(moves))):
        yield replace(session, moves=(*moves[:at], *moves[at + 1 :]))


def _least(one: bytes, other: bytes) -> Iterator[str]:
    """The lines that differ, a few letters around where they begin to."""
    lines = [text.decode("utf-8", "replace").splitlines() for text in (one, other)]
    told = 0
    for number, (left, right) in enumerate(itertools.zip_longest(*lines, fillvalue="(no such line)")):
        if left == right:
            continue
        at = next(
            (at for at, both in enumerate(zip(left, right, strict=False)) if both[0] != both[1]),
            min(len(left), len(right)),
        )
        start, end = max(0, at - AROUND), at + AROUND
        yield f"line {number + 1}, from letter {start + 1}:\n  a: {left[start:end]!r}\n  b: {right[start:end]!r}"
        told += 1
        if told == 5:
            return
