"""What is said back to a model of its own words, and who else gets to read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stanch.runtime.scripted_reply import Reply, ToolUse, say
from stanch.tiers.quoted_tags import marked
from stanch.values.message import Call, Message, Result, Role, SourceTag, Text
from stanch.values.turn import TurnState
from tests.runtime.test_switching import DIALECTS, PAY, QUOTES, READ_PAY, Paid
from tests.runtime.world import PERSON

LINE = "A. Example,1234567 a year and a car of the firm"


CALLS = [
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
]


@pytest.mark.parametrize(
    ("call", "dialect"),
    [(call, "anthropic") for call in CALLS] + [(call, dialect) for call in CALLS[:2] for dialect in DIALECTS[:2]],
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


READ = Message(
    Role.TOOL, (Result("c0", (Text(PAY),), "read_file", tags=(SourceTag("/w/pay.csv", span=(0, len(PAY))),)),)
)


def test_what_a_result_says_again_is_marked_and_nothing_else_of_it() -> None:
    call = Call("c1", "execute_cmd", {"command": f"echo '{LINE}'"})
    result = Result("c1", (Text(f"before\n{LINE}\nbehind"),), "execute_cmd")
    (tag,) = marked(result, call, [READ]).tags
    assert (tag.name, tag.span) == ("/w/pay.csv", (7, 7 + len(LINE)))


@pytest.mark.parametrize(
    ("arguments", "text", "tags"),
    [
        ({"command": "make"}, LINE, ()),  # it does not have it from the call
        ({"command": "echo a short one"}, "a short one", ()),
        ({"path": LINE}, LINE, (SourceTag("/w/open.txt", span=(0, len(LINE))),)),  # the content of a file
        ({"command": "echo words that are in no file at all"}, "words that are in no file at all", ()),
    ],
)
def test_a_result_that_repeats_nothing_is_the_very_same(
    arguments: dict[str, str], text: str, tags: tuple[SourceTag, ...]
) -> None:
    result = Result("c1", (Text(text),), "some_tool", tags=tags)
    assert marked(result, Call("c1", "some_tool", arguments), [READ]) is result
