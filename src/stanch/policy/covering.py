"""Whether one pattern covers another wholly, and whether two patterns can meet.

Settles what can be said of patterns without a path at hand, for lint. Does not settle whether a pattern covers a path
(`paths.pattern`). INVARIANT: `covers` says yes only where it is certain; a no means "not proved".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from stanch.paths.pattern import Part, PathPattern, component, glob, is_span

# Stands for "any text" in a witness. No pattern can hold it, so that only a wildcard of the other pattern can eat it.
_ANY = "\0"
_ONE_COMPONENT = Part("*", True)
MAX_STEPS = 1 << 12


def covers(wide: PathPattern, narrow: PathPattern) -> bool:
    """True only where every path that `narrow` covers is one that `wide` covers."""
    return _proved(wide.parts, narrow.parts)


@lru_cache(maxsize=1 << 14)
def _proved(wide: tuple[Part, ...], narrow: tuple[Part, ...]) -> bool:
    """Follows every path of `narrow` at once, with the places that it surely reaches in `wide`."""
    todo = [(0, frozenset({0}))]
    seen = set(todo)
    while todo:
        at, reached = todo.pop()
        reached = _past_spans(wide, reached)
        if len(wide) in reached:
            continue
        if at == len(narrow) or not reached or len(seen) > MAX_STEPS:
            return False
        if is_span(narrow[at]):
            onward = [(at + 1, reached), (at, _step(wide, reached, _ONE_COMPONENT))]
        else:
            onward = [(at + 1, _step(wide, reached, narrow[at]))]
        todo += [state for state in onward if state not in seen]
        seen.update(onward)
    return True


def _past_spans(parts: tuple[Part, ...], reached: frozenset[int]) -> frozenset[int]:
    out = set(reached)
    for at in reached:
        after = at
        while after < len(parts) and is_span(parts[after]):
            after += 1
            out.add(after)
    return frozenset(out)


def _step(parts: tuple[Part, ...], reached: frozenset[int], by: Part) -> frozenset[int]:
    onward = set()
    for at in reached:
        if at < len(parts):
            if is_span(parts[at]):
                onward.add(at)
            elif _covers_part(parts[at], by):
                onward.add(at + 1)
    return frozenset(onward)


def _covers_part(wide: Part, narrow: Part) -> bool:
    """True only where one component covers the other: the same text, stars alone, or a glob without `?` that fits."""
    if wide.text == narrow.text and wide.wild == narrow.wild:
        return True
    if not wide.wild:
        return False
    if not wide.text.strip("*"):
        return True
    if not narrow.wild:
        return component(wide.text)(narrow.text)
    return "?" not in wide.text and component(wide.text)(narrow.text.replace("*", _ANY).replace("?", _ANY))


def covers_name(wide: str, narrow: str) -> bool:
    """True where every tool name that the glob `narrow` stands for is one that the glob `wide` stands for."""
    return wide == narrow or ("*" in wide and glob(wide)(narrow.replace("*", _ANY)))


def meet(one: PathPattern, other: PathPattern) -> bool:
    """True where some path is covered by both."""
    return _parts_meet(one.parts, other.parts)


@lru_cache(maxsize=1 << 14)
def _parts_meet(one: tuple[Part, ...], other: tuple[Part, ...]) -> bool:
    todo = [(0, 0)]
    seen = set(todo)
    while todo:
        at, to = todo.pop()
        if at == len(one) or to == len(other):
            return True
        spans = is_span(one[at]), is_span(other[to])
        onward = [(at + 1, to), (at, to + 1)] if any(spans) else []
        if not any(spans) and _components_meet(one[at], other[to]):
            onward.append((at + 1, to + 1))
        todo += [state for state in onward if state not in seen]
        seen.update(onward)
    return False


def _components_meet(a: Part, b: Part) -> bool:
    if not a.wild or not b.wild:
        if a.wild:
            return component(a.text)(b.text)
        return component(b.text)(a.text) if b.wild else a.text == b.text
    return texts_meet(a.text, b.text, single="?")


@lru_cache(maxsize=1 << 12)
def texts_meet(a: str, b: str, single: str = "") -> bool:
    """True where some text fits both globs; `single` is the mark for one character, where there is such a mark."""
    todo = [(0, 0)]
    seen = set(todo)
    while todo:
        at, to = todo.pop()
        if at == len(a) and to == len(b):
            return True
        left, right = a[at : at + 1], b[to : to + 1]
        onward = []
        if "*" in (left, right):
            onward += [(at + 1, to)] * bool(left) + [(at, to + 1)] * bool(right)
        elif left and right and (left == right or (single and single in (left, right))):
            onward.append((at + 1, to + 1))
        todo += [state for state in onward if state not in seen]
        seen.update(onward)
    return False


def witness(pattern: PathPattern) -> str:
    """A path that the pattern covers, made so that whatever covers the whole pattern covers this path."""
    return "".join("/" + _instance(part.text) for part in pattern.parts if not is_span(part)) or "/"


def _instance(text: str) -> str:
    return text.replace("*", _ANY).replace("?", _ANY)


def covered_by_any(narrow: PathPattern, wide: Sequence[PathPattern]) -> bool:
    """True only where one of the patterns covers the whole of `narrow`."""
    return any(covers(one, narrow) for one in wide)
