"""Does one pattern cover another only where it surely does, and do two meet where some path is covered by both?"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stanch.paths.pattern import PathPattern, parse
from stanch.policy.covering import covers, covers_name, meet, texts_meet, witness


def pattern(text: str) -> PathPattern:
    return parse(text, "/w", "/home/p")


@pytest.mark.parametrize(
    ("wide", "narrow", "proved"),
    [
        ("/a", "/a/b", True),
        ("/a", "/a", True),
        ("/a", "/a/**", True),
        ("/a/**", "/a", True),
        ("/", "/**/x", True),
        ("/**/secrets", "/a/secrets", True),
        ("/**/secrets", "/a/**/secrets/b", True),
        ("/**/secrets", "/**/a/secrets", True),
        ("/**/*.pem", "/keys/a*.pem", True),
        ("/a/*", "/a/b", True),
        ("/a/*", "/a/?", True),
        ("/*/b", "/a*/b", True),
        ("/**/a/**/b", "/x/a/y/b", True),
        ("/a/*/c", "/a/b?/c/d", True),
        ("/a/b", "/a", False),
        ("/a", "/ab", False),
        ("/a/*", "/a", False),
        ("/*/b", "/**/b", False),
        ("/a/?", "/a/*", False),
        ("/**/secrets/x", "/**/secrets", False),
        ("/a/*.pem", "/a/*", False),
        ("/**/a/b", "/**/a/**/b", False),
        ("/a?", "/a*", False),
    ],
)
def test_covers(wide: str, narrow: str, proved: bool) -> None:
    assert covers(pattern(wide), pattern(narrow)) is proved


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("/a", "/a/b", True),
        ("/a/*.key", "/a/x*", True),
        ("/data", "/**/.env", True),
        ("/a/?b", "/a/a?", True),
        ("/**/a", "/**/b", True),
        ("/a", "/b", False),
        ("/a/*.key", "/a/*.pem/x", False),
        ("/a/?", "/a/bc", False),
    ],
)
def test_meet(one: str, other: str, together: bool) -> None:
    assert meet(pattern(one), pattern(other)) is together
    assert meet(pattern(other), pattern(one)) is together


@pytest.mark.parametrize(
    ("wide", "narrow", "proved"),
    [
        ("*", "mcp__*", True),
        ("mcp__*", "mcp__mail__*", True),
        ("mcp__*", "mcp__mail__send", True),
        ("a*c", "a*bc", True),
        ("a*bc", "a*c", False),
        ("mcp__mail__*", "mcp__*", False),
        ("read_file", "read_*", False),
    ],
)
def test_covers_name(wide: str, narrow: str, proved: bool) -> None:
    assert covers_name(wide, narrow) is proved


@pytest.mark.parametrize(
    ("one", "other", "together"), [("a*", "*b", True), ("a*", "b*", False), ("*", "", True), ("a", "a", True)]
)
def test_texts_meet(one: str, other: str, together: bool) -> None:
    assert texts_meet(one, other) is together


NAMES = ("a", "b", "ab", "ba", "aab")
PATHS = ["/" + "/".join(names) for count in range(4) for names in itertools.product(NAMES, repeat=count)]
PARTS = st.sampled_from(["a", "b", "ab", "*", "**", "a*", "*b", "?", "a?", "?b", "*a*"])
PATTERNS = st.lists(PARTS, max_size=4).map(lambda parts: pattern("/" + "/".join(parts)))


@given(PATTERNS, PATTERNS)
def test_what_is_proved_holds_for_every_path(one: PathPattern, other: PathPattern) -> None:
    both = [path for path in PATHS if other.covers(path)]
    if covers(one, other):
        assert all(one.covers(path) for path in both)
        assert one.covers(witness(other))
    if any(one.covers(path) for path in both):
        assert meet(one, other)


@given(PATTERNS)
def test_a_pattern_covers_itself_and_its_witness(one: PathPattern) -> None:
    assert covers(one, one)
    assert meet(one, one)
    assert one.covers(witness(one))


def test_long_patterns_are_answered() -> None:
    many = pattern("/" + "/".join(["**/a*"] * 300))
    assert covers(many, many) in (True, False)
    assert meet(many, pattern("/**/" + "*a" * 900))
