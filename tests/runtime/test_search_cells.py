"""A search that a person approved, and files that a tier asks about for another reason than the one they were shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from stanch.runtime.scripted_reply import Reply, say, use
from stanch.values.message import Result
from stanch.values.turn import TurnState
from tests.runtime.world import PERSON, World

TIERS = """
[models.assignments]
"fake/scripted" = "asking"

[tiers.asking]
label = "Asking"
otherwise = { read = "ask", write = "deny", execute = "deny", network = "deny" }
[[tiers.asking.cells]]
path = "private"
read = "ask"
"""


@pytest.mark.parametrize("tool", [use("grep_files", pattern="marker"), use("list_files", pattern="**")])
def test_approving_a_search_answers_for_no_other_cell_of_a_tier(tmp_path: Path, tool: Reply) -> None:
    world = World(tmp_path, [tool, say("done"), use("read_file", path="private/pay.txt"), say("done")], more=TIERS)
    world.files["private/pay.txt"] = "marker private\n"
    with world:
        session = world.session()
        turn = world.begin("go", session)
        asked = world.waiting()
        world.service.approving.approve(asked.request_id, by=PERSON)
        assert world.service.agents.wait(turn.id, 60).state is TurnState.COMPLETED
        print(asked.reason, asked.asked, world.results(session))
        found = world.results(session)[0]
        assert "notes.txt" in found
        assert "pay.txt" not in found
        assert "withheld" in found
        turn = world.begin("read it", session)
        assert world.waiting().tool_name == "read_file"
        world.service.agents.stop(turn.id, by=PERSON)


@pytest.mark.parametrize(
    "tool", [use("grep_files", pattern="hunter2", path="private/pay.txt"), use("list_files", path="private/none")]
)
def test_that_nothing_was_found_in_a_file_is_known_from_that_file(tmp_path: Path, tool: Reply) -> None:
    world = World(tmp_path, [tool, say("done")])
    world.files["private/pay.txt"] = "marker private\n"
    with world:
        (world.workspace / "private/none").mkdir(parents=True)
        session = world.session()
        assert world.ask("go", session).state is TurnState.COMPLETED
        (result,) = [part for one in world.messages(session) for part in one.parts if isinstance(part, Result)]
        assert [tag.name for tag in result.tags] == [
            str(world.workspace / ("private/pay.txt" if result.tool == "grep_files" else "private/none"))
        ]
