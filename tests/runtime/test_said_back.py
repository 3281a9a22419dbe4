"""What is said back to a model of its own words, and who else gets to read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stanch.runtime.scripted_reply import Reply, ToolUse, say
from stanch.values.turn import TurnState
from tests.runtime.test_switching import DIALECTS, QUOTES, READ_PAY, Paid
from tests.runtime.world import PERSON

LINE = "A. Example,1234567 a year and a car of the firm"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "call",
    [
        ToolUse("read_file", f'["{LINE}"]'),
        ToolUse("read_file", f'"{LINE}"'),
        ToolUse("read_file", f"{{{LINE}"),
        ToolUse("call_agent", {"agent": LINE, "prompt": "go"}),
        ToolUse("ask_user", {"question": LINE, "choices": [LINE, LINE]}),
        ToolUse("read_file", {"path": LINE}),
        ToolUse("read_file", {"path": "notes.txt", "offset": LINE}),
        ToolUse("grep_files", {"pattern": f"({LINE}"}),
        ToolUse("list_files", {"path": ".", "pattern": f"{LINE}/**"}),
        ToolUse("grep_files", {"pattern": "milk", "path": LINE}),
        ToolUse("execute_cmd", {"command": f"'{LINE}'"}),
        ToolUse("execute_cmd", {"command": f"echo '{LINE}'"}),
        ToolUse("write_file", {"path": LINE, "content": "x"}),
        ToolUse("write_file", {"path": 1, "content": LINE}),
    ],
    ids=lambda call: f"{call.tool[:12]}-{str(call.arguments)[:12]}",
)
def test_an_answer_that_repeats_a_calls_words_tells_another_model_nothing(
    tmp_path: Path, call: ToolUse, dialect: str
) -> None:
    script = [READ_PAY, Reply((call,)), QUOTES, say("ok")]
    with Paid(tmp_path, script, dialect=dialect) as world:
        session = world.session(approver=False)
        world.ask("what do they earn?", session)
        world.service.switching.switch(session, "fake/outside", by=PERSON)
        turn = world.ask("and now?", session)
        sent = world.models.asked[-1].raw
        assert turn.state is TurnState.COMPLETED, turn.problem
        assert b"1234567" not in sent
