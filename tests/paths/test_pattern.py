"""Path patterns and grants: the grammar, anchoring, coverage, and that no pattern is slow."""

from __future__ import annotations

import pytest

from stanch.paths.grants import BadGrant, Grants, directory_of
from stanch.paths.pattern import BadPattern, glob, parse
from stanch.values.call import Stamp
from stanch.values.reason import Code


@pytest.mark.parametrize(
    ("pattern", "covered", "not_covered"),
    [
        ("secrets", ["/w/secrets", "/w/secrets/a/b"], ["/w/secrets-old", "/secrets", "/w/x/secrets"]),
        ("secrets/*", ["/w/secrets/a", "/w/secrets/a/b"], ["/w/secrets"]),
        ("secrets/**", ["/w/secrets", "/w/secrets/a/b"], ["/w/secretsx"]),
        ("/**/secrets", ["/secrets", "/w/secrets", "/a/b/secrets/c"], ["/a/secret", "/a/my-secrets"]),
        ("**/.env*", ["/w/.env", "/w/a/.env.local", "/w/.env/x"], ["/.env", "/w/env"]),
        ("app/[slug]/page.tsx", ["/w/app/[slug]/page.tsx"], ["/w/app/s/page.tsx"]),
        ("src/*.py", ["/w/src/a.py", "/w/src/.py", "/w/src/d.py/x"], ["/w/src/a/b.py", "/w/src/a.pyc"]),
        ("a/**/b", ["/w/a/b", "/w/a/x/y/b/z"], ["/w/a/x", "/w/b"]),
        ("a?c", ["/w/abc"], ["/w/ac", "/w/a/c", "/w/abbc"]),
        ("a**c", ["/w/ac", "/w/abbc"], ["/w/a/c"]),
        ("/srv/*/conf/**/x*z", ["/srv/q/conf/xz", "/srv/q/conf/a/xyz/b"], ["/srv/conf/xz", "/srv/q/conf/xy"]),
        (".", ["/w", "/w/a"], ["/x"]),
        ("./a/../b", ["/w/b"], ["/w/a"]),
        ("/", ["/", "/anything"], []),
        ("~/k", ["/home/u/k"], ["/w/k"]),
        ("~//k", ["/home/u/k"], []),
        ("./~x", ["/w/~x"], []),
        ("**/x/**/x", ["/w/x/x", "/w/a/x/b/x"], ["/w/x"]),
        ("**/a*b*c", ["/w/aabbc", "/w/abc/d"], ["/w/acb"]),
        ("{a,b}", ["/w/{a,b}"], ["/w/a"]),
    ],
)
def test_a_pattern_covers(pattern: str, covered: list[str], not_covered: list[str]) -> None:
    made = parse(pattern, "/w", "/home/u")
    assert [path for path in covered if not made.covers(path)] == []
    assert [path for path in not_covered if made.covers(path)] == []


def test_the_workspace_is_literal_whatever_its_name() -> None:
    made = parse("x", "/w*/[a]?", "/h")
    assert made.covers("/w*/[a]?/x")
    assert not made.covers("/wy/[a]z/x")


@pytest.mark.parametrize("pattern", ["", "a\0b", "~name/x", "*/../x", "x" * 5000, "\ud800"])
def test_a_pattern_that_means_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        parse(pattern, "/w", "/h")


def test_a_composed_pattern_covers_the_name_in_either_form() -> None:
    assert parse("cafe\u0301", "/w", "/h").covers("/w/caf\u00e9")


def test_no_pattern_takes_more_than_linear_time() -> None:
    """Each of these takes an age in a matcher that goes back on its steps: the test would not end."""
    stars = parse("*a" * 32 + "b", "/", "/h")
    assert not stars.covers("/" + "a" * 4095)
    assert parse("*" * 32 + "b", "/", "/h").covers("/" + "a" * 4000 + "b")
    spans = parse("/".join(["**", "a"] * 20) + "/b", "/", "/h")
    assert not spans.covers("/a" * 2047)
    assert not glob("*a" * 40 + "b")("a" * 5000)


@pytest.mark.parametrize(
    ("text", "directory"),
    [("logs", "logs"), ("logs/", "logs"), ("logs/*", "logs"), ("logs/**", "logs"), ("/", "/"), ("/**", "/"),
     ("~/x/*", "~/x"), ("*", "."), (".", "."), ("[slug]", "[slug]"), ("a//", "a")],
)  # fmt: skip
def test_a_grant_names(text: str, directory: str) -> None:
    assert directory_of(text) == directory


@pytest.mark.parametrize("text", ["logs/*.txt", "*/x", "a?b", "", "logs/**/x", "a\0", "**/*"])
def test_a_grant_with_a_wildcard_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(BadGrant) as caught:
        directory_of(text)
    assert "grant" in str(caught.value)


def test_a_grant_covers_by_whole_components() -> None:
    grants = Grants(("/repo/project",))
    assert grants.covers(Stamp("", "/repo/project", "/repo/project"))
    assert grants.covers(Stamp("", "/repo/project/a", "/repo/project/a"))
    assert not grants.covers(Stamp("", "/repo/project-evil/a", "/repo/project-evil/a"))
    assert Grants(("/",)).covers(Stamp("", "/x", "/x"))
    assert not Grants(()).covers(Stamp("", "/x", "/x"))


def test_a_refused_path_is_never_granted() -> None:
    refused = Stamp("", "/repo/.stanch/key", "/repo/.stanch/key", refusal=Code.PATH_PROTECTED)
    assert not Grants(("/repo",)).covers(refused)
