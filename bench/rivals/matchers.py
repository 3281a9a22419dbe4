"""Other ways to find many texts in one, each as `found(data) -> (start, end) pairs`, for the rivals' environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

Found = Iterable[tuple[int, int]]
MADE: dict[str, Callable[[list[bytes]], Callable[[bytes], Found]]] = {}


def way(name: str) -> Callable[[Any], Any]:
    def kept(made: Any) -> Any:
        MADE[name] = made
        return made

    return kept


@way("ahocorasick_rs, overlapping")
def _overlapping(patterns: list[bytes]) -> Callable[[bytes], Found]:
    import ahocorasick_rs as rs

    find = rs.BytesAhoCorasick(patterns, matchkind=rs.MatchKind.Standard).find_matches_as_indexes
    return lambda data: [(start, end) for _, start, end in find(data, overlapping=True)]


@way("ahocorasick_rs, leftmost longest")
def _leftmost(patterns: list[bytes]) -> Callable[[bytes], Found]:
    import ahocorasick_rs as rs

    find = rs.BytesAhoCorasick(patterns, matchkind=rs.MatchKind.LeftmostLongest).find_matches_as_indexes
    return lambda data: [(start, end) for _, start, end in find(data)]


@way("pyahocorasick")
def _pyahocorasick(patterns: list[bytes]) -> Callable[[bytes], Found]:
    import ahocorasick

    automaton = ahocorasick.Automaton()
    for pattern in patterns:
        automaton.add_word(pattern.decode("latin-1"), len(pattern))
    automaton.make_automaton()
    return lambda data: [(end + 1 - size, end + 1) for end, size in automaton.iter(data.decode("latin-1"))]


@way("re")
def _re(patterns: list[bytes]) -> Callable[[bytes], Found]:
    one = re.compile(b"|".join(map(re.escape, sorted(patterns, key=len, reverse=True))))
    return lambda data: [found.span() for found in one.finditer(data)]


@way("google-re2")
def _re2(patterns: list[bytes]) -> Callable[[bytes], Found]:
    import re2

    options = re2.Options()
    options.longest_match, options.max_mem, options.never_capture = True, 1 << 32, True
    options.encoding = re2.Options.Encoding.LATIN1
    one = re2.compile(b"|".join(map(re2.escape, patterns)), options)
    return lambda data: [found.span() for found in one.finditer(data)]


@way("hyperscan")
def _hyperscan(patterns: list[bytes]) -> Callable[[bytes], Found]:
    import hyperscan

    compiled = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    compiled.compile(expressions=patterns, ids=list(range(len(patterns))), flags=[0] * len(patterns), literal=True)
    sizes = [len(pattern) for pattern in patterns]

    def found(data: bytes) -> Found:
        out: list[tuple[int, int]] = []
        compiled.scan(data, match_event_handler=lambda number, _, end, __, ___: out.append((end - sizes[number], end)))
        return out

    return found


@way("a replace loop")
def _loop(patterns: list[bytes]) -> Callable[[bytes], Found]:
    def found(data: bytes) -> Found:
        for pattern in patterns:
            data = data.replace(pattern, b"***")
        return ()

    return found


@way("detect-secrets")
def _detect(_: list[bytes]) -> Callable[[bytes], Found]:
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import default_settings

    def found(data: bytes) -> Found:
        with default_settings():
            for line in data.decode().splitlines():
                list(scan_line(line))
        return ()

    return found


@way("Presidio, deny list")
def _presidio(patterns: list[bytes]) -> Callable[[bytes], Found]:
    from presidio_analyzer import PatternRecognizer

    one = PatternRecognizer(supported_entity="S", deny_list=[pattern.decode("latin-1") for pattern in patterns])
    return lambda data: [
        (found.start, found.end) for found in one.analyze(data.decode("latin-1"), entities=["S"], nlp_artifacts=None)
    ]
