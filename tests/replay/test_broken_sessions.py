"""What becomes of files that are cut, repeated, linked wrongly, strange or huge? Each is made from a recording."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from stanch.surfaces.replay import lines as reading
from stanch.surfaces.replay.detect import read, recognise
from stanch.surfaces.replay.records import Seen
from stanch.values.decision import Effect
from stanch.values.fault import BadInput
from stanch.values.reason import Code
from tests.replay.recorded import DATA, TOOLS, changed, found, lines, records, report_of, tools, write

NAME = "claude-code-basic.jsonl"
JSONL = [name for name in TOOLS if name.endswith(".jsonl") and name != "claude-code-subagent.jsonl"]


@pytest.mark.parametrize("name", JSONL)
def test_a_last_line_that_is_cut_is_a_warning(name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    whole = lines(name)
    path.write_text("\n".join([*whole, whole[-1][:60]]), "utf-8")
    calls, warnings = found(path)
    assert [call.tool for call in calls] == TOOLS[name]
    assert [(one.line, "cut short" in one.message) for one in warnings] == [(len(whole) + 1, True)]


def test_a_line_in_the_middle_that_is_no_json_is_a_warning(tmp_path: Path) -> None:
    whole: list[Any] = lines(NAME)
    whole[30:30] = ["not json {", "42", ""]
    calls, warnings = found(write(tmp_path / "s.jsonl", whole))
    assert [call.tool for call in calls] == TOOLS[NAME]
    assert [one.line for one in warnings] == [31, 32]
    assert str(warnings[0]).startswith(f"{tmp_path}/s.jsonl:31: this line is not JSON")


@pytest.mark.parametrize("link", [None, "00000000-0000-0000-0000-000000000000", 7])
def test_links_between_records_hide_nothing(link: Any, tmp_path: Path) -> None:
    whole = [{**record, "parentUuid": link} if "parentUuid" in record else record for record in records(NAME)]
    assert tools(write(tmp_path / "s.jsonl", whole)) == TOOLS[NAME]


@pytest.mark.parametrize("name", JSONL)
def test_lines_that_are_repeated_count_once(name: str, tmp_path: Path) -> None:
    whole = records(name)
    path = write(tmp_path / "s.jsonl", whole + whole)
    seen = Seen()
    assert [getattr(one, "tool", "") for one in read(recognise(path), seen)] == TOOLS[name]
    assert seen.repeated >= len(TOOLS[name]) - 3


def test_an_id_that_is_used_for_another_call_hides_neither(tmp_path: Path) -> None:
    whole = changed(NAME, lambda block: block.update(id="call_0"))
    different = {json.dumps(call.arguments) for call in found(DATA / NAME)[0]}
    assert len(found(write(tmp_path / "s.jsonl", whole))[0]) == len(different)
    nameless = changed(NAME, lambda block: block.pop("id"))
    assert tools(write(tmp_path / "s.jsonl", nameless)) == TOOLS[NAME]


def test_kinds_of_records_that_are_not_known_are_passed_over(tmp_path: Path) -> None:
    whole = records(NAME)
    strange = [{**record, "type": f"new-{at}", "message": [record]} for at, record in enumerate(whole)]
    mixed = [one for pair in zip(whole, strange, strict=True) for one in pair]
    calls, warnings = found(write(tmp_path / "s.jsonl", mixed))
    assert [call.tool for call in calls] == TOOLS[NAME]
    assert not warnings


def test_a_huge_line_is_read_and_a_monstrous_one_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = records(NAME)
    long = {"type": "attachment", "attachment": "x" * 300_000}
    path = write(tmp_path / "s.jsonl", [*whole[:25], long, *whole[25:]])
    assert tools(path) == TOOLS[NAME]
    monkeypatch.setattr(reading, "MAX_LINE", 100_000)
    calls, warnings = found(path)
    assert [call.tool for call in calls] == TOOLS[NAME]
    assert [one.line for one in warnings] == [26]


@pytest.mark.parametrize(
    ("name", "key", "value", "said"),
    [
        ("codex-basic.jsonl", "arguments", '{"cmd": "cat', "not JSON"),
        ("codex-basic.jsonl", "arguments", "[1]", "no object"),
        ("codex-basic.jsonl", "arguments", "[" * 100_000, "not JSON"),
        ("codex-basic.jsonl", "name", None, "no tool"),
        (NAME, "input", "cat .env", "not JSON"),
        (NAME, "input", ["cat"], "no object"),
        (NAME, "name", "", "no tool"),
    ],
)
def test_a_call_that_cannot_be_read_is_denied_and_never_dropped(
    name: str, key: str, value: Any, said: str, tmp_path: Path
) -> None:
    def spoil(block: dict[str, Any]) -> None:
        if key in block:
            block[key] = value

    report = report_of(write(tmp_path / "s.jsonl", changed(name, spoil)))
    spoilt = [row for row in report.rows if row.decision is None]
    assert len(report.rows) == len(TOOLS[name])
    assert len(spoilt) >= len(TOOLS[name]) - 1
    assert all(row.effect is Effect.DENY and row.reason.code is Code.CALL_UNREADABLE for row in spoilt)
    assert said in spoilt[0].sentence


def test_arguments_that_a_tool_cannot_take_are_denied(tmp_path: Path) -> None:
    whole = changed(
        NAME, lambda block: block.update(input={"file_path": 7} if block["name"] == "Read" else block["input"])
    )
    rows = [row for row in report_of(write(tmp_path / "s.jsonl", whole)).rows if row.call.tool == "Read"]
    assert {(row.effect, row.reason.code) for row in rows} == {(Effect.DENY, Code.CALL_UNREADABLE)}


def test_a_directory_that_is_no_path_denies_its_calls(tmp_path: Path) -> None:
    whole = [{**record, "cwd": "/repo/\0app"} if "cwd" in record else record for record in records(NAME)]
    rows = report_of(write(tmp_path / "s.jsonl", whole)).rows
    assert len(rows) == len(TOOLS[NAME])
    assert {row.reason.code for row in rows} == {Code.CALL_UNREADABLE}


def test_a_list_that_is_cut_gives_what_stands_before_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    text = (DATA / "openai-chat.json").read_text("utf-8")
    path.write_text(text[: text.index('"name": "edit"')], "utf-8")
    calls, warnings = found(path)
    assert [call.tool for call in calls] == ["read", "read", "grep", "glob", "bash"]
    assert len(warnings) == 1
    assert "cut short" in warnings[0].message


@pytest.mark.parametrize(
    ("content", "place", "said"),
    [
        (b"", "1", "empty"),
        (b"\n\n", "1", "empty"),
        (b"\n# Notes\n\nnothing\n", "2", "not JSON"),
        (b'{"a": 1}\n{"b": 2}\n', "1", "no record of a session"),
        (b'{\n "a": 1\n}\n', "1", "not JSON"),
        (b"[]", "1", "no record of a session"),
        (b"\xff\xfe{\x00", "1", "UTF-8"),
    ],
)
def test_a_file_that_is_no_session_is_refused_with_its_line(
    content: bytes, place: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(BadInput) as why:
        recognise(path)
    assert str(why.value).startswith(f"{path}:{place}: ")
    assert said in str(why.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        recognise(tmp_path / "gone")


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines(NAME)).encode())
    assert tools(path) == TOOLS[NAME]


def spoil(value: Any, chance: float, dice: random.Random) -> Any:
    """The value with some of its parts replaced by what does not belong there."""
    if dice.random() < chance:
        strange: list[Any] = [
            "\ud800",
            "\0",
            "\u202e",
            "",
            "~/x",
            "file:///etc/x",
            "/" * 300,
            None,
            7,
            [],
            {},
            ["a", 1],
            True,
        ]
        return dice.choice(strange)
    if isinstance(value, dict):
        return {key: spoil(below, chance, dice) for key, below in value.items()}
    return [spoil(below, chance, dice) for below in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(24))
def test_nothing_in_a_file_makes_a_replay_fail(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    name = dice.choice(JSONL)
    whole = [json.dumps(spoil(record, 0.03, dice)) for record in records(name)]
    json.dumps(report_of(write(tmp_path / "s.jsonl", [*records(name)[:1], *whole])).json())


def grown(path: Path, size: int) -> int:
    """Writes a file of at least this size out of a recording, each round with calls of its own; how many they are."""
    whole = (DATA / NAME).read_text("utf-8")
    rounds = size // len(whole) + 1
    with path.open("w", encoding="utf-8") as file:
        for at in range(rounds):
            file.write(whole.replace("toolu_", f"toolu_{at}_"))
    return rounds * len(TOOLS[NAME])


def holds_a_long_session(path: Path, size: int, allowed: int) -> None:
    count = grown(path, size)
    tracemalloc.start()
    try:
        assert len(report_of(path).rows) == count
        assert tracemalloc.get_traced_memory()[1] < allowed
    finally:
        tracemalloc.stop()


def test_a_long_session_is_never_held_whole(tmp_path: Path) -> None:
    report_of(DATA / NAME)
    holds_a_long_session(tmp_path / "s.jsonl", 2 << 20, 3 << 20)


@pytest.mark.soak
def test_a_very_long_session_is_never_held_whole(tmp_path: Path) -> None:
    holds_a_long_session(tmp_path / "s.jsonl", 50 << 20, 45 << 20)
