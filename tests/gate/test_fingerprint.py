"""Does an approval's fingerprint change with all that it depends on, and with nothing else?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from stanch.app.engine import Session
from stanch.app.loading import open_engine
from stanch.app.script_digests import MISSING, digest_of, digests_of, scripts_of
from stanch.gate.fingerprint import fingerprint
from stanch.values.call import CallEffect, JudgedCall, ToolCall
from stanch.values.decision import Answer, Decision, Effect
from stanch.values.fault import BadCall
from stanch.values.reason import Code, LayerId


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "stanch.toml").write_text("version = 1\n", "utf-8")
    (tmp_path / "a.sh").write_text("ls\n", "utf-8")
    return open_engine(tmp_path / "stanch.toml").session()


def of(session: Session, tool: str, arguments: dict[str, Any], **more: Any) -> str:
    """The fingerprint of a call, with the scripts that it runs."""
    decision = session.check(tool, arguments)
    return str(fingerprint(decision, digests_of(decision), **more))


def with_arguments(arguments: Any) -> str:
    call = JudgedCall(ToolCall("t", arguments, "1"), (CallEffect(None),))
    answer = Answer(Effect.ASK, Code.NO_MATCH, LayerId.PERSISTED_RULES)
    return str(fingerprint(Decision(Effect.ASK, answer, call, (answer,), 0, "v"), {}))


def test_it_is_the_same_for_the_same_call(session: Session) -> None:
    one = of(session, "Bash", {"command": "bash a.sh", "description": "list"})
    assert one == of(session, "Bash", {"description": "list", "command": "bash a.sh"})
    assert len(one) == 3 * 64 + 2
    nested = with_arguments({"a": {"x": 1, "y": [2, {"p": None, "q": "r"}]}, "b": 0.5})
    assert nested == with_arguments({"b": 0.5, "a": {"y": [2, {"q": "r", "p": None}], "x": 1}})


def test_the_call_s_own_id_counts_for_nothing(session: Session) -> None:
    one, other = (session.check("Read", {"file_path": "a"}, call_id=name) for name in ("1", "2"))
    assert fingerprint(one, {}) == fingerprint(other, {})


def test_a_changed_script_is_another_call(session: Session, tmp_path: Path) -> None:
    call = ("Bash", {"command": "bash a.sh"})
    found = {of(session, *call)}
    (tmp_path / "a.sh").write_text("rm -r data\n", "utf-8")
    found.add(of(session, *call))
    (tmp_path / "a.sh").unlink()
    found.add(of(session, *call))
    assert len(found) == 3
    (tmp_path / "a.sh").write_text("ls\n", "utf-8")
    assert of(session, *call) in found


def test_another_tool_argument_or_context_is_another_call(session: Session) -> None:
    found = [
        of(session, "Bash", {"command": "bash a.sh"}),
        of(session, "execute_cmd", {"command": "bash a.sh"}),
        of(session, "Bash", {"command": "bash a.sh", "timeout": 5}),
        of(session, "Bash", {"command": "bash  a.sh"}),
        of(session, "Bash", {"command": "bash a.sh"}, context={"cwd": "/w"}),
        of(session, "Bash", {"command": "bash a.sh"}, context={"cwd": None}),
    ]
    assert len(set(found)) == len(found)


def test_a_link_that_leads_elsewhere_is_another_call(session: Session, tmp_path: Path) -> None:
    found = set()
    for target in ("one", "two"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(target)
        found.add(of(session, "Write", {"file_path": "link/a", "content": "x"}))
        found.add(of(session, "Bash", {"command": "cat link/a"}))
    assert len(found) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1}, {"a": "1"}),
        ({"a": None}, {"a": ""}),
        ({"a": None}, {}),
        ({"a": ["bc"]}, {"a": ["b", "c"]}),
        ({"a": [["b"], "c"]}, {"a": [["b", "c"]]}),
        ({"a": "b", "c": "d"}, {"a": "bc", "": "d"}),
        ({"a": {"b": 1}}, {"a": ["b", 1]}),
        ({"a": "é"}, {"a": "e\u0301"}),
        ({"a": "\udcff"}, {"a": "\\udcff"}),
    ],
)
def test_values_that_look_alike_are_told_apart(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert with_arguments(one) != with_arguments(other)


def test_what_is_no_json_has_none() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value, said in ((b"x", "a bytes"), ({1: 2}, "a key that is no string"), (deep, "nested too deeply")):
        with pytest.raises(BadCall, match=said):
            with_arguments({"a": value})


@pytest.mark.parametrize("command", ["bash a.sh", "./a.sh", ". a.sh", "cd . && sh a.sh x", "timeout 5 bash a.sh"])
def test_scripts_are_those_that_the_call_runs(session: Session, tmp_path: Path, command: str) -> None:
    assert scripts_of(session.check("Bash", {"command": command}).call) == (str(tmp_path / "a.sh"),)


def test_a_file_that_is_only_read_is_no_script(session: Session) -> None:
    assert scripts_of(session.check("Bash", {"command": "cat a.sh; bash -c 'cat a.sh'"}).call) == ()
    assert digests_of(session.check("Read", {"file_path": "a.sh"})) == {}


def test_a_digest_is_of_a_whole_regular_file(tmp_path: Path) -> None:
    file = tmp_path / "f"
    assert digest_of(str(file)) == MISSING
    file.write_bytes(b"x" * 100)
    assert digest_of(str(file), 100) == digest_of(str(file)) == digest_of(str(file), 200)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(file)
    for path, most in ((file, 99), (tmp_path, 200), (tmp_path / "pipe", 200), (tmp_path / "link", 200)):
        assert digest_of(str(path), most) != digest_of(str(path), most)
