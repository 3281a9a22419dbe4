"""Does nothing pass that was not looked through, whatever breaks?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from stanch.secrets import engines as engines_module
from stanch.secrets.anchors import Spot
from stanch.secrets.budget import Budget, Cause, Withheld
from stanch.secrets.engines import Engine, engines
from stanch.secrets.grams import Grams
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret

KEY = "tok_Lm29sQ0xZp81"
SECRET_FREE = "nothing in here"


class Throws:
    """An engine that can be made and cannot be used."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces

    def spots(self, data: bytes, most: int) -> list[Spot]:
        raise ValueError(data)


def cannot_be_made(pieces: Sequence[bytes]) -> Grams:
    raise MemoryError(pieces)


def broken(made: Callable[[Sequence[bytes]], Any]) -> Engine:
    return engines()[-1]._replace(made=made)


CALLS: dict[str, Callable[[Projector], object]] = {
    "text": lambda known: known.text(SECRET_FREE),
    "data": lambda known: known.data(SECRET_FREE.encode()),
    "structure": lambda known: known.structure({"a": [SECRET_FREE]}),
    "window": lambda known: known.window(SECRET_FREE, 0, 4),
    "excerpt": lambda known: known.excerpt(SECRET_FREE),
    "found": lambda known: known.found(SECRET_FREE),
    "found_in": lambda known: known.found_in([SECRET_FREE]),
    "stream": lambda known: known.stream().feed(SECRET_FREE),
    "stream's end": lambda known: known.stream().end(),
    "after adding": lambda known: known.adding("L", Secret("another-value")).text(SECRET_FREE),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("made", "cause"), [(Throws, Cause.ENGINE_FAILED), (cannot_be_made, Cause.NOT_BUILT)])
def test_a_broken_engine_withholds_everything(made: Any, cause: Cause, call: str) -> None:
    known = Projector({"K": Secret(KEY)}, engine=broken(made))
    with pytest.raises(Withheld) as why:
        CALLS[call](known)
    assert why.value.cause is cause
    assert KEY not in repr(why.value)
    assert why.value.__cause__ is None
    assert why.value.__context__ is None


class ThrowsOnce(Grams):
    """An engine that fails one time."""

    thrown = False

    def spots(self, data: bytes, most: int) -> list[Spot]:
        if not self.thrown:
            self.thrown = True
            raise OSError
        return super().spots(data, most)


def test_a_stream_stays_shut_when_its_engine_is_well_again() -> None:
    known = Projector({"K": Secret(KEY)}, engine=broken(ThrowsOnce))
    stream = known.stream()
    with pytest.raises(Withheld):
        stream.feed("one ")
    assert known.text("fine") == "fine"
    with pytest.raises(Withheld):
        stream.feed("two ")
    with pytest.raises(Withheld):
        stream.end()


def test_an_engine_that_breaks_for_a_value_added_later_withholds_too() -> None:
    known = Projector(
        {"K": Secret(KEY)}, engine=broken(lambda pieces: Grams(pieces) if len(pieces) < 20 else Throws(pieces))
    )
    assert known.text(KEY) == "{{K}}"
    with pytest.raises(Withheld):
        known.adding("L", Secret("a b'c\"d&e<f>g/h\\i é ✓\n1234567890123456789")).text(SECRET_FREE)


def test_a_package_that_cannot_be_imported_withholds(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> Engine:
        raise ImportError

    monkeypatch.setattr(engines_module, "_vectors", fails)
    monkeypatch.setattr(engines_module, "find_spec", lambda name: name)
    engines.cache_clear()
    try:
        with pytest.raises(Withheld) as why:
            Projector({"K": Secret(KEY)}).text(SECRET_FREE)
        assert why.value.cause is Cause.NOT_BUILT
    finally:
        engines.cache_clear()


def test_without_the_package_the_standard_library_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines_module, "find_spec", lambda name: None)
    engines.cache_clear()
    try:
        assert [engine.name for engine in engines()] == ["grams"]
        assert Projector({"K": Secret(KEY)}).text(f"a {KEY}") == "a {{K}}"
    finally:
        monkeypatch.undo()
        engines.cache_clear()


@pytest.mark.parametrize("engine", engines(), ids=lambda engine: engine.name)
@pytest.mark.parametrize(
    ("budget", "text", "cause"),
    [
        (Budget(size=10), "eleven byte", Cause.TOO_LARGE),
        (Budget(hits=3), f"{KEY} " * 4, Cause.TOO_MANY),
        (Budget(hits=3), "%74ok_Lm29sQ0xZp81 " * 4, Cause.TOO_MANY),
        (Budget(steps=3), f"{KEY} " * 4, Cause.TOO_MANY),
    ],
)
def test_a_spent_budget_withholds(engine: Engine, budget: Budget, text: str, cause: Cause) -> None:
    known = Projector({"K": Secret(KEY)}, budget=budget, engine=engine)
    with pytest.raises(Withheld) as why:
        known.text(text)
    assert why.value.cause is cause
    assert known.text("fine") == "fine"


@pytest.mark.parametrize("engine", engines(), ids=lambda engine: engine.name)
def test_many_values_with_one_ending_take_few_steps(engine: Engine) -> None:
    secrets = {f"N{at}": Secret(f"postgres://user{at:04}@db.internal.example:5432/production") for at in range(500)}
    known = Projector(secrets, budget=Budget(steps=2_000), engine=engine)
    text = "postgres://nobody@db.internal.example:5432/production\n" * 100
    assert known.text(text) is text
    assert known.text("postgres://user0007@db.internal.example:5432/production") == "{{N7}}"


@pytest.mark.parametrize("engine", engines(), ids=lambda engine: engine.name)
def test_what_a_label_takes_to_make_is_not_of_the_budget(engine: Engine) -> None:
    name = "A_NAME_THAT_IS_LONGER_THAN_THE_TEXT"
    known = Projector({name: Secret("abcdefgh")}, engine=engine, budget=Budget(size=8, hits=1, steps=64))
    assert known.text("abcdefgh") == f"{{{{{name}}}}}"
    with pytest.raises(Withheld):
        known.text("abcdefgh!")
