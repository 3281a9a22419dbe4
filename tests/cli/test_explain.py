"""Does `stanch explain` show the whole trace, the winner, and every loser with the reason why it lost?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stanch.values.reason import LayerId
from tests.cli.conftest import Stanch, call

RULES = """
version = 1
[[groups]]
id = "default"
[[groups.rules]]
tool = "@read"
path = "secrets"
action = "deny"
mandatory = true
[[groups.rules]]
tool = "read_file"
path = "docs"
action = "allow"
[[groups.rules]]
tool = "read_file"
agent = "digest"
action = "deny"
[[groups.rules]]
tool = "read_file"
source = "cron"
path = "elsewhere"
action = "deny"
[[groups.rules]]
priority = 200
tool = "*"
action = "ask"
[[groups]]
id = "jobs"
[[groups.rules]]
tool = "read_file"
path = "docs/a"
action = "ask"
"""


@pytest.fixture
def ruled(project: Path) -> Path:
    """The project with a small policy in which each way of losing occurs."""
    (project / "stanch.toml").write_text(RULES, "utf-8")
    return project


def test_every_layer_is_in_the_trace_in_order(stanch: Stanch, ruled: Path) -> None:
    ended = stanch("explain", *call("read_file", path="docs/a"))
    lines = ended.out.splitlines()
    start = lines.index("layers, in the order they are asked:")
    assert [line.split()[0] for line in lines[start + 1 : start + 3]] == ["integrity", "persisted_rules"]
    assert "µs" in lines[start + 1]
    away = [
        layer.value
        for layer in LayerId
        if layer.value not in ("integrity", "persisted_rules", "relaxation", "approval", "delivery")
    ]
    assert lines[start + 3] == f"  7 layers are not configured: {', '.join(away)}"


def test_a_layer_that_is_configured_is_no_longer_counted_as_away(stanch: Stanch, ruled: Path) -> None:
    out = stanch("explain", *call("read_file", path="docs/a"), "--model", "a/b").out
    assert "  6 layers are not configured: skill_rows, narrowing, caller_policy, " in out


def test_rules_behind_the_winner_are_named_with_the_reason(stanch: Stanch, ruled: Path) -> None:
    ended = stanch("explain", *call("read_file", path="docs/a"))
    assert ended.code == 0
    assert "fits first    rule 2 in group" in ended.out
    assert (
        'fits too      rule 5 in group "default" (ask *), stanch.toml:23: '
        "a later rule than 2: its priority is 200, after 100"
    ) in ended.out


def test_rules_that_nearly_fit_are_named_with_what_failed(stanch: Stanch, ruled: Path) -> None:
    said = stanch("explain", *call("read_file", path="docs/a"), "--json").json
    (found,) = said["rules"]
    assert found["first"]["id"] == 2
    assert [(one["id"], one["condition"]) for one in found["nearly"]] == [(1, "path"), (3, "agent")]
    assert found["nearly"][0]["why"] == f"its path {ruled}/secrets does not cover {ruled}/docs/a"
    assert found["nearly"][1]["why"] == "holds for the agent digest only; here none is named"
    assert found["further"] == 0


def test_a_mandatory_rule_and_another_group_are_named_as_reasons(stanch: Stanch, ruled: Path) -> None:
    (found,) = stanch("explain", *call("read_file", path="secrets/x"), "--json").json["rules"]
    assert (found["first"]["id"], found["first"]["mandatory"]) == (1, True)
    assert found["behind"][0]["why"] == "mandatory rule 1 is read first"
    (found,) = stanch("explain", *call("read_file", path="docs/a"), "--group", "jobs", "--json").json["rules"]
    assert found["first"]["group"] == "jobs"
    why = 'rule 1 of the session\'s group "jobs" is read before those of "default"'
    assert [one["why"] for one in found["behind"]] == [why, why]


def test_at_most_ten_near_rules_are_shown_and_the_rest_counted(stanch: Stanch, project: Path) -> None:
    rows = [f'[[groups.rules]]\ntool = "read_file"\npath = "d{n}"\naction = "deny"\n' for n in range(14)]
    (project / "stanch.toml").write_text('version = 1\n[[groups]]\nid = "default"\n' + "".join(rows), "utf-8")
    (found,) = stanch("explain", *call("read_file", path="docs/a"), "--json").json["rules"]
    assert (len(found["nearly"]), found["further"]) == (10, 4)
    assert "and 4 more that fail one condition" in stanch("explain", *call("read_file", path="docs/a")).out


def test_no_rule_that_fits_is_said(stanch: Stanch, project: Path) -> None:
    (project / "stanch.toml").write_text('version = 1\n[[groups]]\nid = "default"\n', "utf-8")
    ended = stanch("explain", *call("read_file", path="/etc/hostname"))
    assert ended.code == 10
    assert "fits first    no rule" in ended.out


def test_what_answers_in_place_of_the_rules_is_said(stanch: Stanch, project: Path) -> None:
    for words, said in (
        (call("write_file", path="memory/a"), "the memory exception is read after the mandatory rules"),
        (call("read_file", path="docs/a"), "a read grant answers the question"),
        (call("write_file", path=".git/hooks/x"), "no rule was read: the path is refused whatever they say"),
        ((*call("write_file", path="data/a"), "--group", "nobody"), "so of these rules only a deny counts"),
    ):
        assert said in stanch("explain", *words).out


def test_a_broken_policy_has_no_rules_to_show(stanch: Stanch, project: Path) -> None:
    (project / "stanch.toml").write_text("version = 2\n", "utf-8")
    ended = stanch("explain", *call("read_file", path="docs/a"))
    assert ended.code == 11
    assert "fits first" not in ended.out
    assert stanch("explain", *call("read_file", path="docs/a"), "--json").json["rules"] == []


def test_the_smallest_change_is_shown_with_its_lines(stanch: Stanch, ruled: Path) -> None:
    out = stanch("explain", *call("write_file", path="notes/a", content="x")).out
    start = out.splitlines().index("the smallest change that would make it allow:")
    assert out.splitlines()[start + 1] == '  add a rule of group "default": allow write_file on notes/a'
    assert '    path = "notes/a"' in out
    assert "the smallest change" not in stanch("explain", *call("read_file", path="docs/a")).out


def test_another_answer_is_asked_for_by_name(stanch: Stanch, ruled: Path) -> None:
    words = call("read_file", path="docs/a")
    assert '    action = "deny"' in stanch("explain", *words, "--to", "deny").out
    assert "it is allow already" in stanch("explain", *words, "--to", "allow").out
    ended = stanch("explain", *words, "--to", "alow")
    assert (ended.code, ended.out) == (2, "")
    assert "did you mean 'allow'" in ended.err


def test_recorded_calls_are_counted(stanch: Stanch, ruled: Path) -> None:
    made = [
        {"id": str(at), "type": "function", "function": {"name": name, "arguments": f'{{"path": "{path}"}}'}}
        for at, (name, path) in enumerate(
            [("read_file", "secrets/a"), ("read_file", "secrets/b"), ("read_file", "docs/a")]
        )
    ]
    (ruled / "calls.json").write_text(json.dumps([{"role": "assistant", "tool_calls": made}]), "utf-8")
    words = (*call("read_file", path="secrets/x"), "--to", "ask", "--recorded", "calls.json")
    change = stanch("explain", *words, "--json").json["change"]
    first = change["suggested"][0]
    assert (first["others"], change["looked_at"]) == (2, 3)
    assert [(one["before"], one["after"]) for one in first["first"]] == [("deny", "ask")] * 2
    assert "mandatory" in first["warnings"][0]
    out = stanch("explain", *words).out
    assert "of 3 recorded calls, 2 more would be answered otherwise" in out
    assert "deny -> ask  read_file secrets/a" in out
    assert stanch("explain", *words[:-1], "nowhere.json").code == 2


def test_hooks_that_nobody_asked_are_not_said_to_stand_behind_a_deny(stanch: Stanch, ruled: Path) -> None:
    (ruled / "stanch.toml").write_text(f'{RULES}\n[[hooks]]\ncommand = ["./screen"]\n', "utf-8")
    allowed = stanch("explain", *call("read_file", path="docs/a"))
    assert "hooks                 not asked; hooks have their say when a call is made" in allowed.out
    assert (allowed.code, "a deny stands already" in allowed.out) == (0, False)
    denied = stanch("explain", *call("read_file", path="secrets/a"))
    assert "hooks                 not asked, since a deny stands already" in denied.out


def test_a_row_of_this_very_file_is_not_said_to_be_written_elsewhere(stanch: Stanch, ruled: Path) -> None:
    row = '[[narrowing]]\ntool = "read_file"\naction = "deny"\n'
    (ruled / "stanch.toml").write_text(f"{RULES}\n{row}", "utf-8")
    out = stanch("explain", *call("read_file", path="docs/a")).out
    assert "(no change of a rule, a grant or a tier helps: a row that narrows holds" in out
