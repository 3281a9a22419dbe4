"""Does the command line say how well an organization's rules are known, and which they are?"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.cli.conftest import Stanch, call
from tests.organization.served import RULES, Server, says, served, whole

HEAD = "version = 1\n[[groups]]\nid = 'default'\nrules = [{ tool = '@write', action = 'allow' }]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, entered, whose server's data would lie beside it."""
    root = tmp_path / "repo"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return root


def _policy(folder: Path, source: str) -> None:
    (folder / "stanch.toml").write_text(f"{HEAD}[organization]\nsource = {json.dumps(source)}\n")


def test_a_file_of_rules_is_shown_rule_by_rule(stanch: Stanch, folder: Path) -> None:
    _policy(folder, "org.json")
    (folder / "org.json").write_text(json.dumps([*RULES, {"tool": "Read", "action": "allow"}]))
    ended = stanch("policy", "organization")
    assert ended.code == 0
    assert f"{folder}/org.json: current (2 rules, 0 s old, good for 300 s)" in ended.out
    assert "  1  deny @write on /**/closed [ours]" in ended.out
    assert "rule 2 allows, and so says nothing" in ended.err
    linted = stanch("policy", "lint")
    assert linted.code == 1
    assert "organization:2: rule 2 of the organization allows, and so says nothing" in linted.out
    said = json.loads(stanch("policy", "organization", "--json").out)
    assert (said["state"], said["rules"], said["allows"]) == ("current", 2, [2])
    assert said["rules_in_full"][0] == RULES[0]


def test_an_address_is_shown_as_it_is_kept_and_fetched_when_asked(stanch: Stanch, folder: Path) -> None:
    data = folder.parent / "data"
    data.mkdir(mode=0o700)
    with served(says(whole(RULES))) as server:
        _policy(folder, server.url)
        ended = stanch("policy", "organization", "--data", str(data))
        assert (ended.code, server.asked) == (1, [])
        assert "no copy is kept here; fetch one with --refresh" in ended.out
        assert stanch("policy", "organization", "--data", str(data), "--refresh").code == 0
        assert len(server.asked) == 1
    ended = stanch("policy", "organization", "--data", str(data))
    assert ended.code == 0
    assert ": current (1 rule, " in ended.out
    ended = stanch("policy", "organization", "--data", str(data), "--refresh")
    assert ended.code == 0
    assert ": stale: connection refused (1 rule, " in ended.out


def test_check_says_how_well_they_are_known(stanch: Stanch, folder: Path) -> None:
    with served(says(whole(b"SERVERSAYS", "500 SERVERSAYS"))) as server:
        _policy(folder, server.url + "?key=hush")
        ended = stanch("policy", "check")
        assert ended.code == 0
        assert f"organization: {server.url}?…: unavailable: HTTP status 500" in ended.out
        assert "SERVERSAYS" not in ended.out
        assert "hush" not in ended.out
        said = json.loads(stanch("policy", "check", "--json").out)["organization"]
        assert (said["state"], said["why"], said["age_s"]) == ("unavailable", "HTTP status 500", None)


def test_one_call_is_judged_by_rules_that_were_waited_for(stanch: Stanch, folder: Path) -> None:
    with served(says(whole(RULES))) as server:
        _policy(folder, server.url)
        assert stanch("check", *call("write_file", path="closed/a", content="x")).code == 11
        assert stanch("check", *call("write_file", path="open/a", content="x")).code == 0
    ended = stanch("check", *call("write_file", path="open/a", content="x"))
    assert ended.code == 10
    assert "(unavailable: connection refused)" in ended.out


@pytest.mark.parametrize("source", [None, "http://rules.example.com/r"])
def test_no_organization_is_a_mistake_of_whoever_asks(stanch: Stanch, folder: Path, source: str | None) -> None:
    (folder / "stanch.toml").write_text(HEAD)
    if source is not None:
        _policy(folder, source)
    ended = stanch("policy", "organization")
    assert ended.code == 2
    assert "names no organization that can be used" in ended.err


def test_a_deadline_bounds_the_fetching_too(stanch: Stanch, folder: Path) -> None:
    waited: list[bool] = []

    def hangs(server: Server, _: bytes) -> Iterable[bytes]:
        waited.append(server.ended.wait(60))
        yield b""

    with served(hangs) as server:
        _policy(folder, server.url)
        ended = stanch("judge", "--face", "memory", "--write", "--deadline-ms", "200", "--json", "a.txt")
        assert (ended.code, ended.json[0]["cause"], waited) == (10, "org_unavailable", [])
