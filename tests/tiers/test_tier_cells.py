"""Does the most specific cell of a tier answer, whatever the order in which cells are written?

A second, naive reading of the sentences in spec/tiers/tiers.md stands beside: it tries every part of the path with
every cell, and remembers nothing.
"""

from __future__ import annotations

import re
import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stanch.policy.building import build
from stanch.policy.document import parse
from stanch.policy.lint import FindingKind, lint
from stanch.tiers.tier import Tier
from stanch.values.call import EffectClass
from tests.tiers.drawn_tiers import CELLS, CLASSES, PATHS, WORDS, Cell, tier_of

# --- the naive reading -----------------------------------------------------------------------------------------------


def fits(pattern: list[str], names: list[str]) -> bool:
    """True where the pattern matches these names whole."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        return any(fits(pattern[1:], names[at:]) for at in range(len(names) + 1))
    if not names:
        return False
    expression = "".join({"*": "[^/]*", "?": "[^/]"}.get(sign, re.escape(sign)) for sign in pattern[0])
    return re.fullmatch(expression, names[0]) is not None and fits(pattern[1:], names[1:])


def parts_of(path: str) -> list[str]:
    parts = [name for name in path.split("/") if name]
    parts = [name for at, name in enumerate(parts) if name != "**" or parts[at - 1 : at] != ["**"]]
    return parts[:-1] if parts and parts[-1] == "**" else parts


def naive(cells: list[Cell], otherwise: str, cls: str, path: str) -> str:
    """What the cells say of a path: the deepest first, and there the most literal, the least wild, the strictest."""
    names = [name for name in path.split("/") if name]
    for depth in range(len(names), -1, -1):
        matched = []
        for cell in cells:
            parts = parts_of(cell["path"])
            if cls in cell and fits(parts, names[:depth]):
                literal = sum("*" not in part and "?" not in part for part in parts)
                wild = sum(len(re.findall(r"\*+|\?", part)) for part in parts)
                matched.append((-literal, wild, -WORDS.index(cell[cls])))
        if matched:
            return WORDS[-min(matched)[2]]
    return otherwise


@settings(max_examples=max(300, settings().max_examples))
@given(CELLS, st.sampled_from(WORDS), st.lists(PATHS, min_size=3, max_size=8))
def test_the_most_specific_cell_answers_as_the_sentences_say(
    cells: list[Cell], otherwise: str, paths: list[str]
) -> None:
    tier = tier_of(cells, otherwise)
    for path in paths:
        for cls in CLASSES:
            assert tier.says(EffectClass(cls), path).effect.value == naive(cells, otherwise, cls, path), (cls, path)


@given(CELLS, PATHS, st.randoms(use_true_random=False))
def test_the_order_of_writing_never_counts(cells: list[Cell], path: str, random: Any) -> None:
    shuffled = cells[:]
    random.shuffle(shuffled)
    one, other = tier_of(cells), tier_of(shuffled)
    for cls in map(EffectClass, CLASSES):
        assert one.says(cls, path).effect is other.says(cls, path).effect


@given(CELLS, PATHS)
def test_letter_case_counts_only_where_the_file_system_minds_it(cells: list[Cell], path: str) -> None:
    tier = tier_of(cells)
    for cls in map(EffectClass, CLASSES):
        assert tier.says(cls, path.upper(), folded=True).effect is tier.says(cls, path).effect


@given(CELLS, PATHS)
def test_the_cell_that_answers_covers_the_path_to_its_depth(cells: list[Cell], path: str) -> None:
    tier = tier_of(cells)
    for cls in map(EffectClass, CLASSES):
        held = tier.says(cls, path)
        if held.cell:
            names = [name for name in path.split("/") if name]
            assert fits(parts_of(cells[held.cell - 1]["path"]), names[: held.depth])


@given(CELLS, st.sampled_from(WORDS), PATHS)
def test_a_cell_that_lint_names_decides_nothing(cells: list[Cell], otherwise: str, path: str) -> None:
    """Without the cells that lint says never decide anything, every answer is the same."""
    same = ", ".join(f'{cls.value} = "{otherwise}"' for cls in EffectClass)
    text = f'version = 1\n[tiers.t]\nlabel = "T"\notherwise = {{ {same} }}\n'
    for cell in cells:
        text += "[[tiers.t.cells]]\n" + "".join(f'{key} = "{word}"\n' for key, word in cell.items())
    found = lint(build(parse(text, "stanch.toml"), workspace="/", home="/home"))
    idle = {
        int(one.message.split()[1]) - 1
        for one in found
        if one.kind is FindingKind.NEVER_DECIDES and "decides anything" in one.message
    }
    left = [cell for at, cell in enumerate(cells) if at not in idle]
    for cls in CLASSES:
        assert naive(left, otherwise, cls, path) == naive(cells, otherwise, cls, path)


def test_lint_is_silent_about_cells_that_can_decide() -> None:
    """SPEC: tiers/tiers.35."""
    rows = [("src", "read"), ("src/*", "read"), ("/**/*", "read"), ("src", "write"), ("s*", "read")]
    rows += [("a*?", "read"), ("ab*c", "read")]
    cells = "".join(f'[[tiers.t.cells]]\npath = "{path}"\n{cls} = "deny"\n' for path, cls in rows)
    same = 'otherwise = { read = "allow", write = "allow", execute = "allow", network = "allow" }\n'
    policy = build(parse(f'version = 1\n[tiers.t]\nlabel = "T"\n{same}{cells}', "f"), workspace="/w", home="/home")
    assert policy.problems == ()
    assert lint(policy) == []


def test_a_path_made_to_be_slow_is_not() -> None:
    """Long paths of one letter against patterns of many stars: a policy is written once, and paths by anybody."""
    stars = "/".join(["**/a*a*a*b"] * 12)
    tier = tier_of([{"path": f"/{stars}/end", "read": "deny"}, {"path": "/**/a/a/a/a/b", "read": "deny"}])
    path = "/" + "/".join(["a" * 40] * 100)
    deep = "/a" * 2000
    began = time.perf_counter()
    for _ in range(20):
        assert tier.says(EffectClass.READ, path).cell == 0
        assert tier.says(EffectClass.READ, deep).cell == 0
    assert time.perf_counter() - began < 2


def test_many_cells_cost_no_more_than_few() -> None:
    cells = [{"path": f"/w/d{at}/**/*.x", "read": "deny"} for at in range(2_000)]
    cells += [{"path": f"/w/e{at}", "read": "deny"} for at in range(2_000)]
    few, many = tier_of(cells[:2]), tier_of(cells)

    def cost(tier: Tier) -> float:
        began = time.perf_counter()
        for _ in range(300):
            tier.says(EffectClass.READ, "/w/d1/a/b/c.x")
        return time.perf_counter() - began

    cost(many)
    assert min(cost(many) for _ in range(5)) < 10 * min(cost(few) for _ in range(5))


def test_the_root_has_a_cell_of_its_own() -> None:
    tier = tier_of([{"path": "/", "read": "deny"}, {"path": "/srv", "read": "ask"}])
    assert [tier.says(EffectClass.READ, path).effect.value for path in ("/", "/etc", "/srv", "/srv/a")] == [
        "deny",
        "deny",
        "ask",
        "ask",
    ]


def test_the_network_never_has_a_cell() -> None:
    tier = tier_of([{"path": "/", "read": "deny", "execute": "deny"}])
    assert tier.says(EffectClass.NETWORK, "/a").effect.value == "allow"
    assert tier.says(EffectClass.READ, None).effect.value == "allow"
