"""Does a projector give back what it was given where nothing occurs, keep its own, and serve many threads at once?"""

from __future__ import annotations

import copy
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Any

import pytest

from stanch.secrets.budget import Cause, Withheld
from stanch.secrets.engines import Engine, engines
from stanch.secrets.projection import Projector
from stanch.secrets.text import Secret

ENGINES = pytest.mark.parametrize("engine", engines(), ids=lambda engine: engine.name)
KEY = "tok_Lm29sQ0xZp81"


class Colour(StrEnum):
    RED = "red"
    KEY = KEY


def projector(**values: str) -> Projector:
    return Projector({name: Secret(value) for name, value in values.items()})


@ENGINES
def test_what_holds_no_secret_is_the_same_object(engine: Engine) -> None:
    known = Projector({"K": Secret(KEY)}, engine=engine)
    texts = ["plain", "é✓ 100% &amp; \\u0041 \n" * 50, ""]
    for text in texts:
        assert known.text(text) is text
        data = text.encode()
        assert known.data(data) is data
    value: dict[str, Any] = {"a": texts, "b": [1, 2.5, None, True, {"c": ("x", "y")}]}
    assert known.structure(value) is value
    changed: Any = known.structure({**value, "k": KEY})
    assert changed["b"] is value["b"]


def test_what_was_given_is_never_changed_and_shared_parts_stay_shared() -> None:
    shared = [KEY]
    value = {"items": [{"a": KEY}, {"b": ["ok", KEY]}], "same": shared, "again": shared}
    before = copy.deepcopy(value)
    got: Any = projector(K=KEY).structure(value)
    assert value == before
    assert got == {"items": [{"a": "{{K}}"}, {"b": ["ok", "{{K}}"]}], "same": ["{{K}}"], "again": ["{{K}}"]}
    assert got["same"] is got["again"]


def test_a_structure_may_be_very_deep() -> None:
    value: Any = KEY
    for _ in range(20_000):
        value = [value]
    got = projector(K=KEY).structure(value)
    while isinstance(got, list):
        (got,) = got
    assert got == "{{K}}"


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", object(), [{"a": {1}}], {b"k": 1}, {(1, 2): 3}])
def test_what_json_has_no_form_for_is_withheld(value: Any) -> None:
    with pytest.raises(Withheld) as why:
        projector(K=KEY).structure(value)
    assert why.value.cause is Cause.NOT_JSON


def test_a_structure_that_holds_itself_is_withheld() -> None:
    value: list[Any] = []
    value.append({"a": value})
    with pytest.raises(Withheld):
        projector(K=KEY).structure(value)


def test_numbers_are_looked_at_as_they_are_written() -> None:
    known = projector(K="12345678", L="100000000000000000000")
    given: list[Any] = [12345678, True, 1.5, 12345678.0, 1e20, {12345678: 1}]
    assert known.structure(given) == ["{{K}}", True, 1.5, "{{K}}.0", "{{L}}", {"{{K}}": 1}]
    assert known.structure([float("inf")]) == [float("inf")]
    with pytest.raises(Withheld):
        known.structure([10**5000])


def test_members_of_enumerations_are_texts() -> None:
    assert projector(K=KEY).structure([Colour.RED, Colour.KEY]) == ["red", "{{K}}"]


def test_adding_leaves_the_old_projector_alone() -> None:
    old = projector(A="abcdefgh")
    new = old.adding("B", Secret("hunter2-long"))
    assert old.text("abcdefgh hunter2-long") == "{{A}} hunter2-long"
    assert new.text("abcdefgh hunter2-long") == "{{A}} {{B}}"
    assert sorted(old.names) == ["A"]
    assert sorted(new.names) == ["A", "B"]


@ENGINES
def test_many_that_were_added_are_found_as_if_they_had_been_there(engine: Engine) -> None:
    drawn = random.Random(5)
    values = {f"N{at:03}": Secret(f"{drawn.getrandbits(90):x}-{at}") for at in range(150)}
    at_once = Projector(values, engine=engine)
    one_by_one = Projector({}, engine=engine)
    for name, secret in values.items():
        one_by_one = one_by_one.adding(name, secret)
    drawn = random.Random(5)
    text = " ".join(f"{drawn.getrandbits(90):x}-{at}" for at in range(150))
    wanted = " ".join(f"{{{{{name}}}}}" for name in values)
    assert at_once.text(text) == one_by_one.text(text) == one_by_one.folded().text(text) == wanted
    assert one_by_one.names == at_once.names == one_by_one.folded().names


def test_a_name_may_stand_for_two_values() -> None:
    known = projector(A="old-value-1").adding("A", Secret("new-value-2"))
    assert known.text("old-value-1 new-value-2") == "{{A}} {{A}}"


def test_an_added_value_changes_labels_where_it_has_to() -> None:
    known = projector(A="abcdefgh")
    assert known.text("abcdefgh") == "{{A}}"
    assert known.adding("B", Secret("{{A}} and more")).text("abcdefgh") == "⟦A⟧"
    assert known.adding("B", Secret("xxxxxx{{")).text("abcdefgh") == "⟦A⟧"


def test_short_values_are_named_and_change_nothing() -> None:
    known = projector(A="abcdefgh", B="short").adding("C", Secret("1234567"))
    assert known.short == {"B", "C"}
    assert known.text("short 1234567") == "short 1234567"


def test_found_names_all_that_occur() -> None:
    known = projector(A="abcdefgh", B="abcdefghij", C="abcdefgh", D="not-in-there")
    assert known.found("xabcdefghijx") == {"A", "B", "C"}
    assert known.found(b"xabcdefghx") == {"A", "C"}
    assert known.found_in({"a": ["abcdefgh"], "not-in-there": 1}) == {"A", "C", "D"}


def test_an_empty_projector_passes_everything() -> None:
    known = Projector({})
    assert known.text("x") == "x"
    assert known.excerpt("x" * 20) == "x" * 20
    stream = known.stream()
    assert stream.feed("x%4") + stream.end() == "x%4"


def test_nothing_of_a_projector_leaves_the_process() -> None:
    known = projector(A="abcdefgh")
    assert "abcdefgh" not in repr(known)
    with pytest.raises(TypeError):
        pickle.dumps(known)
    with pytest.raises(TypeError):
        pickle.dumps(known._matcher.layers[0])


@ENGINES
def test_threads_share_a_projector(engine: Engine) -> None:
    known = Projector({f"N{at}": Secret(f"value-number-{at}-") for at in range(40)}, engine=engine)
    text = " ".join(f"value-number-{at}-%41" for at in range(40)) * 200
    wanted = known.text(text)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(known.text, [text] * 64)) == {wanted}


@ENGINES
def test_random_windows_are_cut_from_the_whole(engine: Engine) -> None:
    drawn = random.Random(3)
    known = Projector({"A": Secret("abababab"), "B": Secret("babbabba"), "C": Secret("ééé✓✓✓aa")}, engine=engine)
    for _ in range(300):
        text = "".join(drawn.choice(("abababab", "babbabba", "ab", "b", "ééé✓✓✓aa", "✓", "x")) for _ in range(9))
        start, end = sorted((drawn.randint(0, len(text)), drawn.randint(0, len(text))))
        window = known.window(text, start, end)
        assert known.window(text, 0, len(text)) == known.text(text)
        assert not known.found(window)
        left = window
        for name in known.names:
            left = left.replace(known.label(name), "")
        assert is_within(left, text[start:end])


def is_within(left: str, text: str) -> bool:
    """True where all letters of the one stand in the other, in order."""
    letters = iter(text)
    return all(letter in letters for letter in left)
