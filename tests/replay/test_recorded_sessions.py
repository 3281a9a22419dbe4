"""Is every call of every recorded session found, in order, once, with its directory and its maker?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stanch.surfaces.replay.detect import recognise
from stanch.surfaces.replay.records import Kind
from stanch.values.decision import Effect
from tests.replay.recorded import DATA, SAMPLE, TOOLS, found, records, report_of, tools, write


def test_every_recording_is_in_the_table() -> None:
    assert {path.name for path in DATA.glob("*.json*")} == set(TOOLS)


@pytest.mark.parametrize("name", TOOLS)
def test_calls_come_in_the_order_of_the_file(name: str) -> None:
    calls, warnings = found(DATA / name)
    assert [call.tool for call in calls] == TOOLS[name]
    assert not warnings
    assert all(call.arguments is not None and not call.fault for call in calls)
    places = [call.where.rpartition(":") for call in calls]
    for file in {file for file, _, _ in places}:
        numbers = [int(number) for where, _, number in places if where == file]
        assert numbers == sorted(numbers)


@pytest.mark.parametrize("name", [name for name in TOOLS if name.endswith(".jsonl")])
def test_the_place_of_a_call_is_the_line_that_holds_it(name: str) -> None:
    for call in found(DATA / name)[0]:
        file, _, number = call.where.rpartition(":")
        line = Path(file).read_text("utf-8").splitlines()[int(number) - 1]
        assert json.dumps(call.id) in line


@pytest.mark.parametrize("name", [name for name in TOOLS if name.endswith(".json")])
def test_the_place_of_a_call_in_a_list_is_where_its_message_starts(name: str) -> None:
    written = (DATA / name).read_text("utf-8").splitlines()
    for call in found(DATA / name)[0]:
        number = int(call.where.rpartition(":")[2])
        assert written[number - 1].strip() == "{"
        assert any(json.dumps(call.id) in line for line in written[number : number + 80])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("claude-code-basic.jsonl", Kind.CLAUDE_CODE),
        ("codex-v50.jsonl", Kind.CODEX),
        ("openai-chat.json", Kind.MESSAGES),
        ("openai-responses.json", Kind.MESSAGES),
    ],
)
def test_the_kind_is_told_by_the_content_alone(name: str, kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes((DATA / name).read_bytes())
    assert recognise(tmp_path / "notes").kind is kind
    assert tools(tmp_path / "notes") == TOOLS[name]


def test_a_call_works_in_the_directory_of_its_record() -> None:
    calls = found(DATA / "claude-code-basic.jsonl")[0]
    assert [call.cwd for call in calls] == ["/repo/app"] * 11 + ["/repo/app/docs"] * 6
    assert {call.started for call in calls} == {"/repo/app"}


@pytest.mark.parametrize(
    ("name", "at"),
    [("codex-basic.jsonl", 4), ("codex-v50.jsonl", 1), ("codex-v79.jsonl", 1), ("codex-code-mode.jsonl", 2)],
)
def test_a_shell_call_works_in_its_own_workdir(name: str, at: int) -> None:
    rows = report_of(DATA / name).rows
    assert {row.call.cwd for row in rows} == {"/repo/app"}
    assert rows[at].cwd == "/repo/app/docs"
    assert {row.cwd for row in rows if row is not rows[at]} == {"/repo/app"}
    (read,) = [one["path"] for one in rows[at].answer["effects"] if one["found"]]
    assert read == "/repo/app/docs/x.md"


@pytest.mark.parametrize("tool", ["exec_command", "shell", "local_shell", "Bash", "bash", "shell_command"])
def test_a_relative_workdir_is_read_against_the_session_once(tool: str, tmp_path: Path) -> None:
    argument = "cmd" if tool == "exec_command" else "command"
    meta = {"type": "session_meta", "payload": {"id": "s", "cwd": str(tmp_path)}}
    given = json.dumps({argument: "cat x.md", "workdir": "docs"})
    item = {"type": "function_call", "call_id": "c", "name": tool, "arguments": given}
    lines = [meta, {"type": "response_item", "payload": item}]
    (row,) = report_of(write(tmp_path / "s.jsonl", lines)).rows
    assert row.cwd == f"{tmp_path}/docs"
    assert [one["path"] for one in row.answer["effects"]] == [None, f"{tmp_path}/docs/x.md"]


def test_a_workdir_counts_for_a_tool_that_the_policy_describes_itself(tmp_path: Path) -> None:
    policy = tmp_path / "stanch.toml"
    effects = '[{ class = "execute", argument = "command" }]'
    policy.write_text(f"version = 1\n[tools.shell]\neffects = {effects}\n", "utf-8")
    meta = {"type": "session_meta", "payload": {"id": "s", "cwd": str(tmp_path)}}
    given = json.dumps({"command": "cat x.md", "workdir": "docs"})
    item = {"type": "function_call", "call_id": "c", "name": "shell", "arguments": given}
    file = write(tmp_path / "s.jsonl", [meta, {"type": "response_item", "payload": item}])
    (row,) = report_of(file, policy=policy).rows
    assert [one["path"] for one in row.answer["effects"]] == [None, f"{tmp_path}/docs/x.md"]


def test_subagents_are_marked_whether_in_the_file_or_beside_it() -> None:
    inline = [call.subagent for call in found(DATA / "claude-code-v1.jsonl")[0]]
    assert inline == [None] * 4 + ["subagent"] * 2 + [None] * 4
    beside = found(DATA / "claude-code-subagent.jsonl")[0]
    assert [call.subagent is None for call in beside] == [True] * 3 + [False] * 5
    assert {(call.subagent or "").split()[0] for call in beside[3:]} == {"general-purpose", "Explore"}


def test_a_subagent_s_file_can_be_replayed_by_itself_and_counts_once_beside_its_session() -> None:
    own = sorted((DATA / "claude-code-subagent" / "subagents").glob("*.jsonl"))
    assert [tools(path) for path in own] == [["Read", "Read", "Bash"], ["Grep", "Read"]]
    assert len(report_of(DATA / "claude-code-subagent.jsonl", *own).rows) == 8


def test_what_a_script_called_is_shown_with_the_script() -> None:
    calls = found(DATA / "codex-code-mode.jsonl")[0]
    assert [call.inside for call in calls] == ["", "exec", "exec", "", "exec"]
    assert calls[1].arguments == {"cmd": "cat secrets/api.key", "workdir": "/repo/app"}
    assert "/repo/app/src/a.py" in str(calls[4].arguments)


def test_a_command_that_a_person_ran_is_no_call(tmp_path: Path) -> None:
    whole = records("codex-code-mode.jsonl")
    for record in whole:
        item = record["payload"].get("item", {})
        if item.get("type") == "CommandExecution":
            item["source"] = "user_shell"
    assert tools(write(tmp_path / "s.jsonl", whole)) == ["exec", "exec", "apply_patch"]


def test_calls_carry_session_model_and_time() -> None:
    for name, model in (("claude-code-basic.jsonl", "claude-opus-5-5"), ("codex-v79.jsonl", "gpt-5-codex")):
        for call in found(DATA / name)[0]:
            assert (call.model, call.time[:10]) == (model, "2026-11-30")
            assert call.session


@pytest.mark.parametrize("key", ["messages", "input"])
def test_a_request_s_body_is_read_like_its_list(key: str, tmp_path: Path) -> None:
    name = {"messages": "openai-chat.json", "input": "openai-responses.json"}[key]
    body = {"model": "m", "tools": [{"type": "function"}], key: json.loads((DATA / name).read_text("utf-8")), "n": 1}
    for at, text in enumerate(
        (json.dumps(body), json.dumps(body, indent=1), json.dumps(body) + "\n" + json.dumps(body))
    ):
        path = tmp_path / f"{at}.json"
        path.write_text(text, "utf-8")
        assert tools(path) == TOOLS[name]


@pytest.mark.parametrize("name", [name for name in TOOLS if name.endswith(".json")])
def test_messages_may_stand_one_to_a_line(name: str, tmp_path: Path) -> None:
    messages = json.loads((DATA / name).read_text("utf-8"))
    assert tools(write(tmp_path / "m.jsonl", messages)) == TOOLS[name]
    assert tools(write(tmp_path / "l.jsonl", [messages])) == TOOLS[name]


def test_the_directory_that_a_harness_told_its_model_is_the_call_s() -> None:
    rows = report_of(DATA / "openai-responses.json").rows
    assert {row.call.cwd for row in rows} == {"/repo/app"}
    assert {row.cwd for row in rows} == {"/repo/app", "/repo/app/docs"}


ANSWERS = {
    "claude-code-basic.jsonl": "allow deny deny allow allow ask ask allow ask ask ask deny ask allow allow allow ask",
    "claude-code-subagent.jsonl": "ask ask allow allow deny ask allow allow",
    "claude-code-v1.jsonl": "allow allow allow ask allow deny ask ask ask allow",
    "claude-code-resumed.jsonl": "allow allow allow allow",
    "codex-basic.jsonl": "ask deny ask ask ask ask allow ask ask",
    "codex-code-mode.jsonl": "ask deny ask ask ask",
    "codex-v50.jsonl": "deny ask ask ask allow ask",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_built_in_rules_answer(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = report_of(DATA / name)
    assert [row.effect.value for row in report.rows] == ANSWERS[name].split()
    assert report.questions == ANSWERS[name].split().count("ask")
    assert report.files[0].workspace == "/repo/app"


def test_the_two_tellings_of_one_session_get_the_same_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    policy = SAMPLE / "stanch.toml"
    one = report_of(DATA / "claude-code-basic.jsonl", policy=policy)
    other = report_of(DATA / "anthropic-messages.json", policy=policy)
    assert [(row.effect, row.reason.code) for row in one.rows] == [(row.effect, row.reason.code) for row in other.rows]
    assert one.count(Effect.DENY) == 4


def test_the_sample_is_a_recording() -> None:
    recorded = DATA / "claude-code-basic.jsonl"
    assert (SAMPLE / "claude-code.jsonl").read_bytes() == recorded.read_bytes()
    assert (SAMPLE / "claude-code.meta.toml").read_bytes() == recorded.with_suffix(".meta.toml").read_bytes()


@pytest.mark.parametrize("name", ["claude-code-basic.jsonl", "codex-basic.jsonl", "codex-v50.jsonl", "codex-v79.jsonl"])
def test_a_command_is_judged_by_what_it_does(name: str) -> None:
    report = report_of(DATA / name, policy=SAMPLE / "stanch.toml")
    commands = [row for row in report.rows if any(one["part"] for one in row.answer["effects"])]
    secret = [row for row in commands if "secrets/api.key" in row.asked]
    assert secret
    for row in secret:
        assert (row.effect, row.reason.subject) == (Effect.DENY, "/repo/app/secrets/api.key")
    unread = [row for row in commands if row.reason.code.value == "command_unread"]
    assert {row.asked.split()[0] for row in unread} <= {"sleep", "data/towns.csv"}
