"""Messages drawn at random, of every shape that one may have."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from stanch.values.message import (
    Call,
    File,
    Fragment,
    Message,
    Opaque,
    Origin,
    Reasoning,
    Result,
    Role,
    SourceTag,
    Text,
)

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS
JSON = st.recursive(
    SCALARS, lambda inside: st.lists(inside, max_size=3) | st.dictionaries(WORDS, inside, max_size=3), max_leaves=6
)
TABLES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(WORDS, JSON, max_size=3)
MAYBE = st.none() | WORDS
SPANS = st.none() | st.tuples(st.integers(0, 50), st.integers(50, 99))
TAGS = st.lists(
    st.builds(
        SourceTag,
        WORDS,
        st.sampled_from(Origin),
        SPANS,
        st.lists(WORDS, max_size=2).map(tuple),
        st.booleans(),
    ),
    max_size=2,
).map(tuple)
BESIDES: dict[str, st.SearchStrategy[Any]] = {"tags": TAGS, "extra": TABLES}
TEXTS = st.builds(Text, WORDS, **BESIDES)
FILES = st.builds(File, WORDS, MAYBE, MAYBE, MAYBE, **BESIDES)
OPAQUES = st.builds(Opaque, WORDS, TABLES, **BESIDES)
CALLS = st.builds(Call, WORDS, WORDS, TABLES | WORDS, **BESIDES)


def results(ids: st.SearchStrategy[str]) -> st.SearchStrategy[Result]:
    """Results of calls with these ids."""
    content = st.lists(TEXTS | FILES | OPAQUES, max_size=3).map(tuple)
    return st.builds(Result, ids, content, WORDS, st.booleans(), **BESIDES)


def messages(call_ids: st.SearchStrategy[str] = WORDS) -> st.SearchStrategy[Message]:
    """Messages without an id, whose results name these calls."""
    parts = st.one_of(
        TEXTS,
        st.builds(Reasoning, WORDS, MAYBE, **BESIDES),
        st.builds(Fragment, WORDS, WORDS, **BESIDES),
        FILES,
        CALLS,
        results(call_ids),
        OPAQUES,
    )
    return st.builds(Message, st.sampled_from(Role), st.lists(parts, max_size=4).map(tuple), model=MAYBE, extra=TABLES)
