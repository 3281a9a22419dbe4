"""The policy file is picked up while the server runs, and every decision names the version that made it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.server.conftest import POLICY, Start
from tests.server.processes import Running, until

CLOSED = POLICY.replace('path = "**"\naction = "allow"', 'path = "**"\naction = "deny"')
BROKEN = CLOSED.replace('action = "deny"\nmandatory', 'action = "forbid"\nmandatory')


def until_answered(server: Running, effect: str, code: str) -> Any:
    """The gate's answer to reading the notes, once it is this one."""
    answers: list[Any] = []

    def changed() -> bool:
        answers.append(server.check("read_file", path="notes.md"))
        return bool(answers[-1]["effect"] == effect and answers[-1]["reason"]["code"] == code)

    until(changed, f"{effect} by {code}")
    return answers[-1]


def test_an_edit_binds_the_running_server(start: Start, workspace: Path) -> None:
    server, file = start(), workspace / "stanch.toml"
    before = until_answered(server, "allow", "rule")
    file.write_text(CLOSED, "utf-8")
    after = until_answered(server, "deny", "rule")
    assert before["policy_version"] != after["policy_version"]
    assert after["reason"]["rule"]["place"].startswith("stanch.toml:")
    draft = workspace / "draft"
    draft.write_text(POLICY, "utf-8")
    draft.replace(file)
    assert until_answered(server, "allow", "rule")["policy_version"] == before["policy_version"]
    assert server.stop() == 0


def test_a_broken_file_denies_until_it_is_mended_and_says_where(start: Start, workspace: Path) -> None:
    server, file = start(), workspace / "stanch.toml"
    for broken, line in ((BROKEN, 9), ("version = 1\nnonsense\n", 2), ("", 1)):
        file.write_text(broken, "utf-8")
        answer = until_answered(server, "deny", "policy_invalid")
        assert f"stanch.toml:{line}" in answer["reason"]["sentence"], answer
        file.write_text(POLICY, "utf-8")
        until_answered(server, "allow", "rule")
    file.unlink()
    until_answered(server, "deny", "policy_invalid")
    file.write_text(POLICY, "utf-8")
    until_answered(server, "allow", "rule")
    assert server.stop() == 0


def test_a_file_that_is_broken_from_the_start_is_named_with_its_line(start: Start, workspace: Path) -> None:
    (workspace / "stanch.toml").write_text(BROKEN, "utf-8")
    server = start()
    until(lambda: "stanch.toml:9:" in server.complained, "the place of the mistake")
    until_answered(server, "deny", "policy_invalid")


def test_a_file_that_cannot_be_read_denies_and_is_named(start: Start, workspace: Path) -> None:
    (workspace / "stanch.toml").unlink()
    (workspace / "stanch.toml").symlink_to("gone.toml")
    server = start()
    until(lambda: "cannot be read" in server.complained, "what is wrong")
    until_answered(server, "deny", "policy_invalid")
    (workspace / "gone.toml").write_text(POLICY, "utf-8")
    until_answered(server, "allow", "rule")


def test_without_a_policy_file_the_groups_of_the_database_speak(start: Start, workspace: Path) -> None:
    (workspace / "stanch.toml").unlink()
    server = start()
    assert "the groups of the database speak alone" in server.said
    assert server.check("read_file", path="notes.md")["effect"] in {"allow", "ask"}
