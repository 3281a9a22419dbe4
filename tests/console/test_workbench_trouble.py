"""The console of a workbench of which something cannot be read: all of it can be removed, nothing is lost unseen."""

from __future__ import annotations

from typing import BinaryIO

import pytest

from stanch.app.projecting import UNOPENED, WITHHELD
from stanch.content import workbench_tree
from stanch.content.workbench_disk import Directory
from stanch.delivery.workbench import Entries
from stanch.surfaces.console.workbench_reach import Bench
from stanch.values.fault import StoreUnreadable
from tests.console import workbench_world as made
from tests.console.test_workbench import assert_clean, links, remove
from tests.console.visitors import Visitor
from tests.console.workbench_world import CALL, GONE, page
from tests.http.served import World


@pytest.fixture
def session(world: World) -> str:
    return made.session(world)


def test_a_row_that_cannot_be_read(world: World, visitor: Visitor, session: str) -> None:
    made.put(world, session, "a")
    made.taint(world, session)
    world.rows("UPDATE workbenches SET changed_at = 'never'")
    assert "cannot be read" in visitor.get("/console/workbenches")
    text = visitor.get(page(session))
    assert "cannot be read" in text
    remove(visitor, session, 503, path="a")
    visitor.get(links(text, "output")[0])
    visitor.send(page(session, "/clear"), 303, confirm="yes")
    assert "Nothing lies there." in visitor.get(page(session))


def test_more_than_can_be_looked_through(
    world: World, visitor: Visitor, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        made.put(world, session, name)
    monkeypatch.setattr(workbench_tree, "MOST_LOOKED_AT", 2)
    text = visitor.get(page(session))
    assert "too many entries" in text
    assert not links(text, "file")
    visitor.send(page(session, "/clear"), 303, confirm="yes")
    assert "Nothing lies there." in visitor.get(page(session))


def test_what_comes_near_while_somebody_looks_is_taken_out(
    world: World, visitor: Visitor, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.put(world, session, "a")
    looks, opens = Directory.entries, Directory.open
    came: list[str] = []

    def comes_near() -> None:
        if not came:
            came.append("once")
            made.known_secrets(world, session)
            made.put(world, session, GONE)

    def entries(directory: Directory) -> Entries:
        comes_near()
        return looks(directory)

    def opened(directory: Directory, path: str) -> BinaryIO:
        comes_near()
        return opens(directory, path)

    with monkeypatch.context() as patch:
        patch.setattr(Directory, "open", opened)
        text = visitor.get(page(session, "/file?path=e.env"))
    assert came
    assert_clean(text)
    visitor.send(page(session, "/clear"), 303, confirm="yes")
    came.clear()
    with monkeypatch.context() as patch:
        patch.setattr(Directory, "entries", entries)
        assert_clean(visitor.get(page(session)))
    assert came


@pytest.mark.parametrize("lost", [WITHHELD, UNOPENED, StoreUnreadable("the store is away")])
def test_an_output_that_could_not_be_shown_was_not_read(
    lost: str | Exception, world: World, visitor: Visitor, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.taint(world, session)
    world.service.workbenches.outputs(session).keep(CALL, "what it printed")
    say = Bench.say

    def loses(bench: Bench, words: object) -> str:
        if "what it printed" not in str(words):
            return say(bench, words)
        if isinstance(lost, str):
            return lost
        raise lost

    with monkeypatch.context() as patch:
        patch.setattr(Bench, "say", loses)
        text = visitor.get(page(session, f"/output?call={CALL}"), 200 if isinstance(lost, str) else 503)
    assert "what it printed" not in text
    assert world.service.workbenches.outputs(session).unread() == 1
    assert "what it printed" in visitor.get(page(session, f"/output?call={CALL}"))
    assert world.service.workbenches.outputs(session).unread() == 0
