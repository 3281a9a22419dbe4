"""What a workbench remembers, by itself: no order of runs and removals loses a taint."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stanch.delivery import workbench
from stanch.delivery.source import OPAQUE, Kind, Source, known
from stanch.delivery.workbench import (
    EntryKind,
    Mark,
    Memory,
    after_run,
    as_found,
    begun,
    read,
    still_tainted,
    tainted_reason,
    written,
)
from stanch.explain.sentences import sentence
from stanch.provenance.states import Cause, Unknown
from stanch.values.reason import Code

PATHS = ("a", "b", "d", "d/a", "e")
KINDS = st.sampled_from([EntryKind.FILE, EntryKind.FOLDER, EntryKind.LINK, EntryKind.DEEP])
MARKS = st.builds(Mark, KINDS, st.just(1), st.integers(1, 6), st.integers(0, 2), st.integers(1, 4))
ENTRIES = st.dictionaries(st.sampled_from(PATHS), MARKS)
NAMES = st.frozensets(st.text(max_size=5), max_size=4)
MEMORIES = st.builds(Memory, NAMES, NAMES, st.frozensets(st.sampled_from(PATHS)), NAMES, st.booleans(), st.booleans())
FILE = Mark(EntryKind.FILE, 1, 1, 5, 10)
FOLDER = Mark(EntryKind.FOLDER, 1, 2, 5, 10)


def source(name: str, path: str | None = "/repo/u.txt") -> Source:
    return Source(Kind.FILE, name, known(Unknown(Cause.INCOMPLETE)), OPAQUE, path)


@given(MEMORIES)
def test_it_is_read_as_it_was_written(memory: Memory) -> None:
    assert read(written(memory)) == memory


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"form":2}', "\x00", written(Memory()).replace("[]", "[1]", 1)])
def test_nothing_else_is_a_memory(text: str) -> None:
    assert read(text) is None


@given(MEMORIES, ENTRIES, ENTRIES)
def test_what_a_tainted_run_makes_or_changes_is_tainted(memory: Memory, before: object, after: object) -> None:
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    began = as_found(memory, before)
    if not began.is_tainted:
        assert after_run(began, before, after) == (began, ())
        return
    found, folders = after_run(begun(began), before, after)
    assert not found.running
    for path, mark in after.items():
        same = before.get(path) == mark and mark.kind is not EntryKind.DEEP and path not in began.tainted
        assert found.everything or path in found.tainted or path in folders or same
    for path in folders:
        assert before[path].kind is after[path].kind is EntryKind.FOLDER
        assert (before[path].inode, path in began.tainted) == (after[path].inode, False)
    assert still_tainted(found, folders).tainted >= set(folders)
    assert found.tainted <= after.keys()
    assert found.is_tainted or not found.brought


@given(MEMORIES, ENTRIES)
def test_a_taint_goes_with_its_entries_alone(memory: Memory, entries: object) -> None:
    assert isinstance(entries, dict)
    found = as_found(memory, entries)
    lost = memory.everything or memory.running
    assert found.tainted == (frozenset(entries) if lost else memory.tainted & entries.keys())
    assert (found.places, found.items) == (memory.places, memory.items)
    assert as_found(found, entries) == found
    assert not as_found(found, {}).is_tainted


@settings(max_examples=30)
@given(st.integers(0, 8))
def test_too_many_to_be_named_are_all(count: int) -> None:
    entries = {f"f{number}": replace(FILE, inode=number) for number in range(count)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workbench, "MOST_NAMED", 4)
        found, _ = after_run(Memory(tainted=frozenset({"u"}), brought=frozenset({"file:u"})), {}, entries)
        assert found.everything is (count > 4)
        assert found.is_tainted is (count > 0)
        assert as_found(found, entries).is_tainted is (count > 0)
        assert not as_found(found, {}).is_tainted


def test_a_folder_that_stayed_may_be_made_plain_and_a_new_one_not() -> None:
    memory = Memory(tainted=frozenset({"d/u"}))
    changed = replace(FOLDER, changed=11)
    assert after_run(memory, {"d": FOLDER, "d/u": FILE}, {"d": changed})[1] == ("d",)
    other = replace(FOLDER, inode=9)
    found, folders = after_run(memory, {"d": FOLDER, "d/u": FILE}, {"d": other})
    assert (set(found.tainted), folders) == ({"d"}, ())
    found, folders = after_run(memory, {"d": FILE, "d/u": FILE}, {"d": replace(FOLDER, inode=1)})
    assert (set(found.tainted), folders) == ({"d"}, ())


def test_it_knows_where_it_came_from() -> None:
    memory = Memory().filled_from(source("a"))
    assert memory == Memory(places=frozenset({"/repo/u.txt"}))
    assert Memory().filled_from(source("a", None)) == Memory(items=frozenset({"file:a"}))
    tainted = Memory().tainted_by(source("in/u.txt"), "in/u.txt")
    assert tainted.is_tainted
    assert not tainted.vouched_for("in/u.txt").is_tainted


def test_the_reason_names_what_brought_it_in_and_nothing_that_code_named() -> None:
    names = frozenset(f"file:{number:02}" for number in range(15))
    said = sentence(tainted_reason(Memory(tainted=frozenset({"made-by-code"}), brought=names)))
    assert "file:00" in said
    assert "and 5 more" in said
    assert "made-by-code" not in said
    reason = tainted_reason(Memory(everything=True))
    assert (reason.code, reason.subject) == (Code.WORKBENCH_TAINTED, "the workbench")
